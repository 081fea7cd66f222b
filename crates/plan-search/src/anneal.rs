//! Placements by simulated annealing: good placements soon, without a proof that there is no better one.
//!
//! ```text
//! move      a region (with its clump) goes to another device, or two regions swap devices
//! accepted  if it raises the energy by at most T x X       X exponential with mean 1, so that P(accepted) = exp(-rise / T);  T decreases
//! energy    path variable + initial path variable x penalty x use beyond capacities (in devices); the penalty grows while no placement is feasible, and shrinks while placements are
//! ```
//!
//! Kirkpatrick, Gelatt, Vecchi: Optimization by Simulated Annealing, Science 220 (1983). Random numbers come from a seed and steps are counted, so that the same problem has the same placements.

mod paths;

use crate::pack::{Pack, Placement};
use crate::problem::Arc;
use base_time::Rng;
use paths::Paths;

/// Number of temperatures. Each is [`COOLS`]/1024 of the one before, so the last is 1/80 of the first.
const STAGES: u64 = 64;
/// Factor between two temperatures, in units of 1/1024.
const COOLS: i64 = 956;
/// The first temperature is the path variable divided by this.
const WARM: i64 = 40;
/// Initial penalty for a whole missing device, in path variables of the placement, in units of 10^6 / 2^30, about 1/1074; and its range.
const PENALTY: i64 = 340;
const PENALTIES: (i64, i64) = (32, 16 * 1024);
/// The parts of a device in which what does not fit is counted.
const MILLION: i64 = 1_000_000;
/// Numbers of up to this number of bits can be multiplied by a million without overflow.
const MILLION_FITS: u32 = 43;
/// Steps between two changes of the penalty, by a twentieth.
const PATIENCE: u64 = 64;

/// A search for placements of a set of plans.
pub struct Annealing<'a, 'p> {
    of: &'a Pack<'p>,
    rng: Rng,
    /// Regions that move together.
    clumps: Vec<Vec<usize>>,
    /// Groups on which each clump may run.
    groups: Vec<Vec<usize>>,
    /// Whether the regions of the clump may run on the device, by clump and device.
    is_on: Vec<Vec<bool>>,
    /// Devices of each group.
    devices: Vec<Vec<usize>>,
    /// Device of each region.
    on: Vec<usize>,
    /// Use and load of each device.
    used: Vec<Used>,
    /// Devices in use.
    open: Vec<usize>,
    /// Number of charged devices, by class.
    paid: Vec<u16>,
    /// Use beyond a device's capacity, by device, in millionths of the device.
    short: Vec<i64>,
    /// Sum of `short`.
    all_short: i64,
    /// Devices whose `short` is out of date.
    changed: Marks,
    paths: Paths,
    /// Estimated load of a hand-over, by edge: the load if regions did not change the rate.
    flow: Vec<i64>,
    /// Some devices take in or send only so much.
    is_loaded: bool,
}

/// Devices, once each.
struct Marks {
    devices: Vec<usize>,
    /// Whether the device is in `devices`.
    is_marked: Vec<bool>,
}

impl Marks {
    fn mark(&mut self, device: usize) {
        if !std::mem::replace(&mut self.is_marked[device], true) {
            self.devices.push(device);
        }
    }

    fn pop(&mut self) -> Option<usize> {
        let device = self.devices.pop()?;
        self.is_marked[device] = false;
        Some(device)
    }
}

/// Use of a device.
#[derive(Clone, Default)]
struct Used {
    runs: u32,
    charged: u32,
    /// Use by device variable, then received and sent load.
    sums: Vec<i64>,
}

fn likely_flow(of: &Pack) -> Vec<i64> {
    let Some(rate) = of.problem.roles.rate else { return of.flow.clone() };
    let likely = |(arc, least): (&Arc, &i64)| {
        let unchanged = arc.share.of(of.problem.nodes[arc.from].start[rate].1);
        unchanged.max(*least)
    };
    of.problem.arcs.iter().zip(&of.flow).map(likely).collect()
}

