//! A planning problem from a rack: the regions of one of its apps on the devices that it may use.
//!
//! ```text
//! section of a region   needs `p4`, the externs of the user's own that it calls, what they take (`time.NAME`), and what bears its name
//! device                provides its class, and of each extern it offers `offers.NAME` and `takes.NAME.TIME` (with its rate)
//! rules                 rule "beacon" beacon if offers.beacon;
//!                       rule "beacon in 2us" time.beacon if takes.beacon.2us then Latency += 2us;
//!                       rule "smartnic" p4 if smartnic;
//!                       rule "Acl" Acl then <Tables> += 1, <EntryBits> += 58880bit;     unless the user's own prove the same
//! link into a device    its delay, what a frame takes on the wire besides its own bytes, the device's service time and frames per second
//! ```
//!
//! Regions that use the same state stay together; a region that the splitter cannot move runs at the origin. A plan is
//! split before it is shown: the search knows most reasons of the splitter to refuse plans, not all, and continues
//! without refused plans.

use super::Result;
use super::bind::bind;
use super::cut::{Cut, P4};
use super::limits::{self, Beyond, check_limits};
use super::offers::{call_cost, call_time, calls, offer, offered, takes};
use super::placement::placement;
use crate::spares::Spares;
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, Span};
use ir::{Name, Program};
use ir_footprint::footprint;
use ir_split::{DeviceIndex, Placement, Policy, Site, Split, split};
use plan_model::flightplan::read_performance_csv;
use plan_model::{
    Bound, Change, Compare, Device, Effect, Link, Model, Port, Prop, Role, Rule, Scope, Signature, Unit,
    VarId, Variable, find_name, read_rules,
};
use plan_search::{
    Found, Goal, Objective, Ordered, Plan, Problem, Progress, Scopes, Settings, Stop, Tiers, search,
    search_near, why,
};
use rack_model::link::SHORTEST_FRAME;
use rack_model::{Cable, DeviceClass, DeviceId, End, NodeId, Rack};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The table size where a program gives none.
pub(crate) const DEFAULT_SIZE: u64 = 1024;
/// Maps that are refused before the search ends.
const MAX_REFUSED: usize = 64;
/// Maximum number of partial plans of a search without a watch.
const MAX_LABELS: u64 = 2_000_000;

/// A planning problem, and the meaning of its plans for the rack.
pub struct RackProblem {
    /// The problem.
    pub problem: Problem,
    /// Regions that stay at the origin, with why.
    pub fixed: Vec<(Name, String)>,
    pub(crate) rack: Rack,
    /// The app, by its place.
    pub(crate) app: usize,
    program: Arc<Program>,
    /// Code that classes of the rack's devices cannot run.
    beyond: Vec<Beyond>,
    /// The program's region for each region of the problem.
    regions: Vec<Option<Name>>,
    /// Splits of plans, by the plan's devices.
    splits: BTreeMap<Vec<usize>, Split>,
}

