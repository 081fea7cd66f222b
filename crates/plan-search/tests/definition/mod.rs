//! What a plan costs, by what `docs/planning.md` and the docstrings of `plan-model` say: from the model's own rules, links and
//! bounds. Nothing of the search is used; a plan's proofs and its links are only read.

use plan_model::{Bound, Change, Compare, Effect, Model, Region, Role, Rule, Scope, VarId};
use plan_search::{Measure, Plan, Problem, Proof, Tiers};
use std::collections::BTreeMap;

/// By variable: the least and the most that packets may have.
type Packets = BTreeMap<VarId, (i64, i64)>;

/// The ranges that one rule's bounds leave.
type Ranges = BTreeMap<VarId, (i64, i64)>;

/// Thousandths of a byte in a bit.
const BIT: i64 = 125;

/// What the plan costs by each objective; none if it does not keep all bounds.
pub fn cost(problem: &Problem, plan: &Plan) -> Option<Vec<i64>> {
    let mut judge = Judge::new(problem, plan);
    let mut ends = vec![];
    let mut behind: Vec<Packets> = vec![];
    // Regions of the random problems come behind those that lead to them.
    for (node, (app, region)) in judge.regions.clone().into_iter().enumerate() {
        judge.allows(node, region)?;
        let before = judge.arrive(node, app, &behind)?;
        behind.push(judge.run(node, region, &before)?);
        if !judge.edges.iter().any(|edge| edge.from == node) {
            ends.push(node);
        }
    }
    judge.keeps_sums()?;
    let ends: Vec<&Packets> = ends.into_iter().map(|node| &behind[node]).collect();
    Some(problem.settings.objectives.iter().map(|o| judge.measure(&o.measure, &ends)).collect())
}

/// An edge between regions, all programs numbered through.
struct Edge {
    from: usize,
    to: usize,
    bits: i64,
    passes: i64,
    /// Of the stream that starts the program, in steps of a factor.
    share: plan_model::Factor,
}