impl<'a, 'p> Annealing<'a, 'p> {
    /// None if a region cannot run anywhere.
    pub fn new(of: &'a Pack<'p>, seed: u64) -> Option<Annealing<'a, 'p>> {
        let problem = of.problem;
        let nodes = problem.nodes.len();
        let mut clumps: Vec<Vec<usize>> = vec![];
        for node in 0..nodes {
            if !problem.nodes[node].together.iter().any(|other| *other < node) {
                let others = problem.nodes[node].together.iter().copied();
                clumps.push([node].into_iter().chain(others).collect());
            }
        }
        let mut devices = vec![vec![]; of.equal.groups()];
        (0..problem.class.len()).for_each(|device| devices[of.equal.group[device]].push(device));
        let may_run =
            |clump: &Vec<usize>, group: &usize| clump.iter().all(|node| of.allowed[*node].contains(group));
        let groups = |clump: &Vec<usize>| -> Vec<usize> {
            (0..of.equal.groups()).filter(|group| may_run(clump, group)).collect()
        };
        let groups: Vec<Vec<usize>> = clumps.iter().map(groups).collect();
        let sums = problem.scopes.device.len() + 2;
        let is_on = |clump: &Vec<usize>| -> Vec<bool> {
            let of = |device: usize| clump.iter().all(|node| problem.nodes[*node].on.contains(&device));
            (0..problem.class.len()).map(of).collect()
        };
        let mut annealing = Annealing {
            rng: Rng::new(seed),
            is_on: clumps.iter().map(is_on).collect(),
            clumps,
            devices,
            on: vec![usize::MAX; nodes],
            used: vec![Used { sums: vec![0; sums], ..Used::default() }; problem.class.len()],
            open: vec![],
            paid: vec![0; problem.classes],
            short: vec![0; problem.class.len()],
            all_short: 0,
            changed: Marks { devices: vec![], is_marked: vec![false; problem.class.len()] },
            paths: Paths::new(problem),
            flow: likely_flow(of),
            is_loaded: of.ports.iter().flatten().flatten().any(|limit| *limit < i64::MAX),
            groups,
            of,
        };
        for clump in 0..annealing.clumps.len() {
            let device = annealing.any_device(clump).or_else(|| annealing.first_device(clump))?;
            annealing.put(clump, device);
        }
        Some(annealing)
    }

    /// The best feasible placement of `steps` steps. The next call continues from the last placement.
    pub fn run(&mut self, steps: u64) -> Option<Placement> {
        let mut best: Option<Placement> = None;
        let mut now = self.paths.whole(self.of, &self.on);
        let (first, mut missing) = (now.max(1), self.missing());
        let (mut warmth, mut penalty) = ((first / WARM).max(1), PENALTY);
        let cost = |length: i64, missing: i64, penalty: i64| {
            if missing == 0 {
                return length;
            }
            // A shift in place of a division by 1024 millions.
            let more = (i128::from(first) * i128::from(missing) * i128::from(penalty)) >> 30;
            length.saturating_add(i64::try_from(more).unwrap_or(i64::MAX))
        };
        for step in 1..=steps {
            if step.is_multiple_of((steps / STAGES).max(1)) {
                warmth = (warmth * COOLS / 1024).max(1);
            }
            if step.is_multiple_of(PATIENCE) {
                penalty = if missing > 0 { penalty + penalty / 20 + 1 } else { penalty - penalty / 20 };
                penalty = penalty.clamp(PENALTIES.0, PENALTIES.1);
            }
            let Some(moves) = self.propose() else { continue };
            let before = moves.map(|moved| moved.map(|(clump, _)| (clump, self.on[self.clumps[clump][0]])));
            let (was, moved) = (cost(now, missing, penalty), moves.iter().flatten());
            self.set_devices(moves);
            let moved = moved.flat_map(|(clump, _)| &self.clumps[*clump]);
            let length = self.paths.changed(self.of, &self.on, moved.copied());
            self.set_devices(before);
            // A placement costs at least its length: most moves are refused by it, before it is known what fits.
            let is_worse =
                |worse: i64, by: i64| i128::from(worse) * 1024 > i128::from(warmth) * i128::from(by);
            let longer = length.saturating_sub(was);
            let by = (longer > 0).then(|| self.exponential());
            if by.is_some_and(|by| is_worse(longer, by)) {
                self.paths.undo();
                continue;
            }
            self.shift(moves);
            let short = self.missing();
            let worse = cost(length, short, penalty).saturating_sub(was);
            if worse > 0 && is_worse(worse, by.unwrap_or_else(|| self.exponential())) {
                self.shift(before);
                self.paths.undo();
                continue;
            }
            (now, missing) = (length, short);
            if missing == 0 && best.as_ref().is_none_or(|best| now < best.least) {
                best = Some(Placement { devices: self.on.clone(), least: now });
            }
        }
        best
    }

