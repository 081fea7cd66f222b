//! Flows of a rack's apps that move: what RACK.toml says of them, checked against the keys of the app's program.

use crate::functions;
use crate::rack::SplitApp;
use base_bits::Bits;
use base_diag::{Diagnostic, Span, codes::pin as codes};
use base_time::{Duration, Time};
use control_writes::Target;
use device::Options;
use device_control::{FlowMoves, Side};
use flow_control::popularity::Costs;
use ir::{Name, Program};
use ir_fill::Write;
use ir_keys::{Keys, Part};
use ir_pin::Pinned;
use p4_entries::parse_number;
use pinned_flows::{Flow, PinnedFlows};
use rack_model::pinning::Promotion;
use rack_model::{App, Move, Rack};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Writes of a move that popularity reckons with: the copies of a few entries, and the flow's key.
const WRITES: u32 = 4;

/// Costs of flows that move by request only.
const BY_REQUEST: Costs = Costs {
    window: Duration::from_ms(100),
    write: Duration::from_ms(1),
    writes: WRITES,
    idle: Duration::from_s(2),
};

/// Costs of moves by popularity, if the app has that: a write takes a round trip.
fn costs(rack: &Rack, model: &App) -> Costs {
    let promote = model.pinning.as_ref().and_then(|pinning| pinning.promote);
    let of = |promote: Promotion| Costs {
        window: promote.window,
        idle: promote.idle,
        write: rack.control.delay * 2,
        writes: WRITES,
    };
    promote.map_or(BY_REQUEST, of)
}

/// A program before it was pinned, with what its flows look up.
#[derive(Clone)]
pub struct Unpinned {
    /// The program, with the sizes of its tables.
    pub program: Arc<Program>,
    /// Keys that name the app's flows.
    pub keys: Keys,
    /// A flow is named by the user's own key.
    pub has_own_key: bool,
    /// Entries of its tables.
    pub entries: Vec<Write>,
    /// A table that says which flows are resident, and has entries already.
    pub by_hand: Option<Name>,
}

impl Unpinned {
    /// Takes the entries of the pinned program.
    pub fn fill(&mut self, entries: &[Write], pinned: &Pinned) {
        let is_copy = |name: &Name| pinned.tables.iter().any(|copy| copy.resident == *name);
        for write in entries {
            match write.target() {
                Target::Table(name) if pinned.flow_manager.as_ref() == Some(name) || is_copy(name) => {
                    self.by_hand.get_or_insert(name.clone());
                }
                _ => self.entries.push(write.clone()),
            }
        }
    }
}

/// A move of the file, with the flow's values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowMove {
    /// The app's place in [`Racked::apps`](crate::rack::Racked::apps).
    pub app: usize,
    /// When the move is asked for.
    pub at: Time,
    /// The flow.
    pub flow: Flow,
    /// Where it goes.
    pub to: Side,
}

/// The moves of a rack, in the order of the file. All mistakes are reported at once.
pub fn moves(rack: &Rack, apps: &[SplitApp]) -> Result<Vec<FlowMove>, Vec<Diagnostic>> {
    let (mut moves, mut wrong) = (vec![], vec![]);
    for (at, (app, model)) in apps.iter().zip(&rack.apps).enumerate() {
        let mut own = rack.moves.iter().filter(|one| one.app == model.name.value).peekable();
        let promoted = model.pinning.as_ref().and_then(|pinning| Some(pinning.promote?.span));
        let asked = own.peek().map(|one| one.span).or(promoted);
        let (Some(unpinned), Some(span)) = (&app.unpinned, asked) else { continue };
        match of_app(rack, app, model, span) {
            Ok(_) => {}
            Err(found) => {
                wrong.extend(found);
                continue;
            }
        }
        for one in own {
            let to = match one.to {
                rack_model::Side::Switch => Side::Switch,
                rack_model::Side::Helper => Side::Helper,
            };
            match flow(one, &unpinned.keys.key.parts) {
                Ok(flow) => moves.push(FlowMove { app: at, at: one.at, flow, to }),
                Err(found) => wrong.extend(found),
            }
        }
    }
    if wrong.is_empty() { Ok(moves) } else { Err(wrong) }
}

