//! Goals and progress of a search.

/// Goal of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Goal {
    /// The Pareto-optimal plans, one of each cost.
    #[default]
    Front,
    /// The best in the order of the objectives: the second counts where the first is equal.
    First,
    /// The least sum of the objectives, each times its weight.
    Weighted(Vec<i64>),
}

impl Goal {
    /// Sort key of plans; `None` if many plans are wanted.
    pub(crate) fn key(&self, cost: &[i64]) -> Option<Vec<i128>> {
        let exact = cost.iter().map(|c| i128::from(*c));
        match self {
            Goal::Front => None,
            Goal::First => Some(exact.collect()),
            Goal::Weighted(weights) => {
                let product = |(cost, weight): (&i64, &i64)| i128::from(*cost) * i128::from(*weight);
                let sum = cost.iter().zip(weights).map(product).fold(0i128, i128::saturating_add);
                Some([sum].into_iter().chain(exact).collect())
            }
        }
    }
}

/// Progress of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Partial plans looked at.
    pub labels: u64,
    /// Regions placed in those that are looked at now.
    pub level: usize,
    /// Plans found.
    pub found: usize,
}

/// Whether the search continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Go on.
    No,
    /// Return the plans found so far.
    Yes,
}
