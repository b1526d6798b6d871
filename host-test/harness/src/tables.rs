//! README's tables, from core's data. A row's conditions are not read, they are found out: every situation is put to the
//! table, and a column is told where it makes a difference.

mod names;

use std::fmt::{Debug, Write};

use oncegate_core::decision::Knowledge;
use oncegate_core::table::{
    ADMISSION, Age, Change, Condition, DISPATCH, DispatchSeen, FORGET, ForgetSeen, RENEW, RESOLVE, RenewSeen,
    ResolveSeen, Row, Ruling, Run, SETTLEMENT, Seen, SettleAct, SettleSeen, Situation,
};

use names::{
    absence_name, act_name, kind_name, knowledge_name, lease_name, likeness_name, retention_name, retry_name,
    seen_name, settle_seen_name,
};

/// The six tables, in Markdown.
pub fn markdown() -> String {
    let mut text = String::new();
    admission(&mut text);
    settlement(&mut text);
    let run = |run: &Run| match run {
        Run::Within => "no",
        Run::Reached => "yes",
    };
    let seen = |seen: &RenewSeen| match seen {
        RenewSeen::Own => "own InProgress",
        RenewSeen::Other => "anything else",
    };
    let all = pairs(&[RenewSeen::Own, RenewSeen::Other], &[Run::Within, Run::Reached]);
    moves(&mut text, "RENEW", ["held", "`max_run` reached"], RENEW, &all, seen, run);
    let seen = |seen: &DispatchSeen| match seen {
        DispatchSeen::OwnClaimed => "own Claimed",
        DispatchSeen::OwnInProgress => "own InProgress",
        DispatchSeen::Other => "anything else",
    };
    let all = [DispatchSeen::OwnClaimed, DispatchSeen::OwnInProgress, DispatchSeen::Other];
    let all = pairs(&all, &[Run::Within, Run::Reached]);
    moves(&mut text, "DISPATCH", ["held", "lease over"], DISPATCH, &all, seen, run);
    resolve(&mut text);
    let seen = |seen: &ForgetSeen| match seen {
        ForgetSeen::Settled => "a settled outcome",
        ForgetSeen::Open => "InProgress, Claimed or Unknown",
        ForgetSeen::Absent => "absent",
        ForgetSeen::Unreadable => "a newer format, or does not decode",
    };
    let age = |age: &Age| match age {
        Age::Kept => "no",
        Age::Over => "yes",
    };
    let all = [ForgetSeen::Settled, ForgetSeen::Open, ForgetSeen::Absent, ForgetSeen::Unreadable];
    moves(&mut text, "FORGET", ["held", "retention over"], FORGET, &pairs(&all, &[Age::Kept, Age::Over]), seen, age);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn admission(text: &mut String) {
    let columns = [
        "row",
        "held",
        "same fingerprint",
        "lease over",
        "retention over",
        "decision",
        "write",
        "HTTP",
        "origin calls",
    ];
    heading(text, "ADMISSION", &columns);
    let all: Vec<Situation> = Situation::all().collect();
    for row in ADMISSION {
        let met = met(row, &all);
        let held: Vec<Seen> = distinct(met.iter().map(|situation| situation.seen));
        // What could have been, with the same held.
        let could: Vec<Situation> = all.iter().filter(|situation| held.contains(&situation.seen)).copied().collect();
        let retry = column(&met, &could, |situation| situation.retry, retry_name);
        let absence = column(&met, &could, |situation| situation.absence, absence_name);
        let mut seen = held.iter().map(|seen| seen_name(*seen)).collect::<Vec<_>>().join(" or ");
        for more in [retry, absence].into_iter().flatten() {
            let _ = write!(seen, ", {more}");
        }
        let or_dash = |found: Option<String>| found.unwrap_or_else(|| "-".to_string());
        let then = &row.then;
        let cells = [
            format!("`{}`", row.name),
            seen,
            or_dash(column(&met, &could, |situation| situation.likeness, likeness_name)),
            or_dash(column(&met, &could, |situation| situation.lease, lease_name)),
            or_dash(column(&met, &could, |situation| situation.retention, retention_name)),
            kind_name(then.kind).to_string(),
            act_name(then.act).to_string(),
            then.http.to_string(),
            then.origin_calls.to_string(),
        ];
        line(text, &cells);
    }
}

fn settlement(text: &mut String) {
    heading(text, "SETTLEMENT", &["row", "held", "knowledge", "write", "alarm"]);
    let knowledge = [Knowledge::Committed, Knowledge::Rejected, Knowledge::NoEffect, Knowledge::Unknown];
    let all = pairs(&SettleSeen::ALL, &knowledge);
    for row in SETTLEMENT {
        let met = met(row, &all);
        // Conditions with different knowledge stand apart.
        let mut parts: Vec<(Vec<Knowledge>, Vec<&str>)> = Vec::new();
        for seen in distinct(met.iter().map(|(seen, _)| *seen)) {
            let known: Vec<Knowledge> =
                met.iter().filter(|(other, _)| *other == seen).map(|(_, knowledge)| *knowledge).collect();
            match parts.iter_mut().find(|(other, _)| *other == known) {
                Some((_, names)) => names.push(settle_seen_name(seen)),
                None => parts.push((known, vec![settle_seen_name(seen)])),
            }
        }
        let held = parts.iter().map(|(_, names)| names.join(" or ")).collect::<Vec<_>>().join("; ");
        let any = |known: &Vec<Knowledge>| known.len() == knowledge.len();
        let told = |(known, _): &(Vec<Knowledge>, Vec<&str>)| match any(known) {
            true => "any".to_string(),
            false => known.iter().map(|one| knowledge_name(*one)).collect::<Vec<_>>().join(" or "),
        };
        let known = parts.iter().map(told).collect::<Vec<_>>().join("; ");
        let write = match row.then.act {
            SettleAct::Nothing => "-",
            SettleAct::Record => "the outcome",
            SettleAct::Suspect => "`double-effect-suspected`",
            SettleAct::Refuse => "-, and the outcome stays unrecorded",
        };
        let alarm = if row.then.alarm { "yes" } else { "-" };
        line(text, &[format!("`{}`", row.name), held, known, write.to_string(), alarm.to_string()]);
    }
}

fn resolve(text: &mut String) {
    let seen = |seen: &ResolveSeen| match seen {
        ResolveSeen::Running => "InProgress or Claimed, lease running",
        ResolveSeen::Unknown => "Unknown, or a lease that is over",
        ResolveSeen::Settled => "a settled outcome",
        ResolveSeen::Absent => "absent",
        ResolveSeen::Unreadable => "a newer format, or does not decode",
    };
    let ruling = |ruling: &Ruling| match ruling {
        Ruling::Committed => "committed",
        Ruling::Rejected => "rejected",
        Ruling::NoEffectProven => "no effect, with evidence that holds",
        Ruling::NoEffectForced => "no effect, forced",
        Ruling::NoEffectUnproven => "no effect, with evidence that does not hold",
    };
    let all = [
        ResolveSeen::Running,
        ResolveSeen::Unknown,
        ResolveSeen::Settled,
        ResolveSeen::Absent,
        ResolveSeen::Unreadable,
    ];
    let rulings =
        [Ruling::Committed, Ruling::Rejected, Ruling::NoEffectProven, Ruling::NoEffectForced, Ruling::NoEffectUnproven];
    moves(text, "RESOLVE", ["held", "verdict"], RESOLVE, &pairs(&all, &rulings), seen, ruling);
}

/// A table of two columns that says whether the record is changed.
fn moves<A: Copy + PartialEq, B: Copy + PartialEq, W: Condition<Situation = (A, B)>>(
    text: &mut String,
    name: &str,
    [one, other]: [&str; 2],
    table: &[Row<W, Change>],
    all: &[(A, B)],
    one_name: impl Fn(&A) -> &'static str,
    other_name: impl Fn(&B) -> &'static str,
) {
    heading(text, name, &["row", one, other, "record"]);
    for row in table {
        let met = met(row, all);
        let ones = distinct(met.iter().map(|(one, _)| *one));
        let could: Vec<(A, B)> = all.iter().filter(|(one, _)| ones.contains(one)).copied().collect();
        let held = ones.iter().map(one_name_of(&one_name)).collect::<Vec<_>>().join(" or ");
        let told = column(&met, &could, |(_, other)| *other, |other| other_name(&other));
        let change = match row.then {
            Change::Nothing => "stays",
            Change::Written => "changed",
        };
        line(text, &[format!("`{}`", row.name), held, told.unwrap_or_else(|| "-".into()), change.into()]);
    }
}

fn one_name_of<'f, A>(name: &'f impl Fn(&A) -> &'static str) -> impl Fn(&A) -> &'static str + 'f {
    move |one| name(one)
}