/// The flows of an app, none of them resident. `span` says in the file that they move.
pub fn of_app(rack: &Rack, app: &SplitApp, model: &App, span: Span) -> Result<FlowMoves, Vec<Diagnostic>> {
    let cannot = |why: &str| {
        let title = format!("flows of `{}` cannot move", model.name.value);
        Diagnostic::error(codes::NOT_PINNED, title).at(span, why.to_string())
    };
    let (Some(unpinned), Some(pinned)) = (&app.unpinned, &app.pinned) else {
        return Err(vec![cannot("all its flows are processed at one place")]);
    };
    if unpinned.has_own_key {
        let key = model.pinning.as_ref().and_then(|pinning| pinning.flow_key.as_ref()?.first());
        let diagnostic = cannot("it is not known what packets of a flow look up");
        let diagnostic = key.into_iter().fold(diagnostic, |d, key| d.at(key.span, "a key of your own"));
        return Err(vec![diagnostic.help("leave `flow_key` out: the union key names the flows then")]);
    }
    if let Some(table) = &unpinned.by_hand {
        let file = model.entries.as_ref().map_or(model.span, |entries| entries.span);
        return Err(vec![
            cannot("the controller decides which flows are resident")
                .at(file, format!("has entries of `{table}`"))
                .help("leave them out; a `[[move]]` at \"0s\" makes a flow resident"),
        ]);
    }
    let options = Options { registry: functions::declared(&unpinned.program), ..Options::default() };
    let Unpinned { program, keys, entries, .. } = unpinned;
    let flows = PinnedFlows::new(program, keys, pinned, entries, costs(rack, model), options)?;
    FlowMoves::new(flows, &app.whole, 1)
}

/// The flow that a move names: a value for each part of the key.
fn flow(one: &Move, parts: &[Part]) -> Result<Flow, Vec<Diagnostic>> {
    let mut wrong = vec![];
    let bad = |title: String, span: Span, label: &str| {
        Diagnostic::error(codes::BAD_KEY, title).at(span, label.to_string())
    };
    for (name, _) in &one.flow {
        if !parts.iter().any(|part| part.name == name.value) {
            let title = format!("`{}` is no part of a flow's key", name.value.escape_debug());
            let known = parts.iter().map(|part| part.name.as_str());
            wrong.push(
                bad(title, name.span, "packets of one flow could differ in it").suggest(&name.value, known),
            );
        }
    }
    let mut flow = vec![];
    let mut lacks = vec![];
    for part in parts {
        let Some((_, text)) = one.flow.iter().find(|(name, _)| part.name == name.value) else {
            lacks.push(format!("`{}`", part.name));
            continue;
        };
        match value(&text.value, part.width) {
            Ok(value) => flow.push(value),
            Err(why) => {
                wrong.push(bad(format!("not a value of `{}`", part.name), text.span, &why));
            }
        }
    }
    // A name that is not known may stand for one of those that are missing.
    if !lacks.is_empty() && wrong.is_empty() {
        let diagnostic =
            bad("a flow's key lacks parts".to_string(), one.flow_span, "several flows are like this");
        wrong.push(
            diagnostic
                .note(format!("missing are {}", lacks.join(", ")))
                .help("write 0 for fields of headers that the flow's packets do not have"),
        );
    }
    if wrong.is_empty() { Ok(flow) } else { Err(wrong) }
}

/// A number or an address, with this width.
pub fn value(text: &str, width: u32) -> Result<Bits, String> {
    let number = parse_number(text).map_err(|error| error.to_string())?;
    if number.bits() > u64::from(width) {
        return Err(format!("it has {width} bits: this does not fit"));
    }
    Ok(Bits::from_biguint(width, number))
}

/// A flow for people: the parts that are not 0, by the last two steps of their names.
pub fn words(parts: &[Part], flow: &Flow) -> String {
    let part = |(part, value): (&Part, &Bits)| {
        let steps: Vec<&str> = part.name.rsplit('.').take(2).collect();
        let name = match steps.as_slice() {
            [field, header] if *header != "standard_metadata" => format!("{header}.{field}"),
            [field, ..] => field.to_string(),
            [] => String::new(),
        };
        let is_address = part.width == 32 && name.contains("ip");
        let value = match value.to_u32().filter(|_| is_address) {
            Some(address) => Ipv4Addr::from(address).to_string(),
            None => value.to_biguint().to_string(),
        };
        format!("{name}={value}")
    };
    let told: Vec<String> = parts.iter().zip(flow).filter(|(_, value)| !value.is_zero()).map(part).collect();
    if told.is_empty() { "all parts 0".to_string() } else { told.join(" ") }
}
