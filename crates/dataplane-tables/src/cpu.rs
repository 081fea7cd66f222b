//! Instructions for which portable code is slow: prefetching, vector compares and products, counting bits.
//!
//! The only module with `unsafe`. Every block rests on one of five facts: a prefetch reads nothing that the program can
//! see and may be given any address; SSE2 is part of x86-64; code for newer processors runs only where they were
//! detected; a cache line is eight words; a digest's block, keys and lanes are two vectors each. Other processors and Miri take the portable forms.

#![allow(unsafe_code)]

/// Asks for the cache line of `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch is a hint and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}

/// Prefetches the cache line of `value` for writing, so that no other core has it.
#[inline(always)]
pub fn prefetch_to_write<T>(value: &T) {
    prefetch_lines(value, 1);
}

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Prefetches the first cache lines of `value` for writing, so that no other core has them.
#[inline(always)]
pub fn prefetch_lines<T>(value: &T, lines: usize) {
    for line in 0..lines {
        let address = std::ptr::from_ref(value).cast::<u8>().wrapping_add(line * LINE);
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a prefetch is a hint and never faults; processors that do not know this one do nothing.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = address;
    }
}

/// Runs `f` with AVX2, POPCNT and BMI if the processor has them. Functions called by `f` must be inlined to benefit, so
/// use it around a lookup and not inside of it.
#[inline(always)]
pub fn fast<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        #[target_feature(enable = "avx2,popcnt,bmi1,bmi2,lzcnt")]
        fn newer<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        if is_newer() {
            // SAFETY: the processor has all that `newer` is compiled for.
            return unsafe { newer(f) };
        }
    }
    f()
}

/// True if the processor has the instructions that [`fast`] uses: detected once, since each lookup needs the answer.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn is_newer() -> bool {
    use std::arch::is_x86_feature_detected as has;
    use std::sync::atomic::{AtomicU8, Ordering};
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let newer = has!("avx2") && has!("popcnt") && has!("bmi1") && has!("bmi2") && has!("lzcnt");
            KNOWN.store(1 + u8::from(newer), Ordering::Relaxed);
            newer
        }
        known => known == 2,
    }
}

/// Mask of the tags that are equal to `tag`: bit i for `tags[i]`.
#[inline(always)]
pub(crate) fn equal8(tags: &[u32; 8], tag: u32) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: x86-64 has SSE2, and both loads lie inside of `tags`.
    unsafe {
        use std::arch::x86_64::*;
        let wanted = _mm_set1_epi32(tag as i32);
        let at = tags.as_ptr().cast::<__m128i>();
        let low = _mm_cmpeq_epi32(_mm_loadu_si128(at), wanted);
        let high = _mm_cmpeq_epi32(_mm_loadu_si128(at.add(1)), wanted);
        let bytes = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());
        _mm_movemask_epi8(bytes) as u32
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    equal8_portable(tags, tag)
}

#[cfg(any(test, not(all(target_arch = "x86_64", not(miri)))))]
fn equal8_portable(tags: &[u32; 8], tag: u32) -> u32 {
    (0..8).map(|i| u32::from(tags[i] == tag) << i).sum()
}

/// Words of a block that are added at once, each to a lane of its own.
pub const DIGEST_LANES: usize = 8;

/// Bytes of a block.
pub const DIGEST_BLOCK: usize = DIGEST_LANES * 8;

