//! Rates of a source: one for each link that has marked its packets, divided among its pairs.
//!
//! ```text
//! link in a period   rate := rate + weight STEP - rate alpha / 2     (second term only after marks or losses)
//!                    alpha := 15/16 alpha + 1/16 (marked and lost packets / all packets)
//! pairs              max-min fair within the rates of their links, at most the rate that each wishes
//! ```
//!
//! The increase is proportional to the weight, the decrease to the rate, and all sources of a link see marks alike; so rates become
//! proportional to weights, whatever number of pairs a source has.

/// First rate of a source with weight 1. All rates are in bits per second.
const FIRST: u64 = 10_000_000;
/// Increase in a period for weight 1.
const STEP: u64 = 2_000_000;
/// The least rate on a link.
const LEAST: u64 = 1_000_000;
/// alpha in parts of this.
const ONE: u64 = 1 << 32;
/// alpha takes 2^-GAIN of each period's share.
const GAIN: u32 = 4;

/// A receiver's counts of a period.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Feedback {
    /// Packets that came.
    pub received: u32,
    /// Packets that later ones overtook.
    pub lost: u32,
    /// Links that marked packets, and how many.
    pub marks: Vec<(u8, u32)>,
}

/// A source with all its pairs.
#[derive(Debug)]
pub(super) struct Source {
    weight: u64,
    /// The rate that each pair wishes.
    wish: u64,
    pairs: Vec<Pair>,
    links: Vec<Link>,
}

#[derive(Debug)]
struct Pair {
    rate: u64,
    /// Links that have marked its packets, one bit each; none: the rate doubles with each feedback.
    links: u64,
    is_active: bool,
}

#[derive(Debug)]
struct Link {
    number: u8,
    rate: u64,
    alpha: u64,
    /// Packets of this period, and of these those marked by this link or lost.
    packets: u64,
    congested: u64,
}

impl Pair {
    fn is_on(&self, link: u8) -> bool {
        self.links >> (link & 63) & 1 == 1
    }
}

impl Source {
    /// A source with so many pairs that share its first rate.
    pub fn new(weight: u32, wish: u64, pairs: usize) -> Source {
        let weight = u64::from(weight);
        let first = (weight * FIRST / pairs.max(1) as u64).clamp(1, wish.max(1));
        let pair = || Pair { rate: first, links: 0, is_active: true };
        Source { weight, wish: wish.max(1), pairs: (0..pairs).map(|_| pair()).collect(), links: vec![] }
    }

    /// The rate of a pair.
    pub fn rate(&self, pair: usize) -> u64 {
        self.pairs.get(pair).map_or(LEAST, |pair| pair.rate)
    }

    /// A pair has sent its last packet: the others divide the rates.
    pub fn end(&mut self, pair: usize) {
        if let Some(own) = self.pairs.get_mut(pair) {
            own.is_active = false;
        }
        self.divide();
    }

    /// The receiver of a pair has reported a period.
    pub fn heard(&mut self, pair: usize, feedback: &Feedback) {
        let Some(own) = self.pairs.get_mut(pair) else { return };
        let is_new = |link: &u8| !own.is_on(*link);
        let new: Vec<u8> = feedback.marks.iter().map(|(link, _)| link & 63).filter(is_new).collect();
        for number in new {
            own.links |= 1 << number;
            match self.links.iter_mut().find(|link| link.number == number) {
                Some(link) => link.rate = link.rate.saturating_add(own.rate),
                None => {
                    let rate = own.rate;
                    self.links.push(Link { number, rate, alpha: ONE, packets: 0, congested: 0 });
                }
            }
        }
        if own.links == 0 {
            let rate = if feedback.lost > 0 { own.rate / 2 } else { own.rate.saturating_mul(2) };
            own.rate = rate.max(LEAST).min(self.wish);
        }
        for link in self.links.iter_mut().filter(|link| own.is_on(link.number)) {
            let marks = feedback.marks.iter().filter(|(number, _)| number & 63 == link.number);
            let marked: u64 = marks.map(|(_, count)| u64::from(*count)).sum();
            link.packets += u64::from(feedback.received) + u64::from(feedback.lost);
            link.congested += u64::from(feedback.lost) + marked;
        }
    }

    /// Nothing has been heard of a pair's packets for long: its rate is halved, and those of its links.
    pub fn silent(&mut self, pair: usize) {
        let Some(own) = self.pairs.get_mut(pair) else { return };
        own.rate = (own.rate / 2).max(LEAST).min(self.wish);
        for link in self.links.iter_mut().filter(|link| own.is_on(link.number)) {
            link.rate = (link.rate / 2).max(LEAST);
        }
        self.divide();
    }

