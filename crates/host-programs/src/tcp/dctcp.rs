//! The share of segments that met congestion, as DCTCP estimates it (RFC 8257, section 3.3).
//!
//! ```text
//! M     = segments acknowledged with an echo of ECN / segments acknowledged     in a round trip
//! alpha = (1 - g) alpha + g M                                                   g = 1/16, alpha = 1 at the start
//! window after an echo = window (1 - alpha/2)
//! ```

use super::window::share;

/// alpha in parts of this.
const ONE: u64 = 1 << 32;
/// g = 2^-GAIN.
const GAIN: u32 = 4;

/// The running estimate alpha.
#[derive(Clone, Debug)]
pub(super) struct Marked {
    alpha: u64,
}

impl Default for Marked {
    /// All segments count as marked before any has been acknowledged.
    fn default() -> Marked {
        Marked { alpha: ONE }
    }
}

impl Marked {
    /// Adds a round trip in which `echoed` of `acknowledged` segments were marked.
    pub fn add(&mut self, echoed: u32, acknowledged: u32) {
        if acknowledged > 0 {
            let now = share(ONE, u64::from(echoed.min(acknowledged)), acknowledged.into());
            self.alpha = self.alpha - (self.alpha >> GAIN) + (now >> GAIN);
        }
    }

    /// The part of a window that an echo takes away: alpha / 2.
    pub fn reduction(&self, window: u64) -> u64 {
        share(window, self.alpha, 2 * ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_the_rfc_s() {
        let mut marked = Marked::default();
        let mut alpha = 1f64;
        let mut rng = base_time::Rng::new(2);
        for _ in 0..1000 {
            let acknowledged = 1 + rng.below(40) as u32;
            let echoed = rng.below(u64::from(acknowledged) + 1) as u32;
            marked.add(echoed, acknowledged);
            alpha = alpha * 15.0 / 16.0 + f64::from(echoed) / f64::from(acknowledged) / 16.0;
            let window = 1 << 40;
            let wanted = alpha / 2.0 * window as f64;
            assert!((marked.reduction(window) as f64 - wanted).abs() < 1e-7 * window as f64);
        }
        // Nothing acknowledged says nothing, and without marks alpha goes to 0.
        let before = marked.reduction(1 << 40);
        marked.add(0, 0);
        assert_eq!(marked.reduction(1 << 40), before);
        (0..500).for_each(|_| marked.add(0, 1));
        assert!(marked.reduction(1 << 20) == 0);
        // All marked: half of the window.
        (0..500).for_each(|_| marked.add(7, 7));
        assert!(marked.reduction(1 << 20) >= (1 << 19) - 1);
    }
}
