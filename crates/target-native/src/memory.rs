//! The frame: memory that compiled code and the rest share.
//!
//! One of the files that may use `unsafe`. Compiled code holds its address while it runs; Rust looks at it only while that
//! code waits in a call, or does not run.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Zeroed memory of a fixed size, aligned to a cache line.
pub(crate) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns the memory that it points to, like a box.
unsafe impl Send for Memory {}

impl Memory {
    pub(crate) fn new(bytes: usize) -> Memory {
        let layout = Layout::from_size_align(bytes.max(64), 64).unwrap_or(Layout::new::<[u64; 8]>());
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Memory { start, layout }
    }

    /// Address for compiled code.
    pub(crate) fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Some of its bytes.
    pub(crate) fn bytes(&self, at: i32, length: usize) -> &[u8] {
        let at = self.check(at, length);
        // SAFETY: the range is inside, and every byte of it was written, with zero at first.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), length) }
    }

    /// See [`bytes`](Memory::bytes).
    pub(crate) fn bytes_mut(&mut self, at: i32, length: usize) -> &mut [u8] {
        let at = self.check(at, length);
        // SAFETY: as above, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), length) }
    }

    /// A number of 16 bytes at most.
    #[inline]
    pub(crate) fn number(&self, at: i32, bytes: usize) -> u128 {
        let from = self.bytes(at, bytes);
        // As one load each: a value assembled from pieces waits until they are written.
        if let Ok(word) = from.try_into() {
            return u128::from(u64::from_le_bytes(word));
        }
        if let Ok(half) = from.try_into() {
            return u128::from(u32::from_le_bytes(half));
        }
        if let Ok(pair) = from.try_into() {
            return u128::from_le_bytes(pair);
        }
        let mut all = [0; 16];
        all[..bytes].copy_from_slice(from);
        u128::from_le_bytes(all)
    }

    /// See [`number`](Memory::number).
    pub(crate) fn set_number(&mut self, at: i32, bytes: usize, value: u128) {
        self.bytes_mut(at, bytes).copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    fn check(&self, at: i32, length: usize) -> usize {
        let at = at as usize;
        assert!(at.checked_add(length).is_some_and(|end| end <= self.layout.size()), "outside of the frame");
        at
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and not freed before.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// The bytes of a header of the packet.
///
/// # Safety
/// `address` is the address of `length` bytes of a header of the packet, written by compiled code, which waits for the caller.
pub(crate) unsafe fn header_bytes<'m>(address: u64, length: usize) -> &'m [u8] {
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(address as *const u8, length) }
}
