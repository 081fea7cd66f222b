//! A model made ready for the search: derivations of every region on every class, routes, capacities, an order of regions.

use crate::derive::{self, Admits, Derivation, Prover};
use crate::route::Network;
use crate::{Objective, Scopes, State};
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, Span};
use plan_model::{App, Factor, Model, Prop, Role, Scope, VarId};
use std::collections::BTreeMap;

/// Selects among several rules that cover a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tiers {
    /// The tightest: no other covering rule of the same head is for a part of its states only. A rule without bounds is for
    /// all states, so any covering rule that has bounds is tighter.
    #[default]
    Tightest,
    /// Any that covers it.
    Any,
}

/// Interpretation of the model, and objectives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Rules that may be used.
    pub tiers: Tiers,
    /// A device to which nothing is bound runs one region at most.
    pub one_region_per_device: bool,
    /// Maximum number of shortest routes that are tried between two devices.
    pub routes: usize,
    /// Objectives of plans.
    pub objectives: Vec<Objective>,
    /// Devices that may not be used.
    pub without: Vec<usize>,
    /// Placements that are not wanted, whatever speaks for them: the device of each region.
    pub refused: Vec<Vec<usize>>,
    /// Regions, numbered through all programs, with the device on which each is wanted. Unlike a region that names its device,
    /// this does not lift "one region a device" there.
    pub wanted: Vec<(usize, usize)>,
}

/// A region on the devices of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Needs of any path, and the derivations of each.
    pub needs: Vec<(Prop, Vec<Derivation>)>,
    /// The needs of each path that change packets, by their places, in order and as often as the path comes to them; no two paths are equal.
    pub paths: Vec<Vec<usize>>,
}

/// A region of all programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The program, and the region's place there.
    pub app: usize,
    /// Index in the program.
    pub region: usize,
    /// Edges that lead to it.
    pub into: Vec<usize>,
    /// Edges that lead on.
    pub out: Vec<usize>,
    /// Share of the stream that reaches the region, if the program states it.
    pub share: Factor,
    /// Other regions that have to run on the same device.
    pub together: Vec<usize>,
    /// Devices that may run it, in order.
    pub on: Vec<usize>,
    /// Whether it is bound to a device.
    pub is_bound: bool,
    /// State of packets at the start of a program.
    pub start: State,
}

/// An edge between regions of all programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arc {
    /// The region before.
    pub from: usize,
    /// The region after.
    pub to: usize,
    /// Bits that a hand-over adds.
    pub bits: i64,
    /// Share of the program's stream that takes this edge.
    pub share: Factor,
    /// Extra passes through the switch.
    pub passes: i64,
}

/// A model ready to be searched.
pub struct Problem {
    /// Model of the problem.
    pub model: Model,
    /// Interpretation of the model, and objectives.
    pub settings: Settings,
    /// Positions of the variables' values.
    pub scopes: Scopes,
    /// Regions, in the order of programs.
    pub nodes: Vec<Node>,
    /// Edges.
    pub arcs: Vec<Arc>,
    /// The order in which regions are placed: none before one that leads to it.
    pub order: Vec<usize>,
    /// The class of each device: devices on which the same holds, at the same charges.
    pub class: Vec<usize>,
    /// Number of classes.
    pub classes: usize,
    /// Offers by region and class; `Err` lists propositions that cannot be proved there.
    pub offers: Vec<Vec<Result<Offer, Vec<Prop>>>>,
    /// Links, routes, capacities.
    pub network: Network,
    /// Capacity, by device and device variable.
    pub limits: Vec<Vec<i64>>,
    /// Charges for using the device, by device.
    pub charges: Vec<Vec<(usize, i64)>>,
    /// Whether the device runs at most one region.
    pub is_single: Vec<bool>,
    /// Places of path variables with a role.
    pub roles: Roles,
}

/// Places of path variables with a role.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Roles {
    /// See [`Role::Latency`].
    pub latency: Option<usize>,
    /// See [`Role::Rate`].
    pub rate: Option<usize>,
    /// See [`Role::Size`].
    pub size: Option<usize>,
    /// See [`Role::Hops`].
    pub hops: Option<usize>,
    /// See [`Role::HandoverBits`].
    pub bits: Option<usize>,
    /// See [`Role::Recirculations`].
    pub passes: Option<usize>,
}

