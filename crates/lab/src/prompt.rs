//! The prompt: lines from a terminal with editing and history, or from a file or pipe.

use crate::command::{COMMANDS, Done, Ways, perform};
use crate::network::Network;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};
use std::io::{BufRead, IsTerminal, Write};

/// Reads and does commands until the lab is to end. False if commands did not come from a terminal and one failed.
pub fn run(network: &Network) -> bool {
    if !std::io::stdin().is_terminal() {
        return from_pipe(network);
    }
    let names = names(network);
    let config = Config::builder().auto_add_history(true).build();
    let Ok(mut editor) = Editor::<Names, MemHistory>::with_history(config, MemHistory::new()) else {
        return from_pipe(network);
    };
    editor.set_helper(Some(Names(names)));
    loop {
        match editor.readline("p4rack> ") {
            Ok(line) => match perform(network, &line, Ways::Terminal) {
                Done::Exit => return true,
                Done::Well(text) => print(&text),
                Done::Badly(text) => print(&text),
            },
            Err(ReadlineError::Interrupted) => {}
            Err(_) => return true,
        }
    }
}

fn from_pipe(network: &Network) -> bool {
    let mut all_well = true;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        // A host's command must not take the lines after it: it reads nothing.
        match perform(network, &line, Ways::Captured) {
            Done::Exit => break,
            Done::Well(text) => print(&text),
            Done::Badly(text) => {
                print(&text);
                all_well = false;
            }
        }
    }
    all_well
}

fn print(text: &str) {
    let mut out = std::io::stdout();
    // Nobody listens.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Names of nodes and commands.
fn names(network: &Network) -> Vec<String> {
    let commands = COMMANDS.iter().filter_map(|(form, _)| form.split(' ').next());
    let commands =
        commands.filter(|name| name.chars().all(|c| c.is_ascii_lowercase())).map(ToString::to_string);
    commands.chain(network.lab.names().map(ToString::to_string)).collect()
}

/// Completes names.
struct Names(Vec<String>);

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before = line.get(..at).unwrap_or_default();
        let start = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        let word = before.get(start..).unwrap_or_default();
        Ok((start, self.0.iter().filter(|name| name.starts_with(word)).cloned().collect()))
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}
