//! What a link does to frames in one direction: it serialises, delays, loses, flips bits, doubles, reorders.
//!
//! A [`Medium`] decides; whoever asks it keeps the frames that are under way. Time is passed in: it is as good for a lab in real time as for virtual time.

use base_time::{Duration, Rate, Rng, Time};
use rack_model::link::SHORTEST_FRAME;
use rack_model::{Link, Probability};

/// One direction of a link, without the frames that are under way.
pub struct Medium {
    settings: Link,
    /// The sender can send from then on.
    pub free_at: Time,
    last_arrival: Time,
    /// What goes wrong now, besides what the settings say.
    harm: Harm,
    chance: Chance,
    /// What it has seen.
    pub counts: MediumCounts,
}

/// What faults do to a link.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Harm {
    /// Nothing gets through.
    pub is_down: bool,
    /// Each loses frames on its own.
    pub losses: Vec<Probability>,
    /// Every frame is under way that much longer.
    pub delay: Duration,
}

/// A stream of chance for each thing that can happen to a frame.
struct Chance {
    loss: Rng,
    gray: Rng,
    jitter: Rng,
    corrupt: Rng,
    duplicate: Rng,
    reorder: Rng,
}

/// What a direction of a link has seen since the start.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct MediumCounts {
    /// Frames that were handed to it.
    pub taken: u64,
    /// Frames sent, those lost included.
    pub frames: u64,
    /// Their bytes, padding included and overhead not.
    pub bytes: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Lost since the link was down.
    pub cut: u64,
    /// Not sent: longer than the MTU allows.
    pub too_long: u64,
    /// Frames with a bit flipped.
    pub corrupted: u64,
    /// Frames that arrive twice; the second is one more.
    pub duplicated: u64,
    /// Frames that others may overtake.
    pub reordered: u64,
    /// Frames that have arrived.
    pub delivered: u64,
    /// How long it was busy sending.
    pub busy: Duration,
}

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// It arrives then.
    Arrives(Time),
    /// It arrives then, and again.
    ArrivesTwice(Time),
    /// It was sent and is lost.
    Lost,
    /// It was sent into a link that is down.
    Cut,
    /// It is longer than the MTU allows and was not sent.
    TooLong,
}

impl Medium {
    /// One direction of a link with these settings; `stream` gives the randomness with a label.
    pub fn new(link: &Link, stream: impl Fn(&str) -> Rng) -> Medium {
        Medium {
            settings: link.clone(),
            free_at: Time::ZERO,
            last_arrival: Time::ZERO,
            harm: Harm::default(),
            chance: Chance {
                loss: stream("loss"),
                gray: stream("gray"),
                jitter: stream("jitter"),
                corrupt: stream("corrupt"),
                duplicate: stream("duplicate"),
                reorder: stream("reorder"),
            },
            counts: MediumCounts::default(),
        }
    }

    /// From now on frames are late by up to this much more.
    pub fn set_jitter(&mut self, jitter: Duration) {
        self.settings.jitter = jitter;
    }

    /// How fast it sends.
    pub fn rate(&self) -> Rate {
        self.settings.rate
    }

    /// From now on this goes wrong. `flying` frames are under way; true if the link goes down, and they are lost.
    pub fn suffer(&mut self, harm: Harm, flying: u64) -> bool {
        self.harm = harm;
        if self.harm.is_down {
            self.counts.cut += flying;
        }
        self.harm.is_down
    }

    /// Brings a frame to the length that the link sends.
    pub fn pad(&self, frame: &mut Vec<u8>) {
        if self.settings.pad && frame.len() < SHORTEST_FRAME as usize {
            frame.resize(SHORTEST_FRAME as usize, 0);
        }
    }

    /// Takes a frame that [`pad`](Medium::pad) has seen, and may flip a bit of it; the sender is free again at `free_at`.
    #[inline(always)]
    pub fn send(&mut self, frame: &mut [u8], now: Time) -> Sent {
        self.counts.taken += 1;
        if frame.len() as u64 > u64::from(self.settings.longest_frame()) {
            self.counts.too_long += 1;
            return Sent::TooLong;
        }
        let bytes = frame.len() as u64;
        let busy = self.settings.rate.time_for(bytes + u64::from(self.settings.overhead));
        self.free_at = now + busy;
        self.counts.frames += 1;
        self.counts.bytes += bytes;
        self.counts.busy += busy;
        if self.harm.is_down {
            self.counts.cut += 1;
            return Sent::Cut;
        }
        let chance = &mut self.chance;
        let is_lost = self.settings.loss.happens(&mut chance.loss)
            | self.harm.losses.iter().fold(false, |lost, share| share.happens(&mut chance.gray) | lost);
        if is_lost {
            self.counts.lost += 1;
            return Sent::Lost;
        }
        if self.settings.corrupt.happens(&mut chance.corrupt) {
            let bit = chance.corrupt.index(frame.len() * 8);
            if let Some(byte) = frame.get_mut(bit / 8) {
                *byte ^= 0x80 >> (bit % 8);
                self.counts.corrupted += 1;
            }
        }
        let extra = match self.settings.jitter.as_ps() {
            0 => 0,
            most => chance.jitter.between(0, most),
        };
        let arrival = self.free_at + self.settings.delay + self.harm.delay + Duration::from_ps(extra);
        let twice = self.settings.duplicate.happens(&mut chance.duplicate);
        let arrival = if self.settings.reorder.happens(&mut chance.reorder) {
            self.counts.reordered += 1;
            arrival + self.settings.reorder_delay
        } else {
            self.last_arrival = self.last_arrival.max(arrival);
            self.last_arrival
        };
        if twice {
            self.counts.duplicated += 1;
            return Sent::ArrivesTwice(arrival);
        }
        Sent::Arrives(arrival)
    }
}
