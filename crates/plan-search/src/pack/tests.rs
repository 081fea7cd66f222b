//! The packing search against all placements of small random programs: free capacity, charged devices, paths.

use super::{Packed, Packing, Placement};
use crate::anneal::Annealing;
use crate::bound::{Bound, Effort};
use crate::charges::{Charges, Counts};
use crate::equal::EqualDevices;
use crate::least::least_used;
use crate::{Objective, Problem, Scopes, Settings, Tiers};
use base_time::Rng;
use plan_model::{
    App, Change, Device, Edge, Effect, Factor, Link, Model, Port, Region, Role, Rule, Scope, Signature, Unit,
    Variable,
};
use std::collections::{BTreeMap, BTreeSet};

/// A switch with up to five helpers of two classes, a program or two of up to six regions in all.
pub fn problem(rng: &mut Rng) -> Problem {
    let mut signature = Signature::default();
    let mut variable = |name: &str, scope, role| {
        signature.add(Variable { name: name.into(), unit: Unit::Plain, scope, role, initial: 0 })
    };
    let latency = variable("Latency", Scope::Path, Some(Role::Latency));
    let power = variable("Power", Scope::Once, None);
    let area = variable("Area", Scope::Device { limit: Some(10) }, None);
    let memory = variable("Memory", Scope::Device { limit: Some(4) }, None);
    let mut rules = vec![];
    for class in ["S", "A", "B"] {
        for function in 0..5 {
            let add = |var, value: u64| Effect { var, change: Change::Add(value as i64) };
            let effects = vec![
                add(latency, rng.below(9)),
                add(power, if rng.chance(1, 3) { 0 } else { 5 }),
                add(area, rng.below(8)),
                add(memory, if rng.chance(1, 3) { rng.below(4) } else { 0 }),
            ];
            if rng.chance(4, 5) {
                rules.push(Rule {
                    name: format!("{class}{function}").into(),
                    head: format!("f{function}").into(),
                    needs: vec![class.into()],
                    bounds: vec![],
                    effects,
                    span: Default::default(),
                });
            }
        }
    }
    let port = |at: usize| Port { name: at.to_string().into(), bounds: vec![] };
    let mut devices = vec![Device {
        name: "switch".into(),
        provides: vec!["S".into()],
        forwards: true,
        is_host: true,
        ports: (0..5).map(port).collect(),
        ..Device::default()
    }];
    let mut links = vec![];
    for at in 0..rng.between(3, 5) as usize {
        let class = if rng.chance(1, 2) { "A" } else { "B" };
        devices.push(Device {
            name: format!("helper{at}").into(),
            provides: vec![class.into()],
            is_host: true,
            ports: vec![port(0)],
            ..Device::default()
        });
        let delay = if rng.chance(1, 6) { 3 } else { 1 };
        links.push(Link { ends: [(0, at), (at + 1, 0)], delay, ..Link::default() });
    }
    let two = rng.chance(1, 2);
    let sizes = if two {
        [vec![2, 2, 2], vec![2, 4], vec![3, 3]][rng.below(3) as usize].clone()
    } else {
        vec![rng.between(4, 6) as usize]
    };
    let apps = sizes.iter().map(|size| app(rng, *size)).collect();
    let scopes = Scopes::new(&signature);
    let objectives = ["Latency", "Power"].map(|name| Objective::parse(name, &signature, &scopes));
    let settings = Settings {
        tiers: Tiers::Tightest,
        one_region_per_device: rng.chance(1, 8),
        routes: 1,
        objectives: objectives.into_iter().flatten().collect(),
        without: vec![],
        refused: vec![],
        wanted: vec![],
    };
    Problem::new(Model { signature, rules, apps, devices, links }, settings).unwrap()
}

