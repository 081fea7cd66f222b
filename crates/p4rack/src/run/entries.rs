//! A file that fills a device, in any form of entries.

use base_diag::codes::run::{ENTRIES_SYNTAX, STF_REFUSED};
use base_diag::{Diagnostic, Severity};
use device::Switch;
use device_control::{Offered, offered};
use ir::Program;
use ir_fill::{Placed, Resolver, is_entry};
use p4_entries::Statement;
use p4_stf::Spanned;
use p4runtime_store::Names;
use std::path::Path;

/// Statements of one file for one device.
pub struct Filling {
    statements: Statements,
    /// About commands that are passed over.
    pub warnings: Vec<Diagnostic>,
}

/// The statements of a file.
enum Statements {
    /// STF, without packets.
    Stf(Vec<Spanned>),
    /// TOML or commands.
    Others(Vec<Statement>),
    /// P4Runtime updates.
    Updates(Vec<p4runtime_entries::Placed>),
}

/// A form of entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `.stf`
    Stf,
    /// `.toml`
    Toml,
    /// Commands of `simple_switch_CLI`: no extension is theirs alone.
    Commands,
    /// `.txtpb` and others of protobuf's text format.
    P4RuntimeText,
    /// `.json`
    P4RuntimeJson,
    /// `.json` with `table_entries`: a runtime file of p4lang's tutorials
    Runtime,
}

impl Form {
    /// In words, for messages.
    pub fn in_words(self) -> &'static str {
        match self {
            Form::Stf => "an STF test",
            Form::Toml => "entries in TOML",
            Form::Commands => "commands of simple_switch_CLI",
            Form::P4RuntimeText => "P4Runtime updates in protobuf's text format",
            Form::P4RuntimeJson => "P4Runtime updates in JSON",
            Form::Runtime => "a runtime file of the tutorials",
        }
    }
}

/// How the form of a file is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KnownBy {
    /// The user named it.
    Name,
    /// The file's extension.
    Extension,
    /// The file's text.
    Content,
}

impl KnownBy {
    fn in_words(self) -> &'static str {
        match self {
            KnownBy::Name => "as asked",
            KnownBy::Extension => "by its extension",
            KnownBy::Content => "by its content",
        }
    }
}

/// The form of a file: by its extension or, if the extension is ambiguous, by its text. Files without entries are refused.
pub fn form(path: &Path, text: &str) -> Result<(Form, KnownBy), Diagnostic> {
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let text = base_diag::without_mark(text, 0).0;
    let form = match extension.as_deref() {
        Some("stf") => Form::Stf,
        Some("toml") => Form::Toml,
        Some("txtpb" | "pbtxt" | "textproto" | "prototxt" | "pb") => Form::P4RuntimeText,
        Some("json") => json_form(path, text)?,
        Some("csv") => return Err(no_entries(path, "a `.csv` is a table of rules for `p4rack plan`")),
        Some("rules") => return Err(no_entries(path, "a `.rules` file is one of rules for `p4rack plan`")),
        Some("flows") => {
            return Err(no_entries(path, "a `.flows` file is one of flow rules for `ovs-ofctl`"));
        }
        Some("p4") => return Err(no_entries(path, "a `.p4` file is a program")),
        _ => return Ok((by_content(path, text)?, KnownBy::Content)),
    };
    Ok((form, KnownBy::Extension))
}

/// The form by the first line with words.
fn by_content(path: &Path, text: &str) -> Result<Form, Diagnostic> {
    if text.trim_start().starts_with('{') {
        return json_form(path, text);
    }
    let lines = text.lines().map(|l| l.split('#').next().unwrap_or_default().trim());
    let line = lines.into_iter().find(|l| !l.is_empty()).unwrap_or_default();
    let word = line.split_whitespace().next().unwrap_or_default();
    Ok(match word {
        "add" | "setdefault" | "packet" | "expect" => Form::Stf,
        _ if line.starts_with('[') || line.contains(" = ") => Form::Toml,
        _ if word.ends_with(':') || word.ends_with('{') || line.ends_with('{') => Form::P4RuntimeText,
        _ => Form::Commands,
    })
}

/// The form of JSON by its keys; that of other tools is refused.
fn json_form(path: &Path, text: &str) -> Result<Form, Diagnostic> {
    let Ok(serde_json::Value::Object(object)) = serde_json::from_str(text) else {
        return Ok(Form::P4RuntimeJson);
    };
    let has = |key: &str| object.contains_key(key);
    if has("table_entries") || (has("target") && has("p4info")) {
        return Ok(Form::Runtime);
    }
    if has("pipelines") && has("parsers") {
        return Err(no_entries(path, "this is a program, as p4c compiles it for BMv2"));
    }
    Ok(Form::P4RuntimeJson)
}

