//! A program as clients see it, from the JSON of [`description`](crate::description()) or of BMv2.

use crate::catalog::KeyKind;
use serde_json::Value;
use std::collections::BTreeMap;

/// Tables, actions and objects.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Program {
    pub tables: Vec<Table>,
    pub actions: Vec<Action>,
    pub profiles: Vec<String>,
    pub counters: Vec<Object>,
    pub meters: Vec<Object>,
    pub registers: Vec<Object>,
    /// Names and widths.
    pub value_sets: Vec<(String, i32)>,
    /// Names and algorithms.
    pub calculations: Vec<(String, String)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    pub name: String,
    /// Entries have a priority.
    pub is_ranked: bool,
    pub profile: Option<String>,
    /// Names of actions.
    pub actions: Vec<String>,
    pub keys: Vec<Key>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    pub name: String,
    pub kind: KeyKind,
    pub bits: i32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    pub name: String,
    /// Names and widths.
    pub params: Vec<(String, i32)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    pub name: String,
    /// The table of a direct object.
    pub table: Option<String>,
    pub size: i64,
}

fn list<'v>(of: &'v Value, key: &str) -> &'v [Value] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

fn text(of: &Value) -> String {
    of.as_str().unwrap_or_default().to_string()
}

fn width(of: &Value) -> i32 {
    of.as_i64()
        .and_then(|bits| i32::try_from(bits).ok())
        .filter(|bits| (0..=1 << 16).contains(bits))
        .unwrap_or(0)
}

impl Program {
    /// Reads the JSON; missing parts are empty.
    pub fn read(json: &str) -> Result<Program, String> {
        let all: Value = serde_json::from_str(json).map_err(|error| format!("the switch's JSON: {error}"))?;
        let mut widths: BTreeMap<(&str, &str), i32> = BTreeMap::new();
        for header in list(&all, "headers") {
            let of = |kind: &&Value| kind["name"] == header["header_type"];
            let fields =
                list(&all, "header_types").iter().find(of).map_or(&[][..], |kind| list(kind, "fields"));
            for field in fields {
                let name = (header["name"].as_str().unwrap_or(""), field[0].as_str().unwrap_or(""));
                widths.insert(name, width(&field[1]));
            }
        }
        let mut program = Program::default();
        for pipeline in list(&all, "pipelines") {
            program.tables.extend(list(pipeline, "tables").iter().map(|json| table(json, &widths)));
            program.profiles.extend(list(pipeline, "action_profiles").iter().map(|json| text(&json["name"])));
        }
        let action = |json: &Value| {
            let param = |param: &Value| (text(&param["name"]), width(&param["bitwidth"]));
            Action {
                name: text(&json["name"]),
                params: list(json, "runtime_data").iter().map(param).collect(),
            }
        };
        program.actions = list(&all, "actions").iter().map(action).collect();
        let objects = |key| list(&all, key).iter().map(object).collect();
        (program.counters, program.meters) = (objects("counter_arrays"), objects("meter_arrays"));
        program.registers = objects("register_arrays");
        let set = |json: &Value| (text(&json["name"]), width(&json["compressed_bitwidth"]));
        program.value_sets = list(&all, "parse_vsets").iter().map(set).collect();
        let calculation = |json: &Value| (text(&json["name"]), text(&json["algo"]));
        program.calculations = list(&all, "calculations").iter().map(calculation).collect();
        Ok(program)
    }

    /// The action with this name among those of a table or profile.
    pub fn action<'p>(&'p self, among: &'p [String], name: &str) -> Option<&'p Action> {
        let name = resolve(among.iter().map(String::as_str), name)?;
        self.actions.iter().find(|action| action.name == name)
    }

    /// The actions that a profile's members may run.
    pub fn actions_of(&self, profile: &str) -> Vec<String> {
        let tables = self.tables.iter().filter(|table| table.profile.as_deref() == Some(profile));
        tables.flat_map(|table| table.actions.iter().cloned()).collect()
    }
}

fn table(json: &Value, widths: &BTreeMap<(&str, &str), i32>) -> Table {
    let key = |key: &Value| {
        let target = (key["target"][0].as_str().unwrap_or(""), key["target"][1].as_str().unwrap_or(""));
        let kind = match key["match_type"].as_str() {
            Some("lpm") => KeyKind::Lpm,
            Some("ternary") => KeyKind::Ternary,
            Some("range") => KeyKind::Range,
            _ => KeyKind::Exact,
        };
        let name = key["name"].as_str().map_or_else(|| format!("{}.{}", target.0, target.1), str::to_string);
        let bits = if target.1 == "$valid$" { 1 } else { widths.get(&target).copied().unwrap_or(0) };
        Key { name, kind, bits }
    };
    Table {
        name: text(&json["name"]),
        is_ranked: matches!(json["match_type"].as_str(), Some("ternary" | "range")),
        profile: json["action_profile"].as_str().map(str::to_string),
        actions: list(json, "actions").iter().map(text).collect(),
        keys: list(json, "key").iter().map(key).collect(),
    }
}

fn object(json: &Value) -> Object {
    let table = json["is_direct"].as_bool().unwrap_or(false).then(|| text(&json["binding"]));
    Object { name: text(&json["name"]), table, size: json["size"].as_i64().unwrap_or(0) }
}

/// Resolves a name: the full name, or a suffix that no other name has.
pub fn resolve<'n>(mut all: impl Iterator<Item = &'n str> + Clone, name: &str) -> Option<&'n str> {
    if let Some(whole) = all.clone().find(|known| *known == name) {
        return Some(whole);
    }
    let ends = |known: &&str| known.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    let first = all.find(ends)?;
    all.find(|known| ends(known) && *known != first).is_none().then_some(first)
}
