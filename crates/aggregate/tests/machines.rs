//! Mappers, the reducer and the switch's model in virtual time, with an adversary between them: packets are lost, doubled and
//! overtaken; the switch and the mappers restart. Results equal a serial fold.

use crate::adversary::{Disturbance, World};
use aggregate::packet::{DIRECT, LAST, MOST_ATTEMPT};
use aggregate::reducer::{self, Reducer, To, Trouble};
use aggregate::{Kind, Layout, Op, Packet, Pair, Place, Switch};
use base_time::{Duration, Rng, Time};
use std::collections::BTreeMap;

/// Few slots, so that many pairs collide.
const SMALL: Layout = Layout { lanes: 4, tag_bits: 32, index_bits: 2, window: 4, evict: false };

#[test]
fn results_are_exact_whatever_happens_to_packets() {
    for seed in features::seeds(150, 3000) {
        let mut rng = Rng::new(seed);
        let window = *rng.pick(&[1, 4, 16, 256]).expect("there are some");
        let op = *rng.pick(&Op::ALL).expect("there are some");
        let layout = Layout { window, evict: rng.next_bool(), ..SMALL };
        let mut world = World::new(layout, op, 3, 200, rng.between(1, 4) as u32, &mut rng);
        world.banks(rng.between(1, 2) as u8);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

/// Full rows of 24 lanes: an answer has room for five, so that a request for 32 rows has several answers, some of which are lost, overtaken, or come without their pairs.
#[test]
fn results_are_exact_whatever_happens_to_the_answers_of_a_request() {
    for seed in features::seeds(40, 1500) {
        let mut rng = Rng::new(seed);
        let evict = rng.next_bool();
        let layout = Layout { lanes: 24, index_bits: rng.between(3, 5) as u8, window: 16, evict, ..SMALL };
        let mut world = World::new(layout, Op::Add, 3, rng.between(200, 1200) as u32, 3, &mut rng);
        world.banks(rng.between(1, 2) as u8);
        let disturbance = Disturbance { trimming: 50_000, ..Disturbance::some(&mut rng) };
        world.run(disturbance).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

/// Headers of packets whose pairs a full queue has cut off lead to repetitions, and to nothing else.
#[test]
fn results_are_exact_whatever_full_queues_cut_off() {
    let mut trimmed = 0;
    for seed in features::seeds(150, 3000) {
        let mut rng = Rng::new(seed);
        let window = *rng.pick(&[1, 4, 16, 256]).expect("there are some");
        let layout = Layout { window, evict: rng.next_bool(), ..SMALL };
        let mut world = World::new(layout, Op::Add, 3, 200, rng.between(1, 4) as u32, &mut rng);
        match rng.below(3) {
            0 => world.model_tree(2),
            1 => world.switches(0),
            _ => {}
        }
        let trimming = rng.below(500_001) as u32;
        let disturbance = Disturbance { trimming, ..Disturbance::some(&mut rng) };
        world.run(disturbance).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        trimmed += world.reducer.counts().trimmed;
    }
    assert!(trimmed > 1000, "{trimmed}");
}

/// The switch restarts once, at each event in turn. Returns the number of events without a restart.
fn restarts_cost_only_time(world: impl Fn() -> World) -> usize {
    let calm = world().run(Disturbance::default()).expect("nothing happens");
    for at in 0..calm {
        let disturbance = Disturbance { restarts: vec![at], ..Disturbance::default() };
        world().run(disturbance).unwrap_or_else(|what| panic!("restart at {at}: {what}"));
    }
    calm
}

#[test]
fn a_restart_of_the_switch_at_any_event_costs_nothing_but_time() {
    let world = || World::new(SMALL, Op::Add, 2, 24, 2, &mut Rng::new(7));
    let calm = restarts_cost_only_time(world);
    assert!(calm > 60, "{calm} events");
}

/// With one bank, generations are the rounds and those that were thrown away.
#[test]
fn a_restart_throws_away_only_rounds_that_are_not_committed() {
    let world = || {
        let mut world = World::new(SMALL, Op::Add, 2, 24, 2, &mut Rng::new(7));
        world.banks(1);
        world
    };
    let calm = world().run(Disturbance::default()).expect("nothing happens");
    let mut doomed = 0;
    for at in 0..calm {
        let mut world = world();
        let disturbance = Disturbance { restarts: vec![at], ..Disturbance::default() };
        world.run(disturbance).unwrap_or_else(|what| panic!("restart at {at}: {what}"));
        let counts = world.reducer.counts();
        let attempts = world.reducer.generation() & MOST_ATTEMPT;
        assert_eq!(u64::from(attempts), 2 + counts.doomed, "restart at {at}");
        doomed += counts.doomed;
    }
    assert!(doomed > 30, "{doomed}");
}

#[test]
fn a_restart_of_a_mapper_at_any_event_costs_nothing_but_time() {
    let world = || World::new(SMALL, Op::Add, 2, 24, 2, &mut Rng::new(8));
    let calm = world().run(Disturbance::default()).expect("nothing happens");
    for at in 0..calm {
        let disturbance = Disturbance { crashes: vec![(at, (at % 2) as u16)], ..Disturbance::default() };
        world().run(disturbance).unwrap_or_else(|what| panic!("crash at {at}: {what}"));
    }
}

/// Whatever earlier reducers have left in the switches, and whatever of them is still under way.
#[test]
fn a_reducer_follows_another_at_any_event() {
    for seed in features::seeds(150, 3000) {
        let mut rng = Rng::new(seed);
        let layout = Layout { window: 4, evict: rng.next_bool(), ..SMALL };
        let mut world = World::new(layout, Op::Add, 2, 40, 2, &mut rng);
        match rng.below(3) {
            0 => world.model_tree(2),
            1 => world.switches(2),
            _ => {}
        }
        let mut disturbance = Disturbance::some(&mut rng);
        disturbance.crashes.iter_mut().for_each(|(_, channel)| *channel %= 2);
        for _ in 0..rng.between(1, 4) {
            world.replace(rng.index(400), &disturbance, &mut rng);
        }
        world.run(disturbance).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

/// An OPEN of an earlier run may come at any time, and have a larger number.
#[test]
fn an_open_of_another_run_costs_nothing_but_time() {
    for bank in [0, 1] {
        let world = || World::new(SMALL, Op::Add, 2, 24, 2, &mut Rng::new(7));
        let calm = world().run(Disturbance::default()).expect("nothing happens");
        for at in 0..calm {
            let mut world = world();
            world.intrude(at, bank);
            world.run(Disturbance::default()).unwrap_or_else(|what| panic!("bank {bank}, at {at}: {what}"));
        }
    }
}

#[test]
fn another_reducer_at_the_same_time_is_noticed() {
    let mut world = World::new(SMALL, Op::Add, 2, 24, 2, &mut Rng::new(7));
    (0..20).for_each(|_| world.intrude(40, 0));
    assert_eq!(world.run(Disturbance::default()), Err("Shared(0)".into()));
}

#[test]
fn machines_reduce_again_and_again() {
    for seed in features::seeds(75, 1500) {
        let mut rng = Rng::new(seed);
        let layout = Layout { window: 4, evict: rng.next_bool(), ..SMALL };
        let mut world = World::new(layout, Op::Add, 3, 60, 1, &mut rng);
        if rng.next_bool() {
            world.model_tree(2);
        }
        for call in 0..5 {
            let disturbance = Disturbance { crashes: vec![], ..Disturbance::some(&mut rng) };
            world.reduce(disturbance).unwrap_or_else(|what| panic!("seed {seed}, call {call}: {what}"));
            world.rest(rng.below(200));
            let op = *rng.pick(&Op::ALL).expect("there are some");
            world.extend(op, rng.between(1, 100) as u32, rng.between(1, 3) as u32, &mut rng);
        }
    }
}

#[test]
fn several_switches_each_fold_their_channels() {
    for seed in features::seeds(50, 1000) {
        let mut rng = Rng::new(seed);
        let mut world = World::new(SMALL, Op::Add, 4, 100, 2, &mut rng);
        world.switches(2);
        world.banks(2);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

#[test]
fn a_switch_folds_what_others_have_left() {
    for seed in features::seeds(150, 3000) {
        let mut rng = Rng::new(seed);
        let window = *rng.pick(&[1, 4, 16, 256]).expect("there are some");
        let op = *rng.pick(&Op::ALL).expect("there are some");
        let layout = Layout { window, evict: rng.next_bool(), ..SMALL };
        let mut world = World::new(layout, op, 5, 100, rng.between(1, 3) as u32, &mut rng);
        world.model_tree(2);
        world.banks(rng.between(1, 2) as u8);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

#[test]
fn fewer_pairs_leave_a_tree_than_its_leaves_alone() {
    let layout = Layout { index_bits: 5, ..SMALL };
    let pairs = |is_tree: bool| {
        let mut world = World::new(layout, Op::Max, 6, 150, 1, &mut Rng::new(3));
        if is_tree {
            world.model_tree(2)
        } else {
            world.switches(3)
        }
        world.run(Disturbance::default()).expect("nothing happens");
        let counts = world.reducer.counts();
        counts.read + counts.overflowed
    };
    let (tree, leaves) = (pairs(true), pairs(false));
    assert!(tree * 10 < leaves * 7, "{tree} and {leaves}");
}

#[test]
fn a_restart_in_a_tree_at_any_event_costs_nothing_but_time() {
    let world = || {
        let mut world = World::new(SMALL, Op::Add, 3, 20, 2, &mut Rng::new(7));
        world.model_tree(2);
        world
    };
    restarts_cost_only_time(world);
}

#[test]
fn without_a_switch_the_mappers_send_past_it() {
    let mut world = World::new(SMALL, Op::Add, 3, 100, 2, &mut Rng::new(1));
    world.switches(0);
    world.run(Disturbance::default()).expect("nothing happens");
    assert_eq!(world.reducer.counts().read, 0);
}

#[test]
fn a_mapper_that_vanishes_is_named() {
    let mut world = World::new(SMALL, Op::Add, 3, 100, 2, &mut Rng::new(1));
    let gone = Disturbance { gone: Some((40, 1)), ..Disturbance::default() };
    let what = world.run(gone).expect_err("it cannot end");
    assert_eq!(what, "Vanished(1)");
}

#[test]
fn a_switch_that_restarts_and_keeps_its_boot_number_is_named_or_missed() {
    let world = || World::new(SMALL, Op::Add, 2, 24, 2, &mut Rng::new(7));
    let calm = world().run(Disturbance::default()).expect("nothing happens");
    let mut named = 0;
    for at in 0..calm {
        let mut world = world();
        world.keep_boots();
        // Where nothing was held, nothing is lost.
        match world.run(Disturbance { restarts: vec![at], ..Disturbance::default() }) {
            Ok(_) => {}
            Err(what) if what == "BootKept(0)" => named += 1,
            Err(what) => assert_eq!(what, "NoSwitch(0)", "restart at {at}"),
        }
    }
    assert!(named > 10, "{named}");
}

#[test]
fn a_job_without_a_switch_on_its_path_is_named() {
    let mut world = World::new(SMALL, Op::Add, 3, 100, 2, &mut Rng::new(1));
    let what = world.run(Disturbance { loss: 1_000_000, ..Disturbance::default() });
    assert_eq!(what, Err("NoSwitch(0)".into()));
}

/// Arrays: rows have neither indexes nor tags.
const ARRAYS: Layout = Layout { tag_bits: Layout::NO_TAG, ..SMALL };

/// A job of arrays that ends somewhere in the last of its rounds.
fn arrays(mappers: u16, rounds: u32, layout: Layout, rng: &mut Rng) -> World {
    let op = *rng.pick(&[Op::Add, Op::Max, Op::Or]).expect("there are some");
    let each = layout.elements() as u32;
    let elements = rng.between(u64::from((rounds - 1) * each + 1), u64::from(rounds * each)) as u32;
    World::new(layout, op, mappers, elements, rounds, rng)
}

#[test]
fn arrays_are_exact_whatever_happens_to_packets() {
    for seed in features::seeds(150, 3000) {
        let mut rng = Rng::new(seed);
        let window = *rng.pick(&[1, 4, 16, 256]).expect("there are some");
        let mut world = arrays(5, rng.between(1, 4) as u32, Layout { window, ..ARRAYS }, &mut rng);
        if rng.next_bool() {
            world.model_tree(2);
        }
        world.banks(rng.between(1, 2) as u8);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

#[test]
fn arrays_are_reduced_again_and_again() {
    for seed in features::seeds(75, 1500) {
        let mut rng = Rng::new(seed);
        let mut world = arrays(3, 1, ARRAYS, &mut rng);
        if rng.next_bool() {
            world.model_tree(2);
        }
        for call in 0..5 {
            let disturbance = Disturbance { crashes: vec![], ..Disturbance::some(&mut rng) };
            world.reduce(disturbance).unwrap_or_else(|what| panic!("seed {seed}, call {call}: {what}"));
            let op = *rng.pick(&[Op::Add, Op::Max, Op::Or]).expect("there are some");
            let elements = rng.between(1, 48) as u32;
            world.extend(op, elements, elements.div_ceil(16), &mut rng);
        }
    }
}

#[test]
fn a_restart_while_arrays_are_reduced_costs_nothing_but_time() {
    let world = || World::new(ARRAYS, Op::Add, 2, 30, 2, &mut Rng::new(7));
    restarts_cost_only_time(world);
}

#[test]
fn a_reducer_of_arrays_follows_another_at_any_event() {
    for seed in features::seeds(150, 3000) {
        let mut rng = Rng::new(seed);
        let mut world = World::new(ARRAYS, Op::Add, 2, 40, 3, &mut rng);
        let mut disturbance = Disturbance::some(&mut rng);
        disturbance.crashes.iter_mut().for_each(|(_, channel)| *channel %= 2);
        for _ in 0..rng.between(1, 4) {
            world.replace(rng.index(400), &disturbance, &mut rng);
        }
        world.run(disturbance).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

/// Every pair finds its slot, and only the array's own rows are read.
#[test]
fn of_arrays_each_element_arrives_once() {
    let layout = Layout { index_bits: 6, ..ARRAYS };
    let mut world = World::new(layout, Op::Max, 6, 99, 1, &mut Rng::new(3));
    world.run(Disturbance::default()).expect("nothing happens");
    assert_eq!((world.reducer.counts().read, world.reducer.counts().overflowed), (99, 0));
}

/// Packets of a reducer at a time: kind, channel, generation, round; of START, the generation before.
fn polled(reducer: &mut Reducer, now: Time) -> Vec<(Kind, u16, u32, u32, u16)> {
    let of = |(to, packet): (To, Packet)| match to {
        To::Mapper(channel) => (packet.kind, channel, packet.generation, packet.seq, packet.boot),
        To::Switch(switch) => (packet.kind, switch, packet.generation, packet.seq, packet.boot),
    };
    std::iter::from_fn(|| reducer.poll(now)).map(of).collect()
}

/// A reducer of two mappers.
fn of_two(switches: u16, rounds: u32) -> Reducer {
    Reducer::new(config(switches, rounds))
}

fn config(switches: u16, rounds: u32) -> reducer::Config {
    reducer::Config {
        job: 1,
        op: Op::Add,
        layout: SMALL,
        channels: 2,
        switches,
        parents: 0,
        rounds,
        banks: 2,
        least_wait: Duration::from_ms(1),
        most_wait: Duration::from_ms(1),
        patience: Duration::from_s(1),
        nonce: 0,
    }
}

/// The same without switches, after its first packets.
fn without_switches(rounds: u32) -> Reducer {
    let mut reducer = of_two(0, rounds);
    // Of a mapper of which nothing is known, a START without its incarnation would end its round.
    assert_eq!(polled(&mut reducer, Time::ZERO), [(Kind::Start, 0, 1, 0, 0), (Kind::Start, 1, 1, 0, 0)]);
    reducer
}

/// A mapper that has sent its round waits for another one.
#[test]
fn a_mapper_that_waits_longer_than_the_patience_has_not_vanished() {
    let mut reducer = Reducer::new(reducer::Config { banks: 1, ..config(0, 2) });
    let at = |ms| Time::ZERO + Duration::from_ms(ms);
    polled(&mut reducer, at(0));
    let heard =
        [(0, Kind::Ack, 0), (0, Kind::Ack, 1), (1, Kind::End, 0), (900, Kind::Ack, 1), (1800, Kind::End, 1)];
    for (ms, kind, channel) in heard {
        assert_eq!(reducer.trouble(at(ms)), None);
        let packet = Packet { channel, generation: 1, aux: 2, ..Packet::new(kind, 1, Op::Add) };
        reducer.handle(at(ms), &packet, false);
    }
    assert!(polled(&mut reducer, at(1800)).contains(&(Kind::Start, 0, 2, 1, 0)));
    assert_eq!([1800, 2700].map(|ms| reducer.trouble(at(ms))), [None, None]);
    assert_eq!(reducer.trouble(at(2801)), Some(Trouble::Vanished(0)));
}

/// The answer to a mapper's packet.
fn say(
    reducer: &mut Reducer,
    kind: Kind,
    channel: u16,
    generation: u32,
    aux: u32,
) -> Vec<(Kind, u16, u32, u32, u16)> {
    let packet = Packet { channel, generation, aux, ..Packet::new(kind, 1, Op::Add) };
    reducer.handle(Time::ZERO, &packet, false);
    polled(reducer, Time::ZERO)
}

/// Requests name the boot number that the switch has said last.
#[test]
fn an_answer_with_another_boot_number_answers_nothing() {
    let mut reducer = of_two(1, 1);
    let hear = |reducer: &mut Reducer, kind, generation, boot| {
        let packet = Packet { generation, boot, ..Packet::new(kind, 1, Op::Add) };
        reducer.handle(Time::ZERO, &packet, false);
        polled(reducer, Time::ZERO)
    };
    assert_eq!(polled(&mut reducer, Time::ZERO), [(Kind::Open, 0, 0, 0, 0), (Kind::Open, 0, 1, 0, 0)]);
    assert_eq!(hear(&mut reducer, Kind::Boot, 1, 3), []);
    let opened = hear(&mut reducer, Kind::Boot, 0, 3);
    let first = reducer.generation();
    assert_eq!(opened, [(Kind::Open, 0, first, 0, 3)]);
    for boot in [0, 2, 4] {
        assert_eq!(hear(&mut reducer, Kind::Opened, first, boot), []);
    }
    let starts = [(Kind::Start, 0, first, 0, 0), (Kind::Start, 1, first, 0, 0)];
    assert_eq!(hear(&mut reducer, Kind::Opened, first, 3), starts);
}

/// The answer to a question about a bank: the last generation that it has had.
fn show(reducer: &mut Reducer, generation: u32, boot: u16, last: u32) -> Vec<(Kind, u16, u32, u32, u16)> {
    let packet = Packet { generation, boot, seq: last, ..Packet::new(Kind::Boot, 1, Op::Add) };
    reducer.handle(Time::ZERO, &packet, false);
    polled(reducer, Time::ZERO)
}

/// Banks with generations of earlier reducers are cleared before a mapper begins, in generations of a larger run and with larger attempts.
#[test]
fn a_reducer_asks_for_the_last_generations_of_earlier_ones() {
    let mut reducer = Reducer::new(reducer::Config { nonce: 5, ..config(1, 1) });
    assert_eq!(polled(&mut reducer, Time::ZERO), [(Kind::Open, 0, 10, 0, 0), (Kind::Open, 0, 11, 0, 0)]);
    // The answer to the question of an earlier reducer, from before a restart; one without a boot number.
    assert_eq!(show(&mut reducer, 8, 2, 0), []);
    assert_eq!(show(&mut reducer, 11, 0, 0), []);
    assert_eq!(show(&mut reducer, 10, 3, 7 << 16 | 4), []);
    // A copy of it, of whatever content: the bank may have had another generation meanwhile.
    assert_eq!(show(&mut reducer, 10, 3, 0), []);
    let mut at = 8 << 16 | 7;
    assert_eq!(show(&mut reducer, 11, 3, 5 << 16 | 6), [(Kind::Open, 0, at, 0, 3)]);
    let hear = |reducer: &mut Reducer, kind, generation| {
        let aux = if kind == Kind::Cleared { 4 << 16 | 4 } else { 0 };
        let packet = Packet { generation, boot: 3, aux, ..Packet::new(kind, 1, Op::Add) };
        reducer.handle(Time::ZERO, &packet, false);
        polled(reducer, Time::ZERO)
    };
    for _ in 0..2 {
        assert_eq!(hear(&mut reducer, Kind::Opened, at), [(Kind::Close, 0, at, 0, 3)]);
        assert_eq!(hear(&mut reducer, Kind::Closed, at), [(Kind::Clear, 0, at, 0, 3)]);
        assert_eq!(hear(&mut reducer, Kind::Cleared, at), [(Kind::Open, 0, at + 1, 0, 3)]);
        at += 1;
    }
    let starts = [(Kind::Start, 0, at, 0, 0), (Kind::Start, 1, at, 0, 0)];
    assert_eq!(hear(&mut reducer, Kind::Opened, at), starts);
    // A mapper of an earlier run says which incarnation it was.
    let greet = |reducer: &mut Reducer, generation, aux| say(reducer, Kind::Ack, 0, generation, aux);
    assert_eq!(greet(&mut reducer, 7 << 16 | 3, 9), []);
    assert_eq!(greet(&mut reducer, at, 2), [(Kind::Start, 0, at, 0, 0)]);
    assert_eq!(reducer.counts().restarts, 0);
}

/// Banks are asked again, with another number, when nothing has gone on for the longest wait: another run may have opened them.
#[test]
fn a_reducer_without_answers_asks_again() {
    let mut reducer = of_two(1, 1);
    polled(&mut reducer, Time::ZERO);
    show(&mut reducer, 0, 3, 0);
    show(&mut reducer, 1, 3, 0);
    let first = reducer.generation();
    // The longest wait is as long as the first one.
    assert_eq!(polled(&mut reducer, Time::ZERO + Duration::from_ms(1)), [(Kind::Open, 0, first, 0, 3)]);
    let later = Time::ZERO + Duration::from_ms(5);
    let asked = [(Kind::Open, 0, first, 0, 3), (Kind::Open, 0, 2, 0, 0), (Kind::Open, 0, 3, 0, 0)];
    assert_eq!(polled(&mut reducer, later), asked);
    // Copies of the first answers; answers that say nothing new.
    for generation in [0, 1, 2, 3] {
        assert_eq!(show(&mut reducer, generation, 3, if generation < 2 { u32::MAX } else { 0 }), []);
    }
    let later = later + Duration::from_ms(5);
    let asked = [(Kind::Open, 0, first, 0, 3), (Kind::Open, 0, 4, 0, 0), (Kind::Open, 0, 5, 0, 0)];
    assert_eq!(polled(&mut reducer, later), asked);
    let taken = (first >> 16) + 5;
    assert_eq!(show(&mut reducer, 4, 3, taken << 16 | 9), []);
    assert_eq!(show(&mut reducer, 5, 3, 0), [(Kind::Open, 0, (taken + 1) << 16 | 10, 0, 3)]);
    assert_eq!(reducer.trouble(Time::ZERO), None);
}

/// A packet of an open generation does not fit its bank: another run has it, or the switch has lost it.
#[test]
fn a_switch_that_does_not_know_an_open_generation_is_asked() {
    // The boot number of the answers, and the trouble.
    for (boot, trouble) in [(3, Some(Trouble::BootKept(0))), (4, None)] {
        let mut reducer = of_two(1, 1);
        polled(&mut reducer, Time::ZERO);
        show(&mut reducer, 0, 3, 0);
        show(&mut reducer, 1, 3, 0);
        let first = reducer.generation();
        let opened = Packet { generation: first, boot: 3, ..Packet::new(Kind::Opened, 1, Op::Add) };
        reducer.handle(Time::ZERO, &opened, false);
        polled(&mut reducer, Time::ZERO);
        let asked = [(Kind::Open, 0, 2, 0, 0), (Kind::Open, 0, 3, 0, 0)];
        assert_eq!(show(&mut reducer, first, 3, first << 16 | 7), asked);
        show(&mut reducer, 2, boot, 0);
        assert_eq!(reducer.trouble(Time::ZERO), None);
        show(&mut reducer, 3, boot, 0);
        assert_eq!(reducer.trouble(Time::ZERO), trouble);
        assert_eq!(reducer.counts().restarts, u64::from(boot > 3));
    }
}

/// Mappers know the run of rounds without switches, and take no smaller one.
#[test]
fn rounds_with_switches_continue_those_without() {
    let mut reducer = Reducer::new(reducer::Config { nonce: 7 << 32, ..config(1, 0) });
    reducer.extend(1, Op::Add, false);
    let first = 7 << 16 | 1;
    assert_eq!(polled(&mut reducer, Time::ZERO).len(), 2);
    for channel in [0, 1] {
        say(&mut reducer, Kind::Ack, channel, first, 2);
        say(&mut reducer, Kind::End, channel, first, 2);
    }
    assert!(reducer.is_done());
    reducer.extend(1, Op::Add, true);
    assert_eq!(polled(&mut reducer, Time::ZERO), [(Kind::Open, 0, 0, 0, 0), (Kind::Open, 0, 1, 0, 0)]);
    assert_eq!(show(&mut reducer, 0, 3, 0), []);
    assert_eq!(show(&mut reducer, 1, 3, 0), [(Kind::Open, 0, first + 1, 0, 3)]);
}

/// The boot number of the questions' answers is the larger one, in whatever order they come.
#[test]
fn a_switch_may_restart_between_two_answers() {
    for order in [[(0, 4), (1, 3)], [(0, 3), (1, 4)]] {
        let mut reducer = of_two(1, 1);
        polled(&mut reducer, Time::ZERO);
        let opened = order.map(|(generation, boot)| show(&mut reducer, generation, boot, 0)).concat();
        assert_eq!(opened, [(Kind::Open, 0, reducer.generation(), 0, 4)]);
    }
}

#[test]
fn generations_of_all_runs_of_a_switch_have_an_end() {
    for last in [0xffff << 16 | 1, 5 << 16 | 0xffff] {
        let mut reducer = of_two(1, 1);
        polled(&mut reducer, Time::ZERO);
        show(&mut reducer, 0, 3, last);
        assert_eq!(show(&mut reducer, 1, 3, 0), []);
        assert_eq!(reducer.trouble(Time::ZERO), Some(Trouble::TooManyGenerations), "{last:x}");
    }
}

/// Two reducers of which no switch knows have the same numbers, whatever their nonces are; after a restart of the switch, they have others.
#[test]
fn reducers_that_get_the_same_answers_take_the_same_numbers() {
    let first = |nonce: u64, boot| {
        let mut reducer = Reducer::new(reducer::Config { nonce, ..config(1, 1) });
        let asked: Vec<u32> = polled(&mut reducer, Time::ZERO).iter().map(|packet| packet.2).collect();
        asked.iter().for_each(|asked| drop(show(&mut reducer, *asked, boot, 0)));
        reducer.generation()
    };
    assert_eq!(first(7 << 32 | 7, 3), first(8 << 32 | 9, 3));
    assert_ne!(first(7, 3), first(7, 4));
    // Without switches, the nonce is all that differs.
    let without = |nonce| Reducer::new(reducer::Config { nonce, ..config(0, 1) }).generation();
    assert_ne!(without(7 << 32), without(8 << 32));
}

/// At the beginning of each round: four answers of a switch that it does not know, and more of one that has answered before.
#[test]
fn a_reducer_asks_for_more_rows_of_a_switch_that_it_knows() {
    let layout = Layout { index_bits: 13, ..SMALL };
    let mut reducer = Reducer::new(reducer::Config { channels: 1, layout, ..config(1, 2) });
    let mut switch = Switch::new(layout, 0, 1, 1, 1);
    let mut asked = BTreeMap::<u32, u32>::new();
    while !reducer.is_done() {
        let packets: Vec<_> = std::iter::from_fn(|| reducer.poll(Time::ZERO)).collect();
        let reads = packets.iter().filter(|(_, packet)| packet.kind == Kind::Read);
        let rows: u32 = reads.map(|(_, packet)| packet.aux).sum();
        let generation = packets.iter().map(|(_, packet)| packet.generation).max().unwrap_or(0);
        if rows > 0 {
            asked.entry(generation).or_insert(rows);
        }
        for (to, packet) in packets {
            let answers = match to {
                To::Switch(_) => switch.handle(packet, false).into_iter().map(|(_, answer)| answer).collect(),
                // A mapper of incarnation 1 without pairs.
                To::Mapper(_) if packet.aux == 0 => vec![Packet { kind: Kind::Ack, aux: 1, ..packet }],
                To::Mapper(_) if packet.kind == Kind::Start => {
                    vec![Packet { kind: Kind::End, boot: 0, ..packet }]
                }
                To::Mapper(_) => vec![],
            };
            answers.iter().for_each(|answer| reducer.handle(Time::ZERO, answer, false));
        }
    }
    // Answers have room for 35 full rows; later, it is known that rows are empty, and a request has at most 256.
    let asked: Vec<u32> = asked.into_values().collect();
    assert!(asked.len() == 2 && asked[0] == 4 * 35 && asked[1] > 4 * 256, "{asked:?}");
}

/// Only the incarnation that START has named sends the packets of a round.
#[test]
fn an_end_of_another_incarnation_or_generation_ends_nothing() {
    let mut reducer = without_switches(1);
    for channel in [0, 1] {
        say(&mut reducer, Kind::Ack, channel, 0, 2);
    }
    for (generation, incarnation) in [(1, 1), (1, 3), (2, 2)] {
        assert_eq!(say(&mut reducer, Kind::End, 0, generation, incarnation), []);
    }
    for channel in [0, 1] {
        assert!(!reducer.is_done());
        assert_eq!(say(&mut reducer, Kind::End, channel, 1, 2), [(Kind::EndAck, channel, 1, 0, 0)]);
    }
    assert!(reducer.is_done());
}

/// The end names the packets past the switches: it is answered once all of them are here, by whatever packet.
#[test]
fn an_end_is_answered_when_all_packets_past_the_switches_are_here() {
    let pair =
        |number: u64| Pair { place: Place::of_number(number, &SMALL).expect("it has a place"), value: 1 };
    let past = |number: u32, aux, boot| Packet {
        generation: 1,
        seq: 1 << 16 | number,
        aux,
        boot,
        pairs: vec![pair(number.into())],
        ..Packet::new(Kind::Overflow, 1, Op::Add)
    };
    let end = |boot| Packet { generation: 1, aux: 2, boot, ..Packet::new(Kind::End, 1, Op::Add) };
    let orders = [
        vec![past(0, DIRECT, 0), past(2, DIRECT | LAST, 3), past(1, DIRECT, 0)],
        vec![end(3), past(0, DIRECT, 0), past(2, DIRECT, 0), past(2, DIRECT, 0), past(1, DIRECT, 0)],
        vec![past(0, DIRECT, 0), past(1, DIRECT, 0), past(1, DIRECT | LAST, 3), past(2, DIRECT | LAST, 3)],
        vec![past(0, DIRECT, 0), past(1, DIRECT, 0), past(2, DIRECT, 0), end(3)],
    ];
    for order in orders {
        let mut reducer = without_switches(1);
        for channel in [0, 1] {
            say(&mut reducer, Kind::Ack, channel, 0, 2);
        }
        say(&mut reducer, Kind::End, 1, 1, 2);
        let last = order.len() - 1;
        for (packet, at) in order.iter().zip(0..) {
            reducer.handle(Time::ZERO, packet, false);
            let is_answered = polled(&mut reducer, Time::ZERO).contains(&(Kind::EndAck, 0, 1, packet.seq, 0));
            assert_eq!((is_answered, reducer.is_done()), (at == last, at == last), "{packet:?}");
        }
        // Nothing else is to be acknowledged, and the answer may have been lost.
        assert_eq!(reducer.deadline(), None);
        reducer.handle(Time::ZERO, &past(2, DIRECT | LAST, 3), false);
        assert_eq!(polled(&mut reducer, Time::ZERO), [(Kind::EndAck, 0, 1, 1 << 16 | 2, 0)]);
        assert_eq!(reducer.result().len(), 3);
    }
}

#[test]
fn a_mapper_learns_of_the_next_round_before_it_has_ended_its_own() {
    let mut reducer = without_switches(4);
    let now = Time::ZERO + Duration::from_ms(5);
    let starts = |channel| [(Kind::Start, channel, 1, 0, 0), (Kind::Start, channel, 2, 1, 1)];
    for channel in [0, 1] {
        assert_eq!(say(&mut reducer, Kind::Ack, channel, 0, 1), starts(channel));
    }
    // Both are repeated.
    let first = [(Kind::Start, 0, 1, 0, 0), (Kind::Start, 1, 1, 0, 0)];
    let second = [(Kind::Start, 0, 2, 1, 1), (Kind::Start, 1, 2, 1, 1)];
    assert_eq!(polled(&mut reducer, now), [first, second].concat());
    // The answer to an END waits a while for the START of the third round.
    assert_eq!(say(&mut reducer, Kind::End, 0, 1, 1), []);
    let while_later = Time::ZERO + Duration::from_us(250);
    assert_eq!(reducer.deadline(), Some(while_later));
    assert_eq!(polled(&mut reducer, while_later), [(Kind::EndAck, 0, 1, 0, 0)]);
    // One that comes again does not wait.
    assert_eq!(say(&mut reducer, Kind::End, 0, 1, 1), [(Kind::EndAck, 0, 1, 0, 0)]);
    // It has ended the first round, and its START names none before.
    let later = now + Duration::from_ms(5);
    let repeated = [(Kind::Start, 1, 1, 0, 0), (Kind::Start, 0, 2, 1, 0), (Kind::Start, 1, 2, 1, 1)];
    assert_eq!(polled(&mut reducer, later), repeated);
    // Two rounds at a time: there is no bank for a third one.
    assert_eq!(say(&mut reducer, Kind::End, 0, 2, 1), []);
    assert!(reducer.deadline().is_some_and(|due| due > Time::ZERO), "nothing is to be sent now");
    let next = say(&mut reducer, Kind::End, 1, 1, 1);
    // The START of the third round answers both ENDs.
    assert_eq!(next, [(Kind::Start, 0, 3, 2, 0), (Kind::Start, 1, 3, 2, 2)]);
    assert_eq!(polled(&mut reducer, while_later), []);
    // The last two rounds are followed by no START that could answer for them.
    assert_eq!(say(&mut reducer, Kind::End, 0, 3, 1), [(Kind::EndAck, 0, 3, 0, 0)]);
    // A mapper that starts anew is at work in generation 2: 2 and 3 are repeated, in that order.
    say(&mut reducer, Kind::Ack, 1, 0, 2);
    let starts: Vec<_> = polled(&mut reducer, later + Duration::from_ms(5));
    let again = [(Kind::Start, 0, 4, 1, 0), (Kind::Start, 1, 4, 1, 0)];
    assert_eq!(starts, [again, again.map(|(kind, to, _, _, _)| (kind, to, 5, 2, 4))].concat());
}
