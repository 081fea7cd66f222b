//! Data that a receiver can check: byte `at` is `((at mod 256) ^ key) + add`, where `key` is that of the block of 256 bytes.
//!
//! A block is written and compared as a whole, from a table: compilers make vector instructions of these loops.

use dataplane_tables::fast;

/// The bytes from 0 to 255.
static BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 0;
    while at < 256 {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};

/// Bytes of a block.
const BLOCK: usize = BYTES.len();

/// Bytes that are compared at once.
const LANES: usize = 32;

/// The bytes from 0 to 255, so many at once.
static RUNS: &[[u8; LANES]] = BYTES.as_chunks().0;

/// Fills `bytes` with data from byte `from` on; `key` gives the key of a block by its number.
pub(crate) fn fill(bytes: &mut [u8], from: u32, add: u8, key: impl Fn(u32) -> u8) {
    fast(
        #[inline(always)]
        || fill_all(bytes, from, add, key),
    );
}

#[inline(always)]
fn fill_all(bytes: &mut [u8], from: u32, add: u8, key: impl Fn(u32) -> u8) {
    let (start, rest) = bytes.split_at_mut(before_block(from, bytes.len()));
    fill_part(start, from, add, key(from >> 8));
    let mut at = from.wrapping_add(start.len() as u32);
    let (blocks, end) = rest.as_chunks_mut::<BLOCK>();
    for block in blocks {
        // Of a known length: no loop is left.
        let key = key(at >> 8);
        block.iter_mut().zip(&BYTES).for_each(|(byte, low)| *byte = (low ^ key).wrapping_add(add));
        at = at.wrapping_add(BLOCK as u32);
    }
    let key = key(at >> 8);
    let (runs, last) = end.as_chunks_mut::<LANES>();
    for (run, lows) in runs.iter_mut().zip(RUNS) {
        run.iter_mut().zip(lows).for_each(|(byte, low)| *byte = (low ^ key).wrapping_add(add));
    }
    fill_part(last, (runs.len() * LANES) as u32, add, key);
}

/// [`fill`] for bytes of one block.
#[inline(always)]
fn fill_part(bytes: &mut [u8], from: u32, add: u8, key: u8) {
    for (byte, low) in bytes.iter_mut().zip(&BYTES[usize::from(from as u8)..]) {
        *byte = (low ^ key).wrapping_add(add);
    }
}

/// True if [`fill`] would write these bytes.
pub(crate) fn is_filled(bytes: &[u8], from: u32, add: u8, key: impl Fn(u32) -> u8) -> bool {
    fast(
        #[inline(always)]
        || off(bytes, from, add, key) == 0,
    )
}

/// The bits in which bytes differ from those of [`fill`].
#[inline(always)]
fn off(bytes: &[u8], from: u32, add: u8, key: impl Fn(u32) -> u8) -> u8 {
    let (start, rest) = bytes.split_at(before_block(from, bytes.len()));
    let mut off = off_part(start, from, add, key(from >> 8));
    let mut at = from.wrapping_add(start.len() as u32);
    let (blocks, end) = rest.as_chunks::<BLOCK>();
    // No early end: what differs is put together, and looked at once.
    let mut lanes = [0; LANES];
    for block in blocks {
        off_runs(&mut lanes, block.as_chunks().0, add, key(at >> 8));
        at = at.wrapping_add(BLOCK as u32);
    }
    let key = key(at >> 8);
    let (runs, last) = end.as_chunks();
    off_runs(&mut lanes, runs, add, key);
    off |= lanes.iter().fold(0, |all, lane| all | lane);
    off | off_part(last, (runs.len() * LANES) as u32, add, key)
}

/// [`off`] of the first bytes of a block, one for each byte of a run.
#[inline(always)]
fn off_runs(lanes: &mut [u8; LANES], runs: &[[u8; LANES]], add: u8, key: u8) {
    for (run, lows) in runs.iter().zip(RUNS) {
        for ((lane, byte), low) in lanes.iter_mut().zip(run).zip(lows) {
            *lane |= byte ^ (low ^ key).wrapping_add(add);
        }
    }
}

/// [`off`] of bytes of one block.
#[inline(always)]
fn off_part(bytes: &[u8], from: u32, add: u8, key: u8) -> u8 {
    let pairs = bytes.iter().zip(&BYTES[usize::from(from as u8)..]);
    pairs.fold(0, |all, (byte, low)| all | (byte ^ (low ^ key).wrapping_add(add)))
}

/// The number of bytes, of `length` from `from` on, before a block begins.
#[inline(always)]
fn before_block(from: u32, length: usize) -> usize {
    (usize::from(from as u8).wrapping_neg() % BLOCK).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::Rng;

    #[test]
    fn bytes_are_those_of_the_formula_and_every_change_is_seen() {
        let mut rng = Rng::new(3);
        for round in 0..300 {
            let from = if round < 10 { u32::MAX - 1500 } else { (rng.next_u64() as u32) >> rng.below(31) };
            let (length, add, more) = (rng.index(1500), rng.next_u8(), rng.next_u8());
            let key = |block: u32| (block ^ block >> 8) as u8 ^ more;
            let mut bytes = vec![0x55; length];
            fill(&mut bytes, from, add, key);
            for (byte, at) in bytes.iter().zip(0u32..) {
                let at = from.wrapping_add(at);
                assert_eq!(*byte, ((at ^ at >> 8 ^ at >> 16) as u8 ^ more).wrapping_add(add));
            }
            assert!(is_filled(&bytes, from, add, key));
            for at in 0..length {
                bytes[at] ^= 1 << (at % 8);
                assert!(!is_filled(&bytes, from, add, key), "{at} of {length} from {from}");
                bytes[at] ^= 1 << (at % 8);
            }
        }
    }
}
