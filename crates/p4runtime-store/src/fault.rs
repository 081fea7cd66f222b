//! Why an update or a query is refused, and where in it.

use p4runtime_proto::google::rpc::Code;
use std::fmt;

/// Why a message is refused, and where in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The canonical code that P4Runtime wants for it.
    pub code: Code,
    /// Title, of at most ten words.
    pub title: String,
    /// Why at this place.
    pub why: String,
    /// Suggestion of what to write instead.
    pub help: Option<String>,
    /// The table or object that it is about.
    pub owner: Option<String>,
    /// The fields that lead to the place, the innermost first, each with its index.
    pub path: Vec<(&'static str, usize)>,
}

impl fmt::Display for Fault {
    /// `table_entry.match[1].lpm: the prefix is too long: the field has 32 bits (an entry of table ...)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, (field, index)) in self.path.iter().rev().enumerate() {
            let dot = if depth == 0 { "" } else { "." };
            write!(f, "{dot}{field}")?;
            if *index > 0 {
                write!(f, "[{index}]")?;
            }
        }
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}: {}", self.title, self.why)?;
        if let Some(owner) = &self.owner {
            write!(f, " (in {owner})")?;
        }
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

/// Result of a request that may be refused.
pub type Result<T> = std::result::Result<T, Box<Fault>>;

/// A fault right here: `INVALID_ARGUMENT` unless [`Within::code`] says otherwise.
pub fn fault<T>(title: impl Into<String>, why: impl Into<String>) -> Result<T> {
    let (title, why) = (title.into(), why.into());
    Err(Box::new(Fault { code: Code::InvalidArgument, title, why, help: None, owner: None, path: vec![] }))
}

/// Refuses a feature that this version does not support.
pub fn not_supported<T>(what: &str) -> Result<T> {
    fault(format!("not supported yet: {what}"), "the request sets it").code(Code::Unimplemented)
}

/// Ids and names to choose from; the first of many.
pub(crate) fn listed<'n>(all: impl Iterator<Item = (u32, &'n str)>) -> Option<String> {
    const MOST: usize = 12;
    let mut known: Vec<String> = all.take(MOST + 1).map(|(id, name)| format!("{id} `{name}`")).collect();
    if known.len() > MOST {
        known.truncate(MOST);
        known.push("...".to_string());
    }
    (!known.is_empty()).then(|| format!("known ids: {}", known.join(", ")))
}

/// Adds the place and the code to a fault.
pub trait Within: Sized {
    /// In this element of this field.
    #[must_use]
    fn at(self, field: &'static str, index: usize) -> Self;
    /// Adds the name of the table or object, unless an error already has one.
    #[must_use]
    fn about(self, owner: impl FnOnce() -> String) -> Self;
    /// With this advice.
    #[must_use]
    fn help(self, help: impl FnOnce() -> Option<String>) -> Self;
    /// With this canonical code.
    #[must_use]
    fn code(self, code: Code) -> Self;
    /// In this field.
    #[must_use]
    fn within(self, field: &'static str) -> Self {
        self.at(field, 0)
    }
}

impl<T> Within for Result<T> {
    fn at(self, field: &'static str, index: usize) -> Self {
        self.map_err(|mut fault| {
            fault.path.push((field, index));
            fault
        })
    }

    fn about(self, owner: impl FnOnce() -> String) -> Self {
        self.map_err(|mut fault| {
            fault.owner.get_or_insert_with(owner);
            fault
        })
    }

    fn help(self, help: impl FnOnce() -> Option<String>) -> Self {
        self.map_err(|mut fault| {
            fault.help = help();
            fault
        })
    }

    fn code(self, code: Code) -> Self {
        self.map_err(|mut fault| {
            fault.code = code;
            fault
        })
    }
}
