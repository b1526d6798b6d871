//! G5: JSON forms are equal if and only if the values are. An oracle of exact decimals, and documents that are spelled
//! anew or changed in one place. Each failure prints the seed that repeats it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail"
)]

mod common;

use std::collections::BTreeMap;

use common::Random;
use num_bigint::BigInt;
use oncegate_core::canonical::json::{Pointer, Profile, Role, Selection, Wanted, canonicalize, read};

/// The value of a decimal, by big integers alone: `mantissa * 10^exponent`.
struct Decimal {
    mantissa: BigInt,
    exponent: i64,
}

impl Decimal {
    fn parse(text: &str) -> Self {
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let mantissa = format!("{whole}{fraction}").parse().unwrap();
        Decimal { mantissa, exponent: exponent.parse::<i64>().unwrap() - fraction.len() as i64 }
    }

    /// Scales both to the smaller exponent; where that is far away, the sizes alone tell.
    fn equals(&self, other: &Self) -> bool {
        let zero = BigInt::ZERO;
        if self.mantissa == zero || other.mantissa == zero {
            return self.mantissa == other.mantissa;
        }
        let apart = self.exponent.abs_diff(other.exponent);
        if apart > 400 {
            return false;
        }
        let scale = BigInt::from(10).pow(apart as u32);
        match self.exponent > other.exponent {
            true => &self.mantissa * scale == other.mantissa,
            false => self.mantissa == &other.mantissa * scale,
        }
    }
}

/// A number as people, machines and attackers write them.
fn number(random: &mut Random) -> String {
    const KNOWN: [&str; 16] = [
        "0",
        "-0",
        "0.0",
        "-0e5",
        "9007199254740992",
        "9007199254740993",
        "0.1",
        "0.10000000000000000001",
        "1e-400",
        "18446744073709551615",
        "18446744073709551616",
        "1e999999999",
        "-1e-999999999",
        "10",
        "1E+2",
        "99.99",
    ];
    if random.one_in(4) {
        return random.pick(&KNOWN).to_string();
    }
    let longest = *random.pick(&[2, 4, 20, 45]);
    let length = 1 + random.below(longest);
    let mut digits: String = (0..length).map(|_| char::from(*random.pick(b"0000123456789"))).collect();
    digits = digits.trim_start_matches('0').to_string();
    if digits.is_empty() {
        digits.push('0');
    }
    let sign = if random.one_in(3) { "-" } else { "" };
    let exponent = match random.below(4) {
        0 => random.below(600_000_000) as i64 - 300_000_000,
        1 => random.below(700) as i64 - 350,
        2 => random.below(7) as i64 - 3,
        _ => return format!("{sign}{digits}"),
    };
    format!("{sign}{digits}e{exponent}")
}

/// The same value in another spelling, or one that is nearly the same.
fn variant(random: &mut Random, text: &str) -> String {
    let value = Decimal::parse(text);
    let (sign, digits) = match value.mantissa.to_string() {
        digits if digits.starts_with('-') => ("-", digits[1..].to_string()),
        digits => (if text.starts_with('-') { "-" } else { "" }, digits),
    };
    let mut exponent = value.exponent;
    let mut digits = digits;
    match random.below(9) {
        // The same value.
        0..=3 => {}
        // Zeros behind, paid back by the exponent.
        4 => {
            let zeros = random.below(30);
            digits += &"0".repeat(zeros);
            exponent -= zeros as i64;
        }
        // A neighbour in the last digit.
        5 => {
            let last = digits.pop().unwrap().to_digit(10).unwrap();
            digits.push(char::from_digit((last + 1 + random.below(9) as u32) % 10, 10).unwrap());
        }
        // A neighbour far behind the point.
        6 => {
            let zeros = random.below(25);
            digits += &("0".repeat(zeros) + "1");
            exponent -= zeros as i64 + 1;
        }
        // Ten times as much, or a tenth.
        7 => exponent += if random.one_in(2) { 1 } else { -1 },
        // A zero in its middle.
        _ => digits.insert(random.below(digits.len()) + 1, '0'),
    }
    let digits = digits.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    spell(random, sign, digits, exponent)
}

