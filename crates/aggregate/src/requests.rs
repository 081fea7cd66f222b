//! Requests of the reducer to its switches, each for some rows: a bounded number at a time, each repeated until it is answered. A READ of many rows has
//! several answers, each for some of them. Rows for which an answer had no room, or whose answer was lost, are requested again.
//!
//! A row is asked for only if the one a window before it is answered: a switch that folds the answers on their way has a cell for each
//! number modulo the window.

use crate::packet::{Kind, MOST_ROWS};
use crate::timer::Timer;
use crate::trip::Trip;
use base_time::{Duration, Time};
use std::collections::BTreeMap;
use std::ops::Range;

/// Answers that are expected at a time, at most: another full request is sent while fewer than 32 are.
const AT_ONCE: u32 = OF_A_REQUEST + 31;

/// Answers that are expected at first, before it is known how fast a switch reads.
const AT_FIRST: u32 = 4;

/// Answers to a request, at most.
const OF_A_REQUEST: u32 = 16;

/// Speed of requests: how many answers are expected at a time, and how long a request waits.
///
/// One more answer is expected for each that comes, until a request has to be repeated; then half as many, and one more for each as many answers. A switch in
/// software may take longer for many answers than a request waits at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pace {
    at_once: u32,
    /// Up to here, each answer counts.
    threshold: u32,
    /// Answers since the last growth.
    answers: u32,
    /// Before this time, requests that are repeated say nothing new.
    until: Time,
    trip: Trip,
}

impl Pace {
    /// For a switch that is not known yet.
    pub const FIRST: Pace = Pace { at_once: AT_FIRST, ..Pace::FULL };

    const FULL: Pace =
        Pace { at_once: AT_ONCE, threshold: AT_ONCE, answers: 0, until: Time::ZERO, trip: Trip::UNKNOWN };

    fn answered(&mut self) {
        self.answers += 1;
        if self.answers >= self.at_once || self.at_once < self.threshold {
            self.at_once = (self.at_once + 1).min(AT_ONCE);
            self.answers = 0;
        }
    }

    fn repeated(&mut self, now: Time, (least, most): (Duration, Duration)) {
        if now >= self.until {
            self.at_once = (self.at_once / 2).max(1);
            self.threshold = self.at_once;
            self.trip.late();
            (self.answers, self.until) = (0, now + self.trip.wait(least, most));
        }
    }

    /// Answers to ask for beside so many: none until there is room for a third, since each request is a packet.
    fn room(&self, expected: u32) -> u32 {
        let room = self.at_once.saturating_sub(expected);
        if room >= self.at_once.div_ceil(3) { room } else { 0 }
    }
}

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
    pub pace: Pace,
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
    is_sent: bool,
    /// When it was sent, if it was sent once and has had no answer.
    since: Option<Time>,
}

