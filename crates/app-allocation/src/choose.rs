//! One item of each group, so that the sum of costs is least and no row is overused: a multiple-choice knapsack with several rows.
//!
//! ```text
//! items ──> dominated ones dropped ──> Lagrange multipliers ──> items that no better choice contains dropped
//!                                         └ lower bound, first choice ──┐            │
//!                                                                       v            v
//!                                             partial choices, group by group: dominated and bounded ones dropped
//! ```
//!
//! For multipliers `m >= 0` a choice costs at least `sum over groups of min(cost + m * use) - m * capacity`. With one row and
//! capacities of some thousand units, partial choices are those of the textbook's dynamic program.

use crate::multipliers::{self, SHIFT};

/// One of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub cost: i128,
    /// Units of each row.
    pub uses: Vec<u64>,
}

/// Limits of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Partial choices that are kept at a time. If there are more, the best are, and the result may not be the optimum.
    pub states: usize,
    /// A result may cost this share more than the optimum, in billionths.
    pub gap: u64,
}

impl Effort {
    /// The optimum itself.
    pub const EXACT: Effort = Effort { states: 1 << 21, gap: 0 };
}

/// A choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Chosen {
    /// The place of each group's item in the group.
    pub picks: Vec<usize>,
    pub cost: i128,
    /// No choice costs less.
    pub bound: i128,
}

/// Why there is no choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failed {
    /// None exists.
    Impossible,
    /// None was found, although one may exist.
    GaveUp,
}

/// An item that may be part of the optimum.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub at: usize,
    pub cost: i128,
    pub uses: Vec<u64>,
}

pub(crate) type Group = Vec<Candidate>;

pub(crate) fn choose(groups: &[Vec<Item>], capacities: &[u64], effort: &Effort) -> Result<Chosen, Failed> {
    let (mut groups, capacities) = presolved(groups, capacities)?;
    let start = multipliers::find(&groups, &capacities);
    let mut best = start.choice.clone();
    let below = |cost: i128| (cost - cost.abs() / 1_000_000_000 * i128::from(effort.gap)) << SHIFT;
    if let Some((_, cost)) = &best {
        drop_worse(&mut groups, &start.multipliers, start.bound, below(*cost));
    }
    let mut search =
        Search { groups: &groups, capacities: &capacities, multipliers: &start.multipliers, is_whole: true };
    let limit = best.as_ref().map(|(_, cost)| below(*cost));
    if let Some(found) = search.run(limit, effort.states)
        && best.as_ref().is_none_or(|(_, cost)| found.1 < *cost)
    {
        best = Some(found);
    }
    let is_whole = search.is_whole;
    match best {
        Some((picks, cost)) => {
            // A whole search has missed nothing that costs less than the limit.
            let bound = match limit.filter(|_| is_whole) {
                Some(limit) => limit.max(start.bound),
                None if is_whole => cost << SHIFT,
                None => start.bound,
            };
            // The bound is a multiple of 2^-SHIFT, costs are whole.
            Ok(Chosen { picks, cost, bound: ((bound + (1 << SHIFT) - 1) >> SHIFT).min(cost) })
        }
        None if is_whole => Err(Failed::Impossible),
        None => Err(Failed::GaveUp),
    }
}

