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

/// Fills `bytes` with data from byte `from` on; `key` gives the key of a block by its number.
pub(crate) fn fill(bytes: &mut [u8], from: u32, add: u8, key: impl Fn(u32) -> u8) {
    let (mut rest, mut at) = (bytes, from);
    fast(|| {
        while !rest.is_empty() {
            let length = in_block(at, rest.len());
            let (run, after) = std::mem::take(&mut rest).split_at_mut(length);
            let key = key(at >> 8);
            for (byte, low) in run.iter_mut().zip(&BYTES[usize::from(at as u8)..]) {
                *byte = (low ^ key).wrapping_add(add);
            }
            (rest, at) = (after, at.wrapping_add(length as u32));
        }
    });
}

/// Appends `length` bytes as [`fill`] writes them.
pub(crate) fn append(bytes: &mut Vec<u8>, length: usize, from: u32, add: u8, key: impl Fn(u32) -> u8) {
    let (mut left, mut at) = (length, from);
    bytes.reserve(length);
    fast(|| {
        while left > 0 {
            let length = in_block(at, left);
            let key = key(at >> 8);
            let block = BYTES[usize::from(at as u8)..].iter().take(length);
            bytes.extend(block.map(|low| (low ^ key).wrapping_add(add)));
            (left, at) = (left - length, at.wrapping_add(length as u32));
        }
    });
}

/// True if [`fill`] would write these bytes.
pub(crate) fn is_filled(bytes: &[u8], from: u32, add: u8, key: impl Fn(u32) -> u8) -> bool {
    let (mut rest, mut at) = (bytes, from);
    fast(|| {
        while !rest.is_empty() {
            let length = in_block(at, rest.len());
            let (run, after) = rest.split_at(length);
            let key = key(at >> 8);
            let pairs = run.iter().zip(&BYTES[usize::from(at as u8)..]);
            // No early end: whole blocks are compared at once.
            if pairs.fold(0, |all, (byte, low)| all | (byte ^ (low ^ key).wrapping_add(add))) != 0 {
                return false;
            }
            (rest, at) = (after, at.wrapping_add(length as u32));
        }
        true
    })
}

/// The number of bytes, of `length` from `at` on, that are in the block of the first.
#[inline(always)]
fn in_block(at: u32, length: usize) -> usize {
    length.min(256 - usize::from(at as u8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::Rng;

    #[test]
    fn bytes_are_those_of_the_formula_and_every_change_is_seen() {
        let mut rng = Rng::new(3);
        for round in 0..300 {
            let from = if round < 10 { u32::MAX - 700 } else { (rng.next_u64() as u32) >> rng.below(31) };
            let (length, add, more) = (rng.index(700), rng.next_u8(), rng.next_u8());
            let key = |block: u32| (block ^ block >> 8) as u8 ^ more;
            let mut bytes = vec![0x55; length];
            fill(&mut bytes, from, add, key);
            for (byte, at) in bytes.iter().zip(0u32..) {
                let at = from.wrapping_add(at);
                assert_eq!(*byte, ((at ^ at >> 8 ^ at >> 16) as u8 ^ more).wrapping_add(add));
            }
            assert!(is_filled(&bytes, from, add, key));
            let mut more = vec![9];
            append(&mut more, length, from, add, key);
            assert!(more[0] == 9 && more[1..] == bytes);
            for at in 0..length {
                bytes[at] ^= 1 << (at % 8);
                assert!(!is_filled(&bytes, from, add, key), "{at} of {length} from {from}");
                bytes[at] ^= 1 << (at % 8);
            }
        }
    }
}
