//! Nodes of a graph that lie on a cycle (Kosaraju), in linear time, without recursion.

/// For each node, whether a path leads from it back to it; `next` has the successors of each node.
pub(crate) fn on_cycles(next: &[Vec<usize>]) -> Vec<bool> {
    let mut before = vec![vec![]; next.len()];
    let mut cyclic = vec![false; next.len()];
    for (at, targets) in next.iter().enumerate() {
        targets.iter().for_each(|target| before[*target].push(at));
        cyclic[at] = targets.contains(&at);
    }
    let mut seen = vec![false; next.len()];
    let mut finished = vec![];
    (0..next.len()).for_each(|start| finish(start, next, &mut seen, &mut finished));
    // Backwards from the node that finished last: nodes reached lead to it too.
    let mut seen = vec![false; next.len()];
    for start in finished.into_iter().rev() {
        let mut component = vec![];
        finish(start, &before, &mut seen, &mut component);
        if component.len() > 1 {
            component.into_iter().for_each(|at| cyclic[at] = true);
        }
    }
    cyclic
}

/// Appends unseen nodes reachable from `start`, each after its successors.
fn finish(start: usize, next: &[Vec<usize>], seen: &mut [bool], finished: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[start], true) {
        return;
    }
    let mut open = vec![(start, next[start].iter())];
    while let Some((at, targets)) = open.last_mut() {
        match targets.next() {
            Some(target) if std::mem::replace(&mut seen[*target], true) => {}
            Some(target) => open.push((*target, next[*target].iter())),
            None => {
                finished.push(*at);
                open.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: from each node, follow all paths.
    fn by_search(next: &[Vec<usize>]) -> Vec<bool> {
        let comes_back = |start: usize| {
            let mut seen = vec![false; next.len()];
            let mut open = next[start].clone();
            while let Some(at) = open.pop() {
                if !std::mem::replace(&mut seen[at], true) {
                    open.extend(&next[at]);
                }
            }
            seen[start]
        };
        (0..next.len()).map(comes_back).collect()
    }

    #[test]
    fn two_loops_and_what_is_between_them() {
        let next = [vec![1], vec![2], vec![1, 3], vec![4], vec![4, 5], vec![]];
        assert_eq!(on_cycles(&next), [false, true, true, false, true, false]);
    }

    #[test]
    fn as_a_search_from_each_node() {
        let mut state = 1u64;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        for size in (1..60).cycle().take(300) {
            let next: Vec<Vec<usize>> =
                (0..size).map(|_| (0..below(3)).map(|_| below(size)).collect()).collect();
            assert_eq!(on_cycles(&next), by_search(&next), "{next:?}");
        }
    }

    #[test]
    fn a_long_chain() {
        let mut next: Vec<Vec<usize>> = (1..=200_000).map(|at| vec![at]).collect();
        next.push(vec![]);
        assert!(!on_cycles(&next).contains(&true));
        next[200_000].push(0);
        assert!(!on_cycles(&next).contains(&false));
    }
}
