//! Minimum charges of regions, and sets of plans by the numbers of charged devices.
//!
//! A device is *charged* in a plan if it runs a region that is charged under every derivation. Plans are searched by the numbers of
//! charged devices per class: then the charges are known before a region is placed, and the capacity is limited.

use crate::Measure;
use crate::equal::EqualDevices;
use crate::problem::{Offer, Problem};

/// Minimum charges, of the charges that are objectives.
pub struct Charges {
    /// Positions of the charges that are objectives; `None` stands for the number of devices.
    pub places: Vec<Option<usize>>,
    /// Minimum charges (as in `places`) of a device that runs the region, by region and class; empty if the region is not charged or cannot run there.
    of: Vec<Vec<Vec<i64>>>,
    /// Minimum over the regions, by class.
    opening: Vec<Vec<i64>>,
    /// Whether some region is charged on the class.
    is_useful: Vec<bool>,
    /// Whether some region runs on the class without a charge.
    is_ever_free: Vec<bool>,
    /// Whether all devices of the class are equal and every region is charged there.
    is_alike: Vec<bool>,
    /// Number of devices on which a region may run, by class.
    most: Vec<u16>,
}

impl Charges {
    /// The minimum charges of a problem.
    pub fn new(problem: &Problem, equal: &EqualDevices) -> Charges {
        let place = |measure: &Measure| match measure {
            Measure::Charges(at) => Some(Some(*at)),
            Measure::Devices => Some(None),
            _ => None,
        };
        let places: Vec<Option<usize>> =
            problem.settings.objectives.iter().filter_map(|o| place(&o.measure)).collect();
        let classes = problem.classes;
        let own = |class: usize| {
            let leader = problem.class.iter().position(|c| *c == class);
            leader.map_or(&[][..], |device| &problem.charges[device])
        };
        let least = |class: usize, offer: &Offer| {
            let of = |place: &Option<usize>| place.map_or(1, |at| least_charge(offer, own(class), at));
            let all: Vec<i64> = places.iter().map(of).collect();
            if all.iter().all(|c| *c == 0) { vec![] } else { all }
        };
        let charged = |node: usize, class: usize| match &problem.offers[node][class] {
            Ok(offer) if problem.can_run(node, class) => least(class, offer),
            _ => vec![],
        };
        let row = |node: usize| (0..classes).map(|class| charged(node, class)).collect();
        let of: Vec<Vec<Vec<i64>>> = (0..problem.nodes.len()).map(row).collect();
        // Least by objective, over all regions: a lower bound, which no single region has to reach.
        let opening = |class: usize| {
            let charged = of.iter().map(|row: &Vec<Vec<i64>>| &row[class]).filter(|c| !c.is_empty()).cloned();
            charged.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| *a.min(b)).collect())
        };
        let openings: Vec<Option<Vec<i64>>> = (0..classes).map(opening).collect();
        let runs = |node: usize, class: usize| problem.can_run(node, class);
        let is_ever_free: Vec<bool> = (0..classes)
            .map(|class| (0..of.len()).any(|node| runs(node, class) && of[node][class].is_empty()))
            .collect();
        let devices = |class: usize| (0..problem.class.len()).filter(move |d| problem.class[*d] == class);
        let is_one_group = |class: usize| {
            let mut groups = devices(class).map(|d| equal.group[d]);
            let first = groups.next();
            groups.all(|group| Some(group) == first)
        };
        let is_on = |d: &usize| problem.nodes.iter().any(|node| node.on.contains(d));
        Charges {
            is_useful: openings.iter().map(Option::is_some).collect(),
            is_alike: (0..classes).map(|class| is_one_group(class) && !is_ever_free[class]).collect(),
            most: (0..classes).map(|class| devices(class).filter(is_on).count() as u16).collect(),
            opening: openings.into_iter().map(|o| o.unwrap_or(vec![0; places.len()])).collect(),
            places,
            of,
            is_ever_free,
        }
    }

    /// Whether a device of the class that runs the region is charged with every derivation.
    pub fn is_charged(&self, node: usize, class: usize) -> bool {
        !self.of[node][class].is_empty()
    }

    /// Minimum charges of the region on the class, by `places`.
    pub fn least(&self, node: usize, class: usize) -> Vec<i64> {
        if self.is_charged(node, class) { self.of[node][class].clone() } else { vec![0; self.places.len()] }
    }

    /// Some region runs there without a charge.
    pub fn is_ever_free(&self, class: usize) -> bool {
        self.is_ever_free[class]
    }

    /// Some region is charged there.
    pub fn is_useful(&self, class: usize) -> bool {
        self.is_useful[class]
    }

    /// Minimum charges of a charged device of the class, by `places`.
    pub fn opening(&self, class: usize) -> &[i64] {
        &self.opening[class]
    }

    /// Minimum charge of one kind; zero if it is no objective.
    pub fn opening_of(&self, class: usize, place: usize) -> i64 {
        let at = self.places.iter().position(|known| *known == Some(place));
        at.map_or(0, |at| self.opening[class][at])
    }

    /// True if the class's devices are all equal, and charged whatever they run.
    pub fn is_alike(&self, class: usize) -> bool {
        self.is_alike[class]
    }

    /// The set of all plans.
    pub fn all(&self) -> Counts {
        let classes = self.is_useful.len();
        Counts { least: vec![0; classes], is_exact: vec![false; classes] }
    }

    /// A partition of all plans: for each subset of the classes, the plans that pay for devices of exactly these classes. A single set if there are
    /// too many classes.
    pub fn sets(&self) -> Vec<Counts> {
        const MAX_CLASSES: usize = 12;
        let useful: Vec<usize> = (0..self.is_useful.len()).filter(|class| self.is_useful[*class]).collect();
        let all = self.all();
        if useful.len() > MAX_CLASSES {
            return vec![all];
        }
        let subset = |bits: u32| {
            let mut counts = all.clone();
            for (at, class) in useful.iter().enumerate() {
                counts.least[*class] = (bits >> at & 1) as u16;
                counts.is_exact[*class] = bits >> at & 1 == 0;
            }
            counts
        };
        (0..1u32 << useful.len()).map(subset).collect()
    }

    /// Number of devices of the class on which a region may run.
    pub fn most(&self, class: usize) -> u16 {
        self.most[class]
    }
}