/// A request to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub switch: u16,
    /// The first row.
    pub row: u32,
    pub rows: u32,
    /// True if it was sent before, without an answer.
    pub is_repeated: bool,
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
            pace: Pace::FULL,
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

    /// Answers that another request may have, beside those that are expected; 0 if none may be sent.
    fn room(&self) -> u32 {
        let (switch, row) = self.next;
        let first = self.pending.range((switch, 0)..).next().filter(|((of, _), _)| *of == switch);
        let answers =
            self.pending.iter().map(|((_, row), request)| (request.end - row).div_ceil(self.of_answer));
        let is_room = switch < self.end && first.is_none_or(|((_, first), _)| row - first < self.window);
        if is_room { self.pace.room(answers.sum()) } else { 0 }
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
        wait: (Duration, Duration),
    ) -> bool {
        if rows == 0 || rows > wanted {
            return false;
        }
        self.take((switch, row), (row + rows, row + wanted), now, wait)
    }

    /// Takes the rows before `answered` out of the request that has them. Those from there to `wanted` are requested at once; the others have answers of their own,
    /// which are under way. False if no request has all the answered rows.
    fn take(
        &mut self,
        (switch, row): (u16, u32),
        (answered, wanted): (u32, u32),
        now: Time,
        (least, most): (Duration, Duration),
    ) -> bool {
        let before = self.pending.range(..=(switch, row)).next_back();
        let Some((at, end, since)) = before.map(|(at, request)| (*at, request.end, request.since)) else {
            return false;
        };
        if at.0 != switch || answered > end {
            return false;
        }
        self.pending.remove(&at);
        let wanted = wanted.min(end);
        self.pace.answered();
        if let Some(since) = since {
            self.pace.trip.measured(now.since(since));
        }
        let wait = self.pace.trip.wait(least, most);
        let parts = [(at.1, row, true), (answered, wanted, false), (wanted, end, true)];
        for (first, end, is_sent) in parts.into_iter().filter(|(first, end, _)| first < end) {
            let due = if is_sent { now + wait } else { now };
            let request = Request { timer: Timer::new(due, wait), end, is_sent, since: None };
            self.pending.insert((switch, first), request);
        }
        true
    }

    /// The first switch that has not answered a request.
    pub fn first_pending(&self) -> Option<u16> {
        self.pending.keys().next().map(|(switch, _)| *switch)
    }

    /// The answer for so many rows came without its pairs: they are requested again at once.
    pub fn trimmed(&mut self, switch: u16, row: u32, wanted: u32, now: Time, wait: (Duration, Duration)) {
        self.take((switch, row), (row, row + wanted), now, wait);
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
        let room = self.room();
        if room > 0 {
            let end = (self.next.1 + self.each.min(room.saturating_mul(self.of_answer))).min(self.rows);
            let timer = Timer::new(now, self.pace.trip.wait(wait.0, wait.1));
            self.pending.insert(self.next, Request { timer, end, is_sent: false, since: None });
            self.next.1 = end;
        }
        let (at, request) = self.pending.iter_mut().find(|(_, request)| request.timer.due <= now)?;
        let is_repeated = request.is_sent;
        if is_repeated {
            self.pace.repeated(now, wait);
        }
        request.since = (!request.is_sent).then_some(now);
        request.timer.sent(now, wait.1);
        request.is_sent = true;
        Some(Asked { switch: at.0, row: at.1, rows: request.end - at.1, is_repeated })
    }

    /// When [`Requests::poll`] may next have a request, if nothing arrives.
    pub fn deadline(&self) -> Option<Time> {
        if self.room() > 0 {
            return Some(Time::ZERO);
        }
        self.pending.values().map(|request| request.timer.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_us(100);
    const WAITS: (Duration, Duration) = (WAIT, Duration::from_us(400));
    const LATER: Time = Time::ZERO;

    /// Rows of each request that is sent now: the first one, how many, and how many an answer is to have.
    fn sent(requests: &mut Requests, now: Time) -> Vec<(u32, u32, u32)> {
        let asked = std::iter::from_fn(|| requests.poll(&[false], now, WAITS));
        let asked: Vec<Asked> = asked.collect();
        asked.iter().map(|asked| (asked.row, asked.rows, requests.of_answer(asked.rows))).collect()
    }

    #[test]
    fn a_request_has_several_answers_in_any_order() {
        let mut requests = Requests::new(Kind::Read, 0..1, (64, 64, 10), 256);
        assert_eq!(sent(&mut requests, LATER), [(0, 64, 10)]);
        let mut answered = |row, rows, wanted| requests.answered(0, row, (rows, wanted), LATER, WAITS);
        assert!(answered(60, 4, 4) && answered(20, 10, 10) && answered(0, 10, 10));
        // Again, in part again, of none, and beyond the end.
        assert!(
            !answered(20, 10, 10) && !answered(15, 10, 10) && !answered(30, 0, 10) && !answered(50, 11, 11)
        );
        assert!(answered(10, 10, 10) && answered(40, 10, 10) && answered(30, 10, 10));
        assert!(!requests.is_over(&[false]));
        assert!(requests.answered(0, 50, (10, 10), LATER, WAITS));
        assert!(requests.is_over(&[false]));
    }

    #[test]
    fn rows_without_room_are_requested_at_once_and_those_of_lost_answers_after_a_while() {
        let mut requests = Requests::new(Kind::Read, 0..1, (64, 64, 10), 256);
        sent(&mut requests, LATER);
        assert!(requests.answered(0, 10, (7, 10), LATER, WAITS));
        assert_eq!(sent(&mut requests, LATER), [(17, 3, 0)]);
        // The others are under way.
        assert_eq!(requests.deadline(), Some(LATER + WAIT));
        assert_eq!(sent(&mut requests, LATER + WAIT), [(0, 10, 0), (17, 3, 0), (20, 44, 10)]);
    }

    #[test]
    fn rows_that_came_without_their_pairs_are_requested_at_once() {
        let mut requests = Requests::new(Kind::Read, 0..1, (64, 64, 10), 256);
        sent(&mut requests, LATER);
        requests.trimmed(0, 10, 10, LATER, WAITS);
        assert_eq!(sent(&mut requests, LATER), [(10, 10, 0)]);
        // An answer that has come is not requested again.
        assert!(requests.answered(0, 20, (10, 10), LATER, WAITS));
        requests.trimmed(0, 20, 10, LATER, WAITS);
        requests.trimmed(1, 30, 10, LATER, WAITS);
        assert_eq!(sent(&mut requests, LATER), []);
    }

    /// 32 answers: two requests of 16, and another one as soon as there are fewer.
    #[test]
    fn a_bounded_number_of_answers_is_expected_at_a_time() {
        let mut requests = Requests::new(Kind::Read, 0..1, (1000, 160, 10), 256);
        assert_eq!(sent(&mut requests, LATER), [(0, 160, 10), (160, 160, 10)]);
        assert!(requests.answered(0, 0, (10, 10), LATER, WAITS));
        assert_eq!(sent(&mut requests, LATER), [(320, 160, 10)]);
    }

    /// The first round's rows are nearly empty: the requests after the first answers are for more of them.
    #[test]
    fn requests_grow_with_the_rows_of_an_answer() {
        let mut requests = Requests::new(Kind::Read, 0..1, (1000, 1, 1), 4);
        requests.expect(5);
        assert_eq!(sent(&mut requests, LATER), [(0, 80, 5), (80, 80, 5)]);
        assert!(requests.answered(0, 0, (5, 5), LATER, WAITS));
        requests.expect(50);
        assert_eq!(sent(&mut requests, LATER)[..2], [(160, 256, 50), (416, 256, 50)]);
    }

    /// A switch that takes longer for the expected answers than a request waits is asked for fewer.
    #[test]
    fn fewer_answers_are_expected_of_a_slow_switch() {
        let mut requests = Requests::new(Kind::Read, 0..1, (10_000, 1, 1), 10_000);
        requests.pace = Pace::FIRST;
        requests.expect(1);
        assert_eq!(sent(&mut requests, LATER), [(0, 4, 1)]);
        (0..4).for_each(|row| assert!(requests.answered(0, row, (1, 1), LATER, WAITS)));
        assert_eq!(sent(&mut requests, LATER), [(4, 8, 1)]);
        // Only the first of several requests that are repeated counts.
        assert_eq!(sent(&mut requests, LATER + WAIT), [(4, 8, 1)]);
        assert_eq!(requests.pace.at_once, 4);
        let now = LATER + WAIT;
        (4..12).for_each(|row| assert!(requests.answered(0, row, (1, 1), now, WAITS)));
        // Two more for eight answers.
        assert_eq!(sent(&mut requests, now), [(12, 5, 1)]);
    }

    /// However many answers come.
    #[test]
    fn the_number_of_expected_answers_has_a_limit() {
        let mut requests = Requests::new(Kind::Read, 0..1, (60_000, 1, 1), 60_000);
        requests.pace = Pace::FIRST;
        requests.expect(1);
        let mut most = 0;
        for row in 0..5_000 {
            sent(&mut requests, LATER);
            most = most.max(requests.pending.iter().map(|((_, row), request)| request.end - row).sum());
            assert!(requests.answered(0, row, (1, 1), LATER, WAITS));
        }
        assert_eq!(most, AT_ONCE);
    }

    /// A switch reads one row after another, so the others come later.
    #[test]
    fn only_the_first_answer_to_a_request_says_how_long_answers_take() {
        let at = |us| LATER + Duration::from_us(us);
        let mut requests = Requests::new(Kind::Read, 0..1, (1000, 160, 10), 1000);
        requests.pace = Pace { at_once: 16, threshold: 16, ..Pace::FIRST };
        assert_eq!(sent(&mut requests, at(0)), [(0, 160, 10)]);
        assert!(requests.answered(0, 0, (10, 10), at(40), WAITS));
        assert!(requests.answered(0, 20, (10, 10), at(300), WAITS));
        // 40 us, and four times the deviation of 20 us.
        assert_eq!(requests.deadline(), Some(at(300 + 120)));
    }

    /// Within the longer wait that follows from the first one. Answers before it do not count for those that are needed for one more.
    #[test]
    fn requests_that_are_repeated_together_count_once() {
        let at = |us| LATER + Duration::from_us(us);
        let mut pace = Pace { at_once: 8, threshold: 8, answers: 7, ..Pace::FULL };
        pace.repeated(at(0), WAITS);
        pace.answered();
        pace.repeated(at(199), WAITS);
        assert_eq!(pace.at_once, 4);
        pace.repeated(at(200), WAITS);
        assert_eq!(pace.at_once, 2);
    }

    /// After a repetition, requests wait twice as long until one that was sent once is answered; then as long as answers take.
    #[test]
    fn requests_wait_as_long_as_answers_take() {
        let at = |us| LATER + Duration::from_us(us);
        let mut requests = Requests::new(Kind::Read, 0..1, (10_000, 1, 1), 10_000);
        requests.pace = Pace { at_once: 1, threshold: 1, ..Pace::FIRST };
        requests.expect(1);
        assert_eq!(sent(&mut requests, at(0)), [(0, 1, 0)]);
        assert_eq!(sent(&mut requests, at(100)), [(0, 1, 0)]);
        // An answer to a repeated request says nothing about the time that it took.
        assert!(requests.answered(0, 0, (1, 1), at(120), WAITS));
        requests.pace.at_once = 1;
        assert_eq!(sent(&mut requests, at(120)), [(1, 1, 0)]);
        assert_eq!(requests.deadline(), Some(at(320)));
        assert!(requests.answered(0, 1, (1, 1), at(240), WAITS));
        requests.pace.at_once = 1;
        assert_eq!(sent(&mut requests, at(240)), [(2, 1, 0)]);
        // 120 us, and four times the deviation of 60 us.
        assert_eq!(requests.deadline(), Some(at(240 + 360)));
    }
}
