//! When a target of an edge with spares has failed, and when it is used again.

use base_time::Duration;
use failover::Thresholds;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4rack::v1;
use p4runtime_server::Status;

/// When a target has failed, and when it is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Decided in the data plane.
    pub thresholds: Thresholds,
    /// Time for which the state of a target must be correct before it is used again.
    pub hold_down: Duration,
}

impl Limits {
    /// With the changes of an operator. An error says which number cannot be.
    pub(crate) fn changed(self, to: &v1::Thresholds) -> Result<Limits, Status> {
        let small = |name: &str, value: Option<u32>, most: u32, old: u32| match value {
            Some(value) if value > most => {
                Err(Status::new(Code::InvalidArgument, format!("`{name}` is at most {most}")))
            }
            value => Ok(value.unwrap_or(old)),
        };
        let time = |name: &str, value: Option<u64>, old: u64| match value {
            Some(us) if us > failover::thresholds::MOST_US => {
                Err(Status::new(Code::InvalidArgument, format!("`{name}` is at most 12 days")))
            }
            value => Ok(value.unwrap_or(old)),
        };
        let old = self.thresholds;
        let thresholds = Thresholds {
            ask_every: small("ask_every", to.ask_every, 1 << 30, old.ask_every)?,
            ask_after: time("ask_after", to.ask_after_us, old.ask_after)?,
            patience: time("patience", to.patience_us, old.patience)?,
            most_missed: small("most_missed", to.most_missed, 255, old.most_missed.into())? as u8,
            tolerance: small("tolerance", to.tolerance, 31, old.tolerance.into())? as u8,
            most_gaps: small("most_gaps", to.most_gaps, 0xffff, old.most_gaps.into())? as u16,
            window: to.window.unwrap_or(old.window),
        };
        if let Some(why) = thresholds.fault() {
            return Err(Status::new(Code::InvalidArgument, why));
        }
        let hold_down = match time("hold_down", to.hold_down_us, 0)? {
            // Absent keeps the old value; 0 ends the hold-down.
            0 if to.hold_down_us.is_none() => self.hold_down,
            us => Duration::from_us(us),
        };
        Ok(Limits { thresholds, hold_down })
    }
}
