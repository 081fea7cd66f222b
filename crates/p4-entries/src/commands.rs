//! The commands of `simple_switch_CLI` that fill a device. What asks it or changes how it runs is refused.

use crate::{Args, Keys, Named, Run, Statement, Value, parse_match, parse_number};
use base_diag::codes::run::ENTRIES_SYNTAX;
use base_diag::{Diagnostic, Span};

/// Commands that STF has too, with the same words.
const STF: [&str; 12] = [
    "counter_write",
    "mc_mgrp_create",
    "mc_node_associate",
    "mc_node_create",
    "mc_node_update",
    "meter_array_set_rates",
    "meter_set_rates",
    "mirroring_add",
    "mirroring_add_mc",
    "mirroring_delete",
    "register_reset",
    "register_write",
];

/// Our own readers.
const OURS: [(&str, Reader); 8] = [
    ("table_add", table_add),
    ("table_set_default", table_set_default),
    ("table_indirect_add", table_indirect_add),
    ("table_indirect_add_with_group", table_indirect_add_with_group),
    ("act_prof_create_member", create_member),
    ("act_prof_create_group", create_group),
    ("act_prof_add_member_to_group", add_member_to_group),
    ("pvs_add", pvs_add),
];

type Reader = fn(&mut Line) -> Result<Option<Statement>, Diagnostic>;

/// Reads a file of commands; `start` is the number of the text's first byte in its source map. Members and
/// groups are labelled with the handles that BMv2 would give them: `ecmp:0`.
pub fn read_commands(text: &str, start: u32) -> (Vec<Statement>, Vec<Diagnostic>) {
    let mut state = State::default();
    let (mut statements, mut problems) = (vec![], vec![]);
    let mut at = start;
    for raw in text.split_inclusive('\n') {
        let code = raw.split('#').next().unwrap_or_default();
        match command(&mut state, code, at) {
            Ok(Some(statement)) => statements.push(statement),
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
        at = at.saturating_add(u32::try_from(raw.len()).unwrap_or(u32::MAX));
    }
    // A group is known once all its members are.
    let first_use = statements.iter().position(|s| matches!(s, Statement::Entry { run: Run::Group(_), .. }));
    let groups = state.groups.into_iter().map(|g| Statement::Group {
        profile: g.profile,
        label: g.label,
        members: g.members,
        span: g.span,
    });
    let place = first_use.unwrap_or(statements.len());
    let (members, others): (Vec<_>, Vec<_>) =
        statements.drain(place..).partition(|s| matches!(s, Statement::Member { .. }));
    statements.extend(members);
    statements.extend(groups);
    statements.extend(others);
    (statements, problems)
}

/// What lines before have made, by profile.
#[derive(Default)]
struct State {
    members: Vec<(String, u32)>,
    groups: Vec<Group>,
}

struct Group {
    profile: Named,
    label: Named,
    members: Vec<Named>,
    span: Span,
}

struct Line<'s> {
    state: &'s mut State,
    /// Behind the command.
    words: Vec<Named>,
    /// All of it.
    span: Span,
}

fn command(state: &mut State, code: &str, at: u32) -> Result<Option<Statement>, Diagnostic> {
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
    let known = OURS.iter().map(|(name, _)| *name).chain(STF);
    let title = format!("`{}` is no command that fills a device", shortened(&first.text));
    let problem = Diagnostic::error(ENTRIES_SYNTAX, title).at(first.span, "not supported here");
    Err(problem.suggest_or(&first.text, known.clone(), |d| {
        d.note(format!("read are: {}", known.collect::<Vec<_>>().join(", ")))
    }))
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
    fn wrong(&self, span: Span, title: impl Into<String>, label: impl Into<String>) -> Diagnostic {
        Diagnostic::error(ENTRIES_SYNTAX, title).at(span, label)
    }

    /// The next word.
    fn take(&mut self, what: &str) -> Result<Named, Diagnostic> {
        if self.words.is_empty() {
            return Err(self.wrong(self.span, "this command is too short", format!("{what} is missing")));
        }
        Ok(self.words.remove(0))
    }

    /// The words before and behind `=>`; without it, all are before.
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
            Err(error) => Err(self.wrong(word.span, "this is no match", error.to_string())),
        };
        words.iter().map(key).collect::<Result<_, _>>().map(Keys::InOrder)
    }

    fn args(&self, words: &[Named]) -> Result<Args, Diagnostic> {
        let arg = |word: &Named| match parse_number(&word.text) {
            Ok(value) => Ok(Value { value, span: word.span }),
            Err(error) => Err(self.wrong(word.span, "this is no number", error.to_string())),
        };
        words.iter().map(arg).collect::<Result<_, _>>().map(Args::InOrder)
    }

    /// A handle that BMv2 gave, as a label.
    fn handle(&mut self, what: &str) -> Result<Named, Diagnostic> {
        let word = self.take(what)?;
        match word.text.parse::<u32>() {
            Ok(handle) => Ok(Named { text: handle.to_string(), span: word.span }),
            Err(_) => Err(self.wrong(word.span, "this is no handle", "handles count up from 0")),
        }
    }
}

