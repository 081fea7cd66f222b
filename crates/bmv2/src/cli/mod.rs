//! The commands of `simple_switch_CLI`: from a line of words to calls, and from replies to text.
//!
//! ```text
//! table_add ipv4_lpm forward 10.0.1.0/24 => 1   ──> standard:bm_mt_add_entry(...) ──> Entry has been added with handle 0
//! ```
//!
//! Commands accept the same words and print the same text as `simple_switch_CLI`, as far as scripts depend on them.

mod calls;
mod commands;
mod completion;
mod device;
mod objects;
mod profiles;
mod program;
mod replication;
mod show;
mod tables;
mod words;

use crate::wire::{Fields, Value};
use base_diag::did_you_mean;
use commands::COMMANDS;
use program::Program;

/// Why a call did not give a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotDone {
    /// The exception that the method declares, with its code.
    Declared(i32),
    /// Anything else, as text.
    Failed(String),
}

/// A connection to a switch.
pub trait Caller {
    /// Calls `SERVICE:METHOD`; the result of methods without a value is empty.
    fn call(&mut self, method: &str, arguments: Fields) -> Result<Option<Value>, NotDone>;

    /// Writes a file on the client's machine.
    fn write_file(&mut self, file: &str, bytes: &[u8]) -> Result<(), String>;
}

/// The commands for one switch.
pub struct Cli<C> {
    caller: C,
    program: Program,
}

impl<C: Caller> Cli<C> {
    /// Asks the switch for its program.
    pub fn new(mut caller: C) -> Result<Cli<C>, String> {
        let program = read_program(&mut caller)?;
        Ok(Cli { caller, program })
    }

    /// Executes a line. Returns the text to print, or the reason why nothing was done.
    pub fn run(&mut self, line: &str) -> Result<String, String> {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { return Ok(String::new()) };
        let words: Vec<&str> = words.collect();
        if name == "help" || name == "?" {
            return help(words.first().copied());
        }
        let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
            return Err(unknown(name));
        };
        let mut line = words::Line { words: &words, form: command.form, name, program: &self.program };
        command.run(&mut line, &mut self.caller)
    }

    /// Completions for the end of a text, and the position at which the last word begins.
    pub fn complete(&self, before: &str) -> (usize, Vec<String>) {
        let start = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        let (earlier, word) = before.split_at(start);
        let earlier: Vec<&str> = earlier.split_whitespace().collect();
        let mut all = completion::candidates(&self.program, &earlier);
        all.retain(|name| name.starts_with(word) || name.contains(&format!(".{word}")) && !word.is_empty());
        all.sort();
        all.dedup();
        (start, all)
    }

    /// Hint for the next word after this text, which ends in a space.
    pub fn hint(&self, before: &str) -> Option<String> {
        let words: Vec<&str> = before.split_whitespace().collect();
        before.ends_with(' ').then(|| completion::hint(&self.program, &words)).flatten()
    }
}

fn read_program(caller: &mut impl Caller) -> Result<Program, String> {
    match caller.call("standard:bm_get_config", vec![]) {
        Ok(Some(Value::String(json))) => Program::read(&String::from_utf8_lossy(&json)),
        Ok(_) => Err("the switch gives no configuration".to_string()),
        Err(NotDone::Failed(why)) => Err(why),
        Err(NotDone::Declared(code)) => Err(format!("the switch gives no configuration: error {code}")),
    }
}

fn help(name: Option<&str>) -> Result<String, String> {
    match name {
        None => Ok(COMMANDS.iter().map(|command| format!("  {} {}\n", command.name, command.form)).collect()),
        Some(name) => match COMMANDS.iter().find(|command| command.name == name) {
            Some(command) => Ok(format!("{} {}\n    {}\n", command.name, command.form, command.what)),
            None => Err(unknown(name)),
        },
    }
}

fn unknown(name: &str) -> String {
    let near = did_you_mean(name, COMMANDS.iter().map(|command| command.name));
    let hint = near.map_or("`help` lists the commands".to_string(), |near| format!("did you mean `{near}`?"));
    format!("there is no command `{name}`: {hint}")
}