/// `digits * 10^exponent` with its point anywhere.
fn spell(random: &mut Random, sign: &str, digits: &str, exponent: i64) -> String {
    let behind = random.below(digits.len() + 3);
    let padded = format!("{}{digits}", "0".repeat((behind + 1).saturating_sub(digits.len())));
    let (whole, fraction) = padded.split_at(padded.len() - behind);
    let exponent = exponent + behind as i64;
    let point = if fraction.is_empty() { "" } else { "." };
    let power = match (exponent, random.below(3)) {
        (0, 0 | 1) => String::new(),
        (0, _) => "e-000".into(),
        (1.., 0) => format!("E+{exponent}"),
        (_, 1) => format!("e{exponent}"),
        (0.., _) => format!("E0{exponent}"),
        (_, _) => format!("e-00{}", exponent.unsigned_abs()),
    };
    format!("{sign}{whole}{point}{fraction}{power}")
}

#[test]
fn numbers_by_an_exact_oracle() {
    const GROUPS: u64 = 22_000;
    const MEMBERS: usize = 14;
    let (mut numbers, mut equal, mut different) = (0, 0, 0);
    for seed in 0..GROUPS {
        let mut random = Random(seed);
        let mut group = vec![number(&mut random)];
        while group.len() < MEMBERS {
            let from = random.pick(&group).clone();
            group.push(if random.one_in(7) { number(&mut random) } else { variant(&mut random, &from) });
        }
        let read: Vec<(Decimal, Vec<u8>)> = group
            .iter()
            .map(|text| {
                let form = canonicalize(text.as_bytes()).unwrap_or_else(|error| panic!("seed {seed}: {text}: {error}"));
                (Decimal::parse(text), form)
            })
            .collect();
        numbers += read.len();
        for (at, (value, form)) in read.iter().enumerate() {
            let itself = Decimal::parse(std::str::from_utf8(form).unwrap());
            assert!(value.equals(&itself), "seed {seed}: the form of {} is another number", group[at]);
            for (other_at, (other, other_form)) in read.iter().enumerate().take(at) {
                let same = value.equals(other);
                assert_eq!(same, form == other_form, "seed {seed}: {} and {}", group[at], group[other_at]);
                if same { equal += 1 } else { different += 1 }
            }
        }
    }
    assert!(numbers >= 300_000, "{numbers}");
    assert!(equal > 300_000 && different > 300_000, "{equal} equal pairs, {different} different ones");
}

#[derive(Clone, PartialEq, Debug)]
enum Json {
    Null,
    Bool(bool),
    /// An integer below 10^15 and a power of ten.
    Number(i64, i64),
    Text(String),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

const CHARACTERS: &str = "abZ0\"\\/\0\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\u{7f}e\u{301}é\u{2028}\u{ffff}😀";

fn text(random: &mut Random) -> String {
    let characters: Vec<char> = CHARACTERS.chars().collect();
    (0..random.below(4)).map(|_| *random.pick(&characters)).collect()
}

fn document(random: &mut Random, depth: usize) -> Json {
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => Json::Null,
        1 => Json::Bool(random.one_in(2)),
        2 => {
            let mut mantissa = random.below(2_000_000) as i64 - 1_000_000;
            let mut power = random.below(9) as i64 - 4;
            while mantissa != 0 && mantissa % 10 == 0 {
                (mantissa, power) = (mantissa / 10, power + 1);
            }
            Json::Number(mantissa, if mantissa == 0 { 0 } else { power })
        }
        3 => Json::Text(text(random)),
        4 => Json::Array((0..random.below(5)).map(|_| document(random, depth - 1)).collect()),
        _ => Json::Object((0..random.below(6)).map(|_| (text(random), document(random, depth - 1))).collect()),
    }
}

