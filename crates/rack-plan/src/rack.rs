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

mod model;
mod rules;

use super::Result;
use super::bind::bind;
use super::cut::Cut;
use super::limits::{self, Beyond, check_limits};
use super::offers::{offer, offered};
use super::placement::placement;
use crate::spares::Spares;
use base_diag::Diagnostic;
use base_diag::codes::plan as codes;
use ir::{Name, Program};
use ir_split::{DeviceIndex, Placement, Policy, Site, Split, split};
pub(crate) use model::{ENTRY_BITS, own_cables};
use model::{class, devices, links, objectives, signature};
use plan_model::{Model, find_name};
use plan_search::{
    Found, Goal, Objective, Ordered, Plan, Problem, Progress, Scopes, Settings, Stop, Tiers, search,
    search_near, why,
};
use rack_model::{DeviceClass, DeviceId, Rack};
pub use rules::RuleText;
use rules::generated;
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
                Site::at(std::iter::once(device).chain(others).collect(), Policy::Failover)
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