/// The items that may matter, and the rows that may.
fn presolved(groups: &[Vec<Item>], capacities: &[u64]) -> Result<(Vec<Group>, Vec<u64>), Failed> {
    let mut left: Vec<Vec<usize>> = groups.iter().map(|group| (0..group.len()).collect()).collect();
    loop {
        if left.iter().any(Vec::is_empty) {
            return Err(Failed::Impossible);
        }
        let mut dropped = false;
        for (row, capacity) in limited(capacities) {
            let uses = |group: usize, at: &usize| groups[group][*at].uses[row];
            let least = |group: usize| left[group].iter().map(|at| uses(group, at)).min();
            let each: Option<Vec<u64>> = (0..groups.len()).map(least).collect();
            let each = each.ok_or(Failed::Impossible)?;
            let all: u128 = each.iter().map(|least| u128::from(*least)).sum();
            // An item that leaves too little for the smallest items of the other groups is in no choice; each one dropped may exclude more.
            let free = u128::from(capacity).checked_sub(all).ok_or(Failed::Impossible)?;
            for (group, least) in each.iter().enumerate() {
                let before = left[group].len();
                left[group].retain(|at| u128::from(groups[group][*at].uses[row] - least) <= free);
                dropped |= left[group].len() < before;
            }
        }
        if !dropped {
            break;
        }
    }
    let can_bind = |row: &usize| {
        let most =
            |(group, left): (&Vec<Item>, &Vec<usize>)| left.iter().map(|at| group[*at].uses[*row]).max();
        let all: u128 = groups.iter().zip(&left).filter_map(most).map(u128::from).sum();
        all > u128::from(capacities[*row])
    };
    let rows: Vec<usize> = limited(capacities).map(|(row, _)| row).filter(can_bind).collect();
    let candidates = groups.iter().zip(left).map(|(group, left)| {
        let one = |at: usize| {
            let uses = rows.iter().map(|row| group[at].uses[*row]).collect();
            Candidate { at, cost: group[at].cost, uses }
        };
        undominated(left.into_iter().map(one).collect())
    });
    Ok((candidates.collect(), rows.iter().map(|row| capacities[*row]).collect()))
}

/// Rows with a limit; [`u64::MAX`] is none.
fn limited(capacities: &[u64]) -> impl Iterator<Item = (usize, u64)> {
    capacities.iter().copied().enumerate().filter(|(_, capacity)| *capacity < u64::MAX)
}

/// Without items for which another one is no worse in any way.
fn undominated(mut group: Group) -> Group {
    group.sort_by(|a, b| a.uses.cmp(&b.uses).then(a.cost.cmp(&b.cost)).then(a.at.cmp(&b.at)));
    let mut kept: Group = vec![];
    for item in group {
        let is_no_worse = |known: &Candidate| {
            known.cost <= item.cost && known.uses.iter().zip(&item.uses).all(|(a, b)| a <= b)
        };
        // With one row, the last one kept costs least.
        let is_dominated = match item.uses.len() {
            0 | 1 => kept.last().is_some_and(is_no_worse),
            _ => kept.iter().rev().any(is_no_worse),
        };
        if !is_dominated {
            kept.push(item);
        }
    }
    kept
}

/// Drops items for which the bound exceeds the cost of a known choice.
fn drop_worse(groups: &mut [Group], multipliers: &[i128], bound: i128, limit: i128) {
    for group in groups {
        let least = group.iter().map(|item| multipliers::reduced(item, multipliers)).min().unwrap_or(0);
        group.retain(|item| bound + multipliers::reduced(item, multipliers) - least < limit);
    }
}

struct Search<'a> {
    groups: &'a [Group],
    capacities: &'a [u64],
    multipliers: &'a [i128],
    /// No partial choice was dropped for lack of room.
    is_whole: bool,
}

/// Facts about the groups that are left after one.
struct Step<'a> {
    /// The least reduced cost of the others, less the worth of all capacities.
    rest: i128,
    /// Units that the others need at least.
    needed: &'a [u64],
    /// Bounds from here on are not followed.
    limit: Option<i128>,
    /// Choices that are kept.
    states: usize,
}

/// Partial choices with an item of each of the first groups.
#[derive(Default)]
struct Stage {
    /// For each, the one that it extends and its item.
    from: Vec<(u32, u32)>,
    costs: Vec<i128>,
    /// Units of all rows, choice by choice.
    uses: Vec<u64>,
}

