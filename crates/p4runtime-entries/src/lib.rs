//! P4Runtime updates as text, as writes that fill a device.
//!
//! ```text
//! updates { type: INSERT entity { table_entry {            Write::Entry {
//!   table_id: 0x02abcdef                                       table: "ingress.route",
//!   match { field_id: 1 lpm { value: "\n" prefix_len: 8 } }    key: [Lpm { value: 0x0a000000, prefix_len: 8 }],
//!   action { action { action_id: 0x01234567 ... } } } } }      to: Action("ingress.forward", ...), ... }
//! ```
//!
//! The text, in protobuf's text format ([`read`]) or JSON ([`read_json`]), is a `p4.v1.WriteRequest`, or a `p4.v1.ReadResponse`: what a server says of its entities can be given to
//! another device. Updates are done one after the other to an empty device, as P4Runtime 1.5, section 9, says; what
//! is left at the end are the writes. Ids, widths, canonical forms and permissions are checked against P4Info.
//!
//! The updates are checked and kept by `p4runtime-store`.

use base_diag::{Diagnostic, Span, codes::run as codes};
use control_writes::{Write, settled};
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{Entity, ReadResponse, Update, WriteRequest};
use p4runtime_proto::{FormError, Message, Places, Step, from_json_placed, from_text_placed, to_binary};
use p4runtime_store::{Change, Fault, Names, Store, making};
use smol_str::SmolStr;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// A write by control-plane names, and where the text says it.
pub type Placed = (Write<SmolStr>, Span);

/// Reads a file. `info` is what the program offers, all values as numbers; `names` knows which are strings, and gives them
/// values. `own` are the entries of the source, as `p4rack p4info --entries` writes them: updates that say the same change nothing. `base` is
/// the number of the text's first byte in the source map. If there are diagnostics, the writes are not all there.
pub fn read(
    text: &str,
    base: u32,
    info: &P4Info,
    names: Names,
    own: &[Update],
) -> (Vec<Placed>, Vec<Diagnostic>) {
    read_updates(updates(text, base, Form::Text), base, info, names, own)
}

/// The same for JSON (ProtoJSON).
pub fn read_json(
    text: &str,
    base: u32,
    info: &P4Info,
    names: Names,
    own: &[Update],
) -> (Vec<Placed>, Vec<Diagnostic>) {
    let (text, base) = base_diag::without_mark(text, base);
    read_updates(updates(text, base, Form::Json), base, info, names, own)
}

/// How messages are written.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Json,
}

impl Form {
    fn parse<M: Message>(self, text: &str) -> Result<(M, Places), FormError> {
        match self {
            Form::Text => from_text_placed(text),
            Form::Json => from_json_placed(text),
        }
    }

    /// For titles.
    fn phrase(self) -> &'static str {
        match self {
            Form::Text => "as text",
            Form::Json => "in JSON",
        }
    }
}

/// The updates of a `WriteRequest`, or those that write the entities of a `ReadResponse`.
fn updates(text: &str, base: u32, form: Form) -> Result<Read, Diagnostic> {
    match form.parse::<WriteRequest>(text) {
        Ok((request, places)) => Ok((request.updates, places, "updates")),
        Err(error) => match form.parse::<ReadResponse>(text) {
            Ok((response, places)) => Ok((updates_of(response), places, "entities")),
            Err(_) => Err(unreadable(&error, base, form.phrase())),
        },
    }
}