/// A chain with an arm aside, if there is room for one.
fn app(rng: &mut Rng, size: usize) -> App {
    let region = |at: usize| Region {
        name: at.to_string().into(),
        paths: vec![vec![format!("f{}", rng.below(5)).into()]],
        on: if rng.chance(1, 8) { vec![0, 1, 2] } else { vec![] },
        share: None,
        span: Default::default(),
    };
    let regions: Vec<Region> = (0..size).map(region).collect();
    let edge = |from, to| Edge { from, to, bits: 0, share: Factor::ONE, passes: 0 };
    let mut edges: Vec<Edge> = (1..size).map(|at| edge(at - 1, at)).collect();
    if size > 3 && rng.chance(1, 2) {
        (edges[1], edges[2]) = (edge(0, 2), edge(1, 3));
        edges.push(edge(2, 3));
    }
    let together = if rng.chance(1, 4) { vec![vec![0, size - 1]] } else { vec![] };
    App { name: "app".into(), regions, edges, together, ..App::default() }
}

/// Facts about a problem.
struct Known<'p> {
    problem: &'p Problem,
    equal: &'p EqualDevices,
    charges: &'p Charges,
    counts: &'p Counts,
    bound: &'p Bound<'p>,
}

impl Known<'_> {
    /// Number of charged devices, by class; `None` if the placement does not fit on its devices.
    fn paid(&self, placement: &[usize]) -> Option<Vec<u16>> {
        let Known { problem, charges, .. } = self;
        let mut used: BTreeMap<(usize, usize), i64> = BTreeMap::new();
        let mut paid = BTreeSet::new();
        for (node, device) in placement.iter().enumerate() {
            let class = problem.class[*device];
            let offer = problem.offers[node][class].as_ref().ok()?;
            let here = problem.nodes[node].together.iter().all(|other| placement[*other] == *device);
            if !here || !problem.nodes[node].on.contains(device) {
                return None;
            }
            for var in 0..problem.scopes.device.len() {
                let sum = used.entry((*device, var)).or_default();
                *sum += least_used(offer, var);
                if *sum > problem.limits[*device][var] {
                    return None;
                }
            }
            if charges.is_charged(node, class) {
                paid.insert(*device);
            }
        }
        let runs = |device: usize| placement.iter().filter(|other| **other == device).count();
        let is_too_much = |device: usize| problem.is_single[device] && runs(device) > 1;
        let of_class =
            |class: usize| paid.iter().filter(|device| problem.class[**device] == class).count() as u16;
        let is_borne = !(0..problem.class.len()).any(is_too_much);
        is_borne.then(|| (0..problem.classes).map(of_class).collect())
    }

    /// Latency at the ends; `None` if the placement exceeds a device's capacity.
    fn ends(&self, placement: &[usize]) -> Option<i64> {
        let Known { problem, equal, charges, counts, bound } = self;
        let paid = self.paid(placement)?;
        if (0..problem.classes).any(|class| paid[class] > counts.most(class, charges)) {
            return None;
        }
        let pack = bound.pack(0)?;
        let mut behind = vec![0; placement.len()];
        for &node in &problem.order {
            let group = |node: usize| equal.group[placement[node]];
            let from = |arc: &usize| {
                let before = problem.arcs[*arc].from;
                behind[before] + pack.distances.add(*arc, group(before), group(node))
            };
            let begins = problem.nodes[node].into.iter().map(from).max().unwrap_or(0);
            behind[node] = begins + pack.grows[node][problem.class[placement[node]]];
        }
        behind.into_iter().max()
    }

    /// Latency, including hand-overs between equal devices.
    fn length(&self, placement: &[usize]) -> i64 {
        let Known { problem, bound, .. } = self;
        let delay = |device: usize| {
            let links = problem.model.links.iter().filter(|link| link.ends[1].0 == device);
            links.map(|link| link.delay).sum::<i64>()
        };
        let pack = bound.pack(0).unwrap();
        let mut behind = vec![0; placement.len()];
        for &node in &problem.order {
            let from = |arc: &usize| {
                let before = problem.arcs[*arc].from;
                let (from, to) = (placement[before], placement[node]);
                behind[before] + if from == to { 0 } else { delay(from) + delay(to) }
            };
            let begins = problem.nodes[node].into.iter().map(from).max().unwrap_or(0);
            behind[node] = begins + pack.grows[node][problem.class[placement[node]]];
        }
        behind.into_iter().max().unwrap()
    }

    /// The placement up to exchanges of equal devices: group and regions of each device.
    fn kind(&self, placement: &[usize]) -> BTreeSet<(usize, Vec<usize>)> {
        let regions =
            |device: usize| (0..placement.len()).filter(|node| placement[*node] == device).collect();
        placement.iter().map(|device| (self.equal.group[*device], regions(*device))).collect()
    }
}