    /// A period ends.
    pub fn end_period(&mut self) {
        for link in &mut self.links {
            let own = self.pairs.iter().filter(|pair| pair.is_active && pair.is_on(link.number));
            let used = own.fold(0, |sum: u64, pair| sum.saturating_add(pair.rate));
            link.end_period(self.weight, used);
        }
        self.divide();
    }

    /// Divides the rates of links among active pairs: the pairs of the link with the least share get that, and the others what is left.
    fn divide(&mut self) {
        let mut open: Vec<&mut Pair> =
            self.pairs.iter_mut().filter(|pair| pair.is_active && pair.links != 0).collect();
        let mut left: Vec<(u8, u64)> = self.links.iter().map(|link| (link.number, link.rate)).collect();
        while !open.is_empty() {
            let share = |(number, rate): &(u8, u64)| {
                let pairs = open.iter().filter(|pair| pair.is_on(*number)).count() as u64;
                rate.checked_div(pairs).map(|share| (share, *number))
            };
            let least = left.iter().filter_map(share).min();
            let (share, on) = match least {
                Some((share, number)) if share < self.wish => (share, Some(number)),
                _ => (self.wish, None),
            };
            let (done, rest): (Vec<_>, Vec<_>) =
                open.into_iter().partition(|pair| on.is_none_or(|number| pair.is_on(number)));
            open = rest;
            for pair in done {
                pair.rate = share.max(1);
                for (_, rate) in left.iter_mut().filter(|(number, _)| pair.is_on(*number)) {
                    *rate = rate.saturating_sub(share);
                }
            }
        }
    }
}

