//! Linearizability of a register: is there an order of all reads and writes, each at one moment between its begin and its end, in which each read has the value
//! of the last write?
//!
//! Just-in-time linearization: a configuration is a value and the clients whose pending operation has taken effect. When an operation ends, only configurations
//! in which it has taken effect remain.

use std::collections::BTreeSet;

/// An operation of a client on the register. Values are numbers; 0 is the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A client begins a write.
    Write(u8, u64),
    /// A client begins a read, which ends with this value; `None` if it never ends.
    Read(u8, Option<u64>),
    /// The client's operation ends.
    End(u8),
}

/// True if the history, in the order of its moments, is linearizable. Clients have numbers below 32, and one operation at a time.
pub fn is_linearizable(history: &[Step]) -> bool {
    let mut pending: [Option<Step>; 32] = [None; 32];
    let mut all = BTreeSet::from([(0u64, 0u32)]);
    for step in history {
        match *step {
            Step::Write(client, _) | Step::Read(client, _) => pending[usize::from(client)] = Some(*step),
            Step::End(client) => {
                all = ended(&all, &pending, client);
                pending[usize::from(client)] = None;
                if all.is_empty() {
                    return false;
                }
            }
        }
    }
    true
}

/// The configurations after a client's operation has ended.
fn ended(before: &BTreeSet<(u64, u32)>, pending: &[Option<Step>; 32], client: u8) -> BTreeSet<(u64, u32)> {
    let (mut seen, mut open, mut after) =
        (before.clone(), Vec::from_iter(before.iter().copied()), BTreeSet::new());
    while let Some((value, done)) = open.pop() {
        if done >> client & 1 == 1 {
            after.insert((value, done & !(1 << client)));
            continue;
        }
        for (other, step) in pending.iter().enumerate().filter(|(other, _)| done >> other & 1 == 0) {
            let next = match step {
                Some(Step::Write(_, to)) => *to,
                Some(Step::Read(_, Some(got))) if *got == value => value,
                _ => continue,
            };
            if seen.insert((next, done | 1 << other)) {
                open.push((next, done | 1 << other));
            }
        }
    }
    after
}
