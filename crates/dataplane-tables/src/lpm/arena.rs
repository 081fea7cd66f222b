//! Runs of up to 64 items side by side in one array.
//!
//! A run has room for the next power of two of its items; given back, its room is kept for runs of the same size.

/// An array with runs of up to 64 items.
#[derive(Clone, Debug)]
pub(crate) struct Arena<T> {
    items: Vec<T>,
    /// Free runs by the logarithm of their room.
    free: [Vec<u32>; 7],
    /// Items in runs that are free.
    waste: usize,
}

impl<T: Copy + Default> Arena<T> {
    pub(crate) fn new() -> Arena<T> {
        Arena { items: vec![], free: Default::default(), waste: 0 }
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: u32) -> &T {
        &self.items[at as usize]
    }

    pub(crate) fn get_mut(&mut self, at: u32) -> &mut T {
        &mut self.items[at as usize]
    }

    /// Puts `item` into the run of `len` items at `run`, before position `at`; gives where the run is now. A run of no
    /// items may be said to be anywhere.
    pub(crate) fn insert(&mut self, run: u32, len: u32, at: u32, item: T) -> u32 {
        let (from, before) = (run as usize, at as usize);
        let grows = len == 0 || len.is_power_of_two();
        let to = if grows { self.take(len + 1) as usize } else { from };
        self.items.copy_within(from + before..from + len as usize, to + before + 1);
        if grows {
            self.items.copy_within(from..from + before, to);
            self.give(run, len);
        }
        self.items[to + before] = item;
        to as u32
    }

    /// Takes the item at position `at` out of the run of `len` items at `run`; gives where the run is now.
    pub(crate) fn remove(&mut self, run: u32, len: u32, at: u32) -> u32 {
        let (from, hole, rest) = (run as usize, at as usize, len - 1);
        self.items.copy_within(from + hole + 1..from + len as usize, from + hole);
        if rest == 0 || rest.is_power_of_two() {
            let to = if rest == 0 { 0 } else { self.take(rest) };
            self.items.copy_within(from..from + rest as usize, to as usize);
            self.give(run, len);
            return to;
        }
        run
    }

    /// A run with room for `len` items, of which there is one at least.
    pub(crate) fn take(&mut self, len: u32) -> u32 {
        let class = class(len);
        if let Some(run) = self.free[class].pop() {
            self.waste -= 1 << class;
            return run;
        }
        let run = self.items.len();
        self.items.resize(run + (1 << class), T::default());
        run as u32
    }

    /// Takes a run of `len` items back.
    pub(crate) fn give(&mut self, run: u32, len: u32) {
        if len > 0 {
            self.waste += 1 << class(len);
            self.free[class(len)].push(run);
        }
    }

    /// True if more than half of a big arena is free.
    pub(crate) fn is_wasteful(&self) -> bool {
        self.waste > 4096 && self.waste * 2 > self.items.len()
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let free: usize = self.free.iter().map(|f| f.capacity() * 4).sum();
        self.items.capacity() * size_of::<T>() + free
    }
}

fn class(len: u32) -> usize {
    len.next_power_of_two().trailing_zeros() as usize
}