impl Link {
    /// `used`: the sum of the rates of the pairs; a source that uses less than half of its rate does not raise it.
    fn end_period(&mut self, weight: u64, used: u64) {
        if self.packets == 0 {
            return;
        }
        let share = u128::from(ONE) * u128::from(self.congested.min(self.packets)) / u128::from(self.packets);
        self.alpha = self.alpha - (self.alpha >> GAIN) + (share >> GAIN) as u64;
        let less = match self.congested {
            0 => 0,
            _ => (u128::from(self.rate) * u128::from(self.alpha) / u128::from(2 * ONE)) as u64,
        };
        let most = used.saturating_mul(2).max(LEAST);
        self.rate = self.rate.saturating_add(weight * STEP).saturating_sub(less).clamp(LEAST, most);
        (self.packets, self.congested) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::Rng;

    fn marked(received: u32, link: u8, count: u32) -> Feedback {
        Feedback { received, lost: 0, marks: vec![(link, count)] }
    }

    #[test]
    fn rates_double_until_the_first_mark() {
        let mut source = Source::new(3, 100_000_000, 2);
        assert_eq!(source.rate(0), 15_000_000);
        source.heard(0, &Feedback { received: 5, ..Feedback::default() });
        source.heard(1, &Feedback { received: 5, lost: 1, marks: vec![] });
        assert_eq!([0, 1].map(|pair| source.rate(pair)), [30_000_000, 7_500_000]);
        (0..9).for_each(|_| source.heard(0, &Feedback { received: 5, ..Feedback::default() }));
        assert_eq!(source.rate(0), 100_000_000);
        // The link begins with the rates of its pairs, and each new pair adds its own.
        source.heard(0, &marked(10, 1, 0));
        source.heard(1, &marked(10, 1, 10));
        assert_eq!(source.links[0].rate, 107_500_000);
    }

    /// Rate and alpha of a link beside the formulas in floating point.
    #[test]
    fn a_link_follows_the_formulas() {
        let mut source = Source::new(3, 1 << 40, 1);
        source.heard(0, &marked(1, 7, 1));
        source.end_period();
        let (mut rate, mut alpha) = (source.links[0].rate as f64, 1f64);
        let mut rng = Rng::new(5);
        for _ in 0..2000 {
            let received = 1 + rng.below(50) as u32;
            let count = if rng.chance(1, 3) { rng.below(u64::from(received) + 1) as u32 } else { 0 };
            let lost = u32::from(rng.chance(1, 20));
            source.heard(0, &Feedback { received, lost, marks: vec![(7, count)] });
            source.end_period();
            alpha += (f64::from(count + lost) / f64::from(received + lost) - alpha) / 16.0;
            let less = if count + lost > 0 { rate * alpha / 2.0 } else { 0.0 };
            rate = (rate + 6e6 - less).max(1e6);
            let found = source.links[0].rate as f64;
            assert!((found / rate - 1.0).abs() < 1e-4, "{found} {rate}");
        }
    }

    #[test]
    fn a_rate_that_is_not_used_does_not_grow() {
        let mut source = Source::new(1, 20_000_000, 2);
        for pair in 0..2 {
            source.heard(pair, &marked(1, 1, 0));
        }
        for _ in 0..1000 {
            source.heard(0, &marked(1, 1, 0));
            source.end_period();
        }
        assert_eq!(
            (source.links[0].rate, source.rate(0), source.rate(1)),
            (80_000_000, 20_000_000, 20_000_000)
        );
        // One has ended.
        source.end(0);
        source.heard(1, &marked(1, 1, 0));
        source.end_period();
        assert_eq!(source.links[0].rate, 40_000_000);
        source.silent(1);
        assert_eq!((source.links[0].rate, source.rate(1)), (20_000_000, 20_000_000));
        source.silent(1);
        assert_eq!(source.rate(1), 10_000_000);
    }

    /// Max-min fairness: no link is exceeded, and each pair has its wish, or is on a full link of which no pair has more.
    #[test]
    fn pairs_divide_the_rates_of_links() {
        let mut rng = Rng::new(9);
        for _ in 0..3000 {
            let pairs = 1 + rng.index(8);
            let mut source = Source::new(1, 1 + rng.below(1000), pairs);
            source.links = (0..1 + rng.below(5) as u8)
                .map(|number| Link { number, rate: 1 + rng.below(3000), alpha: 0, packets: 0, congested: 0 })
                .collect();
            let links = source.links.len() as u64;
            for pair in &mut source.pairs {
                pair.links = rng.below(1 << links);
                pair.is_active = rng.chance(4, 5);
                pair.rate = 0;
            }
            source.divide();
            let on = |link: &Link| {
                let number = link.number;
                source.pairs.iter().filter(move |pair| pair.is_on(number) && pair.is_active)
            };
            for pair in source.pairs.iter().filter(|pair| pair.links != 0 && pair.is_active) {
                let is_held = |link: &&Link| {
                    let rates: Vec<u64> = on(link).map(|pair| pair.rate).collect();
                    let slack = rates.len() as u64;
                    let sum: u64 = rates.iter().sum();
                    assert!(sum <= link.rate + slack, "{source:?}");
                    pair.is_on(link.number)
                        && sum + slack >= link.rate
                        && rates.iter().all(|rate| *rate <= pair.rate + slack)
                };
                let held = source.links.iter().filter(is_held).count();
                assert!(pair.rate == source.wish || held > 0, "{pair:?} of {source:?}");
            }
            assert!(source.pairs.iter().all(|pair| pair.rate == 0 || pair.is_active));
        }
    }

    /// A link of 1 Gbit/s that marks whatever comes while its queue is long, and sources with other weights and numbers of pairs.
    #[test]
    fn shares_are_proportional_to_weights() {
        let (mut sources, weights) = (vec![], [1u32, 2, 1, 5]);
        for (weight, pairs) in weights.into_iter().zip([1, 1, 7, 3]) {
            sources.push((Source::new(weight, 900_000_000, pairs), pairs));
        }
        let (mut queue, mut sums) = (0f64, [0f64; 4]);
        for period in 0..4000 {
            let total: u64 = sources
                .iter()
                .map(|(source, pairs)| (0..*pairs).map(|pair| source.rate(pair)).sum::<u64>())
                .sum();
            queue = (queue + (total as f64 - 1e9) / 1000.0 / 12_000.0).clamp(0.0, 256.0);
            for ((source, pairs), sum) in sources.iter_mut().zip(&mut sums) {
                for pair in 0..*pairs {
                    let packets = (source.rate(pair) / 12_000_000).max(1) as u32;
                    let count = if queue > 20.0 { packets } else { 0 };
                    let marks = Some((1, count)).filter(|_| count > 0).into_iter().collect();
                    source.heard(pair, &Feedback { received: packets, lost: 0, marks });
                    *sum += if period < 2000 { 0.0 } else { source.rate(pair) as f64 / 2000.0 };
                }
                source.end_period();
            }
        }
        let total: f64 = sums.iter().sum();
        assert!(total > 0.9e9 && total < 1.02e9, "{sums:?}");
        for (sum, weight) in sums.into_iter().zip(weights) {
            let wanted = f64::from(weight) / 9.0;
            assert!((sum / total / wanted - 1.0).abs() < 0.03, "{sums:?}");
        }
    }
}
