//! The commands of `simple_switch_CLI` that fill a device, checked as BMv2's `runtime_CLI.py` does.
//!
//! Commands that only show something are passed over, with a warning. Commands that change the program or the process are refused.

use crate::handles::{table_clear, table_delete, table_modify, table_reset_default, table_set_timeout};
use crate::profiles::{
    Profile, add_member_to_group, create_group, create_member, default_group, default_member, delete_group,
    delete_member, modify_member, remove_member_from_group,
};
use crate::{Args, Keys, Named, Run, Statement, Value, parse_match, parse_number};
use base_bits::num_bigint::BigUint;
use base_diag::codes::run::{COMMAND_PASSED_OVER, ENTRIES_SYNTAX};
use base_diag::{Diagnostic, Span};
use control_writes::Crc;
use std::collections::BTreeMap;

/// Commands that STF has too, with the same words.
const STF: [&str; 16] = [
    "counter_write",
    "mc_mgrp_create",
    "mc_mgrp_destroy",
    "mc_node_associate",
    "mc_node_create",
    "mc_node_destroy",
    "mc_node_dissociate",
    "mc_node_update",
    "mc_set_lag_membership",
    "meter_array_set_rates",
    "meter_set_rates",
    "mirroring_add",
    "mirroring_add_mc",
    "mirroring_delete",
    "register_reset",
    "register_write",
];

/// Our own readers.
const OURS: [(&str, Reader); 33] = [
    ("table_add", table_add),
    ("table_set_default", table_set_default),
    ("table_indirect_add", table_indirect_add),
    ("table_indirect_add_with_group", table_indirect_add_with_group),
    ("act_prof_create_member", create_member),
    ("act_prof_create_group", create_group),
    ("act_prof_add_member_to_group", add_member_to_group),
    ("act_prof_modify_member", modify_member),
    ("act_prof_delete_member", delete_member),
    ("act_prof_delete_group", delete_group),
    ("act_prof_remove_member_from_group", remove_member_from_group),
    // The names of before, which take the table.
    ("table_indirect_create_member", create_member),
    ("table_indirect_create_group", create_group),
    ("table_indirect_add_member_to_group", add_member_to_group),
    ("table_indirect_modify_member", modify_member),
    ("table_indirect_delete_member", delete_member),
    ("table_indirect_delete_group", delete_group),
    ("table_indirect_remove_member_from_group", remove_member_from_group),
    ("table_modify", table_modify),
    ("table_delete", table_delete),
    ("table_indirect_delete", table_delete),
    ("table_set_timeout", table_set_timeout),
    ("table_clear", table_clear),
    ("table_reset_default", table_reset_default),
    ("table_indirect_reset_default", table_reset_default),
    ("table_indirect_set_default", default_member),
    ("table_indirect_set_default_with_group", default_group),
    ("counter_reset", counter_reset),
    ("pvs_add", pvs_add),
    ("pvs_remove", pvs_remove),
    ("pvs_clear", pvs_clear),
    ("set_crc16_parameters", set_crc16_parameters),
    ("set_crc32_parameters", set_crc32_parameters),
];

/// Commands that show something.
const SHOW: [&str; 31] = [
    "?",
    "EOF",
    "act_prof_dump",
    "act_prof_dump_group",
    "act_prof_dump_member",
    "counter_read",
    "get_time_elapsed",
    "get_time_since_epoch",
    "greet",
    "help",
    "mc_dump",
    "meter_get_rates",
    "mirroring_get",
    "pvs_get",
    "register_read",
    "serialize_state",
    "show_actions",
    "show_ports",
    "show_pvs",
    "show_tables",
    "switch_info",
    "table_dump",
    "table_dump_entry",
    "table_dump_entry_from_key",
    "table_dump_group",
    "table_dump_member",
    "table_info",
    "table_num_entries",
    "table_show_actions",
    "write_config_to_file",
    "quit",
];

/// Commands about what a single device does not have here.
const ELSEWHERE: [(&str, &str); 5] = [
    ("reset_state", "a file is read into a device that holds nothing yet"),
    ("port_add", "ports are those of the command line or the rack"),
    ("port_remove", "ports are those of the command line or the rack"),
    ("set_queue_depth", "a rack's links have queues: `docs/emulator.md`"),
    ("set_queue_rate", "a rack's links have rates: `docs/emulator.md`"),
];

/// Commands that set queues behind the ports of a device: it does them itself, and a file's other commands fill it.
const QUEUES: [&str; 2] = ["set_queue_depth", "set_queue_rate"];