/// Maximum sizes of a problem.
pub const MAX_REGIONS: usize = 1000;
/// Devices.
pub const MAX_DEVICES: usize = 1000;
/// Paths through one region that differ.
const MAX_PATHS: usize = 4096;

impl Problem {
    /// Checks the model and makes it ready. Errors are about what no search could be begun with; that no plan exists shows later.
    pub fn new(model: Model, settings: Settings) -> Result<Problem, Vec<Diagnostic>> {
        let scopes = Scopes::new(&model.signature);
        check_sizes(&model)?;
        let (mut nodes, mut arcs) = graph(&model, &scopes, &settings);
        let order = order(&nodes, &arcs).map_err(|at| {
            let region = &model.apps[nodes[at].app].regions[nodes[at].region];
            let title = format!("region `{}` follows itself", region.name);
            vec![
                Diagnostic::error(codes::CYCLE, title)
                    .at(region.span, "on a cycle")
                    .help("let one region hold the whole loop"),
            ]
        })?;
        shares(&mut nodes, &mut arcs, &order);
        let (class, classes) = classes(&model);
        let charges: Vec<Vec<(usize, i64)>> = model.devices.iter().map(|d| charges(d, &scopes)).collect();
        let offers = offers(&model, &scopes, &nodes, &class, classes)?;
        let limits = model.devices.iter().map(|d| limits(&model, d, &scopes)).collect();
        let is_bound_to = |d: usize| nodes.iter().any(|n| n.is_bound && n.on.contains(&d));
        let is_single =
            (0..model.devices.len()).map(|d| settings.one_region_per_device && !is_bound_to(d)).collect();
        let place = |role| scopes.role(role);
        let roles = Roles {
            latency: place(Role::Latency),
            rate: place(Role::Rate),
            size: place(Role::Size),
            hops: place(Role::Hops),
            bits: place(Role::HandoverBits),
            passes: place(Role::Recirculations),
        };
        let network = Network::new(&model, &scopes, &settings, &roles);
        Ok(Problem {
            settings,
            nodes,
            arcs,
            order,
            class,
            classes,
            offers,
            network,
            limits,
            charges,
            is_single,
            roles,
            scopes,
            model,
        })
    }

    /// Name of a region, with its program's name if there are several.
    pub fn region_name(&self, node: usize) -> String {
        let node = &self.nodes[node];
        let app = &self.model.apps[node.app];
        match self.model.apps.len() {
            1 => app.regions[node.region].name.to_string(),
            _ => format!("{}/{}", app.name, app.regions[node.region].name),
        }
    }

    /// The name of a device.
    pub fn device_name(&self, device: usize) -> &str {
        &self.model.devices[device].name
    }

    /// A region on a device.
    pub fn offer(&self, node: usize, device: usize) -> Option<&Offer> {
        self.offers[node][self.class[device]].as_ref().ok()
    }

    /// Whether the region may run on a device of the class.
    pub fn can_run(&self, node: usize, class: usize) -> bool {
        self.offers[node][class].is_ok()
            && self.nodes[node].on.iter().any(|device| self.class[*device] == class)
    }

    /// An objective's value, for people.
    pub fn show(&self, objective: usize, value: i64) -> String {
        self.settings.objectives[objective].show(value, &self.model.signature, &self.scopes)
    }
}

fn check_sizes(model: &Model) -> Result<(), Vec<Diagnostic>> {
    let regions = model.apps.iter().map(|app| app.regions.len()).sum();
    let edges = model.apps.iter().map(|app| app.edges.len()).sum();
    let sizes = [
        ("regions", regions, MAX_REGIONS),
        ("devices", model.devices.len(), MAX_DEVICES),
        ("edges", edges, 4 * MAX_REGIONS),
    ];
    match sizes.into_iter().find(|(_, count, most)| count > most) {
        None => Ok(()),
        Some((what, count, most)) => Err(vec![
            Diagnostic::error(codes::TOO_LARGE, format!("too many {what} to plan"))
                .note(format!("there are {count}, and at most {most} are planned")),
        ]),
    }
}