struct Judge<'p> {
    problem: &'p Problem,
    plan: &'p Plan,
    model: &'p Model,
    /// With the program that each belongs to.
    regions: Vec<(usize, &'p Region)>,
    edges: Vec<Edge>,
    /// How much of the stream comes to each region.
    shares: Vec<plan_model::Factor>,
    /// By what bears it: the traffic, and the most there may be.
    loads: BTreeMap<(&'static str, usize, usize), (i128, i64)>,
    used: BTreeMap<(usize, VarId), i64>,
    charged: BTreeMap<(usize, VarId), i64>,
}

impl<'p> Judge<'p> {
    fn new(problem: &'p Problem, plan: &'p Plan) -> Judge<'p> {
        let model = &problem.model;
        let mut regions = vec![];
        let mut edges: Vec<Edge> = vec![];
        for (app, program) in model.apps.iter().enumerate() {
            let first = regions.len();
            regions.extend(program.regions.iter().map(|region| (app, region)));
            edges.extend(program.edges.iter().map(|e| Edge {
                from: first + e.from,
                to: first + e.to,
                bits: e.bits,
                passes: e.passes,
                share: e.share,
            }));
        }
        let whole = plan_model::Factor::ONE;
        let mut shares = vec![];
        for node in 0..regions.len() {
            let into: Vec<i64> = edges.iter().filter(|e| e.to == node).map(|e| e.share.0).collect();
            let share = if into.is_empty() { whole.0 } else { into.iter().sum::<i64>().min(whole.0) };
            shares.push(plan_model::Factor(share));
            let leaving = edges.iter_mut().filter(|e| e.from == node);
            leaving.for_each(|edge| edge.share = plan_model::Factor(edge.share.of(share)));
        }
        let (loads, used, charged) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Judge { problem, plan, model, regions, edges, shares, loads, used, charged }
    }

    fn role(&self, role: Role) -> Option<VarId> {
        self.model.signature.role(role)
    }

    /// What may run where.
    fn allows(&self, node: usize, region: &Region) -> Option<()> {
        let (settings, device) = (&self.problem.settings, self.plan.device[node]);
        let may = match region.on.as_slice() {
            [] => self.model.devices[device].is_host,
            on => on.contains(&device),
        };
        let app = self.regions[node].0;
        let first = self.regions.iter().position(|(of, _)| *of == app)?;
        let is_apart = |group: &&Vec<usize>| {
            group.contains(&(node - first))
                && group.iter().any(|other| self.plan.device[first + other] != device)
        };
        let others = self.plan.device.iter().filter(|d| **d == device).count() - 1;
        let is_bound = |(_, region): &(usize, &Region)| region.on == [device];
        let is_crowded = settings.one_region_per_device && others > 0 && !self.regions.iter().any(is_bound);
        let keeps = may
            && !settings.without.contains(&device)
            && !self.model.apps[app].together.iter().any(|group| is_apart(&group))
            && !is_crowded
            && !settings.refused.contains(&self.plan.device);
        keeps.then_some(())
    }

    /// Packets in front of a region: the smallest box around what comes by all edges.
    fn arrive(&mut self, node: usize, app: usize, behind: &[Packets]) -> Option<Packets> {
        let mut joined: Option<Packets> = None;
        for at in 0..self.edges.len() {
            if self.edges[at].to != node {
                continue;
            }
            let packets = self.hand_over(at, behind[self.edges[at].from].clone())?;
            joined = Some(match joined {
                None => packets,
                Some(other) => around(&other, &packets),
            });
        }
        let start = || {
            let mut start = Packets::new();
            for (at, variable) in self.model.signature.variables.iter().enumerate() {
                let var = VarId(at as u16);
                let own = self.model.apps[app].initial.iter().find(|(known, _)| *known == var);
                let value = own.map_or(variable.initial, |(_, value)| *value);
                start.insert(var, (value, value));
            }
            start
        };
        Some(joined.unwrap_or_else(start))
    }

    /// Over all links of an edge's route.
    fn hand_over(&mut self, edge: usize, mut packets: Packets) -> Option<Packets> {
        let Edge { from, to, bits, passes, .. } = self.edges[edge];
        let (mut at, target) = (self.plan.device[from], self.plan.device[to]);
        if at != target {
            let sender = &self.model.devices[at];
            let rounds = if sender.recirculates { passes } else { 0 };
            let changes = [
                (Role::HandoverBits, bits),
                (Role::Recirculations, rounds * 1_000_000),
                (Role::Latency, rounds * sender.transit),
            ];
            changes.into_iter().for_each(|(role, more)| later(&mut packets, self.role(role), more, more));
        }
        for &hop in self.plan.routes[edge].iter() {
            at = self.cross(edge, at, hop, &mut packets)?;
        }
        (at == target).then_some(packets)
    }

    /// Over one link; the device behind it.
    fn cross(&mut self, edge: usize, at: usize, hop: usize, packets: &mut Packets) -> Option<usize> {
        let Edge { bits, share, .. } = self.edges[edge];
        let link = &self.model.links[hop / 2];
        let side = link.ends.iter().position(|(device, _)| *device == at)?;
        let ((from, out), (to, into)) = (link.ends[side], link.ends[1 - side]);
        let (rate, size) = (self.role(Role::Rate), self.role(Role::Size));
        let device = &self.model.devices[to];
        let ports = [&self.model.devices[from].ports[out].bounds, &device.ports[into].bounds];
        // Bytes are on the wire beside the packet's own.
        let carried = bits * BIT;
        let sizes = size.map(|var| packets[&var]);
        if let (Some(longest), Some((_, large))) = (link.longest, sizes)
            && large + carried > longest
        {
            return None;
        }
        for bound in ports.into_iter().flatten().chain(&device.bounds) {
            let (low, high) = values(packets, bound.var, rate, share);
            let is_most = matches!(bound.compare, Compare::Less | Compare::AtMost);
            // The most of a rate is on the sum.
            let is_on_sum = is_most && Some(bound.var) == rate;
            let holds = keeps(bound, low) && keeps(bound, high);
            if !is_on_sum && !holds {
                return None;
            }
        }
        if let Some(rate) = rate {
            let most = share.of(packets[&rate].1);
            let grown = match sizes {
                Some((small, _)) if carried > 0 && small > 0 => {
                    i128::from(most) + i128::from(most) * i128::from(carried) / i128::from(small)
                }
                _ => i128::from(most),
            };
            let most_of = |bounds: &[Bound]| {
                let of_rate = bounds.iter().filter(|b| b.var == rate);
                of_rate
                    .filter_map(|b| match b.compare {
                        Compare::Less => Some(b.value - 1),
                        Compare::AtMost | Compare::Equal => Some(b.value),
                        _ => None,
                    })
                    .min()
            };
            let bears = [
                (("device", to, 0), most_of(&device.bounds)),
                (("wire", hop / 2, side), link.rate),
                (("port out", from, out), most_of(ports[0])),
                (("port in", to, into), most_of(ports[1])),
            ];
            for (what, most) in bears {
                let Some(most) = most else { continue };
                self.loads.entry(what).or_insert((0, most)).0 += grown;
            }
        }
        let sending = |size: i64| match link.rate {
            Some(rate) => {
                let picoseconds = i128::from(size + carried) * 8 * 1_000_000_000_000 / i128::from(rate);
                i64::try_from(picoseconds).expect("small")
            }
            None => 0,
        };
        let (small, large) = sizes.map_or((0, 0), |(small, large)| (sending(small), sending(large)));
        let delay = link.delay + device.transit;
        later(packets, self.role(Role::Latency), delay + small, delay + large);
        later(packets, self.role(Role::Hops), 1_000_000, 1_000_000);
        Some(to)
    }

    /// Through a region: what it needs on any path is proved and paid for, on each path its effects follow one another.
    fn run(&mut self, node: usize, region: &Region, before: &Packets) -> Option<Packets> {
        let device = self.plan.device[node];
        let of_device = self.model.devices[device].charges.iter().collect::<Vec<_>>();
        self.charge(device, &of_device);
        let offer = self.problem.offer(node, device)?;
        let mut effects: BTreeMap<&str, Vec<&Effect>> = BTreeMap::new();
        for ((prop, derivations), pick) in offer.needs.iter().zip(self.plan.picks[node].iter()) {
            let proofs: Vec<Vec<&Rule>> =
                derivations.iter().map(|d| rules_of(&d.proof, &self.model.rules)).collect();
            if !self.is_usable(node, &proofs, usize::from(*pick), before) {
                return None;
            }
            let of_proof: Vec<&Effect> =
                proofs[usize::from(*pick)].iter().flat_map(|rule| &rule.effects).collect();
            self.charge(device, &of_proof);
            effects.insert(prop, of_proof);
        }
        let mut all: Option<Packets> = None;
        for path in &region.paths {
            let mut packets = before.clone();
            for effect in path.iter().flat_map(|prop| effects.get(prop.as_str())).flatten() {
                if let (Scope::Path, Some(value)) =
                    (self.model.signature.get(effect.var).scope, packets.get_mut(&effect.var))
                {
                    *value = (effect.change.of(value.0), effect.change.of(value.1));
                }
            }
            all = Some(all.map_or(packets.clone(), |others| around(&others, &packets)));
        }
        Some(all.unwrap_or_else(|| before.clone()))
    }

    /// Of a proof's or a device's own effects.
    fn charge(&mut self, device: usize, effects: &[&Effect]) {
        for effect in effects {
            let Change::Add(value) = effect.change else { continue };
            match self.model.signature.get(effect.var).scope {
                Scope::Once => {
                    let most = self.charged.entry((device, effect.var)).or_insert(0);
                    *most = (*most).max(value);
                }
                Scope::Device { .. } => *self.used.entry((device, effect.var)).or_insert(0) += value,
                Scope::Path => {}
            }
        }
    }

    /// All bounds of all rules of the proof hold of all packets; and there is no other proof by the same steps of which that is
    /// true and which is only for a part of the same states.
    fn is_usable(&self, node: usize, proofs: &[Vec<&Rule>], pick: usize, packets: &Packets) -> bool {
        let rate = self.role(Role::Rate);
        let holds = |proof: &[&Rule]| {
            proof.iter().flat_map(|rule| &rule.bounds).all(|bound| {
                let (low, high) = values(packets, bound.var, rate, self.shares[node]);
                keeps(bound, low) && keeps(bound, high)
            })
        };
        let steps = |proof: &[&Rule]| -> Vec<(String, Ranges)> {
            let bounded = proof.iter().filter(|rule| !rule.bounds.is_empty());
            bounded.map(|rule| (rule.head.to_string(), ranges(rule))).collect()
        };
        let mine = steps(&proofs[pick]);
        let is_tighter = |other: &Vec<&Rule>| {
            let theirs = steps(other);
            theirs != mine
                && theirs.len() == mine.len()
                && theirs.iter().zip(&mine).all(|((a, inner), (b, outer))| a == b && is_within(inner, outer))
        };
        let is_tightest = || !proofs.iter().any(|other| holds(other) && is_tighter(other));
        holds(&proofs[pick]) && (self.problem.settings.tiers == Tiers::Any || is_tightest())
    }

    /// What adds up stays below what there is.
    fn keeps_sums(&self) -> Option<()> {
        let most = |device: usize, var: VarId| {
            let own = self.model.devices[device].limits.iter().find(|(known, _)| *known == var);
            own.map(|(_, most)| *most).or(match self.model.signature.get(var).scope {
                Scope::Device { limit } => limit,
                _ => None,
            })
        };
        let fits =
            self.used.iter().all(|(&(device, var), used)| most(device, var).is_none_or(|most| *used <= most));
        let bears = self.loads.values().all(|(load, most)| *load <= i128::from(*most));
        (fits && bears).then_some(())
    }

    fn measure(&self, measure: &Measure, ends: &[&Packets]) -> i64 {
        let scopes = &self.problem.scopes;
        let sum = |of: &BTreeMap<(usize, VarId), i64>, var: VarId| -> i64 {
            of.iter().filter(|((_, known), _)| *known == var).map(|(_, value)| *value).sum()
        };
        match measure {
            Measure::Worst(place) => {
                ends.iter().map(|packets| packets[&scopes.path[*place]].1).max().unwrap_or(0)
            }
            Measure::Least(place) => {
                -ends.iter().map(|packets| packets[&scopes.path[*place]].0).min().unwrap_or(0)
            }
            Measure::Charges(place) => sum(&self.charged, scopes.once[*place]),
            Measure::Used(places) => places.iter().map(|place| sum(&self.used, scopes.device[*place])).sum(),
            Measure::Devices => {
                let mut devices = self.plan.device.clone();
                devices.sort_unstable();
                devices.dedup();
                devices.len() as i64
            }
        }
    }
}

