//! `ping`: ICMP echo requests, which any host answers.

use crate::kind::{Count, Key, Kind, Load, Size};
use crate::packet::{ECHO_REQUEST, Transport, build};
use crate::program::{Arrival, Begun, Desk, Goodput, HostProgram, Report, Setup, Side, Taken};
use crate::source::Pace;
use crate::streams::Streams;
use crate::unused::Unused;
use base_time::{Duration, Time};

/// The workload `ping`.
pub static PING: Kind = Kind {
    word: "ping",
    count: Count::PACKETS,
    size: Some(Size::of_payload(56)),
    keys: &[Key::time("interval", Duration::from_s(1))],
    rule: None,
    since_start: |load, n| load.time("interval") * n,
    frame_bytes: Load::payload_with_headers,
    start,
};

struct Ping(Streams);

fn start(setup: Setup<'_>) -> Begun {
    let (streams, started) = Streams::start(&setup, Pace::Even);
    Ok((Box::new(Ping(streams)), started))
}

impl HostProgram for Ping {
    fn tick(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let size = self.0.load.size as usize;
        let Some((stream, stamp)) = self.0.next(pair, desk) else { return };
        let sequence = stamp.sequence as u16;
        let echo = Transport::Echo { kind: ECHO_REQUEST, identifier: stamp.flow as u16, sequence };
        let frame = build(stream.route, echo, sequence, size, |payload| stamp.write(payload));
        desk.send(pair, Side::Sender, frame);
    }

    /// An answer.
    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        let (Some(stamp), Some((transport, payload)), Some(Side::Sender)) =
            (arrival.stamp, arrival.transport, arrival.side)
        else {
            return Taken::Unused(Unused::NoReceiver);
        };
        let fits = matches!(transport, Transport::Echo { identifier, sequence, .. }
            if (identifier, sequence) == (stamp.flow as u16, stamp.sequence as u16));
        match self.0.check(arrival.pair, (fits, self.0.load.size), desk, (stamp, payload)) {
            Err(reason) => Taken::Unused(reason),
            Ok(()) => {
                self.0.count(arrival.pair, stamp, self.0.load.size, desk.tally, desk.now);
                Taken::Received(stamp.sequence)
            }
        }
    }

    fn is_active(&self) -> bool {
        self.0.is_active()
    }

    fn report(&self, _: Time) -> Report {
        Report { goodput: Goodput::None, ..Report::default() }
    }
}
