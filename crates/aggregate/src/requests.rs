//! Requests of the reducer to its switches, each for some rows: a bounded number at a time, each repeated until it is answered. A READ of many rows has
//! several answers, each for some of them. Rows for which an answer had no room, or whose answer was lost, are requested again.
//!
//! A row is asked for only if the one a window before it is answered: a switch that folds the answers on their way has a cell for each
//! number modulo the window.

use crate::packet::{Kind, MOST_ROWS};
use crate::timer::Timer;
use base_time::{Duration, Time};
use std::collections::BTreeMap;
use std::ops::Range;

/// Answers that are expected at a time.
const AT_ONCE: u32 = 32;

/// Answers to a request, at most.
const OF_A_REQUEST: u32 = 16;

/// Requests of one type for a generation.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    pub kind: Kind,
    /// Requests go to the switches before this one.
    end: u16,
    rows: u32,
    /// Rows of a request, and of an answer.
    each: u32,
    of_answer: u32,
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
    /// Requests for all of `rows` rows of some switches, `each` at a time, in answers of `of_answer`.
    pub fn new(
        kind: Kind,
        switches: Range<u16>,
        (rows, each, of_answer): (u32, u32, u32),
        window: u32,
    ) -> Requests {
        Requests {
            kind,
            end: switches.end,
            rows,
            each,
            of_answer: of_answer.max(1),
            // Only rows that are asked for one by one are folded on their way.
            window: if each == 1 { window } else { rows },
            next: (switches.start, 0),
            pending: BTreeMap::new(),
        }
    }

    /// From now on, answers have room for so many rows.
    pub fn expect(&mut self, of_answer: u32) {
        self.of_answer = of_answer;
        self.each = (OF_A_REQUEST * of_answer).min(MOST_ROWS);
        // No switch folds them on their way.
        self.window = self.rows;
    }

    /// True if another request may be sent beside those without answers.
    fn is_room(&self) -> bool {
        let (switch, row) = self.next;
        let first = self.pending.range((switch, 0)..).next().filter(|((of, _), _)| *of == switch);
        let answers =
            self.pending.iter().map(|((_, row), request)| (request.end - row).div_ceil(self.of_answer));
        answers.sum::<u32>() < AT_ONCE
            && switch < self.end
            && first.is_none_or(|((_, first), _)| row - first < self.window)
    }

    /// Nothing more is asked of this switch.
    pub fn forget(&mut self, switch: u16) {
        self.pending.retain(|(of, _), _| *of != switch);
    }

    /// The switch has answered for `rows` of the `wanted` rows that this answer was to have; false if some of them are answered already, or were not asked for.
    pub fn answered(
        &mut self,
        switch: u16,
        row: u32,
        (rows, wanted): (u32, u32),
        now: Time,
        wait: Duration,
    ) -> bool {
        if rows == 0 || rows > wanted {
            return false;
        }
        self.take(switch, row, row + rows, row + wanted, now, wait)
    }

    /// Takes the rows before `answered` out of the request that has them. Those from there to `wanted` are requested at once; the others have answers of their own,
    /// which are under way. False if no request has all the answered rows.
    fn take(&mut self, switch: u16, row: u32, answered: u32, wanted: u32, now: Time, wait: Duration) -> bool {
        let before = self.pending.range(..=(switch, row)).next_back();
        let Some((at, end)) = before.map(|(at, request)| (*at, request.end)) else { return false };
        if at.0 != switch || answered > end {
            return false;
        }
        self.pending.remove(&at);
        let wanted = wanted.min(end);
        let parts = [(at.1, row, now + wait), (answered, wanted, now), (wanted, end, now + wait)];
        for (first, end, due) in parts.into_iter().filter(|(first, end, _)| first < end) {
            self.pending.insert((switch, first), Request { timer: Timer::new(due, wait), end });
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

    /// The answer for so many rows came without its pairs: they are requested again at once.
    pub fn trimmed(&mut self, switch: u16, row: u32, wanted: u32, now: Time, wait: Duration) {
        self.take(switch, row, row, row + wanted, now, wait);
    }

    /// Rows of an answer to a request for so many: 0 if one answer is to have them all.
    pub fn of_answer(&self, rows: u32) -> u32 {
        if rows > self.of_answer { self.of_answer } else { 0 }
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

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_us(100);
    const LATER: Time = Time::ZERO;

    /// Rows of each request that is sent now: the first one, how many, and how many an answer is to have.
    fn sent(requests: &mut Requests, now: Time) -> Vec<(u32, u32, u32)> {
        let asked = std::iter::from_fn(|| requests.poll(&[false], now, (WAIT, WAIT * 4)));
        let asked: Vec<Asked> = asked.collect();
        asked.iter().map(|asked| (asked.row, asked.rows, requests.of_answer(asked.rows))).collect()
    }

    #[test]
    fn a_request_has_several_answers_in_any_order() {
        let mut requests = Requests::new(Kind::Read, 0..1, (64, 64, 10), 256);
        assert_eq!(sent(&mut requests, LATER), [(0, 64, 10)]);
        let mut answered = |row, rows, wanted| requests.answered(0, row, (rows, wanted), LATER, WAIT);
        assert!(answered(60, 4, 4) && answered(20, 10, 10) && answered(0, 10, 10));
        // Again, in part again, of none, and beyond the end.
        assert!(
            !answered(20, 10, 10) && !answered(15, 10, 10) && !answered(30, 0, 10) && !answered(50, 11, 11)
        );
        assert!(answered(10, 10, 10) && answered(40, 10, 10) && answered(30, 10, 10));
        assert!(!requests.is_over(&[false]));
        assert!(requests.answered(0, 50, (10, 10), LATER, WAIT));
        assert!(requests.is_over(&[false]));
    }

    #[test]
    fn rows_without_room_are_requested_at_once_and_those_of_lost_answers_after_a_while() {
        let mut requests = Requests::new(Kind::Read, 0..1, (64, 64, 10), 256);
        sent(&mut requests, LATER);
        assert!(requests.answered(0, 10, (7, 10), LATER, WAIT));
        assert_eq!(sent(&mut requests, LATER), [(17, 3, 0)]);
        // The others are under way.
        assert_eq!(requests.deadline(), Some(LATER + WAIT));
        assert_eq!(sent(&mut requests, LATER + WAIT), [(0, 10, 0), (17, 3, 0), (20, 44, 10)]);
    }

    #[test]
    fn rows_that_came_without_their_pairs_are_requested_at_once() {
        let mut requests = Requests::new(Kind::Read, 0..1, (64, 64, 10), 256);
        sent(&mut requests, LATER);
        requests.trimmed(0, 10, 10, LATER, WAIT);
        assert_eq!(sent(&mut requests, LATER), [(10, 10, 0)]);
        // An answer that has come is not requested again.
        assert!(requests.answered(0, 20, (10, 10), LATER, WAIT));
        requests.trimmed(0, 20, 10, LATER, WAIT);
        requests.trimmed(1, 30, 10, LATER, WAIT);
        assert_eq!(sent(&mut requests, LATER), []);
    }

    /// 32 answers: two requests of 16, and another one as soon as there are fewer.
    #[test]
    fn a_bounded_number_of_answers_is_expected_at_a_time() {
        let mut requests = Requests::new(Kind::Read, 0..1, (1000, 160, 10), 256);
        assert_eq!(sent(&mut requests, LATER), [(0, 160, 10), (160, 160, 10)]);
        assert!(requests.answered(0, 0, (10, 10), LATER, WAIT));
        assert_eq!(sent(&mut requests, LATER), [(320, 160, 10)]);
    }

    /// The first round's rows are nearly empty: the requests after the first answers are for more of them.
    #[test]
    fn requests_grow_with_the_rows_of_an_answer() {
        let mut requests = Requests::new(Kind::Read, 0..1, (1000, 1, 1), 4);
        requests.expect(5);
        assert_eq!(sent(&mut requests, LATER), [(0, 80, 5), (80, 80, 5)]);
        assert!(requests.answered(0, 0, (5, 5), LATER, WAIT));
        requests.expect(50);
        assert_eq!(sent(&mut requests, LATER)[..2], [(160, 256, 50), (416, 256, 50)]);
    }
}
