//! One direction of a link: serialises, delays, loses, flips bits, doubles, reorders.
//!
//! A [`Medium`] decides the fate of frames; its caller keeps the frames in flight. Time is an argument, so a medium
//! works in real time as well as in virtual time.

use base_time::{Duration, Probability, Rate, Rng, Time};
use std::sync::Arc;

/// The shortest frame of Ethernet, without FCS: to this length links pad.
pub const SHORTEST_FRAME: u32 = 60;

/// How a link treats frames, the same in both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WireSettings {
    /// Rate of the link; `None`: frames take no time.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// At most this much is added to the delay. Frames keep their order.
    pub jitter: Duration,
    /// Probability that a frame is lost.
    pub loss: Probability,
    /// Probability that a bit of a frame is flipped.
    pub corrupt: Probability,
    /// Probability that a frame arrives twice.
    pub duplicate: Probability,
    /// Probability that a frame is delayed so that others overtake it.
    pub reorder: Probability,
    /// Added delay of a reordered frame.
    pub reorder_delay: Duration,
    /// The longest frame that passes, in bytes.
    pub longest_frame: u32,
    /// Bytes that each frame takes on the wire besides its own.
    pub overhead: u32,
    /// Frames shorter than [`SHORTEST_FRAME`] are filled up with this byte.
    pub padding: Option<u8>,
}

impl Default for WireSettings {
    /// A link that does nothing to frames, in no time.
    fn default() -> WireSettings {
        WireSettings {
            rate: None,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: Probability::ZERO,
            corrupt: Probability::ZERO,
            duplicate: Probability::ZERO,
            reorder: Probability::ZERO,
            reorder_delay: Duration::ZERO,
            longest_frame: u32::MAX,
            overhead: 0,
            padding: None,
        }
    }
}

impl WireSettings {
    /// True if every frame arrives unchanged, after the same delay.
    #[inline]
    fn are_exact(&self) -> bool {
        let chances = self.loss.ppb() | self.corrupt.ppb() | self.duplicate.ppb() | self.reorder.ppb();
        chances == 0 && self.jitter.is_zero()
    }
}

/// One direction of a link, without the frames in flight.
///
/// Small, since each frame touches a medium that was last used long ago if a rack has many links. Equal settings are shared; what is rarely
/// used is elsewhere.
pub struct Medium {
    pub(crate) settings: Arc<WireSettings>,
    /// The sender can send from then on.
    pub free_at: Time,
    last_arrival: Time,
    /// Present faults, in addition to the settings.
    harm: Option<Box<Harm>>,
    chance: Box<Chance>,
    /// Counters since the start.
    pub counts: MediumCounts,
}

/// Effects of faults on a link.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Harm {
    /// Nothing gets through.
    pub is_down: bool,
    /// Each loses frames on its own.
    pub losses: Vec<Probability>,
    /// Added delay of every frame.
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

/// Counters of one direction of a link since the start.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct MediumCounts {
    /// Frames that were handed to it.
    pub taken: u64,
    /// Frames sent, those lost included.
    pub frames: u64,
    /// Bytes of these frames, with padding and without overhead.
    pub bytes: u64,
    /// Frames that it lost by its own settings or a fault.
    pub lost: u64,
    /// Lost since the link was down.
    pub cut: u64,
    /// Frames longer than it lets pass.
    pub too_long: u64,
    /// Frames with a bit flipped.
    pub corrupted: u64,
    /// Frames that arrive twice; the second is one more.
    pub duplicated: u64,
    /// Frames that others may overtake.
    pub reordered: u64,
    /// Frames that have arrived.
    pub delivered: u64,
    /// Time that the link was busy sending.
    pub busy: Duration,
}

/// Fate of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// The frame arrives at this time.
    Arrives(Time),
    /// The frame arrives at this time, twice.
    ArrivesTwice(Time),
    /// The frame was sent and is lost.
    Lost,
    /// The frame was sent into a link that is down.
    Cut,
    /// The frame is longer than the MTU and was not sent.
    TooLong,
}