fn next(packing: &mut Packing) -> Option<Placement> {
    match packing.next(u64::MAX) {
        Packed::Placement(placement) => Some(placement),
        Packed::NoMore => None,
        Packed::NotYet => panic!("there is no end"),
    }
}

#[test]
fn all_placements_are_found_but_for_equal_devices_and_no_others() {
    let (mut placements, mut refused) = (0, 0);
    let seeds = features::seeds(50, 800);
    for seed in seeds.clone() {
        let mut rng = Rng::new(seed);
        let problem = problem(&mut rng);
        let equal = EqualDevices::new(&problem, &[1000; 3]);
        let charges = Charges::new(&problem, &equal);
        let counts = Counts {
            least: (0..problem.classes).map(|_| rng.below(3) as u16).collect(),
            is_exact: (0..problem.classes).map(|_| rng.chance(4, 5)).collect(),
        };
        let mut bound = Bound::new(&problem, &equal, &charges);
        bound.open(&counts);
        let known =
            Known { problem: &problem, equal: &equal, charges: &charges, counts: &counts, bound: &bound };
        let below = if rng.chance(1, 3) { i64::MAX } else { rng.between(8, 40) as i64 };
        let (mut expected, mut nearest) = (BTreeMap::new(), i64::MAX);
        let (devices, regions) = (problem.class.len(), problem.nodes.len() as u32);
        for number in 0..devices.pow(regions) {
            let placement: Vec<usize> = (0..regions).map(|at| number / devices.pow(at) % devices).collect();
            match known.ends(&placement) {
                Some(ends) if ends < below => {
                    expected.insert(known.kind(&placement), ends);
                }
                ends => {
                    refused += 1;
                    nearest = nearest.min(ends.unwrap_or(i64::MAX));
                }
            }
        }
        let mut packing = Packing::new(bound.pack(0).unwrap(), below);
        let mut found = BTreeMap::new();
        while let Some(placement) = next(&mut packing) {
            assert_eq!(known.ends(&placement.devices), Some(placement.least), "seed {seed}");
            found.insert(known.kind(&placement.devices), placement.least);
        }
        assert_eq!(found, expected, "seed {seed}");
        assert!(packing.nearest <= nearest, "seed {seed}");
        // Each has to be better than the last.
        let mut packing = Packing::new(bound.pack(0).unwrap(), below);
        let mut last = None;
        while let Some(placement) = next(&mut packing) {
            assert!(placement.least < packing.below, "seed {seed}");
            packing.below = placement.least;
            last = Some(placement.least);
        }
        assert_eq!(last, expected.values().copied().min(), "seed {seed}");
        placements += expected.len();
    }
    let tried = seeds.count();
    assert!(placements > 5 * tried && refused > 125 * tried, "{placements} placements, {refused} refused");
}

