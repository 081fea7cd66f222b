//! An order in which every callee stands before its callers.

/// `calls[i]` are the numbers that `i` calls. Numbers that call themselves come in some order.
pub(crate) fn callees_first(calls: &[Vec<usize>]) -> Vec<usize> {
    let mut order = vec![];
    let mut seen = vec![false; calls.len()];
    for start in 0..calls.len() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        // A stack of our own: chains of calls may be longer than the thread's stack is deep.
        let mut open = vec![(start, 0)];
        while let Some((at, next)) = open.pop() {
            match calls[at].get(next) {
                Some(&callee) => {
                    open.push((at, next + 1));
                    if seen.get(callee) == Some(&false) {
                        seen[callee] = true;
                        open.push((callee, 0));
                    }
                }
                None => order.push(at),
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    #[test]
    fn callees_stand_first() {
        assert_eq!(super::callees_first(&[vec![2, 1], vec![2], vec![], vec![0]]), [2, 1, 0, 3]);
    }
}
