//! A prompt: lines from a terminal with editing, completion and history, or from a file or pipe.

use crate::command::{COMMANDS, Done, Streams, perform};
use crate::dump;
use crate::network::Network;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};
use std::cell::RefCell;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

/// Commands of a prompt.
pub trait Commands {
    /// Does a line.
    fn perform(&mut self, line: &str, streams: Streams) -> Done;

    /// Completions for the end of a text, and the position at which the last word begins.
    fn complete(&self, before: &str) -> (usize, Vec<String>);

    /// Hint for the next word.
    fn hint(&self, _before: &str) -> Option<String> {
        None
    }
}

/// Reads and does commands until the lab is to end. False if commands did not come from a terminal and one failed.
pub fn run(network: &Network) -> bool {
    read_commands("p4rack> ", None, OfLab { network, names: names(network) })
}

/// Reads and does commands until the end. Lines of before are in the file `history`. False if commands did not come from a terminal and one failed.
pub fn read_commands(text: &str, history: Option<&Path>, commands: impl Commands) -> bool {
    let commands = RefCell::new(commands);
    if !std::io::stdin().is_terminal() {
        return from_pipe(&commands);
    }
    let config = Config::builder().auto_add_history(true).build();
    let Ok(mut editor) = Editor::<Names<'_, _>, FileHistory>::with_config(config) else {
        return from_pipe(&commands);
    };
    // Without its file, a prompt has no history.
    let _ = history.map(|file| editor.load_history(file));
    editor.set_helper(Some(Names(&commands)));
    loop {
        match editor.readline(text) {
            Ok(line) => {
                let done = commands.borrow_mut().perform(&line, Streams::Terminal);
                match done {
                    Done::Exit => break,
                    Done::Well(text) | Done::Badly(text) => print(&text),
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(_) => break,
        }
    }
    if let Some(file) = history {
        let _ = file.parent().map(std::fs::create_dir_all);
        let _ = editor.save_history(file);
    }
    true
}

fn from_pipe(commands: &RefCell<impl Commands>) -> bool {
    let mut all_well = true;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        // A host's command must not take the lines after it: it reads nothing.
        let done = commands.borrow_mut().perform(&line, Streams::Captured);
        match done {
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
    // The reader of the output has gone.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The commands of a lab.
struct OfLab<'n> {
    network: &'n Network,
    names: Vec<String>,
}

impl Commands for OfLab<'_> {
    fn perform(&mut self, line: &str, streams: Streams) -> Done {
        perform(self.network, line, streams)
    }

    fn complete(&self, before: &str) -> (usize, Vec<String>) {
        let first = before.split_whitespace().next().unwrap_or_default();
        let after = before.find(first).unwrap_or(0) + first.len();
        if let (Some(switch), true) = (self.network.lab.switch(first), after < before.len()) {
            let (start, names) = of_switch(self.network, switch, &before[after..]);
            return (after + start, names);
        }
        let start = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        let word = before.get(start..).unwrap_or_default();
        (start, self.names.iter().filter(|name| name.starts_with(word)).cloned().collect())
    }
}

/// Completes a command of a switch: its own commands, and those of `p4rack cli` with tables, actions and keys.
fn of_switch(network: &Network, switch: usize, before: &str) -> (usize, Vec<String>) {
    let thrift = network.switches.get(switch).and_then(|about| about.thrift);
    let client = thrift.and_then(|address| bmv2_thrift::Client::connect(&address.to_string()).ok());
    let cli = client.and_then(|client| bmv2::cli::Cli::new(client).ok());
    let start = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
    let (start, mut names) = cli.map_or((start, vec![]), |cli| cli.complete(before));
    if before[..start].trim().is_empty() {
        let own = dump::COMMANDS.iter().filter(|name| name.starts_with(&before[start..]));
        names.extend(own.map(ToString::to_string));
        names.sort();
        names.dedup();
    }
    (start, names)
}

/// Names of nodes and commands.
fn names(network: &Network) -> Vec<String> {
    let commands = COMMANDS.iter().filter_map(|(form, _)| form.split(' ').next());
    let commands =
        commands.filter(|name| name.chars().all(|c| c.is_ascii_lowercase())).map(ToString::to_string);
    commands.chain(network.lab.names().map(ToString::to_string)).collect()
}

/// Completes names and shows hints.
struct Names<'c, C>(&'c RefCell<C>);

impl<C: Commands> Completer for Names<'_, C> {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.0.borrow().complete(line.get(..at).unwrap_or_default()))
    }
}

impl<C: Commands> Hinter for Names<'_, C> {
    type Hint = String;

    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<String> {
        if at == line.len() { self.0.borrow().hint(line) } else { None }
    }
}

impl<C: Commands> Highlighter for Names<'_, C> {}
impl<C: Commands> Validator for Names<'_, C> {}
impl<C: Commands> Helper for Names<'_, C> {}