/// The lines of a file that set queues behind ports, for a device that has such queues.
pub fn queue_commands(text: &str) -> Vec<String> {
    let code = |raw: &str| raw.split('#').next().unwrap_or_default().trim().to_string();
    let sets_queues =
        |code: &String| code.split_whitespace().next().is_some_and(|word| QUEUES.contains(&word));
    text.lines().map(code).filter(sets_queues).collect()
}

/// True for the warning that such a line is skipped.
pub fn is_about_queues(warning: &Diagnostic) -> bool {
    warning.code == COMMAND_PASSED_OVER
        && QUEUES
            .iter()
            .any(|name| warning.title.strip_prefix('`').is_some_and(|rest| rest.starts_with(name)))
}

/// True for a command of `simple_switch_CLI` that files of entries may have, whether or not it writes to a device.
pub fn is_command(name: &str) -> bool {
    OURS.iter().any(|(known, _)| *known == name)
        || STF.contains(&name)
        || SHOW.contains(&name)
        || ELSEWHERE.iter().any(|(known, _)| *known == name)
}

type Reader = fn(&mut Line) -> Read;

/// Statement of a line; `None` if the line writes nothing to the device.
pub(crate) type Read = Result<Option<Statement>, Diagnostic>;

/// Reads a file of commands; `start` is the number of the text's first byte in its source map. Members and
/// groups are labelled with the handles that BMv2 would give them: `ecmp:0`. Diagnostics that are warnings are about commands
/// that are passed over.
pub fn read_commands(text: &str, start: u32) -> (Vec<Statement>, Vec<Diagnostic>) {
    let (text, start) = base_diag::without_mark(text, start);
    let mut state = State::default();
    let (mut statements, mut problems) = (vec![], vec![]);
    let mut at = start;
    for raw in text.split_inclusive('\n') {
        let code = raw.split('#').next().unwrap_or_default();
        // `simple_switch_CLI` passes over lines that are no commands: in files, such lines are comments as in P4.
        let code = if code.trim_start().starts_with("//") { "" } else { code };
        match command(&mut state, code, at) {
            Ok(Some(statement)) => statements.push(statement),
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
        at = at.saturating_add(u32::try_from(raw.len()).unwrap_or(u32::MAX));
    }
    problems.extend(passed_over(&state.passed_over));
    (statements, problems)
}

/// Effects of earlier lines.
#[derive(Default)]
struct State {
    /// Profiles by the name used in the file.
    profiles: BTreeMap<String, Profile>,
    /// Commands that only show something.
    passed_over: Vec<Named>,
}

pub(crate) struct Line<'s> {
    state: &'s mut State,
    /// Behind the command.
    pub(crate) words: Vec<Named>,
    /// All of it.
    pub(crate) span: Span,
}

fn command(state: &mut State, code: &str, at: u32) -> Read {
    let mut words = words(code, at);
    let (Some(first), Some(last)) = (words.first().cloned(), words.last().cloned()) else { return Ok(None) };
    let span = Span { lo: first.span.lo, hi: last.span.hi, ..Span::NONE };
    words.remove(0);
    if let Some((_, read)) = OURS.iter().find(|(name, _)| *name == first.text) {
        return read(&mut Line { state, words, span });
    }
    if STF.contains(&first.text.as_str()) {
        let (file, problems) = p4_stf::parse(code, at);
        return match (problems.into_iter().next(), file.statements.into_iter().next()) {
            (Some(problem), _) => Err(problem),
            (None, statement) => Ok(statement.map(Statement::Stf)),
        };
    }
    if SHOW.contains(&first.text.as_str()) {
        state.passed_over.push(first);
        return Ok(None);
    }
    if let Some((_, why)) = ELSEWHERE.iter().find(|(name, _)| *name == first.text) {
        let title = format!("`{}` is skipped", first.text);
        let warning = Diagnostic::warning(COMMAND_PASSED_OVER, "passed-over", title).at(first.span, *why);
        return Err(warning);
    }
    let known = OURS.iter().map(|(name, _)| *name).chain(STF);
    let title = format!("`{}` is not a command that writes to a device", shortened(&first.text));
    let problem = Diagnostic::error(ENTRIES_SYNTAX, title).at(first.span, "not supported here");
    Err(problem.suggest_or(&first.text, known.clone(), |d| {
        d.note(format!("read are: {}", known.collect::<Vec<_>>().join(", ")))
    }))
}

