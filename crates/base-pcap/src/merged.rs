//! Captures as one, in the order of their times.
//!
//! ```text
//!              1            the earliest of all
//!          2       3        the earlier of two
//!        4   5   6   7      next frame of each capture: its time and the capture's number
//! ```
//!
//! After a capture's next frame is read, the places above it are filled anew.

use crate::{Frame, ReadError, Reader};

/// Frames of captures, the earliest next. Of frames of one time, that of the capture that was added first is next. Frames of a capture stay in its order.
#[derive(Default)]
pub struct Merged<'r> {
    readers: Vec<Reader<'r>>,
    /// The places as in the drawing: the upper bits are the time. Their number is a power of two.
    tree: Vec<u128>,
    /// The capture whose frame was given last.
    given: Option<usize>,
}

/// Time of a capture that has no frame.
const OVER: u128 = u128::MAX;

/// Bits of a capture's number.
const NUMBER: u32 = 32;

fn place(nanos: u64, capture: usize) -> u128 {
    u128::from(nanos) << NUMBER | capture as u128
}

impl<'r> Merged<'r> {
    /// Adds a capture, and reads its first frame; an error is the file's. Captures are numbered in this order.
    pub fn add(&mut self, mut reader: Reader<'r>) -> Result<(), ReadError> {
        let is_there = reader.advance()?;
        let number = self.readers.len();
        let first = if is_there { place(reader.frame().nanos, number) } else { OVER };
        self.readers.push(reader);
        let (count, before) = (self.readers.len().next_power_of_two(), self.tree.len() / 2);
        let mut leaves = self.tree.split_off(before);
        leaves.resize(count, OVER);
        leaves[number] = first;
        self.tree = [vec![OVER; count], leaves].concat();
        for at in (1..count).rev() {
            self.tree[at] = self.tree[2 * at].min(self.tree[2 * at + 1]);
        }
        Ok(())
    }

    /// Reads the next frame. Returns the number of its capture; [`frame`](Merged::frame) has the frame. An error is of the capture of the frame before, with
    /// its number: nothing more comes from it.
    #[inline]
    pub fn advance(&mut self) -> Result<Option<usize>, (usize, ReadError)> {
        if let Some(given) = self.given.take() {
            let read = self.readers[given].advance();
            let is_there = matches!(read, Ok(true));
            self.set(given, if is_there { place(self.readers[given].frame().nanos, given) } else { OVER });
            read.map_err(|error| (given, error))?;
        }
        let first = self.tree.get(1).copied().unwrap_or(OVER);
        self.given = (first != OVER).then_some(first as u32 as usize);
        Ok(self.given)
    }

    /// Number of the capture whose frame was read last.
    #[inline]
    pub fn given(&self) -> Option<usize> {
        self.given
    }

    /// The frame that was read last, where it was read; empty if there is none.
    #[inline]
    pub fn frame(&self) -> Frame<'_> {
        self.given.map_or(Frame::whole(0, &[]), |given| self.readers[given].frame())
    }

    /// The next frame of a capture has another time.
    #[inline]
    fn set(&mut self, capture: usize, next: u128) {
        let (mut at, mut earliest) = (self.tree.len() / 2 + capture, next);
        while at > 1 {
            self.tree[at] = earliest;
            earliest = earliest.min(self.tree[at ^ 1]);
            at /= 2;
        }
        self.tree[1] = earliest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;
    use base_time::Rng;

    fn capture(times: &[u64], number: usize) -> Vec<u8> {
        let mut capture = Writer::new(vec![]).expect("memory");
        let frames = times.iter().enumerate();
        frames.for_each(|(at, nanos)| {
            capture.frame(Frame::whole(*nanos, &[number as u8, at as u8])).expect("memory");
        });
        capture.into_inner()
    }

    /// The order of a search among all next frames.
    #[test]
    fn the_earliest_is_next_and_of_two_the_first_capture() {
        let mut rng = Rng::new(7).split("merged");
        for captures in 0..9usize {
            for _ in 0..20 {
                let times: Vec<Vec<u64>> = (0..captures)
                    .map(|_| (0..rng.between(0, 12)).map(|_| rng.between(0, 6)).collect())
                    .collect();
                let files: Vec<Vec<u8>> =
                    times.iter().enumerate().map(|(number, times)| capture(times, number)).collect();
                let mut merged = Merged::default();
                files.iter().for_each(|file| {
                    merged.add(Reader::new(file.as_slice()).expect("a capture")).expect("frames");
                });
                let mut read = vec![0; captures];
                loop {
                    let next = (0..captures).filter_map(|of| Some((*times[of].get(read[of])?, of))).min();
                    let got = merged.advance().expect("whole");
                    assert_eq!(got, next.map(|(_, of)| of));
                    let Some((nanos, of)) = next else { break };
                    let bytes = [of as u8, read[of] as u8];
                    assert_eq!(merged.frame(), Frame::whole(nanos, &bytes));
                    read[of] += 1;
                }
                assert_eq!(merged.advance(), Ok(None));
            }
        }
    }

    #[test]
    fn an_error_comes_after_the_frame_before_it() {
        let (first, mut cut) = (capture(&[1, 5], 0), capture(&[2, 3, 4], 1));
        cut.pop();
        let mut merged = Merged::default();
        merged.add(Reader::new(first.as_slice()).expect("a capture")).expect("frames");
        merged.add(Reader::new(cut.as_slice()).expect("a capture")).expect("frames");
        let mut firsts = vec![];
        for _ in 0..3 {
            firsts.push(merged.advance().expect("before the mistake"));
        }
        assert_eq!(firsts, [Some(0), Some(1), Some(1)]);
        let (of, error) = merged.advance().expect_err("the third frame is cut");
        assert_eq!((of, error.message.as_str()), (1, "the file ends within a block"));
        assert_eq!((merged.advance(), merged.frame().nanos), (Ok(Some(0)), 5));
        assert_eq!(merged.advance(), Ok(None));
    }
}
