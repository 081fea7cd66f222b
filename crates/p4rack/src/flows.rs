//! Flows of a rack's apps that move: what RACK.toml says of them, checked against the keys of the app's program.

use crate::functions;
use crate::pinned::PinnedApp;
use crate::rack::{Racked, SplitApp};
use base_diag::{Diagnostic, Span, codes::pin as codes};
use base_time::{Duration, Time};
use control_writes::Target;
use device_control::{AppFlows, FlowsOf, Hold, Promotion as Promoting, Side};
use flow_control::popularity::Costs;
use flow_control::sketch::Shape;
use ir::{Name, Program};
use ir_fill::Write;
use ir_keys::{Keys, Part};
use ir_pin::Pinned;
use ir_split::DeviceIndex;
use pinned_flows::{Flow, value};
use rack_model::pinning::Promotion;
use rack_model::{App, DeviceId, Move, NodeId, Rack};
use std::sync::Arc;

/// Writes of a move that popularity reckons with, one after the other: key and copies of the flow that leaves, copies and key of the one that comes.
const WRITES: u32 = 4;

/// Moves whose writes are one request each: see [`FlowMoves::calls`].
const TOGETHER: u32 = 16;

/// Costs of flows that move by request only.
const BY_REQUEST: Costs = Costs {
    window: Duration::from_ms(100),
    write: Duration::from_ms(1),
    writes: WRITES,
    together: TOGETHER,
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
        together: TOGETHER,
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
    /// Size of each helper's sketch, where popular flows are promoted.
    pub sketch: Shape,
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
    /// Name of the app.
    pub app: String,
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
    for (app, pinned) in apps.iter().flat_map(|app| app.pinned.iter().map(move |pinned| (app, pinned))) {
        let PinnedApp { model, unpinned, .. } = pinned;
        let mut own = rack.moves.iter().filter(|one| one.app == model.name.value).peekable();
        let promoted = model.pinning.as_ref().and_then(|pinning| Some(pinning.promote?.span));
        let asked = own.peek().map(|one| one.span).or(promoted);
        let Some(span) = asked else { continue };
        match of_app(rack, app, pinned, span, 0) {
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
                Ok(flow) => moves.push(FlowMove { app: one.app.clone(), at: one.at, flow, to }),
                Err(found) => wrong.extend(found),
            }
        }
    }
    if wrong.is_empty() { Ok(moves) } else { Err(wrong) }
}

/// The flows of an app, if they can move. `span` says in the file that they do; `number` is the app's among those of its switch.
fn of_app(
    rack: &Rack,
    app: &SplitApp,
    PinnedApp { model, pinned, unpinned, share }: &PinnedApp,
    span: Span,
    number: u16,
) -> Result<FlowsOf, Vec<Diagnostic>> {
    let cannot = |why: &str| {
        let title = format!("flows of `{}` cannot move", model.name.value);
        Diagnostic::error(codes::NOT_PINNED, title).at(span, why.to_string())
    };
    if pinned.flow_manager.is_none() && pinned.tables.is_empty() {
        return Err(vec![cannot("all its flows are processed at one place")]);
    }
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
    let hold = hold(model, pinned)?;
    let of = FlowsOf {
        program: Arc::clone(&unpinned.program),
        keys: unpinned.keys.clone(),
        pinned: pinned.clone(),
        whole: Arc::clone(&app.whole),
        info: Arc::new(p4info::p4info(&app.whole)?),
        costs: costs(rack, model),
        registry: functions::declared(&unpinned.program),
        share: share.clone(),
        number,
        hold,
    };
    // Made once for its mistakes, which are reported before anything runs.
    of.moves(&unpinned.entries, 1)?;
    Ok(of)
}

