//! Hedera's controller (Al-Fares et al., NSDI'10): how much large flows would send if only hosts limited them, and paths for them.
//!
//! Demands and capacities are shares of a host's link.

use base_time::Rng;

/// A large flow, with the hosts at its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
}

#[derive(Clone, Copy, Default)]
struct Estimate {
    demand: f64,
    converged: bool,
}

/// The demand of each flow (section 4.2, figure 5): senders divide their links among their flows, receivers that get too much cut the largest ones
/// back to equal shares, until nothing changes.
pub fn demands(flows: &[Flow]) -> Vec<f64> {
    let hosts = flows.iter().map(|flow| flow.from.max(flow.to) + 1).max().unwrap_or(0);
    let mut known = vec![Estimate::default(); flows.len()];
    // Each round but the last settles a flow.
    for _ in 0..=4 * flows.len() {
        let before: Vec<f64> = known.iter().map(|estimate| estimate.demand).collect();
        for host in 0..hosts {
            divide_sender(flows, &mut known, host);
        }
        for host in 0..hosts {
            cut_receiver(flows, &mut known, host);
        }
        let is_settled = |(before, now): (&f64, &Estimate)| (before - now.demand).abs() < 1e-12;
        if before.iter().zip(&known).all(is_settled) {
            break;
        }
    }
    known.iter().map(|estimate| estimate.demand).collect()
}

fn divide_sender(flows: &[Flow], known: &mut [Estimate], host: usize) {
    let own = || (0..flows.len()).filter(|at| flows[*at].from == host);
    let (mut used, mut open) = (0.0, 0);
    for at in own() {
        if known[at].converged {
            used += known[at].demand;
        } else {
            open += 1;
        }
    }
    for at in own() {
        if !known[at].converged {
            known[at].demand = f64::max(1.0 - used, 0.0) / f64::from(open);
        }
    }
}

fn cut_receiver(flows: &[Flow], known: &mut [Estimate], host: usize) {
    let mut limited: Vec<usize> = (0..flows.len()).filter(|at| flows[*at].to == host).collect();
    if limited.iter().map(|at| known[*at].demand).sum::<f64>() <= 1.0 + 1e-12 {
        return;
    }
    let mut share = 1.0 / limited.len() as f64;
    let mut small = 0.0;
    loop {
        let (less, more): (Vec<usize>, Vec<usize>) =
            limited.iter().partition(|at| known[**at].demand < share - 1e-12);
        if less.is_empty() {
            break;
        }
        small += less.iter().map(|at| known[*at].demand).sum::<f64>();
        limited = more;
        share = (1.0 - small) / limited.len() as f64;
    }
    for at in limited {
        known[at] = Estimate { demand: share, converged: true };
    }
}

/// A flow to place: its demand, and the links of each of its paths.
#[derive(Clone, PartialEq, Debug)]
pub struct Placeable {
    /// As a share of a host's link.
    pub demand: f64,
    /// Links of each path, by their places in the list of capacities.
    pub paths: Vec<Vec<usize>>,
}

/// The demand above the capacities, over all links, if each flow takes this path.
pub fn exceeded(flows: &[Placeable], capacities: &[f64], chosen: &[usize]) -> f64 {
    let mut load = vec![0.0; capacities.len()];
    for (flow, path) in flows.iter().zip(chosen) {
        for link in flow.paths.get(*path).into_iter().flatten() {
            load[*link] += flow.demand;
        }
    }
    load.iter().zip(capacities).map(|(load, capacity)| f64::max(load - capacity, 0.0)).sum()
}

/// Global First Fit (section 4.3.1): each flow takes the first path that has room; the others keep theirs.
pub fn first_fit(flows: &[Placeable], capacities: &[f64], present: &[usize]) -> Vec<usize> {
    let mut free = capacities.to_vec();
    let mut chosen = present.to_vec();
    for (flow, chosen) in flows.iter().zip(&mut chosen) {
        let has_room = |path: &Vec<usize>| path.iter().all(|link| free[*link] + 1e-9 >= flow.demand);
        if let Some(path) = flow.paths.iter().position(has_room) {
            *chosen = path;
            flow.paths[path].iter().for_each(|link| free[*link] -= flow.demand);
        }
    }
    chosen
}

