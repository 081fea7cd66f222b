//! Echoes of congestion marks by a receiver.
//!
//! | receiver | echoes |
//! |---|---|
//! | RFC 3168 | from a marked segment on, until the sender says that it has reduced its window |
//! | DCTCP, RFC 8257 section 3.2 | in acknowledgements of marked segments; when marks begin or end, earlier segments are acknowledged first, so that no acknowledgement covers both |

/// State of echoes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Echo {
    /// The connection has no ECN.
    #[default]
    Off,
    /// RFC 3168: echoes now or not.
    UntilReduced(bool),
    /// DCTCP: the last segment was marked or not.
    Exact(bool),
}

impl Echo {
    /// Acknowledgements have an echo.
    pub fn is_set(self) -> bool {
        matches!(self, Echo::UntilReduced(true) | Echo::Exact(true))
    }

    /// A segment with data has come that met congestion or not, from a sender that has reduced its window or not. True if segments that came
    /// before must be acknowledged apart from it.
    pub fn take(&mut self, is_marked: bool, is_reduced: bool) -> bool {
        match self {
            Echo::Off => false,
            Echo::UntilReduced(echoes) => {
                *echoes = is_marked || (*echoes && !is_reduced);
                false
            }
            Echo::Exact(before) => std::mem::replace(before, is_marked) != is_marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classic_echo_ends_when_the_sender_has_reduced_its_window() {
        let mut echo = Echo::UntilReduced(false);
        let steps = [
            (false, false, false),
            (true, false, true),
            (false, false, true),
            (false, true, false),
            (true, true, true),
            (false, false, true),
        ];
        for (is_marked, is_reduced, is_set) in steps {
            assert!(!echo.take(is_marked, is_reduced));
            assert_eq!(echo.is_set(), is_set);
        }
    }

    #[test]
    fn the_exact_echo_follows_each_segment() {
        let mut echo = Echo::Exact(false);
        for (is_marked, changes) in [(false, false), (true, true), (true, false), (false, true)] {
            assert_eq!((echo.take(is_marked, true), echo.is_set()), (changes, is_marked));
        }
        let mut off = Echo::Off;
        assert!(!off.take(true, false) && !off.is_set());
    }
}