/// One warning for all commands that only show something, at the first of them.
fn passed_over(commands: &[Named]) -> Option<Diagnostic> {
    let first = commands.first()?;
    let title = match commands.len() {
        1 => "a command that only prints something is skipped".to_string(),
        n => format!("{n} commands that only print something are skipped"),
    };
    let mut names: Vec<&str> = commands.iter().map(|command| command.text.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let warning = Diagnostic::warning(COMMAND_PASSED_OVER, "passed-over", title).at(first.span, "here first");
    Some(warning.note(format!("they are: {}", names.join(", "))))
}

fn shortened(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

fn words(code: &str, at: u32) -> Vec<Named> {
    let mut found = vec![];
    let mut from = None;
    for (place, c) in code.char_indices().chain([(code.len(), ' ')]) {
        match (c.is_whitespace(), from) {
            (false, None) => from = Some(place),
            (true, Some(start)) => {
                let lo = at.saturating_add(start as u32);
                let span = Span { lo, hi: at.saturating_add(place as u32), ..Span::NONE };
                found.push(Named { text: code.get(start..place).unwrap_or_default().to_string(), span });
                from = None;
            }
            _ => {}
        }
    }
    found
}

impl Line<'_> {
    pub(crate) fn wrong(&self, span: Span, title: impl Into<String>, label: impl Into<String>) -> Diagnostic {
        Diagnostic::error(ENTRIES_SYNTAX, title).at(span, label)
    }

    /// The next word.
    pub(crate) fn take(&mut self, what: &str) -> Result<Named, Diagnostic> {
        if self.words.is_empty() {
            return Err(self.wrong(self.span, "this command is too short", format!("{what} is missing")));
        }
        Ok(self.words.remove(0))
    }

    /// Refuses words that are left.
    pub(crate) fn finish(&self) -> Result<(), Diagnostic> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(self.wrong(word.span, "this command is too long", "nothing follows here")),
        }
    }

    /// The words before and after `=>`; without it, all are before.
    fn halves(&mut self) -> (Vec<Named>, Option<Vec<Named>>) {
        let mut words = std::mem::take(&mut self.words);
        match words.iter().position(|w| w.text == "=>") {
            Some(at) => {
                let behind = words.split_off(at + 1);
                words.pop();
                (words, Some(behind))
            }
            None => (words, None),
        }
    }

    fn keys(&self, words: &[Named]) -> Result<Keys, Diagnostic> {
        let key = |word: &Named| match parse_match(&word.text) {
            Ok(value) => Ok(Value { value, span: word.span }),
            Err(error) => Err(self.wrong(word.span, "this is not a match", error.to_string())),
        };
        words.iter().map(key).collect::<Result<_, _>>().map(Keys::AsInBmv2)
    }

    pub(crate) fn args(&self, words: &[Named]) -> Result<Vec<Value<BigUint>>, Diagnostic> {
        let arg = |word: &Named| match parse_number(&word.text) {
            Ok(value) => Ok(Value { value, span: word.span }),
            Err(error) => Err(self.wrong(word.span, "this is not a number", error.to_string())),
        };
        words.iter().map(arg).collect()
    }

    /// A handle that BMv2 gave, and the word that says it.
    pub(crate) fn handle(&mut self, what: &str) -> Result<(u32, Named), Diagnostic> {
        let word = self.take(what)?;
        match word.text.parse::<u32>() {
            Ok(handle) => Ok((handle, word)),
            Err(_) => Err(self.wrong(word.span, "this is not a handle", "handles count up from 0")),
        }
    }

    /// Profile as earlier lines have left it.
    pub(crate) fn profile(&mut self, name: &Named) -> &mut Profile {
        self.state.profiles.entry(name.text.clone()).or_default()
    }
}

/// `table_add TABLE ACTION KEY... => ARG... [PRIORITY]`: whether there is a priority is known only
/// with the table and the action.
fn table_add(line: &mut Line) -> Read {
    let (table, action) = (line.take("the table")?, line.take("the action")?);
    let (keys, args) = line.halves();
    let Some(args) = args else {
        return Err(line.wrong(line.span, "`=>` is missing", "`=>` separates keys from arguments"));
    };
    let keys = line.keys(&keys)?;
    let args = Args::AndPriority(line.args(&args)?);
    Ok(Some(Statement::Entry {
        table,
        keys,
        run: Run::Action(action, args),
        priority: None,
        idle_timeout: None,
        rates: None,
        span: line.span,
    }))
}