fn no_entries(path: &Path, why: &str) -> Diagnostic {
    Diagnostic::error(ENTRIES_SYNTAX, "this is not a file of entries")
        .note(format!("`{}`: {why}", path.display()))
        .help("entries are TOML, STF, commands of simple_switch_CLI, or P4Runtime updates")
}

/// Reads a file in the form that its extension or text has; `start` is the number of its first byte in the source map.
pub fn read(program: &Program, path: &Path, text: &str, start: u32) -> Result<Filling, Vec<Diagnostic>> {
    let (form, known_by) = form(path, text).map_err(|problem| vec![problem])?;
    read_known(program, path, text, start, (form, known_by))
}

/// Reads a file in the form that the user named.
pub fn read_as(
    program: &Program,
    path: &Path,
    text: &str,
    start: u32,
    form: Form,
) -> Result<Filling, Vec<Diagnostic>> {
    read_known(program, path, text, start, (form, KnownBy::Name))
}

fn read_known(
    program: &Program,
    path: &Path,
    text: &str,
    start: u32,
    (form, known_by): (Form, KnownBy),
) -> Result<Filling, Vec<Diagnostic>> {
    read_form(program, text, start, form).map_err(|mut problems| {
        // If the form was guessed wrong, everything is an error: the first one names the assumed form.
        if let Some(first) = problems.iter_mut().find(|p| p.severity == Severity::Error) {
            let (form, known_by) = (form.in_words(), known_by.in_words());
            first.notes.push(format!("`{}` was read as {form}, {known_by}", path.display()));
        }
        problems
    })
}

fn read_form(program: &Program, text: &str, start: u32, form: Form) -> Result<Filling, Vec<Diagnostic>> {
    let filling = |statements: Statements, problems: Vec<Diagnostic>| match problems
        .iter()
        .any(|problem| problem.severity == Severity::Error)
    {
        true => Err(problems),
        false => Ok(Filling { statements, warnings: problems }),
    };
    let others = |(statements, problems)| filling(Statements::Others(statements), problems);
    let updates = |(updates, problems)| filling(Statements::Updates(updates), problems);
    match form {
        Form::Toml => others(p4_entries::read_toml(text, start)),
        Form::Commands => others(p4_entries::read_commands(text, start)),
        Form::Runtime => others(p4_entries::read_runtime(text, start)),
        Form::Stf => {
            let (file, mut problems) = p4_stf::parse(text, start);
            problems.extend(file.statements.iter().filter(|s| !is_entry(&s.kind)).map(no_statement));
            filling(Statements::Stf(file.statements), problems)
        }
        Form::P4RuntimeText | Form::P4RuntimeJson => {
            let Offered { info, plain, initial, .. } = offered(program)?;
            let names = Names::new(&info, &plain, &initial);
            updates(match form {
                Form::P4RuntimeJson => p4runtime_entries::read_json(text, start, &plain, names, &initial),
                _ => p4runtime_entries::read(text, start, &plain, names, &initial),
            })
        }
    }
}

/// A statement of STF that a file of entries cannot have.
fn no_statement(statement: &Spanned) -> Diagnostic {
    use p4_stf::Statement::{Expect, NoPacket, Packet};
    let (label, help) = match statement.kind {
        Packet { .. } | Expect { .. } | NoPacket => {
            ("packets and expectations belong in a test", "give the file as a test, without `--entries`")
        }
        _ => (
            "it writes nothing: entries are written before packets are run",
            "take it out, or give the file as a test, without `--entries`",
        ),
    };
    Diagnostic::error(STF_REFUSED, "this statement is not an entry").at(statement.span, label).help(help)
}

impl Filling {
    /// Resolves the file's writes in order and hands each to `give`, which may refuse it. Returns all errors.
    pub fn resolve(
        &self,
        resolver: &mut Resolver,
        give: &mut dyn FnMut(&Placed) -> Result<(), Diagnostic>,
    ) -> Result<(), Vec<Diagnostic>> {
        resolver.begin();
        let mut problems = vec![];
        let mut done = |resolved: Result<Vec<Placed>, Vec<Diagnostic>>| match resolved {
            // Where a device refuses one write of a statement, the others are of no use.
            Ok(placed) => problems.extend(placed.iter().try_for_each(&mut *give).err()),
            Err(found) => problems.extend(found),
        };
        match &self.statements {
            Statements::Stf(all) => all.iter().for_each(|statement| done(resolver.stf(statement))),
            Statements::Others(all) => all.iter().for_each(|statement| done(resolver.statement(statement))),
            Statements::Updates(all) => {
                for (write, span) in all {
                    let noted = resolver.note(write).map(|write| vec![Placed::new(write, *span)]);
                    done(noted.map_err(|error| vec![Placed::new(write.clone(), *span).refused(error)]));
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Writes it to a device.
    pub fn fill(&self, resolver: &mut Resolver, switch: &mut Switch) -> Result<(), Vec<Diagnostic>> {
        self.resolve(resolver, &mut |placed| placed.write_to(switch))
    }
}
