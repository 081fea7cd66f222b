//! Requests of the reducer to its switches, each for some rows: a bounded number at a time, each repeated until it is answered. Rows for
//! which an answer had no room are requested again.
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
    /// Rows of a request.
    each: u32,
    window: u32,
    /// The first one that was not sent.
    next: (u16, u32),
    /// By switch and first row.
    pending: BTreeMap<(u16, u32), Request>,
}

/// A request without an answer.
#[derive(Clone, Debug)]
struct Request {
    timer: Timer,
    /// Rows before this one.
    end: u32,
}

/// A request to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub switch: u16,
    /// The first row.
    pub row: u32,
    pub rows: u32,
}

impl Requests {
    /// Requests for all of `rows` rows of some switches, `each` at a time.
    pub fn new(kind: Kind, switches: Range<u16>, (rows, each): (u32, u32), window: u32) -> Requests {
        Requests {
            kind,
            end: switches.end,
            rows,
            each,
            // Only rows that are asked for one by one are folded on their way.
            window: if each == 1 { window } else { rows },
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

    /// The switch has answered for so many rows; false if they were not asked for.
    pub fn answered(&mut self, switch: u16, row: u32, rows: u32, now: Time, wait: Duration) -> bool {
        let fits = |request: &Request| rows > 0 && rows <= request.end - row;
        let Some(request) = self.pending.get(&(switch, row)).filter(|request| fits(request)).cloned() else {
            return false;
        };
        self.pending.remove(&(switch, row));
        if row + rows < request.end {
            let rest = Request { timer: Timer::new(now, wait), ..request };
            self.pending.insert((switch, row + rows), rest);
        }
        true
    }

    /// The first switch that has not answered a request.
    pub fn first_pending(&self) -> Option<u16> {
        self.pending.keys().next().map(|(switch, _)| *switch)
    }

    /// The switch is to be asked again at once: it has said that something is wrong.
    pub fn hurry(&mut self, switch: u16, now: Time) {
        let of_it = self.pending.iter_mut().filter(|((of, _), _)| *of == switch);
        of_it.for_each(|(_, request)| request.timer.due = now);
    }

    /// The answer for these rows came without its pairs: they are requested again at once.
    pub fn trimmed(&mut self, switch: u16, row: u32, now: Time) {
        if let Some(request) = self.pending.get_mut(&(switch, row)) {
            request.timer.due = now;
        }
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

    /// A request to send now.
    pub fn poll(&mut self, lost: &[bool], now: Time, wait: (Duration, Duration)) -> Option<Asked> {
        self.skip(lost);
        if self.is_room() {
            let end = (self.next.1 + self.each).min(self.rows);
            self.pending.insert(self.next, Request { timer: Timer::new(now, wait.0), end });
            self.next.1 = end;
        }
        let (at, request) = self.pending.iter_mut().find(|(_, request)| request.timer.due <= now)?;
        request.timer.sent(now, wait.1);
        Some(Asked { switch: at.0, row: at.1, rows: request.end - at.1 })
    }

    /// When [`Requests::poll`] may next have a request, if nothing arrives.
    pub fn deadline(&self) -> Option<Time> {
        if self.is_room() {
            return Some(Time::ZERO);
        }
        self.pending.values().map(|request| request.timer.due).min()
    }
}
