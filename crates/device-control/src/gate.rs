//! Frames that wait while a switch takes none in.

use std::collections::{BTreeSet, VecDeque};

/// The most frames that wait.
const MOST_HELD: usize = 4096;

/// Entrance for frames: passes them, or holds them while it is closed.
#[derive(Default)]
pub(super) struct Gate {
    /// If frames are held: the ports whose frames are admitted nevertheless.
    open: Option<BTreeSet<u32>>,
    waiting: VecDeque<(u32, Vec<u8>)>,
    lost: u64,
}

impl Gate {
    /// Holds frames, except frames on the ports `open`.
    pub(super) fn close(&mut self, open: impl IntoIterator<Item = u32>) {
        self.open = Some(open.into_iter().collect());
    }

    /// Admits frames again. Returns the held frames in the order of arrival.
    pub(super) fn open(&mut self) -> VecDeque<(u32, Vec<u8>)> {
        self.open = None;
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.open.is_some()
    }

    /// True if a frame is admitted. Otherwise it is held or, without room, lost and counted.
    pub(super) fn lets_in(&mut self, port: u32, frame: &[u8]) -> bool {
        if self.open.as_ref().is_none_or(|open| open.contains(&port)) {
            return true;
        }
        match self.waiting.len() < MOST_HELD {
            true => self.waiting.push_back((port, frame.to_vec())),
            false => self.lost += 1,
        }
        false
    }

    /// Number of held frames.
    pub(super) fn held(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Frames for which there was no room.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}
