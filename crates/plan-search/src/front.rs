//! The Pareto front: plans of which none is better than another in every objective.

/// A set of costs, each with what has them. Of equal costs the first stays.
#[derive(Clone, Debug)]
pub struct Front<T> {
    points: Vec<(Vec<i64>, T)>,
}

impl<T> Default for Front<T> {
    fn default() -> Front<T> {
        Front { points: vec![] }
    }
}

impl<T> Front<T> {
    /// Whether something costs no more in any objective.
    pub fn covers(&self, cost: &[i64]) -> bool {
        self.points.iter().any(|(known, _)| no_more(known, cost))
    }

    /// Adds a point unless it is covered, and removes the points that it covers. Returns whether it was added.
    pub fn add(&mut self, cost: Vec<i64>, what: T) -> bool {
        if self.covers(&cost) {
            return false;
        }
        self.points.retain(|(known, _)| !no_more(&cost, known));
        self.points.push((cost, what));
        true
    }

    /// The points, the least cost first, compared objective by objective.
    pub fn into_sorted(mut self) -> Vec<(Vec<i64>, T)> {
        self.points.sort_by(|a, b| a.0.cmp(&b.0));
        self.points
    }

    /// Number of plans.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The points as they came.
    pub fn points(&self) -> &[(Vec<i64>, T)] {
        &self.points
    }
}

fn no_more(a: &[i64], b: &[i64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_covered_goes() {
        let mut front = Front::default();
        assert!(front.add(vec![3, 1], "a"));
        assert!(front.add(vec![1, 3], "b"));
        assert!(!front.add(vec![3, 1], "equal"));
        assert!(!front.add(vec![4, 4], "worse"));
        assert!(front.add(vec![1, 1], "better than both"));
        assert_eq!(front.into_sorted(), [(vec![1, 1], "better than both")]);
    }
}
