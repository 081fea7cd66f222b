//! Sets of plans for which one place suffices.
//!
//! ```text
//! switch0 ── switch1      A plan uses two helpers at switch0 and one at switch1. If switch0 has a third helper of the class,
//!  ││││       ││││        the plan with all three there costs no more in any objective: each hand-over crosses some of its links, and no others.
//! ```
//!
//! A *home* is a device that forwards, and for each class the group of equal devices linked to it alone. A plan of a set moves home if
//!
//! - each class that may run regions has at least as many devices at home as the set charges for, and each region that may run on the class may run there;
//! - or the class is that of the forwarding device, whose regions use nothing of it: all of them run on that device;
//! - devices of a class differ only in their neighbours;
//! - a hand-over that crosses fewer links is no worse: rules and links have no bounds on what links change, and the forwarding device receives without a limit.
//!
//! Without this, plans that differ only in the places of devices are searched one by one.

use crate::Measure;
use crate::charges::{Charges, Counts};
use crate::equal::{self, EqualDevices, Slot};
use crate::outcome;
use crate::problem::Problem;
use crate::route::CapacityOf;

/// A place to which plans move.
pub struct Home {
    /// Class of the device that forwards.
    host: usize,
    /// Group of equal devices at home, and number of devices there, by class; `None` if plans with the class do not move.
    groups: Vec<Option<(usize, usize)>>,
}

impl Home {
    /// The groups at home, if the plans of a set move there; without any, if they charge for fewer devices there. `allowed` has the groups on which each region may run, `class` the class of each group.
    pub fn groups(
        &self,
        (counts, charges): (&Counts, &Charges),
        class: &[usize],
        allowed: &[Vec<usize>],
    ) -> Option<Vec<Vec<usize>>> {
        let at_home = |groups: &Vec<usize>| -> Option<Vec<usize>> {
            let mut home: Vec<usize> = vec![];
            for of in groups.iter().map(|group| class[*group]) {
                let (group, devices) = self.groups[of]?;
                if usize::from(counts.most(of, charges)) > devices || !groups.contains(&group) {
                    return None;
                }
                if !home.contains(&group) {
                    home.push(group);
                }
            }
            Some(home)
        };
        let groups: Option<Vec<Vec<usize>>> = allowed.iter().map(at_home).collect();
        match counts.least[self.host] > 1 {
            true => groups.map(|groups| vec![vec![]; groups.len()]),
            false => groups,
        }
    }
}

/// All homes of a problem.
pub fn homes(problem: &Problem, equal: &EqualDevices, charges: &Charges) -> Vec<Home> {
    // A refused placement is refused at home, too.
    if !problem.settings.refused.is_empty() || !is_monotone(problem) {
        return vec![];
    }
    let is_excluded = |device: &usize| problem.settings.without.contains(device);
    let forwards = |device: &usize| problem.model.devices[*device].forwards && !is_excluded(device);
    let is_unlimited = |device: &usize| {
        let of = |of: CapacityOf| of == CapacityOf::Device(*device) || of == CapacityOf::Frames(*device);
        let mut slots = problem.network.capacities.iter().zip(&equal.slot);
        slots.all(|(capacity, slot)| !of(capacity.of) || *slot == Slot::Free)
    };
    let hosts = (0..problem.class.len()).filter(|device| forwards(device) && is_unlimited(device));
    let home = |device: usize| Home {
        host: problem.class[device],
        groups: (0..problem.classes).map(|class| at_home(problem, equal, charges, device, class)).collect(),
    };
    hosts.map(home).filter(|home| home.groups.iter().any(Option::is_some)).collect()
}

/// Whether fewer links are never worse for packets.
fn is_monotone(problem: &Problem) -> bool {
    let roles = &problem.roles;
    let changed = [roles.latency, roles.hops, roles.bits, roles.passes];
    let shifts = outcome::shifts(problem);
    let bounded = |var: usize| problem.network.hops.iter().any(|hop| hop.admits.0.iter().any(|b| b.0 == var));
    let maximised = |var: usize| problem.settings.objectives.iter().any(|o| o.measure == Measure::Least(var));
    changed.into_iter().flatten().all(|var| shifts[var] && !bounded(var) && !maximised(var))
}

/// Group of a class at a forwarding device, and its number of devices.
fn at_home(
    problem: &Problem,
    equal: &EqualDevices,
    charges: &Charges,
    host: usize,
    class: usize,
) -> Option<(usize, usize)> {
    let devices: Vec<usize> = (0..problem.class.len()).filter(|d| problem.class[*d] == class).collect();
    if problem.class[host] == class {
        let own = |d: usize| {
            let device = &problem.model.devices[d];
            (device.recirculates, device.transit)
        };
        let is_bare = devices.iter().all(|d| !problem.is_single[*d] && own(*d) == own(host));
        return (is_bare && is_unused(problem, class)).then_some((equal.group[host], usize::MAX));
    }
    // All that a device uses it is charged for, so that the set says how many there are.
    if charges.is_ever_free(class) {
        return None;
    }
    let places: Option<Vec<_>> = devices.iter().map(|d| equal::but_for_place(problem, *d)).collect();
    let places = places.filter(|places| places.iter().all(|(_, own)| *own == places[0].1))?;
    let here = devices.iter().zip(&places).filter(|(_, (place, _))| *place == host);
    let group = equal.group[*here.clone().next()?.0];
    Some((group, here.filter(|(d, _)| equal.group[**d] == group).count()))
}

/// No region uses anything of a device of the class.
fn is_unused(problem: &Problem, class: usize) -> bool {
    let offers = problem.offers.iter().filter_map(|offers| offers[class].as_ref().ok());
    let mut derivations = offers.flat_map(|offer| offer.needs.iter().flat_map(|(_, all)| all));
    derivations.all(|derivation| derivation.adds.iter().all(|(_, used)| *used <= 0))
}
