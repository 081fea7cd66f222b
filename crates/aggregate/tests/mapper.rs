//! A mapper alone: the packets that it sends after each answer.

use aggregate::pack::{Parcel, Round};
use aggregate::packet::{DIRECT, FULL, LAST, STORED, TRIMMED};
use aggregate::{Kind, Layout, Mapper, Op, Packet, Pair, Place, Slot, mapper};
use base_time::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};

/// Few slots; tests choose the window.
const SMALL: Layout = Layout { lanes: 4, tag_bits: 32, index_bits: 2, window: 4, evict: false };

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
    let again = answered(&mut mapper, &[of_header(8)]);
    assert_eq!(again.iter().map(|one| (one.seq & 0xffff, one.aux)).collect::<Vec<_>>(), [(3, DIRECT | FULL)]);
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

/// A START of an earlier run names nobody here, whatever its number is.
#[test]
fn a_start_of_another_run_ends_nothing() {
    let run = 5 << 16;
    let other = |aux| Packet { aux, ..start(6 << 16 | 1, 0, 0) };
    let mut mapper = two_rounds(4);
    // The mapper answers with its incarnation; nobody in this run has asked.
    assert_eq!(hear(&mut mapper, other(3)), [(Kind::Ack, 6 << 16 | 1, 0)]);
    let data = |number| (Kind::Data, run | 4, number);
    assert_eq!(hear(&mut mapper, start(run | 4, 0, 0)), [data(0), data(1), data(2)]);
    for aux in [0, 3, 8] {
        assert_eq!(hear(&mut mapper, other(aux)), []);
    }
    // The next round names the attempt before it.
    assert_eq!(hear(&mut mapper, start(run | 5, 1, 4)), []);
    for number in 0..3 {
        mapper.handle(Time::ZERO, &ack(run | 4, number));
    }
    assert_eq!(sent(&mut mapper)[..2], [(Kind::End, run | 4, 0), (Kind::Data, run | 5, 0)]);
    // In its own run, another incarnation has taken over.
    assert_eq!(hear(&mut mapper, Packet { aux: 8, ..start(run | 6, 0, 0) }), [(Kind::Ack, run | 6, 0)]);
    assert!(!mapper.is_busy());
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
    // It is the last one, and says that it is the only one past the switches.
    assert_eq!((third.aux, third.boot), (DIRECT | LAST, 1));
    assert_eq!(hear(&mut mapper, Packet { aux: STORED, ..ack(4, 1) }), []);
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

/// All packets that a mapper sends after an answer.
fn answered(mapper: &mut Mapper, answers: &[Packet]) -> Vec<Packet> {
    answers.iter().for_each(|answer| mapper.handle(Time::ZERO, answer));
    std::iter::from_fn(|| mapper.poll(Time::ZERO)).collect()
}

/// Ten of eleven packets are sent, and refused. Packets for further places would not be full.
#[test]
fn pairs_for_further_places_wait_until_all_of_the_round_is_sent() {
    let mut mapper = of_rounds(std::slice::from_ref(&(0..11)), Layout { window: 16, ..SMALL });
    let first = answered(&mut mapper, &[start(4, 0, 0)]);
    assert_eq!(first.len(), 10);
    let last = answered(&mut mapper, &first.iter().map(left).collect::<Vec<_>>());
    assert_eq!(last.iter().map(|packet| packet.seq).collect::<Vec<_>>(), [4 << 16 | 10]);
    let further = answered(&mut mapper, &[left(&last[0])]);
    assert_eq!(further[0].seq, 4 << 16 | 12);
}

/// Packets past the switches have room for more pairs, so a few pairs cost less there.
#[test]
fn one_refused_pair_of_eight_goes_to_its_next_place_and_one_of_nine_past_the_switches() {
    for (packets, kind) in [(8, Kind::Data), (9, Kind::Overflow)] {
        let mut mapper = of_rounds(std::slice::from_ref(&(0..packets)), Layout { window: 16, ..SMALL });
        let sent = answered(&mut mapper, &[start(4, 0, 0)]);
        let folded = (1..packets as u32).map(|number| ack(4, number));
        let again = answered(&mut mapper, &folded.chain([left(&sent[0])]).collect::<Vec<_>>());
        assert_eq!(again.iter().map(|packet| packet.kind).collect::<Vec<_>>(), [kind], "{packets} packets");
    }
}

/// The window has room for one packet, so there is no packet without an answer between two of them. Such a window has no cells for further places.
#[test]
fn pairs_past_the_switches_wait_until_all_of_the_round_is_answered() {
    let mut mapper = of_rounds(std::slice::from_ref(&(0..3)), Layout { window: 1, ..SMALL });
    let mut sent = answered(&mut mapper, &[start(4, 0, 0)]);
    for number in 0..3 {
        assert_eq!((sent.len(), sent[0].kind, sent[0].seq), (1, Kind::Data, 4 << 16 | number));
        sent = answered(&mut mapper, &[left(&sent[0])]);
    }
    assert_eq!((sent.len(), sent[0].kind, sent[0].pairs.len()), (1, Kind::Overflow, 3));
}

/// Packets of four pairs.
fn of_full_packets(packets: u32, layout: Layout) -> Mapper {
    let pair = |number: u32, lane| {
        let slot = Slot { lane, index: (number % layout.rows()) as u16 };
        Pair { place: Place { slot, tag: u128::from(number) + 1 }, value: 1 }
    };
    let parcel = |number| Parcel { is_direct: false, pairs: (0..4).map(|lane| pair(number, lane)).collect() };
    Mapper::new(config(layout), vec![(0..packets).map(parcel).collect::<Round>()].into())
}

/// Four packets past the switches have room for 144 pairs each, without the maps between blocks of four. Each packet of the round brings four.
#[test]
fn pairs_past_the_switches_are_sent_once_they_fill_four_packets() {
    let mut mapper = of_full_packets(200, Layout { window: 1, ..SMALL });
    let mut sent = answered(&mut mapper, &[start(4, 0, 0)]);
    let mut refused = 0;
    while sent[0].kind == Kind::Data {
        refused += 1;
        sent = answered(&mut mapper, &[left(&sent[0])]);
    }
    assert_eq!((refused, sent[0].kind, sent[0].pairs.len()), (144, Kind::Overflow, 141));
}

/// No answer to the rest of the round is needed first.
#[test]
fn pairs_for_further_places_are_sent_once_they_fill_64_packets() {
    let mut mapper = of_full_packets(80, Layout { window: 256, ..SMALL });
    let mut open = VecDeque::from(answered(&mut mapper, &[start(4, 0, 0)]));
    for refused in 1..=64 {
        let packet = open.pop_front().expect("a packet of the round");
        let sent = answered(&mut mapper, &[left(&packet)]);
        // Cells from 192 on are kept for them.
        let is_further = |packet: &Packet| packet.seq & 0xff >= 192;
        assert_eq!(sent.iter().any(is_further), refused == 64, "{refused} packets");
        open.extend(sent);
    }
}

/// The acknowledgement of a packet that says so does not wait for others: the last one, and one that fills the window. Two packets may be past the switches at a time.
#[test]
fn the_last_packet_past_the_switches_says_that_it_is_the_last_one() {
    let layout = Layout { window: 2, ..SMALL };
    let parcel = |number, is_direct| Parcel { is_direct, pairs: vec![pair(number, &layout)] };
    let round = |folded: u64| -> Mapper {
        let direct = (folded..folded + 3).map(|number| parcel(number, true));
        let all: Round = (0..folded).map(|number| parcel(number, false)).chain(direct).collect();
        Mapper::new(config(layout), vec![all].into())
    };
    let shown = |packets: Vec<Packet>| packets.iter().map(|one| (one.kind, one.aux)).collect::<Vec<_>>();
    let stored = |number| Packet { aux: STORED, ..ack(4, number) };
    let [early, full, last] = [0, FULL, LAST].map(|bit| (Kind::Overflow, DIRECT | bit));

    let mut mapper = round(0);
    assert_eq!(shown(answered(&mut mapper, &[start(4, 0, 0)])), [early, full]);
    assert_eq!(shown(answered(&mut mapper, &[stored(0)])), [last]);

    // The pair of the packet to be folded may come back.
    let mut mapper = round(1);
    let sent = answered(&mut mapper, &[start(4, 0, 0)]);
    assert_eq!(shown(sent.clone()), [early, full, (Kind::Data, 0)]);
    assert_eq!(shown(answered(&mut mapper, &[stored(1), stored(2)])), [early]);
    assert_eq!(shown(answered(&mut mapper, &[left(&sent[2])])), [last]);
}

/// An answer to the end acknowledges what has no answer yet; without one, an END follows once everything is acknowledged.
#[test]
fn the_end_is_said_by_the_last_packet_and_repeated_until_it_is_answered() {
    let layout = Layout { window: 256, ..SMALL };
    let parcel = |number| Parcel { is_direct: true, pairs: vec![pair(number, &layout)] };
    let mapper = || {
        let mut mapper = Mapper::new(config(layout), vec![(0..3).map(parcel).collect::<Round>()].into());
        let sent = answered(&mut mapper, &[start(4, 0, 0)]);
        assert_eq!(
            sent.iter().map(|one| (one.aux, one.boot)).collect::<Vec<_>>()[1..],
            [(DIRECT, 0), (DIRECT | LAST, 3)]
        );
        mapper
    };
    let end_ack = |aux| Packet { generation: 4, aux, ..Packet::new(Kind::EndAck, 1, Op::Add) };
    let later = Time::ZERO + Duration::from_ms(2);

    let mut over = mapper();
    assert_eq!(answered(&mut over, &[end_ack(1)]), []);
    assert!(!over.is_busy() && over.deadline().is_none());
    assert_eq!((over.poll(later), over.counts().marked), (None, 3));

    let mut acknowledged = mapper();
    let stored: Vec<Packet> = (0..3).map(|number| Packet { aux: STORED, ..ack(4, number) }).collect();
    assert_eq!(answered(&mut acknowledged, &stored), []);
    assert!(acknowledged.is_busy() && acknowledged.deadline().is_some());
    let end = acknowledged.poll(later).expect("it is time to ask");
    assert_eq!((end.kind, end.boot, end.aux), (Kind::End, 3, 7));
    assert_eq!(acknowledged.poll(later), None);

    // Packets that are repeated say the same, and no END goes beside them.
    let mut repeating = mapper();
    let again: Vec<Packet> = std::iter::from_fn(|| repeating.poll(later)).collect();
    assert_eq!(
        again.iter().map(|one| (one.kind, one.aux, one.boot)).collect::<Vec<_>>(),
        [(Kind::Overflow, DIRECT | LAST, 3); 3]
    );
}

/// Packets of the next round are acknowledged before the end of this one: its answer waits for a START.
#[test]
fn the_last_packet_of_a_round_is_not_lost_because_later_ones_are_acknowledged() {
    let layout = Layout { window: 256, ..SMALL };
    let parcel = |number| Parcel { is_direct: true, pairs: vec![pair(number, &layout)] };
    let round = |numbers: std::ops::Range<u64>| numbers.map(parcel).collect::<Round>();
    let mut mapper = Mapper::new(config(layout), vec![round(0..2), round(2..6), round(6..7)].into());
    answered(&mut mapper, &[start(4, 0, 0), start(5, 1, 4)]);
    let stored = |number| Packet { aux: STORED, ..ack(5, number) };
    // The first packet is lost, and the second one is the last of its round.
    let again = answered(&mut mapper, &[stored(0), stored(1), stored(2)]);
    assert_eq!(again.iter().map(|one| one.seq).collect::<Vec<_>>(), [4 << 16]);
    // The START of the round after the next one ends the first one.
    let next = answered(&mut mapper, &[start(6, 2, 5)]);
    assert_eq!(next.iter().map(|one| one.seq).collect::<Vec<_>>(), [6 << 16]);
    let late: Vec<Packet> = std::iter::from_fn(|| mapper.poll(Time::ZERO + Duration::from_ms(2))).collect();
    assert_eq!(late.iter().map(|one| one.seq).collect::<Vec<_>>(), [5 << 16 | 3, 6 << 16]);
}

/// The packet past the switches did not know that nothing would come back.
#[test]
fn an_end_does_not_wait_for_packets_past_the_switches() {
    let layout = Layout { window: 256, ..SMALL };
    let parcel = |number, is_direct| Parcel { is_direct, pairs: vec![pair(number, &layout)] };
    let round: Round = vec![parcel(0, false), parcel(1, true)];
    let mut mapper = Mapper::new(config(layout), vec![round].into());
    let sent = answered(&mut mapper, &[start(4, 0, 0)]);
    assert_eq!(
        sent.iter().map(|one| (one.kind, one.aux, one.boot)).collect::<Vec<_>>(),
        [(Kind::Overflow, DIRECT, 0), (Kind::Data, 0, 0)]
    );
    let end = answered(&mut mapper, &[ack(4, 0)]);
    assert_eq!(end.iter().map(|one| (one.kind, one.boot)).collect::<Vec<_>>(), [(Kind::End, 1)]);
}

#[test]
fn an_end_without_an_answer_is_over_when_further_rounds_come() {
    let mut mapper = of_rounds(std::slice::from_ref(&(0..1)), SMALL);
    hear(&mut mapper, start(4, 0, 0));
    assert_eq!(hear(&mut mapper, ack(4, 0)), [(Kind::End, 4, 0)]);
    assert!(mapper.is_busy() && mapper.deadline().is_some());
    mapper.extend(vec![vec![]].into(), Op::Max);
    assert!(!mapper.is_busy() && mapper.deadline().is_none());
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
    let (mut numbers, mut found) = (BTreeSet::new(), vec![]);
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