fn met<S: Condition, T>(row: &Row<S, T>, all: &[S::Situation]) -> Vec<S::Situation>
where
    S::Situation: Copy,
{
    all.iter().filter(|situation| row.when.iter().any(|condition| condition.holds(situation))).copied().collect()
}

/// What a column admits, where that is not everything that it could have.
fn column<S, T: PartialEq>(
    met: &[S],
    could: &[S],
    of: impl Fn(&S) -> T,
    name: impl Fn(T) -> &'static str,
) -> Option<String> {
    let values = distinct(met.iter().map(&of));
    let all = distinct(could.iter().map(&of));
    (values.len() < all.len()).then(|| {
        // Two values may have one name.
        distinct(values.into_iter().map(name)).join(" or ")
    })
}

fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut found, value| {
        if !found.contains(&value) {
            found.push(value);
        }
        found
    })
}

fn pairs<A: Copy, B: Copy>(ones: &[A], others: &[B]) -> Vec<(A, B)> {
    ones.iter().flat_map(|one| others.iter().map(|other| (*one, *other))).collect()
}

fn heading(text: &mut String, name: &str, columns: &[&str]) {
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "**{name}**\n");
    line(text, columns);
    let _ = writeln!(text, "|{}", "---|".repeat(columns.len()));
}

fn line(text: &mut String, cells: &[impl AsRef<str> + Debug]) {
    for cell in cells {
        let _ = write!(text, "| {} ", cell.as_ref());
    }
    text.push_str("|\n");
}