    /// A clump to another device, or two to each other's.
    fn propose(&mut self) -> Option<[Option<(usize, usize)>; 2]> {
        let clump = self.rng.index(self.clumps.len());
        let here = self.on[self.clumps[clump][0]];
        if self.rng.chance(1, 2) {
            let device = self.any_device(clump)?;
            return (device != here).then_some([Some((clump, device)), None]);
        }
        let other = self.rng.index(self.clumps.len());
        let there = self.on[self.clumps[other][0]];
        let fits = here != there && self.may_run(clump, there) && self.may_run(other, here);
        fits.then_some([Some((clump, there)), Some((other, here))])
    }

    /// A random device: one in use, or the first unused one of a group, if more devices may be charged.
    fn any_device(&mut self, clump: usize) -> Option<usize> {
        let groups = &self.groups[clump];
        if !self.open.is_empty() && self.rng.chance(7, 8) {
            let device = self.open[self.rng.index(self.open.len())];
            if self.may_run(clump, device) {
                return Some(device);
            }
        }
        let group = *self.rng.pick(groups)?;
        let devices = &self.devices[group];
        let fresh = self.fresh(clump, self.of.class[group]);
        let may_open = |device: &usize| {
            let class = self.of.problem.class[*device];
            let is_charged = |node: &usize| self.of.charges.is_charged(*node, class);
            self.paid[class] < self.of.counts.most(class, self.of.charges)
                || !self.clumps[clump].iter().any(is_charged)
        };
        if let Some(device) = fresh.filter(may_open) {
            return Some(device);
        }
        let first = self.rng.index(devices.len());
        (0..devices.len())
            .map(|at| devices[(first + at) % devices.len()])
            .find(|device| self.used[*device].runs > 0 && self.is_on[clump][*device])
    }

    /// The first device on which a clump may run, even if that exceeds the number of charged devices.
    fn first_device(&self, clump: usize) -> Option<usize> {
        let devices = self.groups[clump].iter().flat_map(|group| &self.devices[*group]);
        devices.copied().find(|device| self.is_on[clump][*device])
    }

    /// A device of a class that runs nothing, next to the one before the clump.
    fn fresh(&self, clump: usize, class: usize) -> Option<usize> {
        let problem = self.of.problem;
        let before = self.clumps[clump].iter().flat_map(|node| &problem.nodes[*node].into);
        let mut placed = before.map(|arc| (*arc, self.on[problem.arcs[*arc].from]));
        let before = placed.find(|(_, device)| *device != usize::MAX);
        let distance = |group: usize| {
            before.map_or(0, |(arc, device)| match self.of.equal.group[device] {
                own if own == group => self.of.distances.apart(arc, group),
                other => self.of.distances.add(arc, other, group),
            })
        };
        let is_fresh = |device: &usize| self.used[*device].runs == 0 && self.is_on[clump][*device];
        let groups = self.groups[clump].iter().filter(|group| self.of.class[**group] == class);
        let first = |group: &usize| {
            let device = self.devices[*group].iter().copied().find(is_fresh)?;
            Some((distance(*group), device))
        };
        groups.filter_map(first).min().map(|(_, device)| device)
    }

    fn may_run(&self, clump: usize, device: usize) -> bool {
        self.is_on[clump][device] && self.groups[clump].contains(&self.of.equal.group[device])
    }

    /// Changes the devices of clumps, and nothing that follows from them.
    fn set_devices(&mut self, devices: [Option<(usize, usize)>; 2]) {
        for (clump, device) in devices.into_iter().flatten() {
            self.clumps[clump].iter().for_each(|node| self.on[*node] = device);
        }
    }

    fn shift(&mut self, moves: [Option<(usize, usize)>; 2]) {
        moves.iter().flatten().for_each(|(clump, _)| self.take(*clump));
        moves.iter().flatten().for_each(|(clump, device)| self.put(*clump, *device));
    }

    fn take(&mut self, clump: usize) {
        self.add(clump, self.on[self.clumps[clump][0]], -1);
        for at in 0..self.clumps[clump].len() {
            self.on[self.clumps[clump][at]] = usize::MAX;
        }
    }

