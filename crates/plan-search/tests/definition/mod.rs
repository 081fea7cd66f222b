//! All plans of a problem and what they cost, written from "The definition" in `docs/planning.md` by an author who had not
//! read the search. Proofs, tiers, routes and sums are worked out from the model alone, so that a mistake in how the search
//! reads the definition cannot be repeated here.

mod proofs;
mod sums;

pub use proofs::Proof;

use plan_model::{Bound, Factor, Model, Prop, Region, Role, Scope, VarId};
use plan_search::{Measure, Plan, Problem};
use std::collections::BTreeMap;
use sums::{Stream, Sums};

/// Lowest and highest value of each variable.
type Packets = Vec<(i64, i64)>;

/// Thousandths of a byte in a bit.
const BIT: i64 = 125;

/// Decisions of a plan.
#[derive(Clone, Default, Debug)]
pub struct Choice<'m> {
    /// Device of each region of all programs.
    pub device: Vec<usize>,
    /// Proofs of the propositions that each region's paths need, by region.
    pub proofs: Vec<BTreeMap<&'m str, Proof<'m>>>,
    /// Links of the route of each edge.
    pub routes: Vec<Vec<usize>>,
}

/// Calls `f` with every plan that keeps all bounds, and with its costs. False if there are too many partial plans.
pub fn every(problem: &Problem, f: &mut dyn FnMut(&Choice, Vec<i64>)) -> bool {
    let walk = Walk::new(problem, None);
    let mut budget = 60_000;
    walk.on(Partial::default(), &mut budget, f);
    budget > 0
}

/// The costs of a plan of the search's; none if it does not keep all bounds.
pub fn cost(problem: &Problem, plan: &Plan) -> Option<Vec<i64>> {
    let walk = Walk::new(problem, Some(choice(problem, plan)));
    let mut costs = None;
    let mut budget = u32::MAX;
    walk.on(Partial::default(), &mut budget, &mut |_, cost| costs = Some(cost));
    costs
}

/// A plan of the search's, in the terms of the model.
fn choice<'p>(problem: &'p Problem, plan: &Plan) -> Choice<'p> {
    let proofs = |node: usize| {
        let offer = problem.offer(node, plan.device[node]).expect("the device offers what the region needs");
        let picked = offer.needs.iter().zip(plan.picks[node].iter());
        picked
            .map(|((prop, derivations), at)| {
                (prop.as_str(), proofs::read(&derivations[usize::from(*at)].proof, &problem.model))
            })
            .collect()
    };
    Choice {
        device: plan.device.clone(),
        proofs: (0..plan.device.len()).map(proofs).collect(),
        routes: plan.routes.iter().map(|route| route.iter().map(|hop| hop / 2).collect()).collect(),
    }
}

/// An edge between regions, with the regions of all programs numbered through.
struct Edge {
    from: usize,
    to: usize,
    bits: i64,
    passes: i64,
    /// Share of the stream that starts the program.
    share: Factor,
}

/// The first regions are placed.
#[derive(Clone, Default)]
struct Partial<'m> {
    choice: Choice<'m>,
    /// State after each region.
    after: Vec<Packets>,
    sums: Sums,
}

struct Walk<'p> {
    problem: &'p Problem,
    model: &'p Model,
    /// With the program that each belongs to.
    regions: Vec<(usize, &'p Region)>,
    edges: Vec<Edge>,
    /// Share of the stream that reaches each region.
    shares: Vec<Factor>,
    /// The only plan that is asked for.
    only: Option<Choice<'p>>,
}