impl RackProblem {
    /// For one of the apps of a rack, `without` some devices.
    pub fn new(
        rack: &Rack,
        at: usize,
        program: Arc<Program>,
        rules: &[RuleText],
        without: &[String],
    ) -> Result<RackProblem> {
        let Some(app) = rack.apps.get(at) else { return Err(vec![]) };
        let origin = app.origin.value.0 as usize;
        let cut = Cut::new(&program)?;
        let mut signature = signature(rack, origin);
        let mut model = Model::default();
        for rule in rules {
            model.rules.extend(rule.read(&mut signature)?);
        }
        for rule in &mut model.rules {
            // A user's rule for an extern holds only on devices that offer it.
            if offered(rack).any(|name| name == rule.head) {
                rule.needs.push(offer(&rule.head));
            }
        }
        model.signature = signature;
        model.devices = devices(rack, at, &model.signature)?;
        model.links = links(rack, at, &mut model.devices);
        let mut classes: Vec<DeviceClass> =
            (0..rack.devices.len() as u32).map(|id| class(rack, DeviceId(id))).collect();
        let at_origin = classes[origin];
        classes.sort();
        classes.dedup();
        let beyond = limits::beyond(&cut, &classes, at_origin);
        if let Some(stays) = beyond.iter().find(|beyond| beyond.section.is_none()) {
            let name = rack.devices.get(origin).map_or("", |device| &device.name.value);
            let note = format!("this code stays at the origin, `{name}`");
            return Err(stays.why.iter().map(|why| why.clone().note(note.clone())).collect());
        }
        model.apps.push(cut.app(rack, at, &program, &beyond)?);
        let generated = generated(&cut.split, rack, &program, &model, &beyond, &classes);
        model.rules.extend(generated);
        let scopes = Scopes::new(&model.signature);
        let device = |name: &String| {
            find_name("device", name, model.devices.iter().map(|d| d.name.as_str()))
                .map_err(|found| vec![found])
        };
        let settings = Settings {
            tiers: if rack.plan.any_tier { Tiers::Any } else { Tiers::Tightest },
            one_region_per_device: false,
            routes: 1,
            objectives: objectives(rack, &model, &scopes)?,
            refused: vec![],
            wanted: vec![],
            without: without.iter().map(device).collect::<Result<_>>()?,
        };
        let regions = std::iter::once(None).chain(cut.split.sections.iter().map(|s| Some(s.region.clone())));
        let (regions, fixed) = (regions.collect(), cut.fixed);
        Ok(RackProblem {
            problem: Problem::new(model, settings)?,
            fixed,
            rack: rack.clone(),
            app: at,
            program,
            beyond,
            regions,
            splits: BTreeMap::new(),
        })
    }

    /// From now on a region runs on a device: `REGION=DEVICE`.
    pub fn bind(&mut self, wanted: &str) -> Result<()> {
        let fixed = &self.fixed;
        let sections = self.problem.model.apps[0].regions.iter().zip(&self.regions);
        let of: BTreeMap<&str, &Name> = sections
            .filter_map(|(section, region)| Some((section.name.as_str(), region.as_ref()?)))
            .collect();
        let pinned = |section: &str| {
            let why = fixed.iter().find(|(name, _)| of.get(section) == Some(&name)).map(|(_, why)| why);
            let why = why.map_or("packets enter and leave the program there".to_string(), |why| {
                format!("the splitter refuses to move it: {why}")
            });
            (why, None)
        };
        self.problem = bind(&self.problem, wanted, &pinned)?;
        Ok(())
    }

    /// The name of the app.
    pub fn app_name(&self) -> &str {
        self.rack.apps.get(self.app).map_or("", |app| &app.name.value)
    }

    /// The regions that a plan takes away from the origin, with their devices.
    pub fn map(&self, plan: &Plan) -> BTreeMap<Name, DeviceIndex> {
        let origin = plan.device[0];
        let regions = self.regions.iter().zip(&plan.device).filter(|(_, device)| **device != origin);
        regions.filter_map(|(name, device)| Some((name.clone()?, DeviceIndex(*device as u32)))).collect()
    }

    /// Sites of the regions, with the policy of a plan.
    fn sites(&self, plan: &Plan, spares: &[Spares]) -> BTreeMap<Name, Site> {
        let site = |(region, device)| {
            let own = spares.iter().find(|of| of.device == device).filter(|of| !of.spares.is_empty());
            let site = own.map_or(device.into(), |of| {
                let others = of.spares.iter().map(|(spare, _)| *spare);
                Site { devices: std::iter::once(device).chain(others).collect(), policy: Policy::Failover }
            });
            (region, site)
        };
        self.map(plan).into_iter().map(site).collect()
    }

    /// The split of a plan whose devices have spares; errors: the splitter's reasons to refuse it.
    pub fn split_with(&self, plan: &Plan, spares: &[Spares]) -> Result<(Placement, Split)> {
        let placement = placement(&self.rack, self.app, self.sites(plan, spares))?;
        let made = split(&self.program, &placement)?;
        Ok((placement, made))
    }