/// `table_add TABLE ACTION KEY... => ARG... [PRIORITY]`: only who knows the table and the action can tell
/// whether there is a priority.
fn table_add(line: &mut Line) -> Result<Option<Statement>, Diagnostic> {
    let (table, action) = (line.take("the table")?, line.take("the action")?);
    let (keys, args) = line.halves();
    let Some(args) = args else {
        return Err(line.wrong(line.span, "`=>` is missing", "it stands between keys and arguments"));
    };
    let keys = line.keys(&keys)?;
    let args = match line.args(&args)? {
        Args::InOrder(args) => Args::AndPriority(args),
        other => other,
    };
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
fn table_set_default(line: &mut Line) -> Result<Option<Statement>, Diagnostic> {
    let (table, action) = (line.take("the table")?, line.take("the action")?);
    let (before, behind) = line.halves();
    let args = line.args(&behind.map_or(before.clone(), |behind| [before, behind].concat()))?;
    Ok(Some(Statement::Default { table, action, args, span: line.span }))
}

/// `table_indirect_add TABLE KEY... => MEMBER [PRIORITY]`
fn table_indirect_add(line: &mut Line) -> Result<Option<Statement>, Diagnostic> {
    indirect(line, Run::Member)
}

/// `table_indirect_add_with_group TABLE KEY... => GROUP [PRIORITY]`
fn table_indirect_add_with_group(line: &mut Line) -> Result<Option<Statement>, Diagnostic> {
    indirect(line, Run::Group)
}

fn indirect(line: &mut Line, run: fn(Named) -> Run) -> Result<Option<Statement>, Diagnostic> {
    let table = line.take("the table")?;
    let (keys, behind) = line.halves();
    let keys = line.keys(&keys)?;
    line.words = behind.unwrap_or_default();
    let handle = line.handle("the handle behind `=>`")?;
    let priority = match line.words.first() {
        Some(word) => match word.text.parse::<i64>() {
            Ok(priority) => Some(priority.saturating_neg()),
            Err(_) => return Err(line.wrong(word.span, "this is no priority", "the smallest number wins")),
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

/// `act_prof_create_member PROFILE ACTION ARG...`
fn create_member(line: &mut Line) -> Result<Option<Statement>, Diagnostic> {
    let (profile, action) = (line.take("the profile")?, line.take("the action")?);
    let words = std::mem::take(&mut line.words);
    let args = line.args(&words)?;
    let members = &mut line.state.members;
    let handle = match members.iter_mut().find(|(name, _)| *name == profile.text) {
        Some((_, next)) => {
            *next += 1;
            *next
        }
        None => {
            members.push((profile.text.clone(), 0));
            0
        }
    };
    let label = Named { text: handle.to_string(), span: line.span };
    Ok(Some(Statement::Member { profile, label, action, args, span: line.span }))
}

/// `act_prof_create_group PROFILE`
fn create_group(line: &mut Line) -> Result<Option<Statement>, Diagnostic> {
    let profile = line.take("the profile")?;
    let handle = line.state.groups.iter().filter(|g| g.profile.text == profile.text).count();
    let label = Named { text: handle.to_string(), span: line.span };
    line.state.groups.push(Group { profile, label, members: vec![], span: line.span });
    Ok(None)
}

/// `act_prof_add_member_to_group PROFILE MEMBER GROUP`
fn add_member_to_group(line: &mut Line) -> Result<Option<Statement>, Diagnostic> {
    let profile = line.take("the profile")?;
    let (member, group) = (line.handle("the member")?, line.handle("the group")?);
    let groups = &mut line.state.groups;
    match groups.iter_mut().find(|g| g.profile.text == profile.text && g.label.text == group.text) {
        Some(found) => {
            found.members.push(member);
            Ok(None)
        }
        None => Err(line.wrong(group.span, "there is no such group", "no line above makes it")),
    }
}

/// `pvs_add SET VALUE`
fn pvs_add(line: &mut Line) -> Result<Option<Statement>, Diagnostic> {
    let name = line.take("the value set")?;
    let words = std::mem::take(&mut line.words);
    match line.keys(&words)? {
        Keys::InOrder(member) if !member.is_empty() => {
            Ok(Some(Statement::ValueSet { name, member, span: line.span }))
        }
        _ => Err(line.wrong(line.span, "this command is too short", "the value is missing")),
    }
}
