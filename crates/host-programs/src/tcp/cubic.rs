//! Growth of the congestion window: CUBIC (RFC 9438), as in Linux.
//!
//! After a loss the window is multiplied by 0.7. From there it grows as a cubic function of time, quickly at first,
//! slowly near its value before the loss, then beyond:
//!
//! ```text
//! W(t) = C (t - K)³ + W_max        C = 0.4 segments/s³, K = cbrt((W_max - W(0)) / C)
//! ```
//!
//! If 9/17 of a segment each round trip gives a larger window, that is used; it takes as much of a link as the classic
//! window of RFC 5681. In racks round trips are so short that this second rule decides. Before the first loss the
//! window doubles each round trip.

use super::window::share;
use base_time::{Duration, Time};

/// The state of CUBIC beside the window.
#[derive(Clone, Debug)]
pub(super) struct Cubic {
    /// Segment size. This and the following sizes are in fractions of a byte.
    mss: u64,
    /// The window before the last loss; of one that came before the window was back, less.
    most: u64,
    /// Since when it grows from there, and the time until it is `most`; none until something is acknowledged after a loss.
    growth: Option<Growth>,
}

#[derive(Clone, Copy, Debug)]
struct Growth {
    since: Time,
    until_most: Duration,
    /// The window of RFC 5681 in its place.
    classic: u64,
    /// The window before the loss.
    before: u64,
}

impl Cubic {
    /// For segments of `mss` fractions of a byte.
    pub fn new(mss: u64) -> Cubic {
        Cubic { mss, most: 0, growth: None }
    }

    /// The next window after `left` of a fully used `window` were acknowledged beyond slow start; `trip` is the round-trip time.
    pub fn grow(&mut self, window: u64, left: u64, trip: Duration, now: Time) -> u64 {
        let (mss, most) = (self.mss, self.most);
        let growth = self.growth.get_or_insert_with(|| Growth {
            since: now,
            until_most: time_for(most.saturating_sub(window), mss),
            classic: window,
            before: most,
        });
        // Grows like RFC 5681 once the window has its former size.
        let (part, whole) = if growth.classic < growth.before { (9, 17) } else { (1, 1) };
        growth.classic += share(left, mss * part, window * whole);
        let at = |time: Duration| cubic(time, growth.until_most, most.max(window_at(window, most)), mss);
        let since = now.since(growth.since);
        if at(since) <= growth.classic {
            return window.max(growth.classic);
        }
        let target = at(since + trip).clamp(window, window + window / 2);
        window + share(left, target - window, window)
    }

    /// The next window after a loss while `used` was in flight.
    pub fn shrink(&mut self, used: u64) -> u64 {
        // A window that did not reach its former maximum leaves room for others: fast convergence (RFC 9438 §4.7).
        self.most = if used < self.most { share(used, 17, 20) } else { used };
        self.growth = None;
        share(used, 7, 10)
    }

    /// The window begins again after a timeout.
    pub fn restart(&mut self) {
        self.growth = None;
    }
}

/// After slow start without a loss there is no window from before: the cubic function begins at the present one.
fn window_at(window: u64, most: u64) -> u64 {
    if most == 0 { window } else { 0 }
}

/// K of RFC 9438: the time that the cubic function takes to grow by this amount.
fn time_for(less: u64, mss: u64) -> Duration {
    // cbrt(segments / 0.4) seconds, in microseconds.
    let cubed = u128::from(less) * 5 * 1_000_000_000_000_000_000 / (2 * u128::from(mss.max(1)));
    Duration::from_us(cube_root(cubed))
}

/// W(t).
fn cubic(time: Duration, until_most: Duration, most: u64, mss: u64) -> u64 {
    let (time, until) = (time.as_us().min(1 << 32), until_most.as_us().min(1 << 32));
    let cubed = u128::from(time.abs_diff(until)).pow(3);
    let by = cubed * 2 / 5 * u128::from(mss) / 1_000_000_000_000_000_000;
    let by = u64::try_from(by).unwrap_or(u64::MAX);
    if time < until { most.saturating_sub(by) } else { most.saturating_add(by) }
}

