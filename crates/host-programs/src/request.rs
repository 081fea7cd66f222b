//! `request`: UDP requests that the receiver answers, sent whatever becomes of the answers.

use crate::kind::{Count, Key, Kind, Load, MOST_PAYLOAD, Size, Wanted};
use crate::packet::{Transport, build};
use crate::program::{Arrival, Begun, Desk, HostProgram, Setup, Side, Taken};
use crate::source::Pace;
use crate::stamp::STAMP;
use crate::streams::Streams;
use crate::udp::PORT;
use crate::unused::Unused;
use base_time::Duration;

/// The workload `request`. Gaps between requests are random.
pub static REQUEST: Kind = Kind {
    word: "request",
    count: Count::PACKETS,
    size: Some(Size::of_payload(64)),
    keys: &[
        Key::time("interval", Duration::from_ms(1)),
        Key::new("answer", Wanted::Number { least: STAMP, most: MOST_PAYLOAD, default: Some(1000) }),
        PORT,
    ],
    rule: None,
    since_start: |load, n| load.time("interval") * n,
    frame_bytes: Load::payload_with_headers,
    start,
};

struct Requests {
    streams: Streams,
    port: u16,
    /// Bytes of an answer's payload.
    answer: u32,
}

fn start(setup: Setup<'_>) -> Begun {
    let (port, answer) = (setup.load.port(), setup.load.number("answer"));
    let (streams, started) = Streams::start(&setup, Pace::Poisson);
    Ok((Box::new(Requests { streams, port, answer }), started))
}

impl HostProgram for Requests {
    fn tick(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let size = self.streams.load.size as usize;
        let udp = Transport::Udp { source: self.streams.source_port(pair), destination: self.port };
        let Some((stream, stamp)) = self.streams.next(pair, desk) else { return };
        let frame = build(stream.route, udp, stamp.sequence as u16, size, |payload| stamp.write(payload));
        desk.send(pair, Side::Sender, frame);
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        let (Some(stamp), Some((transport, payload)), Some(side), Some(packet)) =
            (arrival.stamp, arrival.transport, arrival.side, arrival.packet)
        else {
            return Taken::Unused(Unused::NoReceiver);
        };
        let pair = arrival.pair;
        let (asked, answered) = (self.streams.source_port(pair), self.port);
        let (ports, size) = match side {
            Side::Receiver => ((asked, answered), self.streams.load.size),
            Side::Sender => ((answered, asked), self.answer),
        };
        let (fits, is_udp) = match transport {
            Transport::Udp { source, destination } => ((source, destination) == ports, true),
            Transport::Echo { .. } => (false, false),
        };
        if !is_udp && side == Side::Receiver {
            return Taken::Unused(Unused::NoReceiver);
        }
        if let Err(reason) = self.streams.check(pair, (fits, size), desk, (stamp, payload)) {
            return Taken::Unused(reason);
        }
        match side {
            Side::Receiver => {
                let fill = |answer: &mut [u8]| stamp.write(answer);
                let back = transport.back();
                let answer = arrival.station.answer(&packet, arrival.from, back, self.answer as usize, fill);
                desk.send(pair, side, answer);
                Taken::Used
            }
            Side::Sender => {
                self.streams.count(pair, stamp, size, desk.tally, desk.now);
                Taken::Received(stamp.sequence)
            }
        }
    }

    fn is_active(&self) -> bool {
        self.streams.is_active()
    }
}
