//! The longest path of a placement, worked out in segments.
//!
//! A region through which all paths of all programs pass ends one segment and begins the next. A move changes the segments of the regions that move, and no others.
//!
//! ```text
//! a -> b -> d -> e     segments a-b, b-d, d-e: a move of c changes b-d alone
//!       \> c />
//! ```

use crate::Arc;
use crate::pack::Pack;
use crate::problem::Problem;
use smallvec::SmallVec;

/// The longest path of a placement, kept up to date while regions move.
pub struct Paths {
    /// Position of each region in the topological order.
    rank: Vec<usize>,
    /// Segments that depend on the device of each region.
    segments: Vec<SmallVec<[usize; 2]>>,
    /// Positions of the first and last region of each segment.
    ends: Vec<(usize, usize)>,
    /// Length of the longest path of each segment.
    lengths: Vec<i64>,
    /// Segments that the last move changed, with their lengths before it.
    before: SmallVec<[(usize, i64); 8]>,
    /// By position: path variable after the region, counted from the start of the segment.
    after: Vec<i64>,
}

impl Paths {
    /// For a problem's regions; nothing is placed yet.
    pub fn new(problem: &Problem) -> Paths {
        let order = &problem.order;
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, node)| rank[*node] = at);
        let is_waist = |at: &usize| {
            let ends = |arc: &Arc| (rank[arc.from], rank[arc.to]);
            let mut edges = problem.arcs.iter().map(ends);
            edges.all(|(from, to)| to <= *at || from >= *at)
                && order[..*at].iter().all(|node| !problem.nodes[*node].out.is_empty())
                && order[at + 1..].iter().all(|node| !problem.nodes[*node].into.is_empty())
        };
        let last = order.len().saturating_sub(1);
        let mut waists: Vec<usize> = (1..last).filter(is_waist).collect();
        waists.push(last);
        let firsts = [0].into_iter().chain(waists.iter().copied());
        let ends: Vec<(usize, usize)> = firsts.zip(waists.iter().copied()).collect();
        let of = |at: usize| (0..ends.len()).filter(|of| ends[*of].0 <= at && at <= ends[*of].1).collect();
        Paths {
            segments: rank.iter().map(|at| of(*at)).collect(),
            lengths: vec![0; ends.len()],
            before: SmallVec::new(),
            after: vec![0; order.len()],
            rank,
            ends,
        }
    }

    /// Length of a placement, by region the device.
    pub fn whole(&mut self, of: &Pack, on: &[usize]) -> i64 {
        for segment in 0..self.ends.len() {
            self.lengths[segment] = self.length(of, on, segment);
        }
        self.sum()
    }

    /// Length of the placement after some of its regions were moved.
    pub fn changed(&mut self, of: &Pack, on: &[usize], moved: impl Iterator<Item = usize>) -> i64 {
        self.before.clear();
        for node in moved {
            for at in 0..self.segments[node].len() {
                let segment = self.segments[node][at];
                if self.before.iter().all(|(known, _)| *known != segment) {
                    let length = self.length(of, on, segment);
                    let before = std::mem::replace(&mut self.lengths[segment], length);
                    self.before.push((segment, before));
                }
            }
        }
        self.sum()
    }

    /// Takes back the last [`Paths::changed`].
    pub fn undo(&mut self) {
        while let Some((segment, before)) = self.before.pop() {
            self.lengths[segment] = before;
        }
    }

    fn sum(&self) -> i64 {
        self.lengths.iter().fold(0, |sum, length| sum.saturating_add(*length))
    }

    fn length(&mut self, of: &Pack, on: &[usize], segment: usize) -> i64 {
        let problem = of.problem;
        let (first, last) = self.ends[segment];
        let mut longest = 0;
        for at in first..=last {
            let node = problem.order[at];
            let (device, region) = (on[node], &problem.nodes[node]);
            // The first region counts in the segment that it ends.
            if at == first && at > 0 {
                self.after[at] = 0;
                continue;
            }
            let mut begins = if region.into.is_empty() { region.start[of.var].1 } else { i64::MIN };
            for &arc in &region.into {
                let from = problem.arcs[arc].from;
                let distance = distance(of, arc, on[from], device);
                begins = begins.max(self.after[self.rank[from]].saturating_add(distance));
            }
            let after = begins.saturating_add(of.grows[node][problem.class[device]]);
            self.after[at] = after;
            longest = longest.max(after);
        }
        longest
    }
}

fn distance(of: &Pack, arc: usize, from: usize, to: usize) -> i64 {
    let (group, next) = (of.equal.group[from], of.equal.group[to]);
    match (from == to, group == next) {
        (true, _) => 0,
        (_, true) => of.distances.apart(arc, group),
        _ => of.distances.add(arc, group, next),
    }
}
