//! Copies of few bytes, as requests and responses are: a call of `memcpy` takes longer than the copy. `tests/run/sizes.rs` has all lengths.

/// Copies bytes to as many others.
#[inline]
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    let is_done = match from.len().min(to.len()) {
        0 => true,
        1 => by_ends::<1>(from, to),
        2..=3 => by_ends::<2>(from, to),
        4..=7 => by_ends::<4>(from, to),
        8..=15 => by_ends::<8>(from, to),
        16..=32 => by_ends::<16>(from, to),
        _ => false,
    };
    if !is_done {
        to.copy_from_slice(from);
    }
}

/// Fills bytes with zeros.
#[inline]
pub(crate) fn clear(to: &mut [u8]) {
    const ZERO: [u8; 32] = [0; 32];
    match ZERO.get(..to.len()) {
        Some(zero) => copy(zero, to),
        None => to.fill(0),
    }
}

/// Copies the first and the last `N` bytes, which are all: there are `N` to `2 * N`.
#[inline]
fn by_ends<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
    let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else { return false };
    if from.len() != to.len() {
        return false;
    }
    if let Some(to) = to.first_chunk_mut() {
        *to = *first;
    }
    if let Some(to) = to.last_chunk_mut() {
        *to = *last;
    }
    true
}