/// All programs as one graph.
fn graph(model: &Model, scopes: &Scopes, settings: &Settings) -> (Vec<Node>, Vec<Arc>) {
    let (mut nodes, mut arcs): (Vec<Node>, Vec<Arc>) = (vec![], vec![]);
    let all: Vec<usize> = (0..model.devices.len()).filter(|d| model.devices[*d].is_host).collect();
    for (at, app) in model.apps.iter().enumerate() {
        let first = nodes.len();
        let start = start(model, app, scopes);
        for (place, region) in app.regions.iter().enumerate() {
            let node = nodes.len();
            let is_wanted = |d: &usize| settings.wanted.iter().all(|(of, device)| *of != node || device == d);
            let allowed = |d: &usize| !settings.without.contains(d) && is_wanted(d);
            nodes.push(Node {
                app: at,
                region: place,
                into: vec![],
                out: vec![],
                share: region.share.unwrap_or(Factor::ONE),
                together: vec![],
                on: if region.on.is_empty() { &all } else { &region.on }
                    .iter()
                    .copied()
                    .filter(allowed)
                    .collect(),
                is_bound: region.on.len() == 1,
                start: start.clone(),
            });
        }
        for edge in &app.edges {
            let (from, to) = (first + edge.from, first + edge.to);
            nodes[from].out.push(arcs.len());
            nodes[to].into.push(arcs.len());
            arcs.push(Arc { from, to, bits: edge.bits, share: edge.share, passes: edge.passes });
        }
        for group in &app.together {
            for region in group {
                let others = group.iter().filter(|other| *other != region).map(|other| first + other);
                nodes[first + region].together.extend(others);
            }
        }
    }
    (nodes, arcs)
}

fn start(model: &Model, app: &App, scopes: &Scopes) -> State {
    let value = |var: &VarId| {
        let given = app.initial.iter().find(|(known, _)| known == var);
        let value = given.map_or(model.signature.get(*var).initial, |(_, value)| *value);
        (value, value)
    };
    scopes.path.iter().map(value).collect()
}