    /// Number of spares for each device of a plan, by the file.
    pub fn wanted_spares(&self) -> usize {
        self.rack.apps.get(self.app).map_or(0, |app| app.planned_spares as usize)
    }

    /// A plan that was found, as the splitter has made it.
    pub fn split(&self, plan: &Plan) -> Option<&Split> {
        self.splits.get(&*plan.device)
    }

    /// Splits a plan; errors: the splitter's reasons to refuse it.
    fn try_split(&mut self, plan: &Plan) -> Result<()> {
        if self.split(plan).is_none() {
            // The costs of a plan know of no packets that pass by a device for nothing.
            let placement =
                Placement { detours: false, ..placement(&self.rack, self.app, self.sites(plan, &[]))? };
            let made = split(&self.program, &placement)?;
            check_limits(&self.rack, &placement, &made)?;
            self.splits.insert(plan.device.to_vec(), made);
        }
        Ok(())
    }

    /// Reasons why the splitter refuses a plan; `None` if it accepts it.
    pub fn refuses(&mut self, plan: &Plan) -> Option<Refused> {
        self.try_split(plan).err().map(|why| Refused { map: self.map(plan), why })
    }

    pub(crate) fn costs(&self, values: &[i64]) -> Vec<Cost> {
        let objectives = self.problem.settings.objectives.iter().zip(values).enumerate();
        let cost = |(at, (objective, value)): (usize, (&Objective, &i64))| Cost {
            objective: objective.name.to_string(),
            value: *value,
            shown: self.problem.show(at, *value),
        };
        objectives.map(cost).collect()
    }

    /// The plans of `goal` that the splitter accepts; a refused placement is not tried again. `refused` has the
    /// reasons, each with the placement. Incomplete after too many refusals. If `is_near`, plans near all others come
    /// first, for a search that may be stopped.
    pub fn search(
        &mut self,
        goal: &Goal,
        is_near: bool,
        watch: &mut dyn FnMut(&Progress) -> Stop,
    ) -> Result<(Found, Vec<Refused>)> {
        let mut refused: Vec<Refused> = vec![];
        loop {
            let mut found = match is_near {
                true => search_near(&self.problem, goal, watch),
                false => search(&self.problem, goal, watch),
            };
            let mut settings = self.problem.settings.clone();
            let known = settings.refused.len();
            for (_, plan) in &found.plans {
                if let Some(found) = self.refuses(plan) {
                    settings.refused.push(plan.device.clone());
                    refused.push(found);
                }
            }
            if settings.refused.len() == known {
                return Ok((found, refused));
            }
            let is_enough = known >= MAX_REFUSED || !found.is_complete;
            if is_enough {
                if settings.refused.len() > known {
                    // With refused plans among the found ones, nothing is proven about the best cost.
                    found.gap = i64::MAX;
                }
                found.plans.retain(|(_, plan)| !settings.refused.contains(&plan.device));
                found.is_complete = false;
                return Ok((found, refused));
            }
            self.problem = Problem::new(self.problem.model.clone(), settings)?;
        }
    }

    /// The first plan in the order of the objectives, with its split and its costs.
    pub fn best(&mut self) -> Result<(Placement, Split, Vec<Cost>)> {
        if self.wanted_spares() > 0 {
            return self.best_with_spares();
        }
        let mut watch = |p: &Progress| if p.labels > MAX_LABELS { Stop::Yes } else { Stop::No };
        let (found, refused) = self.search(&Goal::First, false, &mut watch)?;
        match found.plans.first() {
            Some((costs, plan)) => {
                let placement = placement(&self.rack, self.app, self.sites(plan, &[]))?;
                let made = self.splits.remove(&*plan.device);
                Ok((placement, made.ok_or_else(Vec::new)?, self.costs(costs)))
            }
            None if refused.is_empty() => {
                let limits = self.beyond.iter().flat_map(|beyond| beyond.why.iter().cloned());
                Err(std::iter::once(why::no_plan(&self.problem, &mut || true)).chain(limits).collect())
            }
            None => Err(refused.into_iter().flat_map(|refused| refused.why).collect()),
        }
    }
}

