//! Reading a JSON object member by member: each fault has its path, and no member is left unread.
//!
//! Written out rather than derived: the derived readers with their paths were a third of the component.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value};

use crate::policy::ConfigurationError;
use crate::policy::units::{Size, Span};

pub(super) type Fault = ConfigurationError;

/// An object that is being read.
pub(super) struct Fields {
    path: String,
    members: Map<String, Value>,
    known: Vec<&'static str>,
}

/// A value and where it stands.
pub(super) struct Placed {
    pub(super) path: String,
    pub(super) value: Value,
}

impl Placed {
    pub(super) fn fields(self) -> Result<Fields, Fault> {
        match self.value {
            Value::Object(members) => Ok(Fields { path: self.path, members, known: Vec::new() }),
            _ => Err(wrong(self.path, "an object")),
        }
    }

    pub(super) fn list(self) -> Result<Vec<Placed>, Fault> {
        let Value::Array(items) = self.value else { return Err(wrong(self.path, "a list")) };
        let placed = |(at, value)| Placed { path: format!("{}[{at}]", self.path), value };
        Ok(items.into_iter().enumerate().map(placed).collect())
    }

    pub(super) fn text(self) -> Result<String, Fault> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(wrong(self.path, "text")),
        }
    }

    /// Which of these names it is.
    pub(super) fn choice(self, names: &[&str]) -> Result<usize, Fault> {
        let path = self.path.clone();
        let text = self.text()?;
        names.iter().position(|name| *name == text).ok_or_else(|| {
            let message = format!("`{text}` is not known here: write one of `{}`", names.join("`, `"));
            Fault { path, message }
        })
    }
}

impl Fields {
    /// A member, if it is there.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Placed> {
        self.known.push(name);
        let value = self.members.remove(name)?;
        Some(Placed { path: join(&self.path, name), value })
    }

    /// A member that must be there.
    pub(super) fn need(&mut self, name: &'static str) -> Result<Placed, Fault> {
        let path = self.path.clone();
        self.take(name).ok_or_else(|| Fault { path, message: format!("`{name}` is missing: write it") })
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, Fault> {
        self.take(name).map(Placed::text).transpose()
    }

    pub(super) fn texts(&mut self, name: &'static str) -> Result<Vec<String>, Fault> {
        match self.take(name) {
            Some(placed) => placed.list()?.into_iter().map(Placed::text).collect(),
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Placed { value: Value::Bool(flag), .. }) => Ok(Some(flag)),
            Some(other) => Err(wrong(other.path, "true or false")),
        }
    }

    /// A whole number from 0 to `most`.
    pub(super) fn number(&mut self, name: &'static str, most: u64) -> Result<Option<u64>, Fault> {
        let Some(placed) = self.take(name) else { return Ok(None) };
        match placed.value.as_u64().filter(|number| *number <= most) {
            Some(number) => Ok(Some(number)),
            None => Err(wrong(placed.path, &format!("a whole number up to {most}"))),
        }
    }

    pub(super) fn span(&mut self, name: &'static str) -> Result<Option<Span>, Fault> {
        let Some(placed) = self.take(name) else { return Ok(None) };
        let path = placed.path.clone();
        Span::parse(&placed.text()?).map(Some).map_err(|message| Fault { path, message })
    }

    pub(super) fn size(&mut self, name: &'static str) -> Result<Option<Size>, Fault> {
        let Some(placed) = self.take(name) else { return Ok(None) };
        if let Some(bytes) = placed.value.as_u64() {
            return Ok(Some(Size(bytes)));
        }
        let path = placed.path.clone();
        Size::parse(&placed.text()?).map(Some).map_err(|message| Fault { path, message })
    }

    /// Which of these names a member is; the first, if it is not there.
    pub(super) fn choice(&mut self, name: &'static str, names: &[&str]) -> Result<usize, Fault> {
        self.take(name).map_or(Ok(0), |placed| placed.choice(names))
    }

    /// An object that need not be there.
    pub(super) fn object(&mut self, name: &'static str) -> Result<Fields, Fault> {
        let empty = || Placed { path: join(&self.path, name), value: Value::Object(Map::new()) };
        let absent = empty();
        self.take(name).unwrap_or(absent).fields()
    }

    /// All members that were not asked for by name, which may be any.
    pub(super) fn others(self) -> Vec<(String, Placed)> {
        let path = self.path;
        self.members
            .into_iter()
            .map(|(name, value)| {
                let path = join(&path, &name);
                (name, Placed { path, value })
            })
            .collect()
    }

    /// No member may be left.
    pub(super) fn end(self) -> Result<(), Fault> {
        let Some(name) = self.members.keys().next() else { return Ok(()) };
        let message = format!("unknown field `{name}`: write one of `{}`", self.known.join("`, `"));
        Err(Fault { path: join(&self.path, name), message })
    }
}

fn wrong(path: String, expected: &str) -> Fault {
    Fault { path, message: "write ".to_string() + expected }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { [path, name].join(".") }
}
