//! The table that the command prints.

use std::fmt::Write;

use crate::run::{Report, Verdict};

/// The widest that a column of rows may be; what is over is told by its end.
const WIDEST: usize = 64;

/// All cases in an aligned table, what went otherwise under it, and a closing line with the counts.
pub fn table(reports: &[Report]) -> String {
    let mut lines = vec![["case", "subject", "rows", "origin calls", "result"].map(str::to_string)];
    for report in reports {
        let result = match &report.verdict {
            Verdict::Passed => "pass".to_string(),
            Verdict::Failed(_) => "FAIL".to_string(),
            Verdict::Skipped(why) => format!("skip: {why}"),
        };
        let skipped = matches!(report.verdict, Verdict::Skipped(_));
        let calls = if skipped { String::new() } else { report.origin_calls.to_string() };
        let case = format!("{}: {}", report.file, report.case);
        lines.push([case, report.subject.to_string(), shortened(&report.rows.join(" > ")), calls, result]);
    }
    let mut text = String::new();
    let widths: [usize; 5] = std::array::from_fn(|at| {
        lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.len()).max().unwrap_or(0)
    });
    for [case, subject, rows, calls, result] in &lines {
        let [one, two, three, four, _] = widths;
        let line = format!("{case:one$}  {subject:two$}  {rows:three$}  {calls:>four$}  {result}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for report in reports {
        let Verdict::Failed(faults) = &report.verdict else { continue };
        let _ = writeln!(text, "\n{}: {}, {}:", report.file, report.case, report.subject);
        for fault in faults {
            let _ = writeln!(text, "  {fault}");
        }
    }
    let count = |is: fn(&Verdict) -> bool| reports.iter().filter(|report| is(&report.verdict)).count();
    let (passed, failed) =
        (count(|verdict| *verdict == Verdict::Passed), count(|verdict| matches!(verdict, Verdict::Failed(_))));
    let skipped = reports.len() - passed - failed;
    let _ = writeln!(text, "\n{passed} passed, {failed} failed, {skipped} skipped");
    text
}

fn shortened(text: &str) -> String {
    let over = text.chars().count().saturating_sub(WIDEST);
    match over {
        0 => text.to_string(),
        over => format!("..{}", text.chars().skip(over + 2).collect::<String>()),
    }
}
