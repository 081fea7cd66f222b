//! FlexSwitch's Fig. 4: parameters that are evaluated at staggered moments need no division.

use base_diag::SourceMap;
use base_time::{Rng, Time};
use compiler::{Until, compile};
use device::{Options, Switch};
use device_classes::DeviceClass;
use p4_arch::Texts;
use p4_blocks::Form;
use p4_syntax::{LoadError, Loader};
use std::sync::Arc;

/// The program, and the blocks that it includes.
struct Files;

impl Loader for Files {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        Texts(&[("figure4.p4", include_str!("figure4.p4"))]).read(path)
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name)
            .map(Arc::from)
            .or_else(|| p4_blocks::include(name, Form::Approximate).map(Arc::from))
    }
}

fn program() -> Arc<ir::Program> {
    let options = p4_syntax::Options::default();
    let compiled = compile("figure4.p4", &Files, &options, Until::Elaborated, &mut SourceMap::new());
    compiled.program.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics))
}

/// Fields of a packet that leaves.
struct Seen {
    now: u64,
    weight: u64,
    phi: u64,
    xi: u64,
    /// The sum at an evaluation of xi; 0 elsewhere.
    reached: u64,
    shift: u64,
    ends: bool,
}

/// A packet every 16 units of time on average, of weights 10 to 50: about 1,900 in an interval of 1,024.
fn run(switch: &mut Switch) -> Vec<Seen> {
    let (mut rng, mut now) = (Rng::new(1), 5_000u32);
    let mut one = |_| {
        now += rng.between(1, 31) as u32;
        let (weight, spare) = (rng.between(10, 50) as u32, rng.between(1 << 20, 1 << 30) as u32);
        let frame = [now, weight, spare].map(u32::to_be_bytes).concat();
        let sent = switch.process(1, &frame, Time::ZERO);
        let frame = &sent.first().expect("a packet").frame;
        let number = |from: usize, to: usize| {
            frame[from..to].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        Seen {
            now: now.into(),
            weight: weight.into(),
            phi: number(0, 4),
            xi: number(4, 8),
            reached: number(8, 12),
            shift: number(12, 13),
            ends: number(13, 14) == 1,
        }
    };
    (0..20_000).map(&mut one).collect()
}

#[test]
fn a_limited_switch_runs_it() {
    let found = ir_limits::check(&program(), DeviceClass::FlexSwitch);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn parameters_are_evaluated_at_moments_of_their_own() {
    let mut switch = ir_interp::switch(program(), Options::default()).expect("it runs");
    let seen = run(&mut switch);
    let later = &seen[200..];
    // phi changes with an interval, and only then.
    for pair in later.windows(2) {
        let is_next = pair[0].now >> 10 != pair[1].now >> 10;
        assert_eq!((pair[1].ends, pair[0].phi != pair[1].phi), (is_next, is_next), "at {}", pair[1].now);
    }
    // xi changes when the sum has reached a power of two: once or twice in an interval, nearly never at its end.
    let evaluations: Vec<&Seen> = later.iter().filter(|packet| packet.reached > 0).collect();
    let intervals = later.iter().filter(|packet| packet.ends).count();
    assert!((intervals..=2 * intervals).contains(&evaluations.len()), "{} in {intervals}", evaluations.len());
    let together = evaluations.iter().filter(|packet| packet.ends).count();
    assert!(20 * together < evaluations.len(), "{together} of {}", evaluations.len());
    assert!(later.windows(2).all(|pair| pair[1].reached > 0 || pair[0].xi == pair[1].xi));
}

/// At an evaluation, the shift is the division by the sum, but for the last packet's weight. At the end of an interval, a shift would be wrong by up to a half.
#[test]
fn the_shift_is_the_division() {
    let mut switch = ir_interp::switch(program(), Options::default()).expect("it runs");
    let seen = run(&mut switch);
    let (mut worst, mut late) = (0.0f64, 0);
    for pair in seen[200..].windows(2) {
        let [before, packet] = pair else { continue };
        if packet.reached == 0 {
            continue;
        }
        assert_eq!(packet.xi, packet.phi >> packet.shift);
        // A lower power, of a new interval, may be exceeded at once.
        if before.shift > packet.shift {
            assert!(packet.ends, "the power changes with an interval");
            late += 1;
            continue;
        }
        let exact = packet.phi as f64 / packet.reached as f64;
        worst = worst.max((packet.xi as f64 / exact - 1.0).abs());
    }
    // 50 of 1,024.
    assert!(worst > 0.0 && worst <= 50.0 / 1024.0, "{worst}");
    assert!(late < 20, "{late}");
    // The sums of whole intervals lie anywhere between two powers.
    let (mut whole, mut total) = (0.0f64, 0u64);
    for packet in &seen[200..] {
        if packet.ends && total > 0 {
            whole = whole.max(1.0 - (1u64 << total.ilog2()) as f64 / total as f64);
            total = 0;
        }
        total += packet.weight;
    }
    assert!(whole > 0.3, "{whole}");
}