/// Depth first: a region follows one that leads to it as soon as all do. The error is a region on a cycle.
fn order(nodes: &[Node], arcs: &[Arc]) -> Result<Vec<usize>, usize> {
    let mut waiting: Vec<usize> = nodes.iter().map(|n| n.into.len()).collect();
    let mut ready: Vec<usize> = (0..nodes.len()).rev().filter(|n| waiting[*n] == 0).collect();
    let mut order = vec![];
    while let Some(node) = ready.pop() {
        order.push(node);
        for arc in nodes[node].out.iter().rev() {
            let to = arcs[*arc].to;
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    match waiting.iter().position(|left| *left > 0) {
        Some(_) => Err(on_cycle(nodes, arcs, &waiting)),
        None => Ok(order),
    }
}

/// A region on a cycle: follows edges backwards among the waiting regions until one repeats.
fn on_cycle(nodes: &[Node], arcs: &[Arc], waiting: &[usize]) -> usize {
    let mut at = waiting.iter().position(|left| *left > 0).unwrap_or(0);
    for _ in 0..nodes.len() {
        let before = nodes[at].into.iter().map(|arc| arcs[*arc].from);
        at = before.filter(|from| waiting[*from] > 0).min().unwrap_or(at);
    }
    at
}

fn classes(model: &Model) -> (Vec<usize>, usize) {
    let mut known = vec![];
    let class = model.devices.iter().map(|device| {
        let key = (&device.provides, &device.charges);
        known.iter().position(|other| *other == key).unwrap_or_else(|| {
            known.push(key);
            known.len() - 1
        })
    });
    let class = class.collect();
    (class, known.len())
}

fn charges(device: &plan_model::Device, scopes: &Scopes) -> Vec<(usize, i64)> {
    let mut charges = vec![];
    for effect in &device.charges {
        if let (Scope::Once, place) = scopes.place(effect.var)
            && let plan_model::Change::Add(value) = effect.change
        {
            derive::charge(&mut charges, place, value);
        }
    }
    charges
}

fn limits(model: &Model, device: &plan_model::Device, scopes: &Scopes) -> Vec<i64> {
    let limit = |var: &VarId| {
        let own = device.limits.iter().find(|(known, _)| known == var).map(|(_, limit)| *limit);
        own.unwrap_or(match model.signature.get(*var).scope {
            Scope::Device { limit: Some(limit) } => limit,
            _ => i64::MAX,
        })
    };
    scopes.device.iter().map(limit).collect()
}

type Offers = Vec<Vec<Result<Offer, Vec<Prop>>>>;

fn offers(
    model: &Model,
    scopes: &Scopes,
    nodes: &[Node],
    class: &[usize],
    classes: usize,
) -> Result<Offers, Vec<Diagnostic>> {
    let heads = derive::by_head(&model.rules);
    // Derivations found before, by class.
    let mut known: Vec<BTreeMap<Prop, Vec<Derivation>>> = vec![BTreeMap::new(); classes];
    let mut offers: Offers = vec![];
    for node in nodes {
        let region = &model.apps[node.app].regions[node.region];
        let mut of_node = vec![];
        for (at, known) in known.iter_mut().enumerate() {
            let provides = class.iter().position(|c| *c == at).map(|d| &model.devices[d].provides);
            let mut prover =
                Prover::new(&model.rules, &heads, scopes, provides.map_or(&[][..], |p| p.as_slice()));
            let mut needs: Vec<(Prop, Vec<Derivation>)> = vec![];
            for prop in region.paths.iter().flatten() {
                if needs.iter().any(|(known, _)| known == prop) {
                    continue;
                }
                let found = known.entry(prop.clone()).or_insert_with(|| prover.derive(prop)).clone();
                needs.push((prop.clone(), found));
            }
            if let Some(prop) = &prover.excess {
                return Err(vec![too_many(
                    region.span,
                    format!("`{prop}` has too many proofs"),
                    derive::MAX_DERIVATIONS,
                )]);
            }
            let missing: Vec<Prop> =
                needs.iter().filter(|(_, found)| found.is_empty()).map(|(prop, _)| prop.clone()).collect();
            if !missing.is_empty() {
                of_node.push(Err(missing));
                continue;
            }
            let paths = paths(&region.paths, &needs);
            if paths.len() > MAX_PATHS {
                let title = format!("`{}` has too many distinct paths", region.name);
                return Err(vec![too_many(region.span, title, MAX_PATHS)]);
            }
            of_node.push(Ok(Offer { needs, paths }));
        }
        offers.push(of_node);
    }
    Ok(offers)
}

fn too_many(span: Span, title: String, most: usize) -> Diagnostic {
    Diagnostic::error(codes::TOO_LARGE, title).at(span, format!("at most {most} are looked at"))
}

/// Needs of each path that change packets, without duplicates.
fn paths(paths: &[Vec<Prop>], needs: &[(Prop, Vec<Derivation>)]) -> Vec<Vec<usize>> {
    let changes = |place: &usize| needs[*place].1.iter().any(|derivation| !derivation.path.is_empty());
    let mut all: Vec<Vec<usize>> = paths
        .iter()
        .map(|path| {
            let place = |prop: &Prop| needs.iter().position(|(known, _)| known == prop);
            path.iter().filter_map(place).filter(changes).collect()
        })
        .collect();
    all.sort();
    all.dedup();
    if all.is_empty() {
        all.push(vec![]);
    }
    all
}

/// Fills in how much of the stream comes to each region and passes each edge.
fn shares(nodes: &mut [Node], arcs: &mut [Arc], order: &[usize]) {
    for &node in order {
        let into: i64 = nodes[node].into.iter().map(|arc| arcs[*arc].share.0).fold(0, i64::saturating_add);
        let is_start = nodes[node].into.is_empty();
        // Shares of the region itself and of the edges to it.
        let most = nodes[node].share.0.min(Factor::ONE.0);
        nodes[node].share = if is_start { Factor::ONE } else { Factor(into.min(most)) };
        for &arc in &nodes[node].out {
            arcs[arc].share = Factor(arcs[arc].share.of(nodes[node].share.0));
        }
    }
}

/// The place of a bound's variable, and its range, as a box.
pub(crate) fn admits(bounds: &[plan_model::Bound], scopes: &Scopes) -> Admits {
    let mut admits = Admits::default();
    bounds.iter().for_each(|b| admits.narrow(scopes.place(b.var).1, b.range()));
    admits
}