/// The tables by which flows of the app are new.
fn hold(model: &App, pinned: &Pinned) -> Result<Option<Hold>, Vec<Diagnostic>> {
    let Some(pinning) = model.pinning.as_ref().filter(|pinning| !pinning.hold.is_empty()) else {
        return Ok(None);
    };
    let (mut tables, mut wrong) = (vec![], vec![]);
    for name in &pinning.hold {
        let last = |table: &Name| table.rsplit('.').next().unwrap_or_default().to_string();
        let mut known = pinned.tables.iter().map(|copy| &copy.original);
        match known.clone().find(|table| **table == name.value || last(table) == name.value) {
            Some(table) => tables.push(table.clone()),
            None => {
                let names: Vec<String> = known.by_ref().map(last).collect();
                let title = format!("ingress has no table `{}`", name.value.escape_debug());
                let diagnostic = Diagnostic::error(codes::NOT_PINNED, title)
                    .at(name.span, "flows without an entry in it would be new".to_string());
                wrong.push(diagnostic.suggest(&name.value, names.iter().map(String::as_str)));
            }
        }
    }
    let hold = Hold { tables, patience: pinning.patience };
    if wrong.is_empty() { Ok(Some(hold)) } else { Err(wrong) }
}

/// The flows of the apps of a program, none of them resident, with the moves of the rack's file; without apps whose flows cannot move.
pub fn app_flows(racked: &Racked, at: usize) -> Result<Vec<AppFlows>, Vec<Diagnostic>> {
    let apps = racked.apps[at].pinned.iter().zip(0..);
    let flows = apps.map(|(pinned, number)| flows_of(racked, &racked.apps[at], pinned, number).transpose());
    flows.flatten().collect()
}

/// The flows of one app; `number` is the app's among those of its switch.
pub fn flows_of(
    racked: &Racked,
    app: &SplitApp,
    of_one: &PinnedApp,
    number: u16,
) -> Result<Option<AppFlows>, Vec<Diagnostic>> {
    let PinnedApp { model, pinned, unpinned, .. } = of_one;
    let Some(pinning) = &model.pinning else { return Ok(None) };
    let own: Vec<_> = racked.moves.iter().filter(|one| one.app == model.name.value).collect();
    let must_move = !own.is_empty() || pinning.promote.is_some() || !pinning.hold.is_empty();
    let of = match of_app(&racked.rack, app, of_one, model.span, number) {
        Ok(of) => of,
        Err(found) if must_move => return Err(found),
        Err(_) => return Ok(None),
    };
    let placement = &app.placement;
    let helpers = of_one.helpers(placement);
    let node = |device: u32| NodeId::Device(DeviceId(device));
    let ports = |helper: &DeviceIndex| {
        let links = racked.rack.links_between(node(placement.origin().0), node(helper.0));
        links.map(|(_, port, _)| port).collect()
    };
    let promotion = pinning.promote.map(|promote| Promoting {
        window: promote.window,
        helpers: helpers.iter().map(ports).collect(),
        inside: placement.link_ports(placement.origin()).into_iter().map(|port| port as u32).collect(),
        sketch: unpinned.sketch,
    });
    let moves = own.into_iter().map(|one| (one.at, one.flow.clone(), one.to)).collect();
    // As the splitter's policy `shard` fills its tables: shard n is at helper n modulo their number, or at the replicas with that number.
    let count = usize::from(pinned.shards);
    let lists = helpers.first().map_or(vec![], |role| placement.replicas(*role, count as u64));
    let lists = if lists.is_empty() { helpers.iter().map(|helper| vec![*helper]).collect() } else { lists };
    let shards = lists.iter().cycle().take(count).cloned();
    let places = (placement.origin(), shards.collect());
    let room = usize::try_from(pinning.flows).unwrap_or(usize::MAX);
    AppFlows::new(model.name.value.clone(), places, (of, room), &unpinned.entries, moves, promotion).map(Some)
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
        let diagnostic = bad("a flow's key lacks parts".to_string(), one.flow_span, "several flows match");
        wrong.push(
            diagnostic
                .note(format!("missing are {}", lacks.join(", ")))
                .help("write 0 for fields of headers that the flow's packets do not have"),
        );
    }
    if wrong.is_empty() { Ok(flow) } else { Err(wrong) }
}
