//! Cases beyond the small numbers of the model: defaults, wrap-around, the controller's bookkeeping.

use failover::{
    Allowed, Generations, Heard, Keeper, Kept, Receiver, Report, Sender, Stamp, Target, TargetState, Targets,
    Thresholds, Verdict,
};

const LIMITS: Thresholds = Thresholds {
    ask_every: 64,
    ask_after: 10,
    patience: 20,
    most_missed: 3,
    tolerance: 16,
    most_gaps: 32,
    window: 1024,
};

fn stamp(sequence: u32) -> Stamp {
    Stamp { generation: 1, sequence, ask: false }
}

#[test]
fn defaults_are_in_range_and_notice_a_failure_within_a_tenth_of_a_thousandth_of_a_second() {
    assert_eq!(Thresholds::default(), LIMITS);
    assert_eq!(LIMITS.fault(), None);
    assert_eq!(LIMITS.detection(0), 70);
    let wrong = Thresholds { tolerance: 32, ..LIMITS };
    assert_eq!(wrong.fault(), Some("`tolerance` is from 1 to 31"));
}

#[test]
fn a_silent_target_is_left_after_three_requests_and_the_packets_go_to_the_spare() {
    let all = Targets::first(2);
    let mut sender = Sender::new(7);
    let mut left = vec![];
    // A packet every 8 us: 1 Gbit/s of 1,000 bytes.
    for n in 0..15 {
        let sent = sender.send(8 * n, all, Allowed::default(), &LIMITS).unwrap();
        left.push(sent.target.0);
    }
    let lost = left.iter().filter(|target| **target == 0).count();
    assert_eq!(left[lost..], vec![1; 15 - lost]);
    assert_eq!(lost, 9, "72 us");
    assert_eq!(sender.generation, 9);
    assert_eq!(sender.state_of(Target(0), Allowed::default()), TargetState::Failed);
}

#[test]
fn numbers_may_swap_places_within_the_tolerance() {
    let mut receiver = Receiver::default();
    for block in 0..100 {
        for n in (1..=16).rev() {
            let received = receiver.receive(stamp(16 * block + n), &LIMITS);
            assert_eq!(received.verdict, Verdict::Fresh);
        }
    }
    assert_eq!(receiver.gaps, 0);
}

#[test]
fn each_missing_number_counts_once_however_large_the_hole() {
    for hole in [1, 2, 15, 16, 17, 31, 32, 33, 1000, 40_000] {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.receive(stamp(1), &LIMITS).verdict, Verdict::Fresh);
        for n in hole + 2..hole + 2 + 20 {
            receiver.receive(stamp(n), &LIMITS);
        }
        assert_eq!(u32::from(receiver.gaps), hole, "hole of {hole}");
    }
}

#[test]
fn what_came_before_is_known_and_what_is_too_old_is_refused() {
    let mut receiver = Receiver::default();
    for n in 1..=40 {
        receiver.receive(stamp(n), &LIMITS);
    }
    assert_eq!(receiver.receive(stamp(40), &LIMITS).verdict, Verdict::Again);
    assert_eq!(receiver.receive(stamp(9), &LIMITS).verdict, Verdict::Again);
    assert_eq!(receiver.receive(stamp(8), &LIMITS).verdict, Verdict::Stale);
    let newer = Stamp { generation: 2, ..stamp(1) };
    assert_eq!(receiver.receive(newer, &LIMITS).verdict, Verdict::Fresh);
    assert_eq!(receiver.receive(stamp(41), &LIMITS).verdict, Verdict::Stale);
}

#[test]
fn numbers_wrap_around() {
    let all = Targets::first(1);
    let mut sender = Sender::new(u32::MAX);
    sender.send(0, all, Allowed::default(), &LIMITS);
    assert_eq!(sender.generation, 1, "0 says that nothing has arrived");
    let mut sender = Sender { sequence: u32::MAX - 2, asked: u32::MAX - 2, acked: u32::MAX - 2, ..sender };
    let mut receiver = Receiver { generation: 1, highest: u32::MAX - 2, seen: u32::MAX, gaps: u16::MAX };
    for n in 0..6 {
        let sent = sender.send(n, all, Allowed::default(), &LIMITS).unwrap();
        // One is lost.
        if n != 1 {
            receiver.receive(sent.stamp, &Thresholds { tolerance: 1, ..LIMITS });
        }
    }
    let Receiver { generation, highest, gaps, .. } = receiver;
    assert_eq!((highest, gaps), (3, 0));
    sender.gaps_seen = u16::MAX;
    let heard = sender.hear(Report { generation, sequence: highest, gaps }, all, Allowed::default(), &LIMITS);
    assert_eq!((heard, sender.gaps, sender.acked), (Heard::Counted, 1, 3));
}

