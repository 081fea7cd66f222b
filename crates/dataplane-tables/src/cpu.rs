//! Instructions for which portable code is slow: prefetching, vector compares, counting bits.
//!
//! The only module with `unsafe`. Every block rests on one of four facts: a prefetch reads nothing that the program can
//! see and may be given any address; SSE2 is part of x86-64; code for newer processors runs only where they were
//! detected; a cache line is eight words. Other processors and Miri take the portable forms.

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
}