impl RackProblem {
    /// The first plan each of whose devices has the spares that the file wants.
    fn best_with_spares(&mut self) -> Result<(Placement, Split, Vec<Cost>)> {
        let mut watch = |p: &Progress| if p.labels > MAX_LABELS { Stop::Yes } else { Stop::No };
        let count = self.wanted_spares();
        let problem = Problem::new(self.problem.model.clone(), self.problem.settings.clone())?;
        let mut all = Ordered::new(problem, Goal::First, MAX_REFUSED);
        let mut first = None;
        for _ in 0..MAX_REFUSED {
            let Some((costs, plan)) = all.next(&mut watch) else { break };
            let spares = self.spares(&plan, count)?;
            let lacking = spares.iter().find(|of| of.spares.len() < count);
            let ended = match lacking {
                Some(of) => Err(vec![self.lacks(of, count)]),
                None => self.split_with(&plan, &spares),
            };
            match ended {
                Ok((placement, made)) => return Ok((placement, made, self.costs(&costs))),
                Err(why) => first = first.or(Some(why)),
            }
        }
        Err(first.unwrap_or_else(|| vec![why::no_plan(&self.problem, &mut || true)]))
    }

    fn lacks(&self, of: &Spares, count: usize) -> Diagnostic {
        let name = |device: &DeviceIndex| self.problem.device_name(device.0 as usize);
        let title = format!("`{}` has {} of {count} spares", name(&of.device), of.spares.len());
        let found = Diagnostic::error(codes::NO_PLAN, title);
        let unfit = of.unfit.iter().map(|(device, why)| format!("`{}`: {why}", name(device)));
        let found = unfit.take(MANY).fold(found, Diagnostic::note);
        found.help("add a device with links to those that hand packets over, or ask for fewer spares")
    }
}

/// More devices than these are not listed.
const MANY: usize = 16;

/// Cost of a plan in one objective.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cost {
    /// As the file has it.
    pub objective: String,
    /// In steps of its unit.
    pub value: i64,
    /// For people.
    pub shown: String,
}

/// A map that the splitter does not make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Regions away from the origin.
    pub map: BTreeMap<Name, DeviceIndex>,
    /// Reasons.
    pub why: Vec<Diagnostic>,
}

/// Rules of the user's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleText {
    /// The text.
    pub text: String,
    /// The number of its first byte.
    pub base: u32,
    /// True if the file is a table in the format of `p4rack profile` and Flightplan's scripts.
    pub is_table: bool,
}

impl RuleText {
    fn read(&self, signature: &mut Signature) -> Result<Vec<Rule>> {
        if self.is_table {
            return read_performance_csv(&self.text, self.base, signature).map_err(|found| vec![found]);
        }
        let (rules, found) = read_rules(&self.text, self.base, signature);
        if found.has_errors() { Err(found.into_vec()) } else { Ok(rules) }
    }
}

