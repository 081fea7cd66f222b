//! Random calls and ticks against an exact model on the host, which keeps no state but the history.

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use dataplane_api::{Emitted, Emitter, FrameExtern, Registry, ResumeAt};

#[derive(Clone, Debug)]
enum Event {
    Call(Vec<u8>, Time),
    Tick(Time),
}

/// The model: the results of the last event of `history`, computed from the whole history.
fn expected(every: u32, idle_us: u64, history: &[Event]) -> Vec<Emitted> {
    let fresh =
        |frame: &[u8]| Emitted { frame: frame.to_vec(), resume: ResumeAt::AfterCall, carries_on: false };
    let calls = history.iter().filter(|e| matches!(e, Event::Call(..))).count();
    match history.last() {
        None => vec![],
        Some(Event::Call(frame, _)) => {
            let mut emitted = vec![Emitted { carries_on: true, ..fresh(frame) }];
            if every > 0 && calls % every as usize == 0 {
                emitted.push(fresh(frame));
            }
            emitted
        }
        Some(Event::Tick(now)) => match deadline(idle_us, &history[..history.len() - 1]) {
            Some((deadline, frame)) if deadline <= *now => vec![fresh(&frame)],
            _ => vec![],
        },
    }
}

/// The model: when the timer ends after `history`, and with which frame.
fn deadline(idle_us: u64, history: &[Event]) -> Option<(Time, Vec<u8>)> {
    let at = history.iter().rposition(|e| matches!(e, Event::Call(..)))?;
    let Event::Call(frame, called) = &history[at] else { return None };
    let end = *called + Duration::from_us(idle_us);
    let rung = history[at..].iter().any(|e| matches!(e, Event::Tick(now) if *now >= end));
    (idle_us > 0 && !rung).then(|| (end, frame.clone()))
}

fn random_event(rng: &mut Rng, now: Time) -> Event {
    if rng.chance(2, 3) {
        let length = rng.index(20);
        Event::Call(rng.bytes(length), now)
    } else {
        Event::Tick(now)
    }
}

#[test]
fn random_histories_give_what_the_model_says() {
    let mut registry = Registry::default();
    netfn_beacon::register(&mut registry);
    let factory = registry.get("beacon").unwrap();
    let (mut copies, mut rings, mut moves) = (0, 0, 0);
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let (every, idle_us) = (rng.below(6) as u32, rng.below(8));
        let make = || factory(&[Bits::new(32, every.into()), Bits::new(48, idle_us.into())]).unwrap();
        let mut beacon: Box<dyn FrameExtern> = make();
        let (mut history, mut now, mut out) = (vec![], Time::ZERO, Emitter::default());
        for _ in 0..60 {
            now += Duration::from_us(rng.below(6));
            let event = random_event(&mut rng, now);
            history.push(event.clone());
            match event {
                Event::Call(frame, at) => beacon.call("process", &[], &frame, at, &mut out),
                Event::Tick(at) => beacon.tick(at, &mut out),
            }
            let emitted = out.take();
            assert_eq!(emitted.to_vec(), expected(every, idle_us, &history), "seed {seed}: {history:?}");
            assert_eq!(beacon.deadline(), deadline(idle_us, &history).map(|d| d.0), "seed {seed}");
            copies += usize::from(emitted.len() == 2);
            rings += usize::from(emitted.len() == 1 && !emitted[0].carries_on);
            if rng.chance(1, 8) {
                let bytes = beacon.snapshot();
                beacon = make();
                beacon.restore(&bytes).unwrap();
                assert_eq!(beacon.snapshot(), bytes);
                moves += 1;
            }
        }
    }
    assert!(copies > 1000 && rings > 500 && moves > 1000, "{copies} copies, {rings} rings, {moves} moves");
}