impl<'p> Walk<'p> {
    fn new(problem: &'p Problem, only: Option<Choice<'p>>) -> Walk<'p> {
        let model = &problem.model;
        let mut regions = vec![];
        let mut edges: Vec<Edge> = vec![];
        for (app, program) in model.apps.iter().enumerate() {
            let first = regions.len();
            regions.extend(program.regions.iter().map(|region| (app, region)));
            edges.extend(program.edges.iter().map(|e| {
                assert!(e.from < e.to, "regions of these problems come after those that lead to them");
                Edge {
                    from: first + e.from,
                    to: first + e.to,
                    bits: e.bits,
                    passes: e.passes,
                    share: e.share,
                }
            }));
        }
        let mut shares = vec![];
        for (node, (_, region)) in regions.iter().enumerate() {
            let into: Vec<i64> = edges.iter().filter(|e| e.to == node).map(|e| e.share.0).collect();
            let most = region.share.unwrap_or(Factor::ONE).0;
            let share = if into.is_empty() {
                Factor::ONE.0
            } else {
                into.iter().sum::<i64>().min(most).min(Factor::ONE.0)
            };
            shares.push(Factor(share));
            for edge in edges.iter_mut().filter(|e| e.from == node) {
                edge.share = Factor(edge.share.of(share));
            }
        }
        Walk { problem, model, regions, edges, shares, only }
    }

    fn role(&self, role: Role) -> Option<usize> {
        self.model.signature.role(role).map(VarId::index)
    }

    /// Places the next region in every combination, and those after it.
    fn on(&self, partial: Partial<'p>, budget: &mut u32, f: &mut dyn FnMut(&Choice, Vec<i64>)) {
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        let node = partial.after.len();
        let Some((_, region)) = self.regions.get(node) else {
            if self.allows(&partial.choice.device) && partial.sums.fit(self.model) {
                f(&partial.choice, self.costs(&partial));
            }
            return;
        };
        for device in 0..self.model.devices.len() {
            let may = match region.on.as_slice() {
                [] => self.model.devices[device].is_host,
                on => on.contains(&device),
            };
            let is_asked = self.only.as_ref().is_none_or(|only| only.device[node] == device);
            let settings = &self.problem.settings;
            let is_wanted = settings.wanted.iter().all(|(of, wanted)| *of != node || *wanted == device);
            if may && is_asked && is_wanted && !settings.without.contains(&device) {
                let mut next = partial.clone();
                next.choice.device.push(device);
                next.sums.start(device, self.model);
                self.arrive(node, 0, None, next, budget, f);
            }
        }
    }

    /// Takes the routes of all edges into a region, from the edge `at` on; `joined` is the box around what came by those before.
    fn arrive(
        &self,
        node: usize,
        at: usize,
        joined: Option<Packets>,
        partial: Partial<'p>,
        budget: &mut u32,
        f: &mut dyn FnMut(&Choice, Vec<i64>),
    ) {
        let Some(edge) = (at..self.edges.len()).find(|at| self.edges[*at].to == node) else {
            let mut partial = partial;
            let before = joined.unwrap_or_else(|| {
                let start = self.start(self.regions[node].0);
                let device = partial.choice.device[node];
                partial.sums.frames(device, self.frames(&start, Factor::ONE), self.model);
                start
            });
            return self.run(node, &before, partial, budget, f);
        };
        let (from, to) = (partial.choice.device[self.edges[edge].from], partial.choice.device[node]);
        for route in self.routes(from, to) {
            if self.only.as_ref().is_some_and(|only| only.routes[edge] != route) {
                continue;
            }
            let mut next = partial.clone();
            let Some(packets) = self.hand_over(edge, from, &route, &mut next) else { continue };
            next.choice.routes.resize(next.choice.routes.len().max(edge + 1), vec![]);
            next.choice.routes[edge] = route;
            let joined = joined.as_ref().map_or(packets.clone(), |other| around(other, &packets));
            self.arrive(node, edge + 1, Some(joined), next, budget, f);
        }
    }

    /// Packets at the start of a program.
    fn start(&self, app: usize) -> Packets {
        let mut packets: Packets =
            self.model.signature.variables.iter().map(|v| (v.initial, v.initial)).collect();
        for (var, value) in &self.model.apps[app].initial {
            packets[var.index()] = (*value, *value);
        }
        packets
    }

    /// The routes with the fewest links, the least delayed first, as many as are tried. A device between the first and the last has to
    /// forward.
    fn routes(&self, from: usize, to: usize) -> Vec<Vec<usize>> {
        let mut found = vec![];
        let mut open = std::collections::VecDeque::from([(vec![from], vec![])]);
        while let Some((devices, links)) = open.pop_front() {
            let last = devices[devices.len() - 1];
            if last == to {
                found.push((links.len(), self.delay(from, &links), devices, links));
                continue;
            }
            let is_excluded = self.problem.settings.without.contains(&last);
            if last != from && (is_excluded || !self.model.devices[last].forwards) {
                continue;
            }
            for (at, link) in self.model.links.iter().enumerate() {
                for side in 0..2 {
                    let next = link.ends[1 - side].0;
                    if link.ends[side].0 == last && !devices.contains(&next) {
                        let devices = devices.iter().copied().chain([next]).collect();
                        open.push_back((devices, links.iter().copied().chain([at]).collect()));
                    }
                }
            }
        }
        found.sort();
        let fewest = found.first().map_or(0, |(links, ..)| *links);
        found.retain(|(links, ..)| *links == fewest);
        found.truncate(self.problem.settings.routes);
        found.into_iter().map(|(.., links)| links).collect()
    }

    /// Delay of a sequence of links, the receiving devices included.
    fn delay(&self, from: usize, links: &[usize]) -> i64 {
        let mut at = from;
        let step = |number: &usize| {
            let link = &self.model.links[*number];
            at = if link.ends[0].0 == at { link.ends[1].0 } else { link.ends[0].0 };
            link.delay + self.model.devices[at].transit
        };
        links.iter().map(step).sum()
    }

    /// Packets after a hand-over; none if a bound on the combination is broken.
    fn hand_over(&self, edge: usize, from: usize, route: &[usize], partial: &mut Partial) -> Option<Packets> {
        let Edge { bits, passes, share, .. } = self.edges[edge];
        let mut packets = partial.after[self.edges[edge].from].clone();
        if !route.is_empty() {
            let sender = &self.model.devices[from];
            let rounds = if sender.recirculates { passes } else { 0 };
            self.add(&mut packets, Role::HandoverBits, bits, bits);
            self.add(&mut packets, Role::Recirculations, rounds * 1_000_000, rounds * 1_000_000);
            self.add(&mut packets, Role::Latency, rounds * sender.transit, rounds * sender.transit);
            partial.sums.frames(from, self.frames(&packets, share) * rounds, self.model);
        }
        let (rate, size) = (self.role(Role::Rate), self.role(Role::Size));
        let mut at = from;
        for number in route {
            let link = &self.model.links[*number];
            let side = usize::from(link.ends[0].0 != at);
            let ((_, out), (to, into)) = (link.ends[side], link.ends[1 - side]);
            let (sender, receiver) = (&self.model.devices[at], &self.model.devices[to]);
            let bounds = [&sender.ports[out].bounds, &receiver.ports[into].bounds, &receiver.bounds];
            let carried = bits * BIT;
            let (small, large) = size.map_or((0, 0), |var| packets[var]);
            if size.is_some() && link.longest.is_some_and(|longest| large + carried > longest) {
                return None;
            }
            for bound in bounds.into_iter().flatten() {
                let is_of_sum = Some(bound.var.index()) == rate && bound.range().0 == i64::MIN;
                if !is_of_sum && !self.holds(bound, &packets, share) {
                    return None;
                }
            }
            if let Some(rate) = rate {
                let stream = Stream { rate: share.of(packets[rate].1), size: small, carried };
                partial.sums.load((*number, side), (at, out), (to, into), &stream, self.model);
                partial.sums.frames(to, self.frames(&packets, share), self.model);
            }
            let sending = |bytes: i64| {
                link.rate.map_or(0, |rate| (i128::from(bytes) * 8_000_000_000_000 / i128::from(rate)) as i64)
            };
            let delay = link.delay + receiver.transit + sending(link.overhead);
            let frame = |size: i64| (size + carried).max(link.shortest);
            self.add(
                &mut packets,
                Role::Latency,
                delay + sending(frame(small)),
                delay + sending(frame(large)),
            );
            self.add(&mut packets, Role::Hops, 1_000_000, 1_000_000);
            at = to;
        }
        Some(packets)
    }

    /// Thousandths of frames per second of a share of the stream.
    fn frames(&self, packets: &Packets, share: Factor) -> i64 {
        let (Some(rate), Some(size)) = (self.role(Role::Rate), self.role(Role::Size)) else { return 0 };
        let (rate, size) = (share.of(packets[rate].1), packets[size].0);
        (i128::from(rate) * 1000 / (8 * i128::from(size))) as i64
    }

    /// Adds to the lowest and the highest value of a variable.
    fn add(&self, packets: &mut Packets, role: Role, low: i64, high: i64) {
        if let Some(var) = self.role(role) {
            packets[var] = (packets[var].0 + low, packets[var].1 + high);
        }
    }

    /// Whether a bound holds of all packets of a share of the stream.
    fn holds(&self, bound: &Bound, packets: &Packets, share: Factor) -> bool {
        let (low, high) = packets[bound.var.index()];
        let is_rate = Some(bound.var.index()) == self.role(Role::Rate);
        let (low, high) = if is_rate { (share.of(low), share.of(high)) } else { (low, high) };
        let (least, most) = bound.range();
        least <= low && high <= most
    }

    /// Runs a region by all proofs that may be used of packets like `before`.
    fn run(
        &self,
        node: usize,
        before: &Packets,
        partial: Partial<'p>,
        budget: &mut u32,
        f: &mut dyn FnMut(&Choice, Vec<i64>),
    ) {
        let (region, device) = (self.regions[node].1, partial.choice.device[node]);
        let mut needs: Vec<&'p Prop> = region.paths.iter().flatten().collect();
        needs.sort();
        needs.dedup();
        let holds = |bound: &Bound| self.holds(bound, before, self.shares[node]);
        let mut combinations: Vec<BTreeMap<&'p str, Proof<'p>>> = vec![BTreeMap::new()];
        for need in needs {
            let mut usable =
                proofs::usable(self.model, device, need, &holds, self.problem.settings.tiers, &mut vec![]);
            if let Some(only) = &self.only {
                usable.retain(|proof| *proof == only.proofs[node][need.as_str()]);
            }
            let with = |combination: &BTreeMap<&'p str, Proof<'p>>, proof: &Proof<'p>| {
                let mut combination = combination.clone();
                combination.insert(need.as_str(), proof.clone());
                combination
            };
            combinations = combinations
                .iter()
                .flat_map(|combination| usable.iter().map(move |proof| with(combination, proof)))
                .collect();
        }
        for combination in combinations {
            let mut next = partial.clone();
            for proof in combination.values() {
                next.sums.pay(device, proof, self.model);
            }
            let through = |path: &Vec<Prop>| {
                let mut packets = before.clone();
                for rule in path.iter().flat_map(|need| combination[need.as_str()].rules()) {
                    for effect in &rule.effects {
                        if self.model.signature.get(effect.var).scope == Scope::Path {
                            let value = &mut packets[effect.var.index()];
                            *value = (effect.change.of(value.0), effect.change.of(value.1));
                        }
                    }
                }
                packets
            };
            let joined = region.paths.iter().map(through).reduce(|a, b| around(&a, &b));
            next.after.push(joined.unwrap_or_else(|| before.clone()));
            next.choice.proofs.push(combination);
            self.on(next, budget, f);
        }
    }

    /// Constraints on a placement as a whole.
    fn allows(&self, devices: &[usize]) -> bool {
        let settings = &self.problem.settings;
        let mut first = 0;
        for app in &self.model.apps {
            let device = |region: &usize| devices[first + region];
            if app.together.iter().any(|group| group.iter().any(|region| device(region) != device(&group[0])))
            {
                return false;
            }
            first += app.regions.len();
        }
        let is_crowded = |device: usize| {
            let is_bound = self.regions.iter().any(|(_, region)| region.on == [device]);
            !is_bound && devices.iter().filter(|d| **d == device).count() > 1
        };
        let crowded = settings.one_region_per_device && devices.iter().any(|d| is_crowded(*d));
        !crowded && !settings.refused.iter().any(|refused| refused == devices)
    }

    fn costs(&self, partial: &Partial) -> Vec<i64> {
        let is_end = |node: &usize| !self.edges.iter().any(|edge| edge.from == *node);
        let ends: Vec<&Packets> = (0..self.regions.len()).filter(is_end).map(|n| &partial.after[n]).collect();
        let scopes = &self.problem.scopes;
        let cost = |measure: &Measure| match measure {
            Measure::Worst(at) => ends.iter().map(|end| end[scopes.path[*at].index()].1).max().unwrap_or(0),
            Measure::Least(at) => -ends.iter().map(|end| end[scopes.path[*at].index()].0).min().unwrap_or(0),
            Measure::Charges(at) => partial.sums.charged(scopes.once[*at]),
            Measure::Used(all) => all.iter().map(|at| partial.sums.used(scopes.device[*at])).sum(),
            Measure::Devices => {
                partial.choice.device.iter().collect::<std::collections::BTreeSet<_>>().len() as i64
            }
        };
        self.problem.settings.objectives.iter().map(|objective| cost(&objective.measure)).collect()
    }
}

/// The smallest box around two.
fn around(a: &Packets, b: &Packets) -> Packets {
    a.iter().zip(b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect()
}
