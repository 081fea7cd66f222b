//! Mappers, the reducer and the switch's model in virtual time, with an adversary between them: packets are lost, doubled and
//! overtaken; the switch and the mappers restart. Results equal a serial fold.

mod adversary;

use adversary::{Disturbance, World};
use aggregate::pack::{Parcel, Round};
use aggregate::packet::{STORED, TRIMMED};
use aggregate::reducer::{self, Reducer, To};
use aggregate::{Kind, Layout, Mapper, Op, Packet, Pair, Place, mapper};
use base_time::{Duration, Rng, Time};

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

#[test]
fn a_restart_of_the_switch_at_any_event_costs_nothing_but_time() {
    let world = || World::new(SMALL, Op::Add, 2, 24, 2, &mut Rng::new(7));
    let calm = world().run(Disturbance::default()).expect("nothing happens");
    assert!(calm > 60, "{calm} events");
    for at in 0..calm {
        let disturbance = Disturbance { restarts: vec![at], ..Disturbance::default() };
        world().run(disturbance).unwrap_or_else(|what| panic!("restart at {at}: {what}"));
    }
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

/// Whatever the first reducer has left in the switches, and whatever of it is still under way.
#[test]
fn a_reducer_follows_another_at_any_event() {
    for seed in features::seeds(150, 3000) {
        let mut rng = Rng::new(seed);
        let layout = Layout { window: 4, evict: rng.next_bool(), ..SMALL };
        let mut world = World::new(layout, Op::Add, 2, 40, 2, &mut rng);
        if rng.next_bool() {
            world.model_tree(2);
        }
        let disturbance = Disturbance { crashes: vec![], restarts: vec![], ..Disturbance::some(&mut rng) };
        for _ in 0..3 {
            world.replace(rng.index(400), &disturbance, &mut rng);
        }
        world.run(disturbance).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
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
    let calm = world().run(Disturbance::default()).expect("nothing happens");
    for at in 0..calm {
        let disturbance = Disturbance { restarts: vec![at], ..Disturbance::default() };
        world().run(disturbance).unwrap_or_else(|what| panic!("restart at {at}: {what}"));
    }
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
    let calm = world().run(Disturbance::default()).expect("nothing happens");
    for at in 0..calm {
        let disturbance = Disturbance { restarts: vec![at], ..Disturbance::default() };
        world().run(disturbance).unwrap_or_else(|what| panic!("restart at {at}: {what}"));
    }
}

#[test]
fn a_reducer_of_arrays_follows_another_at_any_event() {
    for seed in features::seeds(150, 3000) {
        let mut rng = Rng::new(seed);
        let mut world = World::new(ARRAYS, Op::Add, 2, 40, 3, &mut rng);
        let disturbance = Disturbance { crashes: vec![], restarts: vec![], ..Disturbance::some(&mut rng) };
        for _ in 0..3 {
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

#[test]
fn a_mapper_learns_of_the_next_round_before_it_has_ended_its_own() {
    let config = reducer::Config {
        job: 1,
        op: Op::Add,
        layout: SMALL,
        channels: 2,
        switches: 0,
        parents: 0,
        rounds: 4,
        banks: 2,
        least_wait: Duration::from_ms(1),
        most_wait: Duration::from_ms(1),
        patience: Duration::from_s(1),
    };
    let mut reducer = Reducer::new(config);
    let say = |reducer: &mut Reducer, kind, channel, generation, aux| {
        let packet = Packet { channel, generation, aux, ..Packet::new(kind, 1, Op::Add) };
        reducer.handle(Time::ZERO, &packet, false);
        polled(reducer, Time::ZERO)
    };
    // Of a mapper of which nothing is known, a START without its incarnation would end its round.
    let now = Time::ZERO + Duration::from_ms(5);
    assert_eq!(polled(&mut reducer, Time::ZERO), [(Kind::Start, 0, 1, 0, 0), (Kind::Start, 1, 1, 0, 0)]);
    let starts = |channel| [(Kind::Start, channel, 1, 0, 0), (Kind::Start, channel, 2, 1, 1)];
    for channel in [0, 1] {
        assert_eq!(say(&mut reducer, Kind::Ack, channel, 0, 1), starts(channel));
    }
    // Both are repeated.
    let first = [(Kind::Start, 0, 1, 0, 0), (Kind::Start, 1, 1, 0, 0)];
    let second = [(Kind::Start, 0, 2, 1, 1), (Kind::Start, 1, 2, 1, 1)];
    assert_eq!(polled(&mut reducer, now), [first, second].concat());
    assert_eq!(say(&mut reducer, Kind::End, 0, 1, 1), [(Kind::EndAck, 0, 1, 0, 0)]);
    // It has ended the first round, and its START names none before.
    let later = now + Duration::from_ms(5);
    let repeated = [(Kind::Start, 1, 1, 0, 0), (Kind::Start, 0, 2, 1, 0), (Kind::Start, 1, 2, 1, 1)];
    assert_eq!(polled(&mut reducer, later), repeated);
    // Two rounds at a time: there is no bank for a third one.
    assert_eq!(say(&mut reducer, Kind::End, 0, 2, 1), [(Kind::EndAck, 0, 2, 0, 0)]);
    assert!(reducer.deadline().is_some_and(|due| due > Time::ZERO), "nothing is to be sent now");
    let next = say(&mut reducer, Kind::End, 1, 1, 1);
    assert_eq!(next, [(Kind::EndAck, 1, 1, 0, 0), (Kind::Start, 0, 3, 2, 0), (Kind::Start, 1, 3, 2, 2)]);
    // A mapper that starts anew is at work in generation 2: 2 and 3 are repeated, in that order.
    say(&mut reducer, Kind::Ack, 1, 0, 2);
    let starts: Vec<_> = polled(&mut reducer, later + Duration::from_ms(5));
    let again = [(Kind::Start, 0, 4, 1, 0), (Kind::Start, 1, 4, 1, 0)];
    assert_eq!(starts, [again, again.map(|(kind, to, _, _, _)| (kind, to, 5, 2, 4))].concat());
}

/// A mapper with two rounds of packets of one pair each.
fn two_rounds(window: u32) -> Mapper {
    of_rounds(&[0..3, 3..6], Layout { window, ..SMALL })
}

fn config(layout: Layout) -> mapper::Config {
    let (least_wait, most_wait) = (Duration::from_ms(1), Duration::from_ms(1));
    mapper::Config { job: 1, op: Op::Add, layout, channel: 0, incarnation: 7, least_wait, most_wait }
}

/// The mapper has 12 packets, ten of which its window allows at first.
#[test]
fn a_trimmed_packet_is_repeated_as_soon_as_the_window_allows() {
    let layout = Layout { window: 256, ..SMALL };
    let parcel = |number: u64| Parcel {
        is_direct: true,
        pairs: vec![Pair { place: Place::of_hashed(&number.to_be_bytes(), 1, &layout), value: 1 }],
    };
    let mut mapper = Mapper::new(config(layout), vec![(0..12).map(parcel).collect::<Round>()].into());
    let numbers = |packets: Vec<(Kind, u32, u32)>| packets.iter().map(|one| one.2).collect::<Vec<_>>();
    assert_eq!(numbers(hear(&mut mapper, start(4, 0, 0))), (0..10).collect::<Vec<_>>());
    let of_header = |number| Packet { aux: TRIMMED, ..ack(4, number) };
    // Five may be in the network now, and nine are.
    assert_eq!(hear(&mut mapper, of_header(7)), []);
    for number in [3, 4, 5, 6] {
        assert_eq!(hear(&mut mapper, of_header(number)), []);
    }
    // Two more: there is room for one, the first of those that were trimmed. A copy of the answer changes nothing.
    assert_eq!(numbers(hear(&mut mapper, of_header(8))), [3]);
    assert_eq!(hear(&mut mapper, of_header(8)), []);
    // Each acknowledgement makes room for the next one; new packets come last.
    let stored = |number| Packet { aux: STORED, ..ack(4, number) };
    let order: Vec<u32> =
        [0, 1, 2, 9, 3].into_iter().flat_map(|number| numbers(hear(&mut mapper, stored(number)))).collect();
    assert_eq!(order[..5], [4, 5, 6, 7, 8]);
    assert_eq!(mapper.counts().trimmed, 7);
    // One that is acknowledged is not sent again.
    assert_eq!(hear(&mut mapper, of_header(0)), []);
}

/// Kind, generation and number in it of each packet that a mapper sends now.
fn sent(mapper: &mut Mapper) -> Vec<(Kind, u32, u32)> {
    let packets = std::iter::from_fn(|| mapper.poll(Time::ZERO));
    packets.map(|packet| (packet.kind, packet.generation, packet.seq & 0xffff)).collect()
}

fn hear(mapper: &mut Mapper, packet: Packet) -> Vec<(Kind, u32, u32)> {
    mapper.handle(Time::ZERO, &packet);
    sent(mapper)
}

fn start(generation: u32, round: u32, before: u16) -> Packet {
    Packet { generation, seq: round, boot: before, aux: 7, ..Packet::new(Kind::Start, 1, Op::Add) }
}

fn ack(generation: u32, number: u32) -> Packet {
    Packet { generation, seq: generation << 16 | number, ..Packet::new(Kind::Ack, 1, Op::Add) }
}

#[test]
fn a_mapper_goes_on_with_the_next_round_while_it_waits_for_answers() {
    let mut mapper = two_rounds(2);
    // It has not begun the generation that this one follows.
    assert_eq!(hear(&mut mapper, start(5, 1, 4)), []);
    let data = |generation, number| (Kind::Data, generation, number);
    assert_eq!(hear(&mut mapper, start(4, 0, 0)), [data(4, 0), data(4, 1)]);
    // Not all of the first round is sent.
    assert_eq!(hear(&mut mapper, start(5, 1, 4)), []);
    assert_eq!(hear(&mut mapper, ack(4, 1)), []);
    assert!(!mapper.has_sent_all());
    // Packet 2 has the cell that packet 0 of the next round will have.
    assert_eq!(hear(&mut mapper, ack(4, 0)), [data(4, 2)]);
    assert_eq!(hear(&mut mapper, ack(4, 2)), [(Kind::End, 4, 0), data(5, 0), data(5, 1)]);
    // The END is repeated until it is answered, whatever the next round does.
    mapper.handle(Time::ZERO, &ack(5, 0));
    mapper.handle(Time::ZERO, &ack(5, 1));
    assert_eq!(sent(&mut mapper), [data(5, 2)]);
    assert_eq!(hear(&mut mapper, ack(5, 2)), [(Kind::End, 5, 0)]);
    assert!(mapper.is_busy() && mapper.has_sent_all());
    for generation in [4, 5] {
        hear(&mut mapper, Packet { generation, ..Packet::new(Kind::EndAck, 1, Op::Add) });
    }
    assert!(!mapper.is_busy());
    // A copy of the first START begins nothing again; one of the last generation is answered.
    assert_eq!(hear(&mut mapper, start(4, 0, 0)), []);
    assert_eq!(hear(&mut mapper, start(5, 1, 4)), [(Kind::Ack, 5, 1)]);
}

#[test]
fn packets_of_the_next_round_wait_for_their_cells_alone() {
    let mut mapper = two_rounds(4);
    let data = |generation, number| (Kind::Data, generation, number);
    hear(&mut mapper, start(4, 0, 0));
    // Cell 3 is free, and the first packet has cell 0.
    assert_eq!(hear(&mut mapper, start(5, 1, 4)), []);
    assert_eq!(hear(&mut mapper, ack(4, 1)), []);
    assert_eq!(hear(&mut mapper, ack(4, 0)), [data(5, 0), data(5, 1)]);
    assert_eq!(hear(&mut mapper, ack(4, 2)), [(Kind::End, 4, 0), data(5, 2)]);
}

#[test]
fn a_generation_that_follows_none_ends_all_before_it() {
    let mut mapper = two_rounds(4);
    hear(&mut mapper, start(4, 0, 0));
    hear(&mut mapper, start(5, 1, 4));
    let again = hear(&mut mapper, start(6, 0, 0));
    assert_eq!(again, (0..3).map(|number| (Kind::Data, 6, number)).collect::<Vec<_>>());
    assert_eq!(hear(&mut mapper, ack(4, 0)), []);
    // It goes on with generation 6, whatever became of 7.
    assert_eq!(hear(&mut mapper, start(7, 1, 6)), []);
    assert_eq!(hear(&mut mapper, start(8, 1, 6)), []);
    let next = hear(&mut mapper, ack(6, 0));
    assert_eq!(next, [(Kind::Data, 8, 0)]);
}

/// A mapper with rounds of packets of one pair each.
fn of_rounds(rounds: &[std::ops::Range<u64>], layout: Layout) -> Mapper {
    let parcel = |number| Parcel { is_direct: false, pairs: vec![pair(number, &layout)] };
    let rounds: Vec<Round> = rounds.iter().map(|numbers| numbers.clone().map(parcel).collect()).collect();
    Mapper::new(config(layout), rounds.into())
}

fn pair(number: u64, layout: &Layout) -> Pair {
    Pair { place: Place::of_hashed(&number.to_be_bytes(), 1, layout), value: 1 }
}

/// The answer of a switch that has folded nothing of a packet.
fn left(packet: &Packet) -> Packet {
    let map = packet.pairs.iter().fold(0, |map, pair| map | 1 << pair.place.slot.lane);
    Packet { map, ..ack(packet.generation, packet.seq & 0xffff) }
}

/// Packet 12 has the first cell that is kept for further places.
#[test]
fn a_pair_that_finds_no_slot_goes_to_the_next_place_and_then_past_the_switches() {
    let layout = Layout { window: 16, ..SMALL };
    let mut mapper = of_rounds(std::slice::from_ref(&(0..1)), layout);
    mapper.handle(Time::ZERO, &start(4, 0, 0));
    let poll = |mapper: &mut Mapper| mapper.poll(Time::ZERO).expect("a packet");
    let first = poll(&mut mapper);
    mapper.handle(Time::ZERO, &left(&first));
    let second = poll(&mut mapper);
    assert_eq!((second.kind, second.seq), (Kind::Data, 4 << 16 | 12));
    let place = pair(0, &layout).place;
    assert_eq!(Some(second.pairs[0].place), place.next(&layout));
    mapper.handle(Time::ZERO, &left(&second));
    // A copy of an answer changes nothing.
    mapper.handle(Time::ZERO, &left(&second));
    mapper.handle(Time::ZERO, &left(&first));
    let third = poll(&mut mapper);
    assert_eq!((third.kind, third.seq, third.pairs.len()), (Kind::Overflow, 4 << 16 | 1, 1));
    assert_eq!(third.pairs[0].place.first(&layout), place);
    assert_eq!(hear(&mut mapper, Packet { aux: STORED, ..ack(4, 1) }), [(Kind::End, 4, 0)]);
    let counts = mapper.counts();
    assert_eq!((counts.pairs, counts.moved, counts.left), (1, 1, 1));
}

/// The last four cells of a window of 16 packets are for further places. Both rounds need the first one of them.
#[test]
fn packets_for_further_places_wait_until_the_round_before_needs_no_more_of_them() {
    let mut mapper = of_rounds(&[0..2, 2..3], Layout { window: 16, ..SMALL });
    let hear = |mapper: &mut Mapper, packet: Packet| -> Vec<Packet> {
        mapper.handle(Time::ZERO, &packet);
        std::iter::from_fn(|| mapper.poll(Time::ZERO)).collect()
    };
    let shown = |packets: &[Packet]| packets.iter().map(|one| (one.kind, one.seq)).collect::<Vec<_>>();
    let data = |generation: u32, number| (Kind::Data, generation << 16 | number);
    let first = hear(&mut mapper, start(4, 0, 0));
    assert_eq!(shown(&first), [data(4, 0), data(4, 1)]);
    assert_eq!(hear(&mut mapper, start(5, 1, 4)), []);
    let next = hear(&mut mapper, left(&first[0]));
    assert_eq!(shown(&next), [data(5, 0)]);
    // Cell 12 is free, but the pair of packet 0 waits for it.
    assert_eq!(hear(&mut mapper, left(&next[0])), []);
    let further = hear(&mut mapper, ack(4, 1));
    assert_eq!(shown(&further), [data(4, 12)]);
    let last = hear(&mut mapper, ack(4, 12));
    assert_eq!(shown(&last), [(Kind::End, 0), data(5, 12)]);
}

/// Nothing finds a slot: the largest round has more pairs than packets for further places have room for.
#[test]
fn pairs_without_numbers_for_their_next_places_go_past_the_switches() {
    let layout = Layout { window: 256, ..SMALL };
    let count = aggregate::pack::MOST_PARCELS as u64;
    let mut pairs: Vec<Pair> = (0..6 * count).map(|number| pair(number, &layout)).collect();
    pairs.retain(|pair| pair.place.tag != 0);
    let mut queues = [const { vec![] }; 4];
    pairs.iter().for_each(|pair| queues[usize::from(pair.place.slot.lane)].push(*pair));
    let parcel = |at| Parcel { is_direct: false, pairs: queues.iter().map(|queue| queue[at]).collect() };
    let round: Round = (0..count as usize).map(parcel).collect();
    let mut wanted: Vec<Place> =
        round.iter().flat_map(|parcel| &parcel.pairs).map(|pair| pair.place).collect();
    let mut mapper = Mapper::new(config(layout), vec![round].into());
    mapper.handle(Time::ZERO, &start(4, 0, 0));
    let (mut numbers, mut found) = (std::collections::BTreeSet::new(), vec![]);
    while let Some(packet) = mapper.poll(Time::ZERO).filter(|packet| packet.kind != Kind::End) {
        assert!(numbers.insert(packet.seq) && packet.seq >> 16 == 4, "{:x}", packet.seq);
        if packet.kind == Kind::Data {
            mapper.handle(Time::ZERO, &left(&packet));
            continue;
        }
        found.extend(packet.pairs.iter().map(|pair| pair.place.first(&layout)));
        mapper.handle(Time::ZERO, &Packet { aux: STORED, ..ack(4, packet.seq & 0xffff) });
    }
    let counts = mapper.counts();
    assert_eq!((counts.pairs, counts.left), (4 * count, 4 * count));
    assert!((45_000..=65_536).contains(&counts.moved), "{}", counts.moved);
    wanted.sort_unstable();
    found.sort_unstable();
    assert!(wanted == found);
}