/// Writes a document in one of its spellings.
fn write(random: &mut Random, value: &Json, to: &mut String) {
    space(random, to);
    match value {
        Json::Null => to.push_str("null"),
        Json::Bool(is) => to.push_str(if *is { "true" } else { "false" }),
        Json::Number(mantissa, power) => {
            let sign = if *mantissa < 0 || (*mantissa == 0 && random.one_in(2)) { "-" } else { "" };
            to.push_str(&spell(random, sign, &mantissa.unsigned_abs().to_string(), *power));
        }
        Json::Text(text) => quote(random, text, to),
        Json::Array(items) => {
            to.push('[');
            for (at, item) in items.iter().enumerate() {
                to.push_str(if at > 0 { "," } else { "" });
                write(random, item, to);
            }
            space(random, to);
            to.push(']');
        }
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            for at in (1..members.len()).rev() {
                members.swap(at, random.below(at + 1));
            }
            to.push('{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                to.push_str(if at > 0 { "," } else { "" });
                space(random, to);
                quote(random, name, to);
                space(random, to);
                to.push(':');
                write(random, value, to);
            }
            space(random, to);
            to.push('}');
        }
    }
    space(random, to);
}

fn space(random: &mut Random, to: &mut String) {
    if random.one_in(3) {
        to.push(*random.pick(&[' ', '\t', '\n', '\r']));
    }
}

fn quote(random: &mut Random, text: &str, to: &mut String) {
    to.push('"');
    for character in text.chars() {
        let short = match character {
            '"' | '\\' | '/' => Some(character),
            '\u{8}' => Some('b'),
            '\t' => Some('t'),
            '\n' => Some('n'),
            '\u{c}' => Some('f'),
            '\r' => Some('r'),
            _ => None,
        };
        let must = matches!(character, '"' | '\\' | '\0'..='\u{1f}');
        match (short, random.below(3)) {
            (Some(short), 0) => to.extend(['\\', short]),
            (_, 1) if !must => to.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let written = if random.one_in(2) { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
                    to.push_str(&written);
                }
            }
        }
    }
    to.push('"');
}

/// Changes one place.
fn change(random: &mut Random, value: &mut Json) {
    match value {
        Json::Array(items) if !items.is_empty() && !random.one_in(4) => {
            let at = random.below(items.len());
            match random.below(4) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, Json::Null),
                2 => items.rotate_left(1),
                _ => change(random, &mut items[at]),
            }
        }
        Json::Object(members) if !members.is_empty() && !random.one_in(4) => {
            let name = random.pick(&members.keys().cloned().collect::<Vec<_>>()).clone();
            match random.below(4) {
                0 => drop(members.remove(&name)),
                1 => drop(members.insert(name, Json::Null)),
                2 => {
                    let held = members.remove(&name).unwrap();
                    let more: &&str = random.pick(&["", "a", "\u{0}", "é"]);
                    members.insert(name + *more, held);
                }
                _ => change(random, members.get_mut(&name).unwrap()),
            }
        }
        Json::Number(mantissa, power) => match random.below(3) {
            0 => *mantissa += 1,
            1 if *mantissa != 0 => *power += 1,
            _ => *mantissa = -*mantissa,
        },
        Json::Text(held) => held.push_str(&text(random)),
        _ => *value = document(random, 1),
    }
    normalize(value);
}

fn normalize(value: &mut Json) {
    if let Json::Number(mantissa, power) = value {
        while *mantissa != 0 && *mantissa % 10 == 0 {
            (*mantissa, *power) = (*mantissa / 10, *power + 1);
        }
        *power = if *mantissa == 0 { 0 } else { *power };
    }
}