/// Simulated annealing (section 4.3.2) from the present paths: one flow at a time takes another path; worse placements are accepted less and less.
pub fn annealing(
    flows: &[Placeable],
    capacities: &[f64],
    present: &[usize],
    rounds: u32,
    rng: &mut Rng,
) -> Vec<usize> {
    let energy = |chosen: &[usize]| exceeded(flows, capacities, chosen);
    let movable: Vec<usize> = (0..flows.len()).filter(|at| flows[*at].paths.len() > 1).collect();
    let mut now = (energy(present), present.to_vec());
    let mut best = now.clone();
    for round in 0..rounds {
        let Some(at) = rng.pick(&movable).copied().filter(|_| best.0 > 1e-9) else { break };
        let mut next = now.1.clone();
        next[at] = (next[at] + 1 + rng.index(flows[at].paths.len() - 1)) % flows[at].paths.len();
        let energy = energy(&next);
        // From 1/2 down to nothing.
        let heat = 0.5 * f64::from(rounds - round) / f64::from(rounds);
        let chance = (-(energy - now.0) / heat.max(1e-6)).exp();
        if energy <= now.0 || (rng.below(1 << 32) as f64) < chance * f64::from(u32::MAX) {
            now = (energy, next);
        }
        if now.0 < best.0 {
            best = now.clone();
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Max-min fair shares: all flows grow alike, and those at a full link stop.
    fn water_filling(flows: &[Flow]) -> Vec<f64> {
        let hosts = flows.iter().map(|flow| flow.from.max(flow.to) + 1).max().unwrap_or(0);
        let mut shares: Vec<Option<f64>> = vec![None; flows.len()];
        while shares.iter().any(Option::is_none) {
            let limits = (0..2 * hosts).filter_map(|link| {
                let at = |flow: &Flow| if link < hosts { flow.from == link } else { flow.to == link - hosts };
                let own: Vec<usize> = (0..flows.len()).filter(|n| at(&flows[*n])).collect();
                let used: f64 = own.iter().filter_map(|n| shares[*n]).sum();
                let open: Vec<usize> = own.into_iter().filter(|n| shares[*n].is_none()).collect();
                (!open.is_empty()).then(|| ((1.0 - used) / open.len() as f64, open))
            });
            let (level, full) = limits.reduce(|a, b| if b.0 < a.0 { b } else { a }).expect("some are open");
            full.into_iter().for_each(|n| shares[n] = Some(level));
        }
        shares.into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn demands_are_max_min_fair() {
        let mut rng = Rng::new(2);
        for round in 0..2000 {
            let hosts = 2 + rng.index(6);
            let flows: Vec<Flow> = (0..1 + rng.index(12))
                .map(|_| Flow { from: rng.index(hosts), to: rng.index(hosts) })
                .collect();
            let (found, wanted) = (demands(&flows), water_filling(&flows));
            let off = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9, "round {round}: {flows:?}: {found:?} and not {wanted:?}");
        }
    }

    /// Edges joined by cores: a flow has a path over each core, by an up link and a down link.
    fn placeable(rng: &mut Rng) -> (Vec<Placeable>, Vec<f64>) {
        let (edges, cores) = (4, 3);
        let flows: Vec<Flow> =
            (0..2 + rng.index(5)).map(|_| Flow { from: rng.index(8), to: rng.index(8) }).collect();
        let demands = demands(&flows);
        let of = |(flow, demand): (&Flow, f64)| {
            let (from, to) = (flow.from / 2, flow.to / 2);
            let path = |core: usize| vec![from * cores + core, edges * cores + to * cores + core];
            let paths = if from == to { vec![vec![]] } else { (0..cores).map(path).collect() };
            Placeable { demand, paths }
        };
        let flows = flows.iter().zip(demands).map(of).collect();
        (flows, vec![0.7; 2 * edges * cores])
    }

    fn exhaustive(flows: &[Placeable], capacities: &[f64]) -> f64 {
        let mut chosen = vec![0; flows.len()];
        let mut least = f64::INFINITY;
        loop {
            least = least.min(exceeded(flows, capacities, &chosen));
            let mut at = 0;
            while at < flows.len() && chosen[at] + 1 == flows[at].paths.len() {
                chosen[at] = 0;
                at += 1;
            }
            match chosen.get_mut(at) {
                Some(path) => *path += 1,
                None => return least,
            }
        }
    }

    #[test]
    fn placements_are_near_the_best_of_all() {
        let mut rng = Rng::new(5);
        let (mut hashed, mut first, mut annealed, mut best, mut missed) = (0.0, 0.0, 0.0, 0.0, 0);
        for _ in 0..300 {
            let (flows, capacities) = placeable(&mut rng);
            let present: Vec<usize> = flows.iter().map(|flow| rng.index(flow.paths.len())).collect();
            let least = exhaustive(&flows, &capacities);
            let of = |chosen: &[usize]| exceeded(&flows, &capacities, chosen);
            let by_annealing = of(&annealing(&flows, &capacities, &present, 1000, &mut rng));
            let by_first_fit = of(&first_fit(&flows, &capacities, &present));
            assert!(by_annealing >= least - 1e-9 && by_first_fit >= least - 1e-9);
            assert!(by_annealing <= of(&present) + 1e-9);
            hashed += of(&present);
            first += by_first_fit;
            annealed += by_annealing;
            best += least;
            missed += u32::from(by_annealing > least + 1e-9);
        }
        assert!(missed <= 3 && annealed < 1.02 * best + 0.01, "{missed}: {annealed} and {best}");
        assert!(best < first && first < hashed, "{best} {first} {hashed}");
    }
}