/// Rules beside the user's: every class runs P4, and a section uses the resources of its tables.
fn generated(
    split: &Split,
    rack: &Rack,
    program: &Program,
    model: &Model,
    beyond: &[Beyond],
    classes: &[DeviceClass],
) -> Vec<Rule> {
    let is_proved = |prop: &str| model.rules.iter().any(|rule| rule.head == prop);
    let rule = |name: &str, head: &str, needs: Vec<Prop>, effects: Vec<Effect>| Rule {
        name: name.into(),
        head: head.into(),
        needs,
        bounds: vec![],
        effects,
        span: Span::NONE,
    };
    let mut rules = vec![];
    if !is_proved(P4) {
        let mut classes: Vec<&Prop> = model.devices.iter().filter_map(|d| d.provides.first()).collect();
        classes.sort();
        classes.dedup();
        rules.extend(classes.iter().map(|class| rule(class, P4, vec![(*class).clone()], vec![])));
    }
    for (at, section) in split.sections.iter().enumerate() {
        let barred: Vec<DeviceClass> =
            beyond.iter().filter(|b| b.section == Some(at)).map(|b| b.class).collect();
        if !barred.is_empty() {
            let able = classes.iter().filter(|class| !barred.contains(class)).map(|class| class.word());
            let name = |class: &str| format!("{} on {class}", section.name);
            rules.extend(
                able.map(|class| {
                    rule(&name(class), &limits::runs(&section.name), vec![class.into()], vec![])
                }),
            );
        }
    }
    let mut functions: Vec<&str> = offered(rack).filter(|name| !is_proved(name)).collect();
    functions.sort_unstable();
    functions.dedup();
    rules.extend(functions.into_iter().map(|name| rule(name, name, vec![offer(name)], vec![])));
    rules.extend(calls(rack).into_iter().map(|(name, call)| {
        let latency = model
            .signature
            .role(Role::Latency)
            .map(|var| Effect { var, change: Change::Add(steps(call.time.as_ps(), 1)) });
        let rate = model.signature.role(Role::Rate).zip(call.rate);
        let bound = rate.map(|(var, rate)| Bound {
            var,
            compare: Compare::AtMost,
            value: steps(rate.bits_per_s(), 1000),
        });
        Rule {
            bounds: bound.into_iter().collect(),
            ..rule(
                &format!("{name} in {}", call.time),
                &call_time(name),
                vec![takes(name, call)],
                latency.into_iter().collect(),
            )
        }
    }));
    for section in split.sections.iter().filter(|section| !is_proved(&section.name)) {
        let tables = section.tables.iter().filter_map(|table| footprint::table(program, table));
        let bits = tables.map(|t| t.size.unwrap_or(DEFAULT_SIZE).saturating_mul(t.entry_bits));
        let bits = bits.fold(0, u64::saturating_add);
        let used = [(TABLES, section.tables.len() as i64 * ONE), (ENTRY_BITS, bits.min(1 << 62) as i64)];
        let add = |(name, value): (&str, i64)| {
            Some(Effect { var: model.signature.find(name)?, change: Change::Add(value) })
        };
        let effects = used.into_iter().filter(|(_, value)| *value > 0).filter_map(add).collect();
        rules.push(rule(&section.name, &section.name, vec![], effects));
    }
    rules
}

/// Tables that a device runs.
const TABLES: &str = "Tables";
/// Bits of their entries, if all are full.
pub(crate) const ENTRY_BITS: &str = "EntryBits";
/// One, without a unit, in steps.
const ONE: i64 = 1_000_000;

/// Variables that every rack has; the user's rules may declare more.
fn signature(rack: &Rack, origin: usize) -> Signature {
    let mut signature = Signature::default();
    let latency = rack.devices.get(origin).map_or(0, |device| steps(device.service.as_ps(), 1));
    let rate = rack.plan.rate.map_or(0, |rate| steps(rate.bits_per_s(), 1000));
    let size = i64::from(rack.plan.size) * 1000;
    let path = [
        ("Latency", Unit::Seconds, Role::Latency, latency),
        ("InputRate", Unit::BitsPerSecond, Role::Rate, rate),
        ("PacketSize", Unit::Bytes, Role::Size, size),
        ("Hops", Unit::Plain, Role::Hops, 0),
        ("HandoverBits", Unit::Bits, Role::HandoverBits, 0),
        ("Recirculations", Unit::Plain, Role::Recirculations, 0),
    ];
    for (name, unit, role, initial) in path {
        signature.add(Variable { name: name.into(), unit, scope: Scope::Path, role: Some(role), initial });
    }
    for (name, unit) in [("Power", Unit::Watts), ("Cost", Unit::Plain)] {
        signature.add(Variable { name: name.into(), unit, scope: Scope::Once, role: None, initial: 0 });
    }
    for (name, unit) in [(TABLES, Unit::Plain), (ENTRY_BITS, Unit::Bits)] {
        let scope = Scope::Device { limit: None };
        signature.add(Variable { name: name.into(), unit, scope, role: None, initial: 0 });
    }
    signature
}

