//! Lease under which an agent holds frames.
//!
//! ```text
//! Hold(100 ms) ──> Until(now + 100 ms) ── ExtendHold(100 ms) ──> Until(later) ── nothing more ──> No: frames are admitted
//! ```
//!
//! An agent that holds frames for a controller admits them when the controller is silent for too long; a program that was saved for
//! this moment is not committed then ([`p4runtime_server::Server::spoil_saved`]).

use base_time::{Duration, Time};
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;

/// Whether frames are held.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Held {
    /// Frames are admitted.
    #[default]
    No,
    /// Frames are held until this time, or until another request.
    Until(Time),
    /// Frames are held until another request.
    UntilReleased,
}

impl Held {
    /// Holds frames from now on, for the time of the lease or until another request.
    pub fn from(now: Time, lease: Option<Duration>) -> Held {
        lease.map_or(Held::UntilReleased, |lease| Held::Until(now + lease))
    }

    /// Extends the lease to `lease` from now. Refused without effect if frames are no longer held.
    pub fn extend(&mut self, now: Time, lease: Duration) -> Result<(), Status> {
        match self {
            Held::No => Err(Status::new(Code::FailedPrecondition, "frames have been admitted already")),
            Held::Until(_) => {
                *self = Held::from(now, Some(lease));
                Ok(())
            }
            Held::UntilReleased => Ok(()),
        }
    }

    /// True, once, when the lease has expired.
    pub fn runs_out(&mut self, now: Time) -> bool {
        let is_over = self.deadline().is_some_and(|until| now >= until);
        if is_over {
            *self = Held::No;
        }
        is_over
    }

    /// Time at which [`runs_out`](Held::runs_out) becomes true.
    pub fn deadline(self) -> Option<Time> {
        match self {
            Held::Until(until) => Some(until),
            Held::No | Held::UntilReleased => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn frames_are_let_in_when_nothing_is_heard_any_more() {
        let lease = Duration::from_ms(100);
        let mut held = Held::from(at(0), Some(lease));
        assert!(!held.runs_out(at(99)) && held.extend(at(99), lease).is_ok());
        assert_eq!((held.runs_out(at(198)), held.deadline()), (false, Some(at(199))));
        assert_eq!([held.runs_out(at(199)), held.runs_out(at(200))], [true, false]);
        // A late extension does not hold frames again.
        assert!(held.extend(at(200), lease).is_err() && held == Held::No);
    }

    #[test]
    fn who_is_reported_to_wait_waits() {
        let mut held = Held::from(at(0), None);
        assert!(held.extend(at(1), Duration::from_ms(1)).is_ok() && !held.runs_out(at(1_000_000)));
        assert_eq!(held, Held::UntilReleased);
    }
}