    fn put(&mut self, clump: usize, device: usize) {
        for at in 0..self.clumps[clump].len() {
            self.on[self.clumps[clump][at]] = device;
        }
        self.add(clump, device, 1);
    }

    /// Adds a clump to what its device runs, or takes it off; it is on the device.
    fn add(&mut self, clump: usize, device: usize, sign: i64) {
        let problem = self.of.problem;
        let class = problem.class[device];
        let vars = problem.scopes.device.len();
        self.changed.mark(device);
        for &node in &self.clumps[clump] {
            let used = &mut self.used[device];
            for (sum, more) in used.sums.iter_mut().zip(&self.of.uses[node][class]) {
                *sum = sum.wrapping_add(sign.wrapping_mul(*more));
            }
            used.runs = used.runs.wrapping_add_signed(sign as i32);
            if self.of.charges.is_charged(node, class) {
                used.charged = used.charged.wrapping_add_signed(sign as i32);
                let is_edge = used.charged == u32::from(sign > 0);
                if is_edge {
                    self.paid[class] = self.paid[class].wrapping_add_signed(sign as i16);
                }
            }
            match (used.runs, sign > 0) {
                (1, true) => self.open.push(device),
                (0, false) => self.open.retain(|open| *open != device),
                _ => {}
            }
        }
        if !self.is_loaded {
            return;
        }
        let add = |sum: &mut i64, more: i64| *sum = sum.wrapping_add(sign.wrapping_mul(more));
        // Hand-overs between the clump and placed regions.
        for &node in &self.clumps[clump] {
            let arcs = problem.nodes[node].into.iter().chain(&problem.nodes[node].out);
            for &arc in arcs {
                let (from, to) = (problem.arcs[arc].from, problem.arcs[arc].to);
                let (at, next) = (self.on[from], self.on[to]);
                if at != next && at != usize::MAX && next != usize::MAX {
                    add(&mut self.used[at].sums[vars + 1], self.flow[arc]);
                    add(&mut self.used[next].sums[vars], self.flow[arc]);
                    self.changed.mark(at);
                    self.changed.mark(next);
                }
            }
        }
    }

    /// Use beyond capacity, summed over all devices, in millionths of a device.
    fn missing(&mut self) -> i64 {
        while let Some(device) = self.changed.pop() {
            let short = self.short(device);
            self.all_short += short - std::mem::replace(&mut self.short[device], short);
        }
        let mut crowded = 0;
        for (class, paid) in self.paid.iter().enumerate() {
            let most = self.of.counts.most(class, self.of.charges);
            crowded += MILLION * i64::from(paid.saturating_sub(most));
        }
        self.all_short.saturating_add(crowded).min(1 << 40)
    }

    /// Use beyond a device's capacity, in millionths of it. (Sums that overflow are taken for small: the result is
    /// placed once more by the search.)
    fn short(&self, device: usize) -> i64 {
        let problem = self.of.problem;
        let (used, class) = (&self.used[device], problem.class[device]);
        let vars = problem.scopes.device.len();
        let mut short = 0i64;
        let mut add = |sum: i64, limit: i64| {
            if sum > limit {
                let over = sum.saturating_sub(limit);
                // Bits that would overflow are left out.
                let bits = (i64::BITS - over.leading_zeros()).saturating_sub(MILLION_FITS);
                let part = (over >> bits) * MILLION / (limit >> bits).max(1);
                short = short.saturating_add(part).saturating_add(1);
            }
        };
        used.sums.iter().zip(&problem.limits[device]).for_each(|(sum, limit)| add(*sum, *limit));
        if let Some([all, into, out]) = self.of.ports[class] {
            add(used.sums[vars], all.min(into));
            add(used.sums[vars + 1], out);
        }
        if problem.is_single[device] {
            short = short.saturating_add(MILLION * i64::from(used.runs.saturating_sub(1)));
        }
        // The sum over a thousand devices does not overflow.
        short.min(1 << 50)
    }

    /// Exponential with a mean near 1, in parts of 1024: a logarithm, straight between powers of two.
    fn exponential(&mut self) -> i64 {
        let bits = self.rng.next_u64() | 1;
        let whole = i64::from(bits.leading_zeros());
        let part = ((bits << whole) >> 53 & 1023) as i64;
        // Of a base of two; times ln 2.
        (whole * 1024 + 1023 - part) * 710 / 1024
    }
}
