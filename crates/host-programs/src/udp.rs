//! `udp`, `poisson`, `onoff`, `zipf`: UDP packets in one direction.

use crate::kind::{Count, Key, Kind, Load, Size, Wanted};
use crate::packet::{Transport, build};
use crate::program::{Arrival, Begun, Desk, HostProgram, Setup, Side, Taken};
use crate::source::Pace;
use crate::streams::Streams;
use base_time::{Duration, Rng, Zipf};

/// Limit on the flows of a workload of many flows: each has its own source port from [`FIRST_FLOW`] on.
pub const MOST_FLOWS: u32 = 60_000;

/// The source port of the first of many flows.
pub const FIRST_FLOW: u16 = 4096;

/// The receiver's port, with its default.
pub(crate) const PORT: Key = Key::new("port", Wanted::Port(|_| 9000));

/// Bits of payload per second; of a source with bursts, in a burst.
const RATE: Key = Key::new("rate", Wanted::Rate);

/// Evenly spaced.
pub static UDP: Kind = Kind {
    word: "udp",
    count: Count::PACKETS,
    size: Some(Size::of_payload(1000)),
    keys: &[RATE, PORT],
    rule: None,
    since_start: at_rate,
    frame_bytes: Load::payload_with_headers,
    start: |setup| start(setup, Pace::Even),
};

/// With gaps by chance.
pub static POISSON: Kind =
    Kind { word: "poisson", start: |setup| start(setup, Pace::Poisson), ..copy(&UDP, &[RATE, PORT]) };

/// In bursts.
pub static ON_OFF: Kind = Kind {
    word: "onoff",
    since_start: |load, n| {
        let busy = at_rate(load, n);
        busy + busy.scaled(load.time("off").as_ps(), load.time("on").as_ps())
    },
    start: |setup| {
        let gap = setup.load.rate("rate").time_for(u64::from(setup.load.size));
        let (on, off) = (setup.load.time("on"), setup.load.time("off"));
        start(setup, Pace::OnOff { gap, on, off })
    },
    ..copy(&UDP, &[Key::time("on", Duration::from_ms(1)), Key::time("off", Duration::from_ms(9)), RATE, PORT])
};

/// Many flows, some of them popular (Zipf distribution).
pub static ZIPF: Kind = Kind {
    word: "zipf",
    start: |setup| start(setup, Pace::Poisson),
    ..copy(
        &UDP,
        &[
            Key::new("flows", Wanted::Number { least: 2, most: MOST_FLOWS, default: None }),
            Key::new("skew", Wanted::Thousandths(1000)),
            RATE,
            PORT,
        ],
    )
};

/// A copy of a kind with other keys.
const fn copy(kind: &Kind, keys: &'static [Key]) -> Kind {
    Kind {
        word: kind.word,
        count: kind.count,
        size: kind.size,
        keys,
        rule: kind.rule,
        since_start: kind.since_start,
        frame_bytes: kind.frame_bytes,
        start: kind.start,
    }
}

fn at_rate(load: &Load, n: u64) -> Duration {
    load.rate("rate").time_for_bits(u128::from(n) * u128::from(load.size) * 8)
}

struct Udp {
    streams: Streams,
    port: u16,
    /// Distribution of flows, and a random generator for each pair; `None` for a single flow.
    flows: Option<(Zipf, Vec<Rng>)>,
}

fn start(setup: Setup<'_>, pace: Pace) -> Begun {
    let load = setup.load;
    let flows = (load.number("flows") > 1).then(|| {
        let zipf = Zipf::new(load.number("flows"), load.number("skew"));
        (zipf, Streams::chances(&setup, "flows").collect())
    });
    let (streams, started) = Streams::start(&setup, pace);
    Ok((Box::new(Udp { streams, port: load.port(), flows }), started))
}

impl HostProgram for Udp {
    fn tick(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let source = match &mut self.flows {
            None => self.streams.source_port(pair),
            Some((zipf, chances)) => {
                let rank = chances.get_mut(pair as usize).map_or(0, |chance| zipf.draw(chance));
                FIRST_FLOW + rank as u16
            }
        };
        let size = self.streams.load.size as usize;
        let Some((stream, stamp)) = self.streams.next(pair, desk) else { return };
        let udp = Transport::Udp { source, destination: self.port };
        let frame = build(stream.route, udp, stamp.sequence as u16, size, |payload| stamp.write(payload));
        desk.send(pair, Side::Sender, frame);
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        self.streams.receive(self.port, arrival, desk)
    }

    fn is_active(&self) -> bool {
        self.streams.is_active()
    }
}
