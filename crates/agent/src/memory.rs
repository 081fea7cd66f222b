//! Memory of programs that no longer run. They are dropped on threads of their own, so that nobody waits, and an allocator may return what
//! they took only once the thread that allocated it looks. That one looks while they are dropped: at the end there would be much to find.
//! It also looks once in a while, since it takes over memory of ended threads when it frees large requests that these have decoded.

use device_control::Retired;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Number of programs that have been dropped.
#[derive(Default)]
pub(crate) struct Drops {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Drops {
    /// Drops a program on a thread of its own; in place, if there is none.
    pub(crate) fn retire(self: &Arc<Drops>, old: Retired) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        // Without a thread it is dropped with the closure.
        let end = End(Arc::clone(self), Some(old));
        drop(thread::Builder::new().name("retire".to_string()).spawn(move || drop(end)));
    }
}

/// A program that is counted when it has been dropped.
struct End(Arc<Drops>, Option<Retired>);

impl Drop for End {
    fn drop(&mut self) {
        drop(self.1.take());
        self.0.ended.fetch_add(1, Ordering::Release);
    }
}

/// Looks, some ten milliseconds apart, after which memory is returned even if no program was dropped.
const LOOKS: u64 = 100;

/// The memory of the thread that owns the switch.
pub(crate) struct Memory {
    drops: Arc<Drops>,
    looks: u64,
    /// Number of programs that had been dropped at the last look.
    seen: u64,
    give_back: fn(),
}

impl Memory {
    /// `give_back` returns memory of the calling thread that others have freed.
    pub(crate) fn new(drops: Arc<Drops>, give_back: fn()) -> Memory {
        Memory { drops, looks: 0, seen: 0, give_back }
    }

    /// Returns what has been freed since the last look, if anything may have been.
    pub(crate) fn look(&mut self) {
        self.looks += 1;
        if self.seen != self.drops.begun.load(Ordering::Relaxed) || self.looks.is_multiple_of(LOOKS) {
            self.seen = self.drops.ended.load(Ordering::Acquire);
            (self.give_back)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static GIVEN: AtomicU64 = AtomicU64::new(0);

    /// A program that is dropped when a lock is free.
    struct Slow(Arc<Mutex<()>>);

    impl Drop for Slow {
        fn drop(&mut self) {
            drop(self.0.lock());
        }
    }

    #[test]
    fn it_looks_while_a_program_is_dropped_and_once_after() {
        let drops = Arc::new(Drops::default());
        let give_back = || {
            GIVEN.fetch_add(1, Ordering::Relaxed);
        };
        let mut memory = Memory::new(Arc::clone(&drops), give_back);
        let mut look = || {
            let before = GIVEN.load(Ordering::Relaxed);
            memory.look();
            GIVEN.load(Ordering::Relaxed) > before
        };
        assert!(!look());
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock();
        drops.retire(Box::new(Slow(Arc::clone(&lock))));
        assert!(look() && look());
        drop(held);
        while drops.ended.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        assert!(look() && !look());
        assert_eq!((0..3 * LOOKS).filter(|_| look()).count(), 3, "and once in a while");
    }
}
