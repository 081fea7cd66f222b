//! Completions of a partial command, for prompts.

use super::commands::{COMMANDS, Command};
use super::program::{Key, Object, Program, resolve};

/// The names that may follow these words: by the command's form.
pub fn candidates(program: &Program, earlier: &[&str]) -> Vec<String> {
    let Some((name, given)) = earlier.split_first() else {
        return COMMANDS.iter().map(|command| command.name.to_string()).collect();
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == *name) else { return vec![] };
    let tables = || program.tables.iter().map(|table| table.name.as_str());
    let named = |word: Option<&&str>| {
        let name = resolve(tables(), word?)?;
        program.tables.iter().find(|table| table.name == name)
    };
    let objects = |all: &[Object]| all.iter().map(|object| object.name.clone()).collect();
    match command.form.split_whitespace().nth(given.len()) {
        Some("TABLE") => tables().map(str::to_string).collect(),
        Some("PROFILE") => program.profiles.clone(),
        Some("COUNTER") => objects(&program.counters),
        Some("METER") => objects(&program.meters),
        Some("REGISTER") => objects(&program.registers),
        Some("SET") => program.value_sets.iter().map(|(name, _)| name.clone()).collect(),
        Some("ACTION") => match named(given.first()) {
            Some(table) => table.actions.clone(),
            None => given.first().map_or(vec![], |profile| {
                let known = resolve(program.profiles.iter().map(String::as_str), profile);
                known.map_or(vec![], |profile| program.actions_of(profile))
            }),
        },
        _ => match next_key(program, command, given) {
            Some(None) => vec!["=>".to_string()],
            _ => vec![],
        },
    }
}

/// The key that stands next in a command with keys; nothing in it after the last one.
fn next_key<'p>(program: &'p Program, command: &Command, given: &[&str]) -> Option<Option<&'p Key>> {
    let before = command.form.split_whitespace().position(|word| word == "KEY...")?;
    let name = resolve(program.tables.iter().map(|table| table.name.as_str()), given.first()?)?;
    let table = program.tables.iter().find(|table| table.name == name)?;
    if given.contains(&"=>") {
        return None;
    }
    Some(table.keys.get(given.len().checked_sub(before)?))
}

/// Hint for the user: the next key with its kind and width, or the rest of the form.
pub fn hint(program: &Program, earlier: &[&str]) -> Option<String> {
    let (name, given) = earlier.split_first()?;
    let command = COMMANDS.iter().find(|command| command.name == *name)?;
    if let Some(Some(key)) = next_key(program, command, given) {
        return Some(format!("{}:{}/{}", key.name, key.kind.name(), key.bits));
    }
    let arrow = given.iter().position(|word| *word == "=>");
    if let (Some(arrow), true) = (arrow, *name == "table_add") {
        let action = program.actions.iter().map(|action| action.name.as_str());
        let action = resolve(action, given.get(1)?)?;
        let action = program.actions.iter().find(|known| known.name == action)?;
        let (param, bits) = action.params.get(given.len() - arrow - 1)?;
        return Some(format!("{param}/{bits}"));
    }
    let rest: Vec<&str> = command.form.split_whitespace().skip(given.len()).collect();
    (!rest.is_empty() && arrow.is_none()).then(|| rest.join(" "))
}
