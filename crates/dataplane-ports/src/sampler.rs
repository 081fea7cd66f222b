//! Some of the frames that come in, for a controller that counts the packets of flows: their first bytes, and the ports by which they leave.
//!
//! At most [`MOST`] are kept until they are taken: what nobody takes needs no more memory.

use base_time::Rng;
use dataplane_api::Port;
use std::collections::BTreeSet;

/// Samples that are kept.
const MOST: usize = 1024;

/// Bytes of a frame that are kept: more than its headers have.
const HEAD: usize = 512;

/// Choice of frames that are kept.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Sampling {
    /// One of so many; 0: none.
    pub every: u64,
    /// Frames from these ports do not count.
    pub uncounted: BTreeSet<Port>,
}

/// A frame that was kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Port of arrival.
    pub port: Port,
    /// The first bytes, as they came.
    pub frame: Vec<u8>,
    /// Ports by which leaves what has become of it.
    pub left: Vec<Port>,
}

/// Frames of some time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Sampled {
    /// Frames that count, the kept ones among them.
    pub frames: u64,
    /// The kept ones.
    pub samples: Vec<Sample>,
}

/// Chooses frames and keeps them.
pub struct Sampler {
    sampling: Sampling,
    /// Frames until the next one that is kept. Gaps are random, so that no rhythm of the traffic hides flows.
    gap: u64,
    rng: Rng,
    sampled: Sampled,
}

impl Default for Sampler {
    fn default() -> Sampler {
        let (sampling, sampled) = (Sampling::default(), Sampled::default());
        Sampler { sampling, gap: 0, rng: Rng::new(1).split("samples"), sampled }
    }
}

impl Sampler {
    /// False if no frame is kept.
    pub fn is_on(&self) -> bool {
        self.sampling.every > 0
    }

    /// The sample, if a frame that comes is kept: [`add`](Sampler::add) is to follow when it has been run.
    pub fn comes(&mut self, port: Port, frame: &[u8]) -> Option<Sample> {
        if !self.is_on() || self.sampling.uncounted.contains(&port) {
            return None;
        }
        self.sampled.frames += 1;
        if self.gap > 0 {
            self.gap -= 1;
            return None;
        }
        // As many as there are before it, in the mean.
        self.gap = self.rng.below((2 * self.sampling.every.min(u64::MAX / 4)).saturating_sub(1));
        let has_room = self.sampled.samples.len() < MOST;
        has_room.then(|| Sample { port, frame: frame[..frame.len().min(HEAD)].to_vec(), left: vec![] })
    }

    /// Keeps a sample, whose frame has left by these ports.
    pub fn add(&mut self, sample: Sample, left: impl Iterator<Item = Port>) {
        if self.sampled.samples.len() < MOST {
            self.sampled.samples.push(Sample { left: left.collect(), ..sample });
        }
    }

    /// Takes what there is, and goes on by this.
    pub fn take(&mut self, sampling: &Sampling) -> Sampled {
        if self.sampling != *sampling {
            self.sampling = sampling.clone();
            self.gap = self.rng.below(sampling.every.max(1));
        }
        std::mem::take(&mut self.sampled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(every: u64, frames: u32) -> Sampled {
        let sampling = Sampling { every, uncounted: [9].into() };
        let mut sampler = Sampler::default();
        sampler.take(&sampling);
        for number in 0..frames {
            assert_eq!(sampler.comes(9, &[0; 60]), None);
            if let Some(sample) = sampler.comes(1, &number.to_be_bytes().repeat(200)) {
                sampler.add(sample, [number].into_iter());
            }
        }
        let taken = sampler.take(&Sampling::default());
        assert_eq!(sampler.take(&Sampling::default()), Sampled::default());
        taken
    }

    #[test]
    fn one_frame_of_many_is_kept_and_all_are_counted() {
        let all = sampled(1, 100);
        assert_eq!((all.frames, all.samples.len()), (100, 100));
        let last = &all.samples[99];
        assert_eq!((last.port, last.frame.len(), &last.left[..]), (1, HEAD, &[99][..]));
        let some = sampled(10, 5000);
        assert_eq!(some.frames, 5000);
        assert!((400..600).contains(&some.samples.len()), "{}", some.samples.len());
        let gaps: BTreeSet<u32> =
            some.samples.windows(2).map(|pair| pair[1].left[0] - pair[0].left[0]).collect();
        assert!(gaps.len() > 10 && gaps.iter().all(|gap| *gap < 20), "{gaps:?}");
    }

    #[test]
    fn what_nobody_takes_is_bounded() {
        let all = sampled(1, 5000);
        assert_eq!((all.frames, all.samples.len()), (5000, MOST));
        assert_eq!(sampled(0, 100), Sampled::default());
    }
}