/// Multipliers of a set, the bounds that they give for other sets, and the results of annealing, against all placements.
#[test]
fn no_placement_is_below_the_bound_by_prices() {
    let (mut compared, mut exact, mut of_others, mut annealed, mut best, mut merged) = (0, 0, 0, 0, 0, 0);
    for seed in 0..250 {
        let mut rng = Rng::new(seed);
        let problem = problem(&mut rng);
        let equal = EqualDevices::new(&problem, &[1000; 3]);
        let charges = Charges::new(&problem, &equal);
        let mut bound = Bound::new(&problem, &equal, &charges);
        // Devices of a class may be in two places.
        bound.merge_places(seed % 3 == 0);
        merged += u64::from(seed % 3 == 0 && equal.groups() > problem.classes);
        let matters = crate::outcome::matters(&problem);
        let root = crate::expand::Expander::new(&problem, &equal, &charges, &matters).root();
        let all = charges.all();
        // Least latency, by the charged devices.
        let mut least: BTreeMap<Vec<u16>, i64> = BTreeMap::new();
        let known =
            Known { problem: &problem, equal: &equal, charges: &charges, counts: &all, bound: &bound };
        let (devices, regions) = (problem.class.len(), problem.nodes.len() as u32);
        for number in 0..devices.pow(regions) {
            let placement: Vec<usize> = (0..regions).map(|at| number / devices.pow(at) % devices).collect();
            if let Some(paid) = known.paid(&placement) {
                let length = known.length(&placement);
                let least = least.entry(paid).or_insert(length);
                *least = length.min(*least);
            }
        }
        let sets: Vec<Counts> = (0..6)
            .map(|_| Counts {
                least: (0..problem.classes).map(|_| rng.below(3) as u16).collect(),
                is_exact: (0..problem.classes).map(|_| rng.chance(4, 5)).collect(),
            })
            .collect();
        let of_set = |counts: &Counts| {
            let is_in = |paid: &Vec<u16>| {
                (0..problem.classes)
                    .all(|class| (counts.least[class]..=counts.most(class, &charges)).contains(&paid[class]))
            };
            least.iter().filter(|(paid, _)| is_in(paid)).map(|(_, length)| *length).min()
        };
        for counts in &sets {
            bound.open(counts);
            let is_open = bound.price(&root, &[None, None], Effort { steps: 60, rounds: 2, has_links: true });
            let end = is_open.then(|| bound.end(&root, 0)).flatten();
            match (end, of_set(counts)) {
                (None, length) => assert_eq!(length, None, "seed {seed} {counts:?}"),
                (Some(end), Some(length)) => {
                    assert!(end[0] <= length, "seed {seed} {counts:?}: {} above {length}", end[0]);
                    compared += 1;
                    exact += u64::from(end[0] == length);
                }
                _ => {}
            }
            bound.open(counts);
            let pack = bound.pack(0).unwrap();
            let Some(mut annealing) = Annealing::new(&pack, seed) else { continue };
            let Some(placement) = annealing.run(3000) else { continue };
            let known = Known { problem: &problem, equal: &equal, charges: &charges, counts, bound: &bound };
            let paid = known.paid(&placement.devices).unwrap();
            assert!((0..problem.classes).all(|class| paid[class] <= counts.most(class, &charges)));
            assert_eq!(known.length(&placement.devices), placement.least, "seed {seed} {counts:?}");
            annealed += 1;
            let is_in = |paid: &Vec<u16>| (0..problem.classes).all(|c| paid[c] <= counts.most(c, &charges));
            let shortest = least.iter().filter(|(paid, _)| is_in(paid)).map(|(_, length)| *length).min();
            best += u64::from(shortest == Some(placement.least));
        }
        for counts in &sets {
            if let Some(length) = of_set(counts) {
                let lower = bound.known(0, counts);
                assert!(lower <= length, "seed {seed} {counts:?}: {lower} above {length}");
                of_others += u64::from(lower == length);
            }
        }
    }
    assert!(
        compared > 250 && exact > 100 && of_others > 15,
        "{compared} compared, {exact} exactly, {of_others} by others"
    );
    assert!(merged > 10, "{merged} with places merged");
    assert!(annealed > 200 && best * 2 > annealed, "{annealed} annealed, {best} the best");
}