/// The greatest integer whose cube is not above `value`.
fn cube_root(value: u128) -> u64 {
    let (mut low, mut high) = (0u64, 1 << 42);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match u128::from(middle).pow(3) <= value {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::window::{Congestion, Window};
    use super::*;

    const MSS: u32 = 1000;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// The window after each of some round trips in which all of it was acknowledged.
    fn grown(window: &mut Window, trip_ms: u64, from: u64, trips: u64) -> Vec<u64> {
        let each = (1..=trips).map(|n| {
            for _ in 0..window.segments() {
                window.grow(1, Duration::from_ms(trip_ms), at(from + n * trip_ms));
            }
            window.segments()
        });
        each.collect()
    }

    #[test]
    fn it_doubles_until_the_first_loss() {
        let mut window = Window::new(MSS, Congestion::Cubic);
        assert!(window.has_room(9) && !window.has_room(10));
        assert_eq!(grown(&mut window, 1, 0, 3), [20, 40, 80]);
        window.shrink(80);
        assert_eq!(window.segments(), 56);
        // One that was not used up is not the measure.
        window.shrink(10);
        assert_eq!(window.segments(), 7);
        window.shrink(1);
        assert_eq!(window.segments(), 2);
    }

    #[test]
    fn with_short_round_trips_it_grows_by_half_a_segment_and_then_by_one() {
        let mut window = Window::new(MSS, Congestion::Cubic);
        grown(&mut window, 1, 0, 1);
        window.shrink(20);
        // 14 to 20 take 11 or 12 round trips of 9/17 of a segment.
        let back = grown(&mut window, 1, 100, 30);
        let steps = back.iter().position(|segments| *segments == 20).unwrap();
        assert!((10..=12).contains(&steps), "{back:?}");
        assert!(back[29] >= 34, "{back:?}");
    }

    #[test]
    fn with_long_round_trips_it_follows_the_cubic_function() {
        let mut window = Window::new(MSS, Congestion::Cubic);
        grown(&mut window, 100, 0, 7);
        assert_eq!(window.segments(), 1280);
        window.shrink(1280);
        // K = cbrt(384 / 0.4) = 9.86 s: there it is as before, and a second later hardly more.
        let back = grown(&mut window, 100, 1000, 200);
        assert!((1265..=1281).contains(&back[98]), "{back:?}");
        assert!(back[108] - back[88] < 6, "{back:?}");
        // W(2 K) = W_max + 384.
        assert!((1640..=1680).contains(&back[197]), "{back:?}");
        // It is slower than RFC 5681's would be at no time.
        assert!(back[10] > 896 + 5, "{back:?}");
    }

    #[test]
    fn a_timeout_begins_again_with_one_segment() {
        let mut window = Window::new(MSS, Congestion::Cubic);
        grown(&mut window, 1, 0, 2);
        window.collapse(40, true);
        assert_eq!(window.segments(), 1);
        window.collapse(1, false);
        // Slow start up to 28, then slowly.
        let back = grown(&mut window, 1, 100, 7);
        assert_eq!(back[..4], [2, 4, 8, 16]);
        assert!((28..=32).contains(&back[6]), "{back:?}");
    }

    #[test]
    fn cube_roots_are_exact() {
        assert_eq!([0, 1, 7, 8].map(cube_root), [0, 1, 1, 2]);
        for root in [2, 1000, 9_864_848, 1 << 41] {
            let cube = u128::from(root).pow(3);
            assert_eq!([cube - 1, cube, cube + 1].map(cube_root), [root - 1, root, root]);
        }
        assert_eq!(
            time_for(u64::MAX, 1),
            Duration::from_us(cube_root(u128::from(u64::MAX) * 5 * 500_000_000_000_000_000))
        );
    }
}