/// A set of plans, by the numbers of devices that they pay for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Counts {
    /// Minimum number of charged devices, by class.
    pub least: Vec<u16>,
    /// Whether the minimum is also the maximum, by class.
    pub is_exact: Vec<bool>,
}

impl Counts {
    /// Maximum of a class.
    pub fn most(&self, class: usize, charges: &Charges) -> u16 {
        if self.is_exact[class] { self.least[class] } else { charges.most(class) }
    }

    /// The subset that pays for the minimum number of devices of `classes`.
    pub fn exact(&self, classes: &[usize]) -> Counts {
        let mut exact = self.clone();
        classes.iter().for_each(|class| exact.is_exact[*class] = true);
        exact
    }

    /// A partition of the other plans, one set per class: the minimum of the classes before, at least one more of this class.
    pub fn others(&self, classes: &[usize]) -> Vec<Counts> {
        let mut rest = self.clone();
        let mut others = vec![];
        for class in classes {
            let mut more = rest.clone();
            more.least[*class] += 1;
            others.push(more);
            rest.is_exact[*class] = true;
        }
        others
    }
}

fn least_charge(offer: &Offer, own: &[(usize, i64)], place: usize) -> i64 {
    let of = |list: &[(usize, i64)]| list.iter().find(|(at, _)| *at == place).map_or(0, |(_, v)| *v);
    let needs = offer.needs.iter().map(|(_, all)| all.iter().map(|d| of(&d.once)).min().unwrap_or(0));
    needs.max().unwrap_or(0).max(of(own))
}

#[cfg(test)]
mod tests {
    use super::Counts;

    fn has(counts: &Counts, paid: &[u16]) -> bool {
        let fits = |class: usize| match counts.is_exact[class] {
            true => paid[class] == counts.least[class],
            false => paid[class] >= counts.least[class],
        };
        (0..paid.len()).all(fits)
    }

    #[test]
    fn a_set_is_the_exact_one_and_the_others() {
        let all = Counts { least: vec![1, 0, 2], is_exact: vec![false, true, false] };
        for classes in [&[2, 0][..], &[2], &[]] {
            let parts: Vec<Counts> = [all.exact(classes)].into_iter().chain(all.others(classes)).collect();
            for paid in (0..64).map(|n| [n % 4, n / 4 % 4, n / 16]) {
                let sets = parts.iter().filter(|part| has(part, &paid)).count();
                assert_eq!(sets, usize::from(has(&all, &paid)), "{paid:?}");
            }
        }
    }
}
