//! Why an update is refused.

/// Why an update is refused, and where in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// What is wrong, in at most ten words.
    pub(crate) title: String,
    /// Why at this place.
    pub(crate) why: String,
    /// What to write instead.
    pub(crate) help: Option<String>,
    /// The table or object that it is about.
    pub(crate) owner: Option<String>,
    /// The fields that lead to the place, the innermost first.
    pub(crate) path: Vec<(&'static str, usize)>,
}

pub(crate) type Result<T> = std::result::Result<T, Box<Fault>>;

/// A fault right here.
pub(crate) fn fault<T>(title: impl Into<String>, why: impl Into<String>) -> Result<T> {
    Err(Box::new(Fault { title: title.into(), why: why.into(), help: None, owner: None, path: vec![] }))
}

/// What this version does not do.
pub(crate) fn not_supported<T>(what: &str) -> Result<T> {
    fault(format!("{what}: not supported yet"), "set here")
}

/// Ids and names to choose from; the first of many.
pub(crate) fn listed<'n>(all: impl Iterator<Item = (u32, &'n str)>) -> Option<String> {
    const MOST: usize = 12;
    let mut known: Vec<String> = all.take(MOST + 1).map(|(id, name)| format!("{id} `{name}`")).collect();
    if known.len() > MOST {
        known.truncate(MOST);
        known.push("...".to_string());
    }
    (!known.is_empty()).then(|| format!("there are: {}", known.join(", ")))
}

/// Where faults are.
pub(crate) trait Within {
    /// In this field.
    fn within(self, field: &'static str) -> Self;
    /// In this element of this field.
    fn at(self, field: &'static str, index: usize) -> Self;
    /// About this table or object, unless it is said already.
    fn about(self, owner: impl FnOnce() -> String) -> Self;
    /// With this advice.
    fn help(self, help: impl FnOnce() -> Option<String>) -> Self;
}

impl<T> Within for Result<T> {
    fn within(self, field: &'static str) -> Self {
        self.at(field, 0)
    }

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
}
