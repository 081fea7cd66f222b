//! Priorities of a table's initial entries (P4-16 §14.2.1.4).

use base_bits::num_bigint::BigInt;
use base_diag::Diagnostic;
use ir::MatchKind;
use p4_check::typed::Entries;

use crate::refuse;

/// How a table counts priorities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counting {
    /// The larger number wins.
    pub(crate) largest_wins: bool,
    /// The step from an entry to the next.
    pub(crate) delta: u32,
}

/// Entries of a table with such a key need priorities: several of them may match a packet.
pub(crate) fn needs_priority<'a>(kinds: impl IntoIterator<Item = &'a MatchKind>) -> bool {
    kinds.into_iter().any(|k| !matches!(k, MatchKind::Exact | MatchKind::Lpm | MatchKind::Selector))
}

/// One priority for each entry, in order. Without any in the source the first entry ranks highest; with some, those
/// without count on from the one before.
pub(crate) fn priorities(entries: &Entries, counting: Counting) -> Result<Vec<u32>, Diagnostic> {
    let list = &entries.entries;
    let delta = i64::from(counting.delta);
    let written = |i: usize| list.get(i).and_then(|e| e.priority.as_ref());
    let none_written = (0..list.len()).all(|i| written(i).is_none());
    let step = if counting.largest_wins { -delta } else { delta };
    // Ranked by their order: the last entry has priority 1.
    let mut next = if none_written && counting.largest_wins {
        i64::try_from(list.len())
            .unwrap_or(i64::MAX)
            .saturating_sub(1)
            .saturating_mul(delta)
            .saturating_add(1)
    } else {
        1
    };
    let mut out = Vec::with_capacity(list.len());
    for (index, entry) in list.iter().enumerate() {
        match &entry.priority {
            Some(value) => next = in_range(value, entry)?,
            None if index == 0 && !none_written => {
                return Err(refuse::priority(
                    "the first entry needs a priority",
                    "later entries have one",
                    entry.span,
                ));
            }
            None => {}
        }
        let priority =
            u32::try_from(next).ok().filter(|p| (1..=i32::MAX as u32).contains(p)).ok_or_else(|| {
                let label = format!("its priority would be {next}");
                refuse::priority("an entry's priority is out of range", &label, entry.span)
            })?;
        out.push(priority);
        next = next.saturating_add(step);
    }
    Ok(out)
}

fn in_range(value: &BigInt, entry: &p4_check::typed::Entry) -> Result<i64, Diagnostic> {
    i64::try_from(value).map_err(|_| {
        refuse::priority(
            "an entry's priority is out of range",
            &format!("its priority is {value}"),
            entry.span,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_diag::Span;
    use p4_check::typed::{ActionCall, Annotations, Entry};

    /// Entries with these priorities, 0 for none.
    fn check(written: &[i64], largest_wins: bool, delta: u32) -> Option<Vec<u32>> {
        let entry = |p: &i64| Entry {
            sets: vec![],
            call: ActionCall { action: 0, args: vec![], span: Span::NONE },
            priority: (*p != 0).then(|| BigInt::from(*p)),
            is_const: false,
            annotations: Annotations::default(),
            span: Span::NONE,
        };
        let entries =
            Entries { is_const: false, entries: written.iter().map(entry).collect(), span: Span::NONE };
        priorities(&entries, Counting { largest_wins, delta }).ok()
    }

    #[test]
    fn without_any_the_first_ranks_highest() {
        assert_eq!(check(&[0, 0, 0], true, 1), Some(vec![3, 2, 1]));
        assert_eq!(check(&[0, 0, 0], true, 10), Some(vec![21, 11, 1]));
        assert_eq!(check(&[0, 0, 0], false, 1), Some(vec![1, 2, 3]));
        assert_eq!(check(&[], true, 1), Some(vec![]));
    }

    #[test]
    fn with_some_the_others_count_on() {
        assert_eq!(check(&[100, 0, 50, 0], true, 10), Some(vec![100, 90, 50, 40]));
        assert_eq!(check(&[100, 0, 50, 0], false, 10), Some(vec![100, 110, 50, 60]));
    }

    #[test]
    fn wrong_ones_are_refused() {
        assert_eq!(check(&[0, 5], true, 1), None, "the first has none");
        assert_eq!(check(&[1, 0], true, 1), None, "counts down to 0");
        assert_eq!(check(&[-1], true, 1), None);
        assert_eq!(check(&[1 << 31], true, 1), None);
    }
}
