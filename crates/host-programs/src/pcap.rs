//! `pcap`: the frames of a capture, as they are.

use crate::kind::{Count, Key, Kind, MOST_PACKETS, Wanted};
use crate::program::{
    Arrival, Begun, Capture, Desk, HostProgram, Setup, Side, Socket, StartError, Started, Taken,
};
use base_time::{Duration, Time};

/// The workload `pcap`. The receiver counts frames that no other program uses; their times of sending are unknown.
pub static PCAP: Kind = Kind {
    word: "pcap",
    count: Count { most: MOST_PACKETS, default: Some(MOST_PACKETS) },
    size: None,
    keys: &[
        Key::new("file", Wanted::Text("trace.pcap")),
        Key::new("speed", Wanted::Number { least: 1, most: 1_000_000, default: Some(1) }),
    ],
    rule: None,
    since_start: |_, _| Duration::ZERO,
    frame_bytes: |_| None,
    start,
};

struct Replay {
    frames: Capture,
    count: u64,
    /// Speed relative to the timestamps of the capture.
    speed: u64,
    pairs: Vec<Replayed>,
    sending: u32,
}

struct Replayed {
    /// When the first frame is sent.
    start: Time,
    sent: u64,
}

fn start(setup: Setup<'_>) -> Begun {
    let load = setup.load;
    let file = load.text("file");
    let missing = || StartError(format!("the frames of `{file}` were not given"));
    let frames = setup.captures.remove(file).ok_or_else(missing)?;
    let speed = u64::from(load.number("speed"));
    let mut replay = Replay { frames, count: load.count, speed, pairs: vec![], sending: 0 };
    let mut started = Started::default();
    for at in 0..setup.pairs.len() as u32 {
        replay.pairs.push(Replayed { start: load.start + load.stagger * u64::from(at), sent: 0 });
        started.sockets.push((at, Side::Receiver, Socket::Rest));
        if let Some(time) = replay.next_time(at) {
            replay.sending += 1;
            started.wakes.push((at, time));
        }
    }
    Ok((Box::new(replay), started))
}

impl Replay {
    fn next_time(&self, pair: u32) -> Option<Time> {
        let replayed = self.pairs.get(pair as usize).filter(|replayed| replayed.sent < self.count)?;
        let (since_first, _) = self.frames.get(replayed.sent as usize)?;
        Some(replayed.start + since_first.scaled(1, self.speed))
    }
}

impl HostProgram for Replay {
    fn tick(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let Some(replayed) = self.pairs.get_mut(pair as usize) else { return };
        let frame = self.frames.get(replayed.sent as usize).map(|(_, frame)| frame.clone());
        replayed.sent += 1;
        desk.tally.sent += 1;
        match self.next_time(pair) {
            Some(at) => desk.wake(pair, at),
            None => self.sending -= 1,
        }
        desk.send(pair, Side::Sender, frame.unwrap_or_default());
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        desk.tally.received += 1;
        desk.tally.arrived(arrival.frame.len() as u64, desk.now);
        Taken::Used
    }

    fn is_active(&self) -> bool {
        self.sending > 0
    }
}