impl Medium {
    /// One direction of a link with these settings; `stream` gives the randomness with a label.
    pub fn new(settings: impl Into<Arc<WireSettings>>, stream: impl Fn(&str) -> Rng) -> Medium {
        Medium {
            settings: settings.into(),
            free_at: Time::ZERO,
            last_arrival: Time::ZERO,
            harm: None,
            chance: Box::new(Chance {
                loss: stream("loss"),
                gray: stream("gray"),
                jitter: stream("jitter"),
                corrupt: stream("corrupt"),
                duplicate: stream("duplicate"),
                reorder: stream("reorder"),
            }),
            counts: MediumCounts::default(),
        }
    }

    /// From now on frames are late by up to this much more.
    pub fn set_jitter(&mut self, jitter: Duration) {
        Arc::make_mut(&mut self.settings).jitter = jitter;
    }

    /// Sets the faults. `flying` frames are in flight; true if the link goes down, and they are lost.
    pub fn suffer(&mut self, harm: Harm, flying: u64) -> bool {
        let is_down = harm.is_down;
        self.harm = (harm != Harm::default()).then(|| Box::new(harm));
        if is_down {
            self.counts.cut += flying;
        }
        is_down
    }

    /// Brings a frame to the length that the link sends.
    #[inline]
    pub fn pad(&self, frame: &mut Vec<u8>) {
        if let Some(padding) = self.settings.padding
            && frame.len() < SHORTEST_FRAME as usize
        {
            frame.resize(SHORTEST_FRAME as usize, padding);
        }
    }

    /// True for a frame that is longer than the MTU allows.
    #[inline]
    pub fn is_too_long(&self, frame: &[u8]) -> bool {
        frame.len() as u64 > u64::from(self.settings.longest_frame)
    }

    /// Takes a frame that [`pad`](Medium::pad) has seen, and may flip a bit of it; the sender is free again at `free_at`.
    #[inline(always)]
    pub fn send(&mut self, frame: &mut [u8], now: Time) -> Sent {
        self.counts.taken += 1;
        if self.is_too_long(frame) {
            self.counts.too_long += 1;
            return Sent::TooLong;
        }
        let bytes = frame.len() as u64;
        let time_for = |rate: Rate| rate.time_for(bytes + u64::from(self.settings.overhead));
        let busy = self.settings.rate.map_or(Duration::ZERO, time_for);
        self.free_at = now + busy;
        self.counts.frames += 1;
        self.counts.bytes += bytes;
        self.counts.busy += busy;
        // Most links: no draw is made, since every probability is zero.
        if self.settings.are_exact() && self.harm.is_none() {
            self.last_arrival = self.last_arrival.max(self.free_at + self.settings.delay);
            return Sent::Arrives(self.last_arrival);
        }
        self.send_by_chance(frame)
    }

    /// The fate of a frame that has occupied the sender.
    fn send_by_chance(&mut self, frame: &mut [u8]) -> Sent {
        let harm = self.harm.as_deref();
        // The frame has occupied the sender, which does not see the fault.
        if harm.is_some_and(|harm| harm.is_down) {
            self.counts.cut += 1;
            return Sent::Cut;
        }
        let (losses, later) = harm.map_or((&[][..], Duration::ZERO), |harm| (&harm.losses, harm.delay));
        let chance = &mut self.chance;
        // Every fault draws, even if the frame is lost already: a fault that begins or ends then changes no other draw.
        let is_lost = self.settings.loss.happens(&mut chance.loss)
            | losses.iter().fold(false, |lost, share| share.happens(&mut chance.gray) | lost);
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
        let arrival = self.free_at + self.settings.delay + later + Duration::from_ps(extra);
        // Jitter keeps the order of frames: no frame arrives before an earlier one, unless it is reordered on purpose.
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