/// `table_set_default TABLE ACTION ARG...`
fn table_set_default(line: &mut Line) -> Read {
    let (table, action) = (line.take("the table")?, line.take("the action")?);
    let (before, behind) = line.halves();
    let args = line.args(&behind.map_or(before.clone(), |behind| [before, behind].concat()))?;
    Ok(Some(Statement::Default { table, action, args: Args::InOrder(args), span: line.span }))
}

/// `table_indirect_add TABLE KEY... => MEMBER [PRIORITY]`
fn table_indirect_add(line: &mut Line) -> Read {
    indirect(line, Run::Member)
}

/// `table_indirect_add_with_group TABLE KEY... => GROUP [PRIORITY]`
fn table_indirect_add_with_group(line: &mut Line) -> Read {
    indirect(line, Run::Group)
}

fn indirect(line: &mut Line, run: fn(Named) -> Run) -> Read {
    let table = line.take("the table")?;
    let (keys, behind) = line.halves();
    let keys = line.keys(&keys)?;
    line.words = behind.unwrap_or_default();
    let (handle, word) = line.handle("the handle after `=>`")?;
    let handle = Named { text: handle.to_string(), span: word.span };
    let priority = match line.words.first() {
        Some(word) => match word.text.parse::<i32>() {
            // BMv2's smallest number wins; in statements the largest does.
            Ok(priority) => Some(-i64::from(priority)),
            Err(_) => {
                return Err(line.wrong(word.span, "this is not a priority", "the smallest number wins"));
            }
        },
        None => None,
    };
    Ok(Some(Statement::Entry {
        table,
        keys,
        run: run(handle),
        priority,
        idle_timeout: None,
        rates: None,
        span: line.span,
    }))
}

/// `pvs_add SET VALUE`
fn pvs_add(line: &mut Line) -> Read {
    let name = line.take("the value set")?;
    let words = std::mem::take(&mut line.words);
    match line.keys(&words)? {
        Keys::AsInBmv2(member) if !member.is_empty() => {
            Ok(Some(Statement::ValueSet { name, member, span: line.span }))
        }
        _ => Err(line.wrong(line.span, "this command is too short", "the value is missing")),
    }
}

/// `pvs_remove SET VALUE`
fn pvs_remove(line: &mut Line) -> Read {
    Ok(pvs_add(line)?.map(|statement| match statement {
        Statement::ValueSet { name, member, span } => Statement::RemoveFromValueSet { name, member, span },
        other => other,
    }))
}

/// `pvs_clear SET`
fn pvs_clear(line: &mut Line) -> Read {
    let name = line.take("the value set")?;
    line.finish()?;
    Ok(Some(Statement::ClearValueSet(name)))
}

/// `counter_reset COUNTER`
fn counter_reset(line: &mut Line) -> Read {
    let name = line.take("the counter")?;
    line.finish()?;
    Ok(Some(Statement::ResetCounter(name)))
}

fn set_crc16_parameters(line: &mut Line) -> Read {
    custom_crc(line, 16)
}

fn set_crc32_parameters(line: &mut Line) -> Read {
    custom_crc(line, 32)
}

/// `set_crcW_parameters CALCULATION POLYNOMIAL INITIAL FINAL_XOR REFLECT_DATA REFLECT_REMAINDER`
fn custom_crc(line: &mut Line, width: u32) -> Read {
    let calculation = line.take("the calculation's name")?;
    let crc = Crc {
        polynomial: word(line, width, "the polynomial")?,
        initial: word(line, width, "the initial remainder")?,
        final_xor: word(line, width, "the final value")?,
        reflect_data: flag(line, "whether data is reflected")?,
        reflect_remainder: flag(line, "whether the remainder is reflected")?,
    };
    line.finish()?;
    Ok(Some(Statement::CustomCrc { calculation, width, crc, span: line.span }))
}

fn word(line: &mut Line, width: u32, what: &str) -> Result<u32, Diagnostic> {
    let word = line.take(what)?;
    let value = parse_number(&word.text).ok().filter(|value| value.bits() <= u64::from(width));
    match value.and_then(|value| u32::try_from(value).ok()) {
        Some(value) => Ok(value),
        None => Err(line.wrong(word.span, "this is not a number", format!("of at most {width} bits"))),
    }
}

fn flag(line: &mut Line, what: &str) -> Result<bool, Diagnostic> {
    let word = line.take(what)?;
    match word.text.as_str() {
        "true" | "True" => Ok(true),
        "false" | "False" => Ok(false),
        text => match parse_number(text) {
            Ok(number) => Ok(number != BigUint::ZERO),
            Err(_) => Err(line.wrong(word.span, "this is neither true nor false", "`true`, `false`, 1 or 0")),
        },
    }
}
