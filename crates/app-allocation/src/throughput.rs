//! The largest throughputs of the classes in the order of max-min fairness.
//!
//! A vector of throughputs is better than another if its smallest part is larger; if they are equal, the second smallest decides, and so on.
//! Which class has the smallest part is not known: all sets of classes that can be the first ones are followed, so a problem may have no
//! more than [`MOST_CLASSES`](crate::problem::MOST_CLASSES).

use crate::allocate::{Instance, WHOLE};
use crate::choose::{Effort, Failed, Item, choose};

impl Instance<'_> {
    /// The part of its traffic that each class takes.
    pub(crate) fn throughput(&self, effort: &Effort) -> Result<Vec<u64>, Failed> {
        let classes = self.problem.classes.len();
        let any = self.without_costs();
        let search = Search { instance: self, items: &any, effort };
        if search.is_possible(&vec![WHOLE; classes])? {
            return Ok(vec![WHOLE; classes]);
        }
        if !search.is_possible(&vec![0; classes])? {
            return Err(Failed::Impossible);
        }
        // Fixed parts of some classes: all of these vectors are equally good so far.
        let mut fixed: Vec<Vec<Option<u64>>> = vec![vec![None; classes]];
        for _ in 0..classes {
            let mut best = 0;
            let mut next: Vec<Vec<Option<u64>>> = vec![];
            for known in &fixed {
                let Some(level) = search.level(known, best)? else { continue };
                if level > best {
                    next.clear();
                    best = level;
                }
                for class in (0..classes).filter(|class| known[*class].is_none()) {
                    let mut more = known.clone();
                    more[class] = Some(level);
                    if !next.contains(&more) {
                        next.push(more);
                    }
                }
            }
            fixed = next;
        }
        let whole = fixed.into_iter().map(|parts| parts.into_iter().flatten().collect::<Vec<u64>>());
        whole.min().ok_or(Failed::GaveUp)
    }

    /// Items for which any choice is as good as another.
    fn without_costs(&self) -> Vec<Vec<Item>> {
        let free = |item: &Item| Item { cost: 0, uses: item.uses.clone() };
        self.items.iter().map(|group| group.iter().map(free).collect()).collect()
    }
}

struct Search<'a> {
    instance: &'a Instance<'a>,
    items: &'a [Vec<Item>],
    effort: &'a Effort,
}

impl Search<'_> {
    fn is_possible(&self, parts: &[u64]) -> Result<bool, Failed> {
        match choose(self.items, &self.instance.capacities(parts), self.effort) {
            Ok(_) => Ok(true),
            Err(Failed::Impossible) => Ok(false),
            Err(Failed::GaveUp) => Err(Failed::GaveUp),
        }
    }

    /// The largest part, at least `least`, that all classes without a fixed one can have; none if they cannot have `least`.
    fn level(&self, fixed: &[Option<u64>], least: u64) -> Result<Option<u64>, Failed> {
        let with = |part: u64| fixed.iter().map(|fixed| fixed.unwrap_or(part)).collect::<Vec<u64>>();
        if !self.is_possible(&with(least))? {
            return Ok(None);
        }
        let (mut low, mut high) = (least, WHOLE);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.is_possible(&with(middle))? { low = middle } else { high = middle - 1 }
        }
        Ok(Some(low))
    }
}