#[test]
fn spellings_keep_the_form_and_changes_do_not() {
    let mut changed = 0;
    for seed in 0..40_000 {
        let mut random = Random(seed);
        let value = document(&mut random, 4);
        let form_of = |random: &mut Random, value: &Json| {
            let mut text = String::new();
            write(random, value, &mut text);
            canonicalize(text.as_bytes()).unwrap_or_else(|error| panic!("seed {seed}: {error}: {text}"))
        };
        let form = form_of(&mut random, &value);
        assert_eq!(form, form_of(&mut random, &value), "seed {seed}: {value:?}");
        assert_eq!(canonicalize(&form).as_ref(), Ok(&form), "seed {seed}: a form is its own form");
        let mut other = value.clone();
        change(&mut random, &mut other);
        let same = form == form_of(&mut random, &other);
        assert_eq!(same, value == other, "seed {seed}: {value:?} and {other:?}");
        changed += usize::from(!same);
    }
    assert!(changed > 20_000, "only {changed} changes changed anything");
}

/// Every character stands for itself alone, in a string and in a name, in each of its spellings.
#[test]
fn characters_stay_apart() {
    let mut forms = BTreeMap::new();
    let mut random = Random(1);
    for character in ('\0'..='\u{7ff}').chain(CHARACTERS.chars()).chain(['\u{10ffff}', '\u{e000}', '\u{d7ff}']) {
        for _ in 0..12 {
            let mut string = String::new();
            quote(&mut random, &character.to_string(), &mut string);
            let form = canonicalize(format!("{{{string}:{string}}}").as_bytes()).unwrap();
            let known = *forms.entry(form).or_insert(character);
            assert_eq!(known, character);
            let wanted = Selection::new(vec![(Role::Want, Pointer::parse("/0").unwrap())]).unwrap();
            let read = read(format!("[{string}]").as_bytes(), Profile::Exact, &wanted).unwrap();
            assert_eq!(read.wanted, Wanted::Text(character.to_string().into()));
        }
    }
    assert!(forms.len() > 2048);
}

/// To leave a member out is to compare the document without it; an element of an array keeps its place.
#[test]
fn exclusions_are_documents_without_what_is_excluded() {
    let (mut members, mut elements) = (0, 0);
    for seed in 0..40_000 {
        let mut random = Random(seed);
        let value = document(&mut random, 4);
        let mut without = value.clone();
        let mut pointer = String::new();
        let is_member = match remove(&mut random, &mut without, &mut pointer) {
            Some(is_member) => is_member,
            None => continue,
        };
        let excluded = Selection::new(vec![(Role::Exclude, Pointer::parse(&pointer).unwrap())]).unwrap();
        let mut form_of = |value: &Json, selection: &Selection| {
            let mut text = String::new();
            write(&mut random, value, &mut text);
            read(text.as_bytes(), Profile::Exact, selection).unwrap().form
        };
        let form = form_of(&value, &excluded);
        if is_member {
            assert_eq!(form, form_of(&without, &Selection::default()), "seed {seed}: {value:?} less {pointer}");
            members += 1;
        } else {
            // In the element's place stands null now.
            assert_eq!(form, form_of(&without, &excluded), "seed {seed}: {value:?} less {pointer}");
            assert_ne!(form, form_of(&without, &Selection::default()), "seed {seed}: {value:?} less {pointer}");
            elements += 1;
        }
    }
    assert!(members > 5_000 && elements > 1_000, "{members} members, {elements} elements");
}

/// Removes a random member, or puts null for a random element, and tells where; whether it was a member.
fn remove(random: &mut Random, value: &mut Json, pointer: &mut String) -> Option<bool> {
    match value {
        Json::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            pointer.push_str(&format!("/{at}"));
            if !random.one_in(3)
                && let Some(deeper) = remove(random, &mut items[at], pointer)
            {
                return Some(deeper);
            }
            items[at] = Json::Null;
            Some(false)
        }
        Json::Object(members) if !members.is_empty() => {
            let name = random.pick(&members.keys().cloned().collect::<Vec<_>>()).clone();
            pointer.push_str(&format!("/{}", name.replace('~', "~0").replace('/', "~1")));
            if !random.one_in(3)
                && let Some(deeper) = remove(random, members.get_mut(&name)?, pointer)
            {
                return Some(deeper);
            }
            members.remove(&name);
            Some(true)
        }
        _ => None,
    }
}
