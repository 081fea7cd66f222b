//! Spares for the devices of a plan: the devices that may take over, and the cost of the plan afterwards.
//!
//! ```text
//! plan     Wall = nic1                         Latency 9us
//! spares   nic1 fails: Wall = nic2             Latency 11us       the regions fit there, and so does the traffic on its links
//!          fpga: no link to `tor`              cannot take over
//! ```
//!
//! A spare runs nothing else, and has links to the devices that hand packets over to it, and to the spares of these. The plan with the
//! regions at the spare is searched as any other, so a spare has the capacity that they need. Devices with the fewest candidates choose first.

use super::Result;
use crate::rack::own_cables;
use crate::{Cost, RackProblem};
use ir_split::DeviceIndex;
use plan_search::{Goal, Plan, Problem, Progress, Stop, search};
use std::collections::{BTreeMap, BTreeSet};

/// A device of a plan, beside the origin, and those that may take over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spares {
    /// The device.
    pub device: DeviceIndex,
    /// Devices that take over, in order, each with the costs of the plan after that.
    pub spares: Vec<(DeviceIndex, Vec<Cost>)>,
    /// Devices that cannot, and why.
    pub unfit: BTreeMap<DeviceIndex, String>,
}

/// Devices with the costs of a plan, and others with the reason why they do not fit.
type Fitting = (Vec<(usize, Vec<i64>)>, BTreeMap<usize, String>);

/// Partial plans that are searched for one spare: all regions are bound.
const MOST_LABELS: u64 = 10_000;

impl RackProblem {
    /// Up to `count` spares for each device of a plan, beside the origin.
    pub fn spares(&self, plan: &Plan, count: usize) -> Result<Vec<Spares>> {
        let joined = self.joined();
        let devices: BTreeSet<usize> = plan.device.iter().copied().filter(|d| *d != plan.device[0]).collect();
        let mut fits = BTreeMap::new();
        for device in &devices {
            fits.insert(*device, self.fitting(plan, *device, &joined)?);
        }
        let mut order: Vec<usize> = devices.iter().copied().collect();
        order.sort_by_key(|device| fits[device].0.len());
        let mut chosen: BTreeMap<usize, Vec<(usize, Vec<i64>)>> = BTreeMap::new();
        // In rounds: no device chooses a second spare before each has chosen a first.
        for _ in 0..count {
            for device in &order {
                let is_free = |spare: &usize| !chosen.values().flatten().any(|(taken, _)| taken == spare);
                let beside = self.beside(plan, *device);
                let reaches = |spare: usize| {
                    let mut others = beside.iter().flat_map(|other| chosen.get(other)).flatten();
                    others.all(|(other, _)| joined.contains(&(spare, *other)))
                };
                let next =
                    fits[device].0.iter().find(|(spare, _)| is_free(spare) && reaches(*spare)).cloned();
                if let Some(next) = next {
                    chosen.entry(*device).or_default().push(next);
                }
            }
        }
        let index = |device: usize| DeviceIndex(device as u32);
        let of = |device: usize| {
            let found = chosen.get(&device).into_iter().flatten();
            let spares: Vec<_> = found.map(|(at, costs)| (index(*at), self.costs(costs))).collect();
            let (fit, unfit) = &fits[&device];
            let mut unfit: BTreeMap<_, _> = unfit.iter().map(|(at, why)| (index(*at), why.clone())).collect();
            if spares.len() < count {
                let left = fit.iter().filter(|(at, _)| !spares.iter().any(|(known, _)| *known == index(*at)));
                unfit.extend(left.map(|(at, _)| (index(*at), "it is a spare of another device".to_string())));
            }
            Spares { device: index(device), spares, unfit }
        };
        Ok(devices.into_iter().map(of).collect())
    }

    /// Pairs of devices with a link.
    fn joined(&self) -> BTreeSet<(usize, usize)> {
        let ends = own_cables(&self.rack, self.app).map(|(_, ends)| ends.map(|end| end.0 as usize));
        ends.flat_map(|[a, b]| [(a, b), (b, a)]).collect()
    }

    /// The devices that hand packets over to this one, and those beside the origin that it hands packets over to.
    fn beside(&self, plan: &Plan, device: usize) -> BTreeSet<usize> {
        let origin = plan.device[0];
        let mut beside = BTreeSet::new();
        for arc in &self.problem.arcs {
            let (from, to) = (plan.device[arc.from], plan.device[arc.to]);
            if to == device && from != device {
                beside.insert(from);
            }
            if from == device && to != device && to != origin {
                beside.insert(to);
            }
        }
        beside
    }

    /// The devices that can run the regions of this one, the plan with the least costs first; and of those that cannot, why.
    fn fitting(&self, plan: &Plan, device: usize, joined: &BTreeSet<(usize, usize)>) -> Result<Fitting> {
        let (mut fit, mut unfit) = (vec![], BTreeMap::new());
        let beside = self.beside(plan, device);
        for (candidate, other) in self.problem.model.devices.iter().enumerate() {
            let is_excluded = self.problem.settings.without.contains(&candidate);
            if !other.is_host || is_excluded || plan.device.contains(&candidate) {
                continue;
            }
            if let Some(far) = beside.iter().find(|near| !joined.contains(&(candidate, **near))) {
                unfit.insert(candidate, format!("it has no link to `{}`", self.problem.device_name(*far)));
                continue;
            }
            let mut settings = self.problem.settings.clone();
            let place = |at: usize| if at == device { candidate } else { at };
            settings.wanted = plan.device.iter().map(|at| place(*at)).enumerate().collect();
            let problem = Problem::new(self.problem.model.clone(), settings)?;
            let mut watch = |p: &Progress| if p.labels > MOST_LABELS { Stop::Yes } else { Stop::No };
            match search(&problem, &Goal::First, &mut watch).plans.into_iter().next() {
                Some((costs, _)) => fit.push((candidate, costs)),
                None => {
                    drop(unfit.insert(candidate, "the regions or their packets do not fit there".to_string()))
                }
            }
        }
        fit.sort_by(|a, b| a.1.cmp(&b.1));
        Ok((fit, unfit))
    }
}
