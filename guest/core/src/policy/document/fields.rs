//! Reading an object member by member, out of the document's canonical form. The first fault is kept with its place; what
//! was to be read there has some value then, so that reading goes on, and nobody sees it.
//!
//! Written out rather than derived, and without a value tree: derived readers were a third of the component.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::canonical::json::Form;
use crate::policy::ConfigurationError;
use crate::policy::units::{Size, Span};

/// The first fault, if there is one.
#[derive(Default)]
pub(super) struct Faults(RefCell<Option<ConfigurationError>>);

impl Faults {
    #[inline(never)]
    fn tell(&self, path: &str, message: String) {
        self.0.borrow_mut().get_or_insert_with(|| ConfigurationError { path: path.into(), message });
    }

    pub(super) fn first(self) -> Option<ConfigurationError> {
        self.0.into_inner()
    }
}

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Placed<'f> {
    pub(super) path: String,
    pub(super) form: Form<'f>,
    pub(super) faults: &'f Faults,
}

/// An object that is being read.
pub(super) struct Fields<'f> {
    object: Placed<'f>,
    known: Vec<&'static str>,
    missing: Option<&'static str>,
}

/// Stands for a member that is not there. Nothing is told of it: its object tells that it is missing.
const MISSING: Form<'static> = Form(b"");

impl<'f> Placed<'f> {
    #[inline(never)]
    pub(super) fn tell(&self, message: &str) {
        if self.form != MISSING {
            self.faults.tell(&self.path, message.into());
        }
    }

    pub(super) fn is_text(&self) -> bool {
        self.form.0.starts_with(b"\"")
    }

    #[inline(never)]
    pub(super) fn fields(self) -> Fields<'f> {
        if self.form.members().is_none() {
            self.tell("write an object");
        }
        Fields { object: self, known: Vec::new(), missing: None }
    }

    #[inline(never)]
    pub(super) fn list(self) -> Vec<Placed<'f>> {
        let Some(elements) = self.form.elements() else {
            self.tell("write a list");
            return Vec::new();
        };
        let placed = |(at, form)| Placed { path: format!("{}[{at}]", self.path), form, faults: self.faults };
        elements.enumerate().map(placed).collect()
    }

    #[inline(never)]
    pub(super) fn text(&self) -> String {
        self.form.text().unwrap_or_else(|| {
            self.tell("write text");
            String::new()
        })
    }

    #[inline(never)]
    pub(super) fn texts(self) -> Vec<String> {
        self.list().iter().map(Placed::text).collect()
    }

    /// Which of these names it is.
    #[inline(never)]
    pub(super) fn choice(&self, names: &[&str]) -> usize {
        let text = self.text();
        names.iter().position(|name| *name == text).unwrap_or_else(|| {
            self.tell(&format!("`{text}` is not known here: write one of `{}`", names.join("`, `")));
            0
        })
    }
}

impl<'f> Fields<'f> {
    /// A member, if it is there.
    #[inline(never)]
    pub(super) fn take(&mut self, name: &'static str) -> Option<Placed<'f>> {
        self.known.push(name);
        let quoted = format!("\"{name}\"");
        let (_, form) = self.object.form.members()?.find(|(held, _)| held.0 == quoted.as_bytes())?;
        Some(self.placed(name, form))
    }

    /// A member that must be there.
    #[inline(never)]
    pub(super) fn need(&mut self, name: &'static str) -> Placed<'f> {
        let found = self.take(name);
        found.unwrap_or_else(|| {
            self.missing = self.missing.or(Some(name));
            self.placed(name, MISSING)
        })
    }

    /// An object that need not be there.
    #[inline(never)]
    pub(super) fn object(&mut self, name: &'static str) -> Fields<'f> {
        self.take(name).unwrap_or_else(|| self.placed(name, Form::EMPTY)).fields()
    }

    #[inline(never)]
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.take(name).map(|placed| placed.text())
    }

    #[inline(never)]
    pub(super) fn texts(&mut self, name: &'static str) -> Vec<String> {
        self.take(name).map(Placed::texts).unwrap_or_default()
    }

    #[inline(never)]
    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        let placed = self.take(name)?;
        if !matches!(placed.form.0, b"true" | b"false") {
            placed.tell("write true or false");
        }
        Some(placed.form.0 == b"true")
    }

    /// A whole number from 0 to `most`.
    #[inline(never)]
    pub(super) fn number(&mut self, name: &'static str, most: u32) -> Option<u32> {
        let placed = self.take(name)?;
        let number =
            placed.form.number().and_then(|number| u32::try_from(number).ok()).filter(|number| *number <= most);
        if number.is_none() {
            placed.tell(&format!("write a whole number up to {most}"));
        }
        number
    }

    #[inline(never)]
    pub(super) fn span(&mut self, name: &'static str) -> Option<Span> {
        let placed = self.take(name)?;
        Span::parse(&placed.text()).map_err(|message| placed.tell(&message)).ok()
    }

    #[inline(never)]
    pub(super) fn size(&mut self, name: &'static str) -> Option<Size> {
        let placed = self.take(name)?;
        match placed.form.number() {
            Some(bytes) => Some(Size(bytes)),
            None => Size::parse(&placed.text()).map_err(|message| placed.tell(&message)).ok(),
        }
    }

    /// Which of these names a member is; the first, if it is not there.
    #[inline(never)]
    pub(super) fn choice(&mut self, name: &'static str, names: &[&str]) -> usize {
        self.take(name).map_or(0, |placed| placed.choice(names))
    }

    /// All members, by any names.
    #[inline(never)]
    pub(super) fn all(self) -> Vec<(String, Placed<'f>)> {
        let members = self.object.form.members().into_iter().flatten();
        members
            .map(|(name, form)| {
                let name = name.text().unwrap_or_default();
                let placed = self.placed(&name, form);
                (name, placed)
            })
            .collect()
    }

    /// No other member may be there than those that were asked for.
    #[inline(never)]
    pub(super) fn end(self) {
        for (name, form) in self.object.form.members().into_iter().flatten() {
            let name = name.text().unwrap_or_default();
            if !self.known.contains(&name.as_str()) {
                let known = self.known.join("`, `");
                self.placed(&name, form).tell(&format!("unknown field `{name}`: write one of `{known}`"));
            }
        }
        // Told after a name that is not known, which may be this one misspelled.
        if let Some(name) = self.missing {
            self.object.tell(&format!("`{name}` is missing: write it"));
        }
    }

    fn placed(&self, name: &str, form: Form<'f>) -> Placed<'f> {
        let path = match self.object.path.as_str() {
            "" => name.into(),
            path => [path, name].join("."),
        };
        Placed { path, form, faults: self.object.faults }
    }
}