impl Search<'_> {
    /// The best choice whose bound is below `limit`: its items and its cost.
    fn run(&mut self, limit: Option<i128>, states: usize) -> Option<(Vec<usize>, i128)> {
        let rows = self.capacities.len();
        // Groups with many items come last: fewer partial choices have to be kept.
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        order.sort_by_key(|group| self.groups[*group].len());
        let room: i128 = self.multipliers.iter().zip(self.capacities).map(|(m, c)| m * i128::from(*c)).sum();
        let mut stages = vec![Stage { from: vec![(0, 0)], costs: vec![0], uses: vec![0; rows] }];
        for (step, group) in order.iter().enumerate() {
            let later = || order[step + 1..].iter().map(|group| &self.groups[*group]);
            let least =
                |group: &Group| group.iter().map(|item| multipliers::reduced(item, self.multipliers)).min();
            let rest = later().filter_map(least).sum::<i128>() - room;
            let needed = |row: usize| later().filter_map(|g| g.iter().map(|item| item.uses[row]).min()).sum();
            let needed: Vec<u64> = (0..rows).map(needed).collect();
            let step = Step { rest, needed: &needed, limit, states };
            let next = self.extended(stages.last()?, &self.groups[*group], &step);
            if next.costs.is_empty() {
                return None;
            }
            stages.push(next);
        }
        let last = stages.last()?;
        let mut at = (0..last.costs.len()).min_by_key(|at| last.costs[*at])?;
        let cost = last.costs[at];
        let mut picks = vec![0; self.groups.len()];
        for (stage, group) in stages[1..].iter().zip(&order).rev() {
            let (before, item) = stage.from[at];
            picks[*group] = self.groups[*group][item as usize].at;
            at = before as usize;
        }
        Some((picks, cost))
    }

    /// Choices with an item more; they are thinned whenever there are many.
    fn extended(&mut self, stage: &Stage, group: &Group, step: &Step<'_>) -> Stage {
        let rows = self.capacities.len();
        let mut next = Stage::default();
        let mut uses = vec![0; rows];
        // To thin means to sort: only when eight times the wanted number has come together.
        let most = step.states.saturating_mul(8).max(1 << 16);
        for (before, cost) in stage.costs.iter().enumerate() {
            if next.costs.len() > most {
                next = self.thinned(next, step);
            }
            let used = &stage.uses[before * rows..(before + 1) * rows];
            'items: for (number, item) in group.iter().enumerate() {
                let mut bound = ((cost + item.cost) << SHIFT) + step.rest;
                for row in 0..rows {
                    uses[row] = used[row].saturating_add(item.uses[row]);
                    if uses[row].saturating_add(step.needed[row]) > self.capacities[row] {
                        continue 'items;
                    }
                    bound += self.multipliers[row] * i128::from(uses[row]);
                }
                if step.limit.is_none_or(|limit| bound < limit) {
                    next.from.push((before as u32, number as u32));
                    next.costs.push(cost + item.cost);
                    next.uses.extend_from_slice(&uses);
                }
            }
        }
        self.thinned(next, step)
    }

    /// Without dominated choices, and no more than `states` of them.
    fn thinned(&mut self, stage: Stage, step: &Step<'_>) -> Stage {
        /// Earlier choices with which one is compared if there are several rows.
        const COMPARED: usize = 64;
        let rows = self.capacities.len();
        let uses = |at: u32| &stage.uses[at as usize * rows..(at as usize + 1) * rows];
        let cost = |at: u32| stage.costs[at as usize];
        let mut order: Vec<u32> = (0..stage.costs.len() as u32).collect();
        order.sort_by(|a, b| uses(*a).cmp(uses(*b)).then(cost(*a).cmp(&cost(*b))).then(a.cmp(b)));
        let mut kept: Vec<u32> = vec![];
        for at in order {
            let is_no_worse = |known: &&u32| {
                cost(**known) <= cost(at) && uses(**known).iter().zip(uses(at)).all(|(a, b)| a <= b)
            };
            // With one row, the last choice that is kept costs least: one comparison is enough.
            if !kept.iter().rev().take(if rows < 2 { 1 } else { COMPARED }).any(|known| is_no_worse(&known)) {
                kept.push(at);
            }
        }
        if kept.len() > step.states {
            // Choices are given up: the best one is no longer proven.
            self.is_whole = false;
            let bound = |at: u32| {
                let used = self.multipliers.iter().zip(uses(at));
                (cost(at) << SHIFT) + step.rest + used.map(|(m, used)| m * i128::from(*used)).sum::<i128>()
            };
            kept.sort_by_cached_key(|at| bound(*at));
            kept.truncate(step.states);
        }
        Stage {
            from: kept.iter().map(|at| stage.from[*at as usize]).collect(),
            costs: kept.iter().map(|at| cost(*at)).collect(),
            uses: kept.iter().flat_map(|at| uses(*at).iter().copied()).collect(),
        }
    }
}