#[test]
fn reports_of_what_was_never_sent_are_ignored() {
    let all = Targets::first(1);
    let mut sender = Sender::new(1);
    sender.send(0, all, Allowed::default(), &LIMITS);
    let before = sender;
    for (generation, sequence) in [(1, 1), (3, 1), (2, 2)] {
        let report = Report { generation, sequence, gaps: 100 };
        assert_eq!(sender.hear(report, all, Allowed::default(), &LIMITS), Heard::Ignored);
    }
    assert_eq!(sender, before);
}

#[test]
fn a_sender_without_targets_gives_none() {
    let mut sender = Sender::new(1);
    let barred = Allowed { barred: Targets::first(2), ..Allowed::default() };
    assert_eq!(sender.send(0, Targets::first(2), barred, &LIMITS), None);
    assert_eq!(sender.tick(9, Targets::first(2), barred, &LIMITS), None);
    assert!(sender.send(10, Targets::first(2), Allowed::default(), &LIMITS).is_some());
}

#[test]
fn a_keeper_forgives_by_a_reading_made_since_its_last_writing() {
    let mut keeper = Keeper::new(2, 10);
    keeper.bar(Target(0));
    // The sender fails the target before it learns that it is barred.
    keeper.read(Targets::NONE, Targets::NONE);
    keeper.state_is_right(Target(0), 0);
    keeper.release(10, Targets::NONE);
    assert_eq!(
        keeper.kept(Target(0)),
        Some(Kept::Recovering(10)),
        "a reading while a writing is open says nothing"
    );
    let barred = keeper.to_write().unwrap();
    keeper.wrote(barred);
    keeper.read(Targets::first(1), Targets::NONE);
    keeper.release(9, Targets::NONE);
    assert_eq!(keeper.to_write(), None, "the hold-down has not passed");
    keeper.release(10, Targets::NONE);
    let again = Allowed { forgiven: Targets::first(1), ..Allowed::default() };
    assert_eq!(keeper.to_write(), Some(again));
}

#[test]
fn a_keeper_that_takes_over_keeps_out_what_is_barred() {
    let barred = Allowed { forgiven: Targets::first(1), barred: Targets(2), ..Allowed::default() };
    let mut keeper = Keeper::adopt(3, 10, barred);
    keeper.read(Targets(4 | 1), Targets::NONE);
    let kept = [0, 1, 2].map(|n| keeper.kept(Target(n)).unwrap());
    assert_eq!(kept, [Kept::Usable, Kept::Out, Kept::Out]);
    assert_eq!(keeper.restart(), Allowed { barred: Targets(2 | 4), ..Allowed::default() });
}

#[test]
fn a_target_that_fails_again_soon_waits_twice_as_long() {
    let mut keeper = Keeper::new(2, 10);
    let mut failed = Targets::NONE;
    let mut now = 0;
    let mut fail = |keeper: &mut Keeper, now: u64| {
        failed = failed ^ Targets::first(1);
        keeper.read(failed, Targets::NONE);
        assert_eq!(keeper.out().collect::<Vec<_>>(), [Target(0)]);
        keeper.state_is_right(Target(0), now);
        let until = keeper.next_release(Targets::NONE).expect("it recovers");
        keeper.release(until, Targets::NONE);
        keeper.wrote(keeper.to_write().expect("it is forgiven"));
        until
    };
    for wait in [10, 20, 40, 80] {
        let until = fail(&mut keeper, now);
        assert_eq!(until - now, wait);
        now = until + 3 * wait;
    }
    for _ in 0..20 {
        now = fail(&mut keeper, now);
    }
    assert_eq!(fail(&mut keeper, now) - now, 10 << 10, "there is a longest hold-down");
    let late = now + (10 << 10) * 6;
    assert_eq!(fail(&mut keeper, late) - late, 10, "it was right for long");
}

#[test]
fn what_an_operator_keeps_out_comes_back_by_him_alone() {
    let mut keeper = Keeper::new(2, 10);
    keeper.hold(Target(0));
    keeper.bar(Target(0));
    keeper.wrote(keeper.to_write().expect("it is barred"));
    keeper.read(Targets::NONE, Targets::NONE);
    keeper.state_is_right(Target(0), 0);
    assert_eq!((keeper.kept(Target(0)), keeper.next_release(Targets::NONE)), (Some(Kept::Held), None));
    keeper.let_go(Target(0));
    keeper.let_go(Target(1));
    assert_eq!(keeper.out().collect::<Vec<_>>(), [Target(0)]);
    keeper.state_is_right(Target(0), 0);
    keeper.release(10, Targets::NONE);
    assert_eq!(keeper.to_write(), Some(Allowed::default()));
}

#[test]
fn generations_of_a_sender_that_restarts_are_after_all_earlier_ones() {
    let mut known = Generations::default();
    let first = known.next(1_700_000_000);
    assert_eq!(first, 1_700_000_000);
    known.read(first + 3);
    let second = known.next(1_700_000_001);
    assert!(second > first + 3, "within a second");
    known.read(first);
    assert!(known.next(0) > second, "an old reading, and a clock that was set back");
    assert!(Generations::default().next(5) > 0);
}
