//! Requests of the reducer to its switches, one for each row of each: a bounded number at a time, each repeated until it is answered.
//!
//! A row is asked for only if the one a window before it is answered: a switch that folds the answers on their way has a cell for each
//! number modulo the window.

use crate::packet::Kind;
use crate::timer::Timer;
use base_time::{Duration, Time};
use std::collections::BTreeMap;
use std::ops::Range;

/// Requests without answers at a time.
const AT_ONCE: usize = 32;

/// Requests of one type for a generation.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    pub kind: Kind,
    /// Requests go to the switches before this one.
    end: u16,
    rows: u32,
    window: u32,
    /// The first one that was not sent.
    next: (u16, u32),
    pending: BTreeMap<(u16, u32), Timer>,
}

impl Requests {
    /// One request for each of `rows` rows of some switches.
    pub fn new(kind: Kind, switches: Range<u16>, rows: u32, window: u32) -> Requests {
        Requests {
            kind,
            end: switches.end,
            rows,
            window,
            next: (switches.start, 0),
            pending: BTreeMap::new(),
        }
    }

    /// True if another request may be sent beside those without answers.
    fn is_room(&self) -> bool {
        let (switch, row) = self.next;
        let first = self.pending.range((switch, 0)..).next().filter(|((of, _), _)| *of == switch);
        self.pending.len() < AT_ONCE
            && switch < self.end
            && first.is_none_or(|((_, first), _)| row - first < self.window)
    }

    /// Nothing more is asked of this switch.
    pub fn forget(&mut self, switch: u16) {
        self.pending.retain(|(of, _), _| *of != switch);
    }

    /// The switch has answered; false if that was not open.
    pub fn answered(&mut self, switch: u16, row: u32) -> bool {
        self.pending.remove(&(switch, row)).is_some()
    }

    /// The first switch that has not answered a request.
    pub fn first_pending(&self) -> Option<u16> {
        self.pending.keys().next().map(|(switch, _)| *switch)
    }

    /// The switch is to be asked again at once: it has said that something is wrong.
    pub fn hurry(&mut self, switch: u16, now: Time) {
        let of_it = self.pending.iter_mut().filter(|((of, _), _)| *of == switch);
        of_it.for_each(|(_, timer)| timer.due = now);
    }

    /// True if all switches but those in `lost` have answered.
    pub fn is_over(&mut self, lost: &[bool]) -> bool {
        self.skip(lost);
        self.pending.is_empty() && self.next.0 >= self.end
    }

    fn skip(&mut self, lost: &[bool]) {
        while self.next.0 < self.end
            && (self.next.1 >= self.rows || lost.get(usize::from(self.next.0)) == Some(&true))
        {
            self.next = (self.next.0 + 1, 0);
        }
    }

    /// A request to send now: switch and row.
    pub fn poll(&mut self, lost: &[bool], now: Time, wait: (Duration, Duration)) -> Option<(u16, u32)> {
        self.skip(lost);
        if self.is_room() {
            self.pending.insert(self.next, Timer::new(now, wait.0));
            self.next.1 += 1;
        }
        let (at, timer) = self.pending.iter_mut().find(|(_, timer)| timer.due <= now)?;
        timer.sent(now, wait.1);
        Some(*at)
    }

    /// When [`Requests::poll`] may next have a request, if nothing arrives.
    pub fn deadline(&self) -> Option<Time> {
        if self.is_room() {
            return Some(Time::ZERO);
        }
        self.pending.values().map(|timer| timer.due).min()
    }
}