/// A proof's rules, each behind those that prove what it needs.
fn rules_of<'r>(proof: &Proof, rules: &'r [Rule]) -> Vec<&'r Rule> {
    let below = proof.of.iter().flat_map(|part| rules_of(part, rules));
    below.chain(proof.by.map(|at| &rules[at])).collect()
}

fn keeps(bound: &Bound, value: i64) -> bool {
    match bound.compare {
        Compare::Equal => value == bound.value,
        Compare::Less => value < bound.value,
        Compare::AtMost => value <= bound.value,
        Compare::Greater => value > bound.value,
        Compare::AtLeast => value >= bound.value,
    }
}

/// What a bound looks at: of the rate, only what comes this way.
fn values(packets: &Packets, var: VarId, rate: Option<VarId>, share: plan_model::Factor) -> (i64, i64) {
    let (low, high) = packets[&var];
    if Some(var) == rate { (share.of(low), share.of(high)) } else { (low, high) }
}

fn ranges(rule: &Rule) -> Ranges {
    let mut ranges = Ranges::new();
    for bound in &rule.bounds {
        let (low, high) = match bound.compare {
            Compare::Equal => (bound.value, bound.value),
            Compare::Less => (i64::MIN, bound.value - 1),
            Compare::AtMost => (i64::MIN, bound.value),
            Compare::Greater => (bound.value + 1, i64::MAX),
            Compare::AtLeast => (bound.value, i64::MAX),
        };
        let range = ranges.entry(bound.var).or_insert((i64::MIN, i64::MAX));
        *range = (range.0.max(low), range.1.min(high));
    }
    ranges
}

fn is_within(inner: &Ranges, outer: &Ranges) -> bool {
    outer.iter().all(|(var, (low, high))| inner.get(var).is_some_and(|own| own.0 >= *low && own.1 <= *high))
}

fn around(a: &Packets, b: &Packets) -> Packets {
    a.iter().map(|(var, (low, high))| (*var, ((*low).min(b[var].0), (*high).max(b[var].1)))).collect()
}

/// Adds to what a variable is at least and at most.
fn later(packets: &mut Packets, var: Option<VarId>, least: i64, most: i64) {
    if let Some(value) = var.and_then(|var| packets.get_mut(&var)) {
        *value = (value.0 + least, value.1 + most);
    }
}