/// Updates, their places, and the list in which they stand.
type Read = (Vec<Update>, Places, &'static str);

fn read_updates(
    updates: Result<Read, Diagnostic>,
    base: u32,
    info: &P4Info,
    names: Names,
    own: &[Update],
) -> (Vec<Placed>, Vec<Diagnostic>) {
    let store = Store::new(Arc::new(info.clone()));
    let own = own.iter().map(to_binary).collect();
    let mut reader = Reader { base, names, own, store, changes: vec![], problems: vec![] };
    match updates {
        Ok(updates) => reader.perform_all(updates),
        Err(problem) => reader.problems.push(problem),
    }
    reader.finish()
}

struct Reader {
    base: u32,
    names: Names,
    /// The source's own entries, encoded.
    own: BTreeSet<Vec<u8>>,
    store: Store,
    changes: Vec<(Change, Span)>,
    problems: Vec<Diagnostic>,
}

impl Reader {
    fn perform_all(&mut self, (updates, places, list): Read) {
        for (index, update) in self.names.lower(&updates, &self.store).into_iter().enumerate() {
            let span = span(places.of(&[(list, index)]), self.base);
            if let Err(fault) = update.and_then(|update| self.perform(&update, span)) {
                let problem = self.refused(&fault, &places, (list, index));
                self.problems.push(problem);
            }
        }
    }

    fn perform(&mut self, update: &Update, span: Span) -> p4runtime_store::Result<()> {
        if self.own.contains(&to_binary(update)) {
            return Ok(());
        }
        for change in self.store.plan(update)? {
            self.store.commit(change.clone(), None);
            self.changes.push((change, span));
        }
        Ok(())
    }

    fn finish(self) -> (Vec<Placed>, Vec<Diagnostic>) {
        let catalog = self.store.catalog();
        let by_name = |(change, span): (Change, Span)| {
            // All names are known: the store has checked them.
            let write = change.refer(|kind, id| catalog.name_of(kind, *id).map(SmolStr::from)).ok()?;
            Some((write, span))
        };
        // The store is empty at the start.
        let mut left = settled(self.changes, |_, _| false);
        left.sort_by_key(|(change, _)| phase(change));
        (left.into_iter().filter_map(by_name).collect(), self.problems)
    }

    fn refused(&self, fault: &Fault, places: &Places, whole: Step<'_>) -> Diagnostic {
        let inside = fault.path.iter().rev().copied();
        // Entities stand in a list of their own, not in updates.
        let inside = inside.filter(|(name, _)| whole.0 == "updates" || *name != "entity");
        let path: Vec<Step<'_>> = std::iter::once(whole).chain(inside).collect();
        let mut problem = Diagnostic::error(codes::ENTRY_REFUSED, fault.title.clone())
            .at(span(places.of(&path), self.base), fault.why.clone());
        if let Some(owner) = &fault.owner {
            problem = problem.note(format!("in {owner}"));
        }
        match &fault.help {
            Some(help) => problem.help(help.clone()),
            None => problem,
        }
    }
}

/// Order of changes that fill a device: members, then groups of members, then entries that refer to both.
fn phase(change: &Change) -> u8 {
    match change {
        Change::Member { .. } => 0,
        Change::Group { .. } => 1,
        Change::Entry { .. } | Change::Default { .. } => 2,
        _ => 3,
    }
}

/// The entities of a `ReadResponse`, as the updates that make them.
fn updates_of(response: ReadResponse) -> Vec<Update> {
    let update = |entity: Entity| Update { r#type: making(&entity) as i32, entity: Some(entity) };
    response.entities.into_iter().map(update).collect()
}

fn span(at: Option<Range<usize>>, base: u32) -> Span {
    let offset = |at: usize| u32::try_from(at).ok().and_then(|at| base.checked_add(at));
    match at.and_then(|at| Some((offset(at.start)?, offset(at.end)?))) {
        Some((lo, hi)) => Span { lo, hi, ..Span::NONE },
        None => Span::NONE,
    }
}

fn unreadable(error: &FormError, base: u32, form: &str) -> Diagnostic {
    let title = format!("this is no `p4.v1.WriteRequest` {form}");
    let problem = Diagnostic::error(codes::ENTRIES_SYNTAX, title);
    let error = match error {
        FormError::Text(error) => error,
        FormError::Json { message, at } => return problem.at(span(Some(*at..*at), base), message.clone()),
        _ => return problem.note(error.to_string()),
    };
    let problem = problem.at(span(Some(error.at.clone()), base), error.message.clone());
    match &error.help {
        Some(help) => problem.help(help.clone()),
        None => problem,
    }
}
