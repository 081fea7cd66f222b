//! Ticks for a switch that makes none: its agent sends their frames as packets from the controller.
//!
//! The frames enter by the switch's CPU port. A late tick stands for all that were missed, as on a device that makes them.

use crate::operator::{Operator, OperatorError, refused};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    MasterArbitrationUpdate, PacketOut, Role, StreamMessageRequest, stream_message_request::Update as Said,
    stream_message_response::Update as Heard,
};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

/// A frame to send once a period.
pub struct SentTick {
    /// Time between two.
    pub period: Duration,
    /// The frame.
    pub packet: PacketOut,
}

impl Operator {
    /// Sends ticks to the device with this id as the primary controller of a role (empty: the default role), `most` of them. An error if
    /// the role has a primary already, or gets another one.
    pub fn send_ticks(
        &mut self,
        (device_id, role): (u64, &str),
        ticks: &[SentTick],
        most: Option<u64>,
    ) -> Result<(), OperatorError> {
        let Operator { runtime, switch, address, .. } = self;
        let sent = runtime.block_on(async {
            let (say, said) = mpsc::channel(16);
            let closed = || Status::unavailable("the switch has closed the stream");
            let role = Some(role).filter(|role| !role.is_empty());
            let role = role.map(|name| Role { name: name.to_string(), ..Role::default() });
            let claim =
                MasterArbitrationUpdate { device_id, role, election_id: Some(1u128.into()), status: None };
            let message = |update| StreamMessageRequest { update: Some(update) };
            say.send(message(Said::Arbitration(claim))).await.map_err(|_| closed())?;
            let mut heard = switch.stream_channel(ReceiverStream::new(said)).await?.into_inner();
            // The first arbitration update says that the claim is granted: time begins then, once.
            while !check(heard.message().await?.ok_or_else(closed)?.update)? {}
            let (mut timers, mut sent): (Vec<Interval>, u64) = (ticks.iter().map(timer).collect(), 0);
            while most.is_none_or(|most| sent < most) {
                tokio::select! {
                    at = next(&mut timers) => {
                        let packet = ticks[at].packet.clone();
                        say.send(message(Said::Packet(packet))).await.map_err(|_| closed())?;
                        sent += 1;
                    }
                    update = heard.message() => {
                        check(update?.ok_or_else(closed)?.update)?;
                    }
                }
            }
            // Until the switch has taken all.
            drop(say);
            while let Some(update) = heard.message().await? {
                check(update.update)?;
            }
            Ok(())
        });
        sent.map_err(|status: Status| refused(address, &status))
    }
}

fn timer(tick: &SentTick) -> Interval {
    let mut timer = interval_at(Instant::now() + tick.period, tick.period);
    timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    timer
}

/// Waits for the first timer; for ever if there is none.
async fn next(timers: &mut [Interval]) -> usize {
    poll_fn(|cx| {
        let due = timers.iter_mut().position(|timer| timer.poll_tick(cx).is_ready());
        due.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// True if the controller is the primary of its role.
fn check(update: Option<Heard>) -> Result<bool, Status> {
    match update {
        Some(Heard::Arbitration(update)) => match update.status {
            Some(status) if status.code != Code::Ok as i32 => Err(Status::failed_precondition(
                "another controller is the primary, which alone may send packets: give the ticks a role of their own",
            )),
            _ => Ok(true),
        },
        Some(Heard::Error(error)) => Err(Status::invalid_argument(error.message)),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten periods late: one tick for all of them, and not ten.
    #[test]
    fn a_late_tick_stands_for_all_that_were_missed() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let period = Duration::from_millis(20);
        let (begun, ready) = runtime.block_on(async {
            let mut timer = timer(&SentTick { period, packet: PacketOut::default() });
            tokio::time::sleep(10 * period).await;
            let begun = Instant::now();
            let mut ready = 0;
            while poll_fn(|cx| Poll::Ready(timer.poll_tick(cx).is_ready())).await {
                ready += 1;
            }
            (begun, ready)
        });
        // More only if asking took so long.
        let most = 2 + begun.elapsed().as_millis() / period.as_millis();
        assert!(ready >= 1 && ready <= most, "{ready} of at most {most}");
    }
}