/// Adds blocks to the lanes of a digest, as XXH3 does (github.com/Cyan4973/xxHash): to each lane the product of the halves of its word, mixed with a key,
/// and its neighbour's word, so that one whose product is 0 counts, too. The first block has the first keys, and each next one those from one key
/// further on; blocks without keys are not added. The sums are the same on every processor.
#[inline(always)]
pub fn add_blocks(lanes: &mut [u64; DIGEST_LANES], blocks: &[[u8; DIGEST_BLOCK]], keys: &[u64]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if is_newer() {
        // SAFETY: the processor has AVX2.
        return unsafe { add_blocks_by_vectors(lanes, blocks, keys) };
    }
    add_blocks_portable(lanes, blocks, keys);
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
#[inline]
fn add_blocks_by_vectors(lanes: &mut [u64; DIGEST_LANES], blocks: &[[u8; DIGEST_BLOCK]], keys: &[u64]) {
    use std::arch::x86_64::*;
    // SAFETY: a block, keys for one and the lanes are two vectors each, and these loads and stores need not be aligned.
    let load =
        |of: *const u8| unsafe { [_mm256_loadu_si256(of.cast()), _mm256_loadu_si256(of.add(32).cast())] };
    let mut sums = load(lanes.as_ptr().cast());
    let mut words = [_mm256_setzero_si256(); 2];
    for (block, keys) in blocks.iter().zip(keys.windows(DIGEST_LANES)) {
        let (block, keys) = (load(block.as_ptr()), load(keys.as_ptr().cast()));
        for half in [0, 1] {
            let mixed = _mm256_xor_si256(block[half], keys[half]);
            let product = _mm256_mul_epu32(mixed, _mm256_srli_epi64::<32>(mixed));
            sums[half] = _mm256_add_epi64(sums[half], product);
            words[half] = _mm256_add_epi64(words[half], block[half]);
        }
    }
    let (pairs, _) = lanes.as_chunks_mut::<4>();
    for (pair, (sum, words)) in pairs.iter_mut().zip(sums.into_iter().zip(words)) {
        let sum = _mm256_add_epi64(sum, _mm256_shuffle_epi32::<0b01_00_11_10>(words));
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(pair.as_mut_ptr().cast(), sum) };
    }
}

fn add_blocks_portable(lanes: &mut [u64; DIGEST_LANES], blocks: &[[u8; DIGEST_BLOCK]], keys: &[u64]) {
    for (block, keys) in blocks.iter().zip(keys.windows(DIGEST_LANES)) {
        let (words, _) = block.as_chunks::<8>();
        for (at, key) in keys.iter().enumerate() {
            let (word, neighbour) = (u64::from_le_bytes(words[at]), u64::from_le_bytes(words[at ^ 1]));
            let mixed = word ^ key;
            let product = u64::from(mixed as u32) * (mixed >> 32);
            lanes[at] = lanes[at].wrapping_add(neighbour).wrapping_add(product);
        }
    }
}

/// A cache line of words.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u64; 8]);

/// The words of `lines`.
#[inline(always)]
pub(crate) fn words(lines: &[Line]) -> &[u64] {
    // SAFETY: a `Line` is eight words and nothing else.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * 8) }
}

/// See [`words`].
#[inline(always)]
pub(crate) fn words_mut(lines: &mut [Line]) -> &mut [u64] {
    // SAFETY: a `Line` is eight words and nothing else.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * 8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_and_portable_compares_agree() {
        let mut rng = base_time::Rng::new(1);
        for _ in 0..2000 {
            let tags: [u32; 8] = std::array::from_fn(|_| rng.below(4) as u32 * 0x5555_5555);
            let tag = rng.below(4) as u32 * 0x5555_5555;
            assert_eq!(equal8(&tags, tag), equal8_portable(&tags, tag));
            assert_eq!(fast(|| equal8(&tags, tag)), equal8_portable(&tags, tag));
        }
    }

    #[test]
    fn blocks_are_added_alike_with_and_without_vectors() {
        let mut rng = base_time::Rng::new(1);
        for blocks in 0..40 {
            let blocks: Vec<[u8; DIGEST_BLOCK]> = (0..blocks)
                .map(|_| std::array::from_fn(|_| [rng.below(256) as u8, 0xff][rng.index(2)]))
                .collect();
            // As many keys as blocks, or fewer.
            let keys: Vec<u64> = (0..rng.index(32)).map(|_| rng.next_u64()).collect();
            let first: [u64; DIGEST_LANES] = std::array::from_fn(|_| rng.next_u64());
            let (mut lanes, mut expected) = (first, first);
            add_blocks(&mut lanes, &blocks, &keys);
            add_blocks_portable(&mut expected, &blocks, &keys);
            assert_eq!((lanes, lanes != first), (expected, !blocks.is_empty() && keys.len() >= DIGEST_LANES));
        }
    }
}
