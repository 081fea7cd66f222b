//! The format of a file, by its name and text.

use base_json::{Json, Kind};

/// A format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The tutorials' `topology.json`.
    Tutorial,
    /// p4-utils' `p4app.json`.
    P4App,
    /// `RACK.toml`
    Rack,
}

/// The format of a file; `None` if it has none of them. JSON formats are distinguished by their keys: `p4app.json` contains its topology.
pub fn form(name: &str, text: &str) -> Option<Form> {
    if name.ends_with(".toml") {
        return Some(Form::Rack);
    }
    let Ok(Json { kind: Kind::Object(members), .. }) = base_json::parse(text, 1) else {
        // The reader of that format reports its mistakes.
        return name.ends_with(".json").then_some(Form::Tutorial);
    };
    let has = |key: &str| members.iter().any(|member| member.name == key);
    match (has("topology"), has("hosts") || has("switches") || has("links")) {
        (true, _) => Some(Form::P4App),
        (false, true) => Some(Form::Tutorial),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_distinguished() {
        assert_eq!(form("RACK.toml", ""), Some(Form::Rack));
        assert_eq!(form("topology.json", "{\"hosts\": {}}"), Some(Form::Tutorial));
        assert_eq!(form("p4app.json", "{\"topology\": {\"hosts\": {}}}"), Some(Form::P4App));
        assert_eq!(form("topology.json", "{"), Some(Form::Tutorial));
        assert_eq!(form("s1-runtime.json", "{\"table_entries\": []}"), None);
        assert_eq!(form("notes.txt", "hosts"), None);
    }
}