/// A quantity as steps of its unit, as many as fit.
fn steps(value: u64, each: i64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX).saturating_mul(each)
}

fn devices(rack: &Rack, app: usize, signature: &Signature) -> Result<Vec<Device>> {
    let mut wrong = vec![];
    let mut devices = vec![];
    let is_other_origin = |id: DeviceId| rack.apps[app].other_origins.iter().any(|other| other.value == id);
    let origin = rack.apps[app].origin.value.0 as usize;
    let mut joined: BTreeMap<DeviceId, usize> = BTreeMap::new();
    for ends in own_cables(rack, app).map(|(_, ends)| ends) {
        ends.into_iter().for_each(|end| *joined.entry(end).or_default() += 1);
    }
    for (at, device) in rack.devices.iter().enumerate() {
        let mut limits = vec![];
        for (name, text) in &device.resources {
            match limit(signature, &name.value, &text.value) {
                Ok(limit) => limits.push(limit),
                Err(found) => wrong.push(found.at(name.span, format!("of device `{}`", device.name.value))),
            }
        }
        let id = DeviceId(at as u32);
        let offers = device
            .externs
            .iter()
            .flat_map(|name| [offer(&name.value), takes(&name.value, call_cost(device, &name.value))]);
        devices.push(Device {
            name: device.name.value.as_str().into(),
            provides: std::iter::once(class(rack, id).word().into()).chain(offers).collect(),
            is_host: rack.is_of(id, app) && !is_other_origin(id),
            limits,
            frames: frames(device),
            // Links to hosts and to devices of other apps lead to no other.
            forwards: origin == at || joined.get(&id).is_some_and(|count| *count > 1),
            recirculates: origin == at,
            transit: steps(device.service.as_ps(), 1),
            span: device.name.span,
            ..Device::default()
        });
    }
    if wrong.is_empty() { Ok(devices) } else { Err(wrong) }
}

/// The class of a device. If the device extends a legacy switch, the class of that switch: both are charged together.
fn class(rack: &Rack, id: DeviceId) -> DeviceClass {
    let stands_for = |other: &DeviceId| rack.extended(*other) == Some(id);
    let mut others = (0..rack.devices.len() as u32).map(DeviceId);
    let at = others.find(stands_for).unwrap_or(id);
    rack.devices.get(at.0 as usize).map_or(DeviceClass::Cpu, |device| device.class)
}

/// A device's own limit of a variable.
fn limit(signature: &Signature, name: &str, text: &str) -> std::result::Result<(VarId, i64), Diagnostic> {
    let of_devices = || signature.variables.iter().filter(|v| matches!(v.scope, Scope::Device { .. }));
    find_name("device variable", name, of_devices().map(|v| v.name.as_str()))?;
    let wrong = |why| Diagnostic::error(codes::QUANTITY, "not a quantity of this kind").note(why);
    let var = signature.find(name).unwrap_or(VarId(0));
    Ok((var, signature.get(var).unit.parse(text).map_err(wrong)?))
}

/// Maximum number of frames that a device accepts, in thousandths per second: `parallel` in each service time.
fn frames(device: &rack_model::Device) -> Option<i64> {
    let frames = u128::from(device.parallel) * 1_000_000_000_000_000;
    let frames = frames.checked_div(u128::from(device.service.as_ps()))?;
    Some(i64::try_from(frames).unwrap_or(i64::MAX))
}

