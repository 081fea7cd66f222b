//! Keys with some bits cleared, without allocation.

/// Keys of more words than this are copied to the heap.
const WORDS: usize = 32;

/// Runs `then` with `key & mask`.
#[inline(always)]
pub(crate) fn with_masked<R>(key: &[u64], mask: &[u64], then: impl FnOnce(&[u64]) -> R) -> R {
    match (key, mask) {
        ([a], [m]) => then(&[a & m]),
        ([a, b], [m, n]) => then(&[a & m, b & n]),
        ([a, b, c, d], [m, n, o, p]) => then(&[a & m, b & n, c & o, d & p]),
        _ => with_masked_any(key, mask, then),
    }
}

#[inline(never)]
fn with_masked_any<R>(key: &[u64], mask: &[u64], then: impl FnOnce(&[u64]) -> R) -> R {
    if key.len() > WORDS {
        let masked: Vec<u64> = key.iter().zip(mask).map(|(k, m)| k & m).collect();
        return then(&masked);
    }
    let mut masked = [0; WORDS];
    for (to, (k, m)) in masked.iter_mut().zip(key.iter().zip(mask)) {
        *to = k & m;
    }
    then(&masked[..key.len()])
}