/// Cables between devices of the app, with these devices.
pub(crate) fn own_cables(rack: &Rack, app: usize) -> impl Iterator<Item = (Cable, [DeviceId; 2])> + '_ {
    let is_own = move |device: DeviceId| rack.is_of(device, app);
    rack.cables().into_iter().filter_map(move |cable| match cable.ends.map(|end| end.node) {
        [NodeId::Device(a), NodeId::Device(b)] if is_own(a) && is_own(b) => Some((cable, [a, b])),
        _ => None,
    })
}

/// Links between devices of the app, and their ports. Each passage through a legacy switch is a device of its own, which forwards.
fn links(rack: &Rack, app: usize, devices: &mut Vec<Device>) -> Vec<Link> {
    let mut links = vec![];
    for (cable, [a, _]) in own_cables(rack, app) {
        let mut from = plug(devices, a.0 as usize, cable.ends[0].port);
        let mut near = cable.ends[0];
        for (at, id) in cable.links.iter().enumerate() {
            let Some(link) = rack.links.get(id.0 as usize) else { continue };
            let is_near = |end: &End| (end.node, end.port) == (near.node, near.port);
            let far = link.ends[usize::from(is_near(&link.ends[0]))];
            let next = cable.links.get(at + 1).and_then(|id| rack.links.get(id.0 as usize));
            let NodeId::Device(device) = far.node else { continue };
            let passes = next.and_then(|_| passage(rack, device, rack.end_name(far)));
            let to = passes.map_or(device.0 as usize, |passage| {
                devices.push(passage);
                devices.len() - 1
            });
            let into = plug(devices, to, far.port);
            links.push(Link {
                ends: [from, into],
                delay: steps(link.delay.as_ps(), 1),
                overhead: i64::from(link.overhead) * 1000,
                shortest: if link.pad { i64::from(SHORTEST_FRAME) * 1000 } else { 0 },
                rate: Some(steps(link.rate.bits_per_s(), 1000)),
                longest: Some(i64::from(link.longest_frame()) * 1000),
                span: link.span,
            });
            let Some(leaves) = next.and_then(|next| next.ends.iter().find(|end| end.node == far.node)) else {
                continue;
            };
            (from, near) = (plug(devices, to, leaves.port), *leaves);
        }
    }
    links
}

/// A new port of a device, with the device.
fn plug(devices: &mut [Device], device: usize, port: u32) -> (usize, usize) {
    let ports = &mut devices[device].ports;
    ports.push(Port { name: port.to_string().into(), bounds: vec![] });
    (device, ports.len() - 1)
}

/// A device that forwards frames inside a legacy switch.
fn passage(rack: &Rack, legacy: DeviceId, name: String) -> Option<Device> {
    let (_, switch) = rack.legacy(NodeId::Device(legacy))?;
    Some(Device {
        name: name.into(),
        forwards: true,
        transit: steps(switch.service.as_ps(), 1),
        frames: frames(switch),
        span: switch.name.span,
        ..Device::default()
    })
}

/// The objectives of the file; by default latency, charges of the rules, and devices.
fn objectives(rack: &Rack, model: &Model, scopes: &Scopes) -> Result<Vec<Objective>> {
    let parse = |name: &str, span: Span| {
        Objective::parse(name, &model.signature, scopes).map_err(|why| {
            let error =
                Diagnostic::error(codes::UNKNOWN, format!("`{}` is not an objective", name.escape_debug()));
            vec![if span == Span::NONE { error.note(why) } else { error.at(span, why) }]
        })
    };
    if !rack.plan.objectives.is_empty() {
        return rack.plan.objectives.iter().map(|name| parse(&name.value, name.span)).collect();
    }
    let is_charged =
        |var: &&VarId| model.rules.iter().any(|rule| rule.effects.iter().any(|e| e.var == **var));
    let charges = scopes.once.iter().filter(is_charged).map(|var| model.signature.get(*var).name.as_str());
    let names = std::iter::once("Latency").chain(charges).chain(["devices"]);
    names.map(|name| parse(name, Span::NONE)).collect()
}
