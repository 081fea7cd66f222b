//! The printed programs, for v1model and for TNA, and the model of the switch, on the same packets: a random sequence that reaches every
//! branch. Changed programs are noticed: in the short form, by sequences that are as long, one of three. `P4RACK_ALL` makes the sequences fifty times as long.

use aggregate::program::Program;
use aggregate::{Direction, Kind, Layout, Op, Packet, Pair, Place, Slot, Switch};
use aggregate_trials::{
    CHILDREN, Compiled, Datagram, Engine, MAPPERS, Pipeline, REDUCER, Reached, SWITCH, compile,
};
use base_time::Rng;

const JOB: u16 = 9;
const NUMBER: u16 = 3;
const CHANNELS: u16 = 3;

const SMALL: Layout = Layout { lanes: 4, tag_bits: 32, index_bits: 2, window: 4, evict: false };

/// Layouts, and what they are for.
const LAYOUTS: [(&str, Layout); 7] = [
    ("small", SMALL),
    ("24 lanes", Layout { lanes: 24, index_bits: 1, ..SMALL }),
    ("eviction", Layout { evict: true, window: 2, ..SMALL }),
    ("whole keys", Layout { tag_bits: 128, window: 1, ..SMALL }),
    ("arrays", Layout { tag_bits: Layout::NO_TAG, ..SMALL }),
    ("long packets of arrays", Layout { lanes: 36, tag_bits: Layout::NO_TAG, index_bits: 1, ..SMALL }),
    ("long packets", Layout { lanes: 64, tag_bits: 128, index_bits: 1, evict: true, ..SMALL }),
];

fn program(layout: Layout) -> Program {
    let operators = vec![Op::Add, Op::Max, Op::Or];
    Program { operators, jobs: 2, ..Program::new(layout, Op::Add, CHANNELS) }
}

fn parent(layout: Layout) -> Program {
    Program { is_parent: true, channels: 8, ..program(layout) }
}

/// Layouts of programs for TNA.
fn layouts_for_tna() -> impl Iterator<Item = (&'static str, Layout)> {
    LAYOUTS.into_iter().filter(|(_, layout)| layout.tag_bits == Layout::SHORT_TAG && !layout.evict)
}

/// The same program with as many operators as TNA has.
fn for_tna(program: Program) -> Program {
    Program { operators: vec![Op::Add, Op::Max], ..program }
}

/// Programs of a layout, for v1model and for TNA.
fn both(layout: Layout) -> [(Program, String); 2] {
    let (one, other) = (program(layout), for_tna(program(layout)));
    let texts = [one.source(), other.tna()].map(|text| text.expect("it prints"));
    let [text, text_for_tna] = texts;
    [(one, text), (other, text_for_tna)]
}

/// Streams that a program folds.
fn senders(is_parent: bool) -> Vec<(Kind, u16)> {
    let kinds = if is_parent {
        &[(Kind::Data, 3), (Kind::Overflow, 2), (Kind::ReadReply, 2)][..]
    } else {
        &[(Kind::Data, CHANNELS)]
    };
    kinds.iter().flat_map(|(kind, count)| (0..*count).map(|channel| (*kind, channel))).collect()
}

fn length(packets: u32) -> u32 {
    if features::is_long() { 10 * packets } else { packets / 5 }
}

/// One of so many changed programs is tried.
fn step() -> usize {
    if features::is_long() { 1 } else { 3 }
}

/// A packet of small numbers that grow with time, and who sends it: the reducer or a channel's mapper.
fn packet(layout: &Layout, (at, boot): (u32, u16), rng: &mut Rng) -> (Option<u16>, Packet) {
    let asked = [Kind::Open, Kind::Close, Kind::Read, Kind::Clear];
    let kind = match rng.below(11) {
        0..=5 => Kind::Data,
        6..=8 => *rng.pick(&asked).expect("there are some"),
        9 => *rng.pick(&[Kind::Overflow, Kind::ReadReply]).expect("there are some"),
        _ => *rng.pick(&Kind::ALL).expect("there are some"),
    };
    let op = *rng.pick(&[Op::Add, Op::Max, Op::Or, Op::Min]).expect("there are some");
    let mut packet = Packet::new(kind, JOB + u16::from(rng.chance(1, 40)), op);
    packet.generation = at / 100 + rng.below(4) as u32;
    packet.boot = if rng.chance(1, 10) { 3 - boot } else { boot };
    let is_asked = asked.contains(&kind);
    packet.channel = if is_asked && rng.chance(9, 10) { NUMBER } else { rng.below(4) as u16 };
    packet.seq = at / 8 + rng.below(12) as u32;
    // Of an OVERFLOW, only the lowest bit has a meaning, and the others are 0.
    packet.aux = rng.below(if kind == Kind::Overflow { 2 } else { 4 }) as u32;
    if kind == Kind::ReadReply && rng.next_bool() {
        // One row was read of one.
        packet.aux = 0x1_0001;
    }
    if matches!(kind, Kind::Read | Kind::Clear) {
        packet.aux = *rng.pick(&[0, 1, 1, 2, 3, 8, 256, 257, 0x1_0003]).expect("there are some");
        let maps = [0, 0, 1, 2, 3, 7, 255, 0x1_0000, 0x1_0001];
        let has_map = kind == Kind::Read || rng.chance(1, 20);
        packet.map = if has_map { *rng.pick(&maps).expect("there are some") } else { 0 };
    }
    if kind.has_pairs() {
        for lane in (0..layout.lanes).filter(|_| rng.chance(2, 3)).collect::<Vec<_>>() {
            let tag = rng.below(4) as u128;
            let high = if layout.tag_bits == 128 { rng.below(2) as u128 } else { 0 };
            // A reply is a row.
            let index = match kind {
                _ if layout.is_dense() => packet.seq as u16,
                Kind::ReadReply => at as u16 % 6,
                _ => rng.below(6) as u16,
            };
            let slot = Slot { lane, index };
            packet
                .pairs
                .push(Pair { place: Place { slot, tag: high << 100 | tag }, value: rng.next_u64() as u32 });
        }
    }
    let from = match kind {
        Kind::ReadReply if rng.next_bool() => Some(CHILDREN + packet.channel % 2),
        Kind::Data if rng.chance(1, 40) => Some(rng.below(CHANNELS.into()) as u16),
        _ if is_asked && rng.chance(1, 40) => Some(0),
        Kind::Data | Kind::Overflow | Kind::End => Some(packet.channel % CHANNELS),
        _ => None,
    };
    (from, packet)
}

/// Outputs by the model and the rules about ports.
fn wanted(
    model: &mut Switch,
    program: &Program,
    from: Option<u16>,
    packet: &Packet,
    is_marked: bool,
) -> Vec<(Direction, Packet)> {
    let is_asked = matches!(packet.kind, Kind::Open | Kind::Close | Kind::Read | Kind::Clear);
    let is_stream = program.is_parent
        && (packet.kind == Kind::ReadReply || packet.kind == Kind::Overflow && packet.aux == 0);
    let is_handled = packet.job == JOB && (is_asked || packet.kind == Kind::Data || is_stream);
    let port = if packet.kind == Kind::ReadReply { CHILDREN + packet.channel } else { packet.channel };
    let is_planned = match is_asked {
        true => from.is_none() || packet.channel != NUMBER,
        false => from == Some(port),
    };
    if is_handled && !program.operators.contains(&packet.op) {
        return vec![];
    }
    if is_handled && !is_planned {
        return is_stream.then(|| (Direction::On, packet.clone())).into_iter().collect();
    }
    model.handle(packet.clone(), is_marked)
}

/// The first packet that the program treats in another way.
fn difference(program: Program, source: &str, engine: Engine, packets: u32, seed: u64) -> Option<String> {
    let compiled = compile(source).unwrap_or_else(|problem| panic!("{problem}\n{source}"));
    [false, true].into_iter().find_map(|has_parent| {
        difference_of(program.clone(), has_parent, &compiled, engine, packets / 2, seed)
    })
}

fn difference_of(
    program: Program,
    has_parent: bool,
    compiled: &Compiled,
    engine: Engine,
    packets: u32,
    seed: u64,
) -> Option<String> {
    let (layout, is_parent) = (program.layout, program.is_parent);
    let senders = senders(is_parent);
    let mut pipeline =
        Pipeline::of_senders(program.clone(), compiled, engine, (JOB, NUMBER, 1), has_parent, &senders)
            .expect("it starts");
    let mut model = Switch::of_senders(layout, NUMBER, JOB, senders, 1).with_answers_of(program.most_bytes());
    if has_parent {
        model = model.before_a_parent();
    }
    let mut rng = Rng::new(seed);
    let mut boot = 1;
    for at in 0..packets {
        if rng.chance(1, 1500) {
            boot = rng.between(1, 2) as u16;
            model.restart(boot);
            pipeline.restart(boot).expect("it starts");
        }
        let (from, packet) = packet(&layout, (at, boot), &mut rng);
        let ecn = rng.below(4) as u8;
        let source = match from {
            None => REDUCER,
            Some(channel) if channel >= CHILDREN => SWITCH + u32::from(channel - CHILDREN),
            Some(channel) => MAPPERS + u32::from(channel),
        };
        let is_asked = matches!(packet.kind, Kind::Open | Kind::Close | Kind::Read | Kind::Clear);
        let to_mapper =
            matches!(packet.kind, Kind::Start | Kind::EndAck | Kind::Ack) && packet.channel < CHANNELS;
        let destination = match from {
            None if is_asked && packet.channel == NUMBER => SWITCH,
            None if is_asked => SWITCH + 1,
            None if to_mapper => MAPPERS + u32::from(packet.channel),
            _ => REDUCER,
        };
        let datagram = Datagram { source, destination, port: 42606, ecn, payload: packet.bytes(&layout) };
        let wanted =
            wanted(&mut model, &program, from, &packet, ecn == 3).into_iter().map(|(direction, answer)| {
                let payload = answer.bytes(&layout);
                let answer = match direction {
                    Direction::Back => {
                        Datagram { source: destination, destination: source, payload, ..datagram.clone() }
                    }
                    Direction::On => Datagram { payload, ..datagram.clone() },
                };
                match answer.destination {
                    REDUCER => Reached::Reducer(answer),
                    child if child >= SWITCH => Reached::Mapper(CHILDREN + (child - SWITCH) as u16, answer),
                    mapper => Reached::Mapper((mapper - MAPPERS) as u16, answer),
                }
            });
        let mut wanted: Vec<Reached> = wanted.collect();
        let mut found = pipeline.outputs(from, &datagram);
        let length = |reached: &Reached| match reached {
            Reached::Reducer(datagram) | Reached::Mapper(_, datagram) => datagram.payload.len(),
        };
        let most = datagram.payload.len() + usize::from(program.growth.unwrap_or(u16::MAX));
        if let Some(longer) = found.iter().find(|reached| length(reached) > most) {
            return Some(format!("packet {at} grows: {packet:?}, {longer:?}"));
        }
        // Of several answers to a request, one of fewer rows may come out before an earlier one.
        let bytes = |reached: &Reached| match reached {
            Reached::Reducer(datagram) | Reached::Mapper(_, datagram) => datagram.payload.clone(),
        };
        wanted.sort_by_key(bytes);
        found.sort_by_key(bytes);
        if found != wanted {
            return Some(format!(
                "packet {at}: {packet:?} from {from:?}\nfound {found:?}\nwanted {wanted:?}"
            ));
        }
    }
    None
}

#[test]
fn machine_code_does_what_the_model_does() {
    for (name, layout) in LAYOUTS {
        let packets = length(if layout.lanes > 24 { 6000 } else { 30_000 });
        let source = program(layout).source().expect("it prints");
        if let Some(what) = difference(program(layout), &source, Engine::Native, packets, 1) {
            panic!("{name}: {what}");
        }
    }
}

#[test]
fn the_interpreter_does_what_the_model_does() {
    for (name, layout) in LAYOUTS {
        let packets = length(if layout.lanes > 4 { 300 } else { 3000 });
        let source = program(layout).source().expect("it prints");
        if let Some(what) = difference(program(layout), &source, Engine::Interpreter, packets, 2) {
            panic!("{name}: {what}");
        }
    }
}

/// An answer has two rows of 24 lanes, and one of 36 values. Without the limit it has more.
#[test]
fn programs_for_bmv2_do_what_the_model_does() {
    for (name, layout) in LAYOUTS.into_iter().filter(|(_, layout)| layout.row_bytes() <= 512) {
        let program = program(layout).for_bmv2();
        let source = program.source().expect("it prints");
        if let Some(what) = difference(program.clone(), &source, Engine::Native, length(10_000), 5) {
            panic!("{name}: {what}");
        }
    }
    let program = program(LAYOUTS[1].1);
    let source = program.source().expect("it prints");
    let found = difference(program.for_bmv2(), &source, Engine::Native, 10_000, 5);
    assert!(found.is_some(), "answers are not longer");
}

#[test]
fn a_parent_does_what_the_model_does() {
    for (name, layout) in LAYOUTS {
        let packets = length(if layout.lanes > 24 { 6000 } else { 30_000 });
        let source = parent(layout).source().expect("it prints");
        if let Some(what) = difference(parent(layout), &source, Engine::Native, packets, 4) {
            panic!("{name}: {what}");
        }
    }
}

#[test]
fn programs_for_tna_do_what_the_model_does() {
    for (name, layout) in layouts_for_tna() {
        for program in [program(layout), parent(layout)].map(for_tna) {
            let source = program.tna().expect("it prints");
            let few = length(if layout.lanes > 4 { 300 } else { 3000 });
            for (engine, packets) in [(Engine::Native, length(30_000)), (Engine::Interpreter, few)] {
                if let Some(what) = difference(program.clone(), &source, engine, packets, 5) {
                    panic!("{name}, parent {}, {engine:?}: {what}", program.is_parent);
                }
            }
        }
    }
}

/// Changes of the program, each a mistake.
const MUTANTS: [(&str, &str); 26] = [
    ("hdr.agg.seq < cell", "hdr.agg.seq <= cell"),
    ("hdr.agg.seq > cell", "hdr.agg.seq >= cell"),
    ("cells.write(task.cell, hdr.agg.seq);", "cells.write(task.cell, cell + 1);"),
    ("hdr.agg.seq & (WINDOW - 1)", "hdr.agg.seq & 1"),
    ("meta.first_cell + ", ""),
    ("overflows.write(task.cell, meta.map);", ""),
    ("generation != hdr.agg.generation || is_open == 0", "is_open == 0"),
    ("generation != hdr.agg.generation || is_open == 0", "generation != hdr.agg.generation"),
    ("hdr.agg.boot != meta.boot", "false"),
    ("hdr.agg.seq = generation;", ""),
    ("if (hdr.agg.type == OPEN) {\n                        hdr", "if (true) {\n                        hdr"),
    ("first_bank + (bit<32>)hdr.agg.generation[0:0]", "first_bank"),
    ("hdr.agg.generation[0:0] == 1 ? ROWS : 0", "0"),
    ("is_open == 1) {\n                    drop();", "false) {\n                    drop();"),
    ("slots.write(task.first_slot + task.row, 32w0 ++ 32w0);", ""),
    ("held > lane.value ? held", "held < lane.value ? held"),
    ("hdr.ipv4.ecn == 3 ? 32w1 : 0", "0"),
    ("!is_again && standard_metadata.ingress_port != meta.reducer_port", "false"),
    ("hdr.agg.generation < generation", "false"),
    ("hdr.agg.seq = hdr.agg.seq + hdr.agg.aux;", ""),
    ("hdr.agg.valid = hdr.agg.aux;", ""),
    ("hdr.agg.valid != 0 && hdr.agg.aux > hdr.agg.valid", "false"),
    ("if (meta.rest == 0) {", "if (true) {"),
    ("                            hdr.agg.aux = hdr.agg.valid;", ""),
    ("|| hdr.agg.valid[31:16] != 0", ""),
    ("hdr.agg.type == CLEAR && hdr.agg.valid != 0", "false"),
];

/// The same of parents.
const OF_PARENTS: [(&str, &str); 3] = [
    ("hdr.agg.type == OVERFLOW && hdr.agg.aux == 0", "hdr.agg.type == OVERFLOW"),
    ("hdr.agg.type == DATA || hdr.agg.type == OVERFLOW", "hdr.agg.type == DATA"),
    ("is_data || hdr.agg.channel == meta.number", "true"),
];

/// The same of programs that evict.
const EVICTING: [(&str, &str); 10] = [
    ("shadow.read(pair, task.cell);", ""),
    ("shadow.write(task.cell, older_tag ++ older);", "shadow.write(0, older_tag ++ older);"),
    ("slots.write(at, lane.tag ++ lane.value);\n                        if", "if"),
    ("slots.write(at + 1, tag ++ held);", ""),
    ("slots.write(at + 1, lane.tag ++ held);", ""),
    ("older_tag == lane.tag && older_tag != 0", "false"),
    ("older_tag == lane.tag && older_tag != 0", "older_tag == lane.tag"),
    ("if (older_tag != 0) {", "if (true) {"),
    ("& (ROWS - 2)", "& (ROWS - 1)"),
    ("lane.index = (bit<16>)task.row;", "lane.index = (bit<16>)(task.row & (ROWS - 2));"),
];

/// The same of programs for arrays, which are parents.
const OF_ARRAYS: [(&str, &str); 6] = [
    ("task.row = hdr.agg.seq & (ROWS - 1);", ""),
    ("slots.write(at, held);", ""),
    ("slots.write(at, 0);", ""),
    ("held = held + lane.value;", "held = lane.value;"),
    (
        "            lane.value = held;\n            sent = 1;",
        "            lane.value = held;\n            sent = held == 0 ? 1w0 : 1;",
    ),
    ("at = task.first_slot + task.row;", "at = task.row;"),
];

/// The same of programs for TNA.
const FOR_TNA: [(&str, &str); 32] = [
    ("hdr.agg.seq > cell", "hdr.agg.seq >= cell"),
    ("age = OLD;", "age = SAME;"),
    ("cell = hdr.agg.seq;", "cell = cell + 1;"),
    ("++ hdr.agg.seq[1:0]", "++ 1w0 ++ hdr.agg.seq[0:0]"),
    ("map = meta.sent;", ""),
    ("held.generation != hdr.agg.generation", "false"),
    ("held.is_open == 0", "false"),
    ("held.generation < hdr.agg.generation", "held.generation <= hdr.agg.generation"),
    ("held.is_open = 0;", ""),
    ("generation = held.generation;", "generation = held.is_open;"),
    ("(IS_OPEN, _, _, PLAIN, _, 0, 0): show_bank();", ""),
    ("meta.first_bank[31:1] ++ meta.parity[0:0]", "meta.first_bank[31:1] ++ 1w0"),
    ("++ parity[0:0]", "++ 1w0"),
    ("slot.tag = 0;", ""),
    ("slot.tag == 0", "false"),
    ("max(slot.value, lane.value)", "min(slot.value, lane.value)"),
    ("acknowledge(1);", "acknowledge(0);"),
    ("hdr.agg.valid & meta.map", "meta.map"),
    ("reducer_port ^ ig_intr_md.ingress_port", "0"),
    ("boot ^ hdr.agg.boot", "0"),
    ("number ^ hdr.agg.channel", "0"),
    ("(KEEP_MAP, 1): only_one();", "(KEEP_MAP, 1): only_other();"),
    ("(KEEP_NONE, 3): neither();", ""),
    ("hdr.agg.seq = hdr.agg.seq + (bit<32>)hdr.agg.count;", ""),
    ("hdr.agg.count = hdr.bridge.rest;", ""),
    ("hdr.agg.valid = 16w0 ++ hdr.agg.count;", ""),
    ("hdr.agg.count = hdr.agg.valid[15:0];", ""),
    ("(FETCH_VALUES, 0, _): NoAction();", ""),
    ("(FETCH_VALUES, _, 0): first_row();", ""),
    ("0: empty_0; default: full_0;", "default: full_0;"),
    ("hdr.udp.len = eg_intr_md.pkt_length - 37;", ""),
    ("(_, FREE, _, _, _, _, _): plan(DROP, KEEP_ALL);", ""),
];

/// The same of programs of 24 lanes, whose rows fill a packet.
const FOR_TNA_OF_MANY_LANES: [(&str, &str); 1] = [("hdr.udp.len |-| MOST_LENGTH", "0")];

/// The same of parents.
const FOR_TNA_OF_PARENTS: [(&str, &str); 3] = [
    ("plan(FOLD_ROW, KEEP_MAP)", "plan(FOLD_ROW, KEEP_NONE)"),
    ("leave_pairs(READREPLY);", "leave_pairs(OVERFLOW);"),
    ("(IS_LEFT, _, _, _, _, _, _): pass();", ""),
];

#[test]
fn changed_programs_for_tna_are_noticed() {
    let plain = FOR_TNA.iter().map(|mutant| (for_tna(program(SMALL)), mutant));
    let parents = FOR_TNA_OF_PARENTS.iter().map(|mutant| (for_tna(parent(SMALL)), mutant));
    let many = FOR_TNA_OF_MANY_LANES.iter().map(|mutant| (for_tna(program(LAYOUTS[1].1)), mutant));
    for (program, (from, to)) in plain.chain(parents).chain(many).step_by(step()) {
        let source = program.tna().expect("it prints");
        let changed = source.replace(from, to);
        assert_ne!(changed, source, "`{from}` is not in the program");
        let found = difference(program.clone(), &changed, Engine::Native, length(30_000), 3);
        assert!(found.is_some(), "`{to}` in place of `{from}` is not noticed");
    }
}

#[test]
fn changed_programs_are_noticed() {
    let arrays = OF_ARRAYS.iter().map(|mutant| (parent(LAYOUTS[4].1), mutant));
    let evicting = LAYOUTS[2].1;
    let plain = MUTANTS.iter().map(|mutant| (program(SMALL), mutant));
    let evicting = EVICTING.iter().map(|mutant| (program(evicting), mutant));
    let parents = OF_PARENTS.iter().map(|mutant| (parent(SMALL), mutant));
    for (program, (from, to)) in plain.chain(evicting).chain(parents).chain(arrays).step_by(step()) {
        let source = program.source().expect("it prints");
        let changed = source.replace(from, to);
        assert_ne!(changed, source, "`{from}` is not in the program");
        let found = difference(program, &changed, Engine::Native, length(30_000), 3);
        assert!(found.is_some(), "`{from}` in place of `{to}` is not noticed");
    }
}

#[test]
fn damaged_frames_change_nothing() {
    both(SMALL).into_iter().for_each(|(program, source)| refuses_damaged_frames(program, &source));
}

fn refuses_damaged_frames(program: Program, source: &str) {
    let compiled = compile(source).expect("it compiles");
    let mut pipeline =
        Pipeline::new(program, &compiled, Engine::Native, (JOB, NUMBER, 1)).expect("it starts");
    let open = Packet { generation: 1, boot: 1, channel: NUMBER, ..Packet::new(Kind::Open, JOB, Op::Add) };
    let ask = |packet: &Packet| Datagram {
        source: REDUCER,
        destination: SWITCH,
        port: 42606,
        ecn: 0,
        payload: packet.bytes(&SMALL),
    };
    assert!(pipeline.handle(None, &ask(&open)).is_some());
    let place = Place { slot: Slot { lane: 2, index: 0 }, tag: 5 };
    let pairs = vec![Pair { place, value: 1 }];
    let data = Packet { generation: 1, seq: 1, pairs, ..Packet::new(Kind::Data, JOB, Op::Add) };
    let bytes = data.bytes(&SMALL);
    let send =
        |payload: Vec<u8>| Datagram { source: MAPPERS, destination: REDUCER, port: 42606, ecn: 0, payload };
    // Shorter than its map says; another version, format, and operator; lanes that the program does not have.
    let mut damaged: Vec<Vec<u8>> = (24..bytes.len()).map(|length| bytes[..length].to_vec()).collect();
    for (at, value) in [(0, 0x11), (1, 0x03), (1, 0x20), (16, 0x80)] {
        let mut other = bytes.clone();
        other[at] = value;
        damaged.push(other);
    }
    let count = damaged.len() as u64;
    for payload in damaged {
        assert_eq!(pipeline.handle(Some(0), &send(payload)), None);
    }
    assert_eq!(pipeline.refused(), count);
    assert!(pipeline.handle(Some(0), &send(bytes)).is_some());
}

/// Packets of attackers at ports of the job, and copies of packets that were taken.
#[test]
fn forged_and_replayed_packets_change_nothing() {
    both(SMALL).into_iter().for_each(|(program, source)| refuses_forged_packets(&program, &source));
}

fn refuses_forged_packets(program: &Program, source: &str) {
    let compiled = compile(source).expect("it compiles");
    for engine in [Engine::Native, Engine::Interpreter] {
        let mut pipeline =
            Pipeline::new(program.clone(), &compiled, engine, (JOB, NUMBER, 1)).expect("it starts");
        let request = |kind, aux| Packet {
            generation: 1,
            boot: 1,
            channel: NUMBER,
            aux,
            ..Packet::new(kind, JOB, Op::Add)
        };
        let to = |source, destination, packet: &Packet| Datagram {
            source,
            destination,
            port: 42606,
            ecn: 0,
            payload: packet.bytes(&SMALL),
        };
        let ask = |packet: &Packet| to(REDUCER, SWITCH, packet);
        let place = Place { slot: Slot { lane: 2, index: 0 }, tag: 5 };
        let data = |job, channel, seq| Packet {
            generation: 1,
            channel,
            seq,
            pairs: vec![Pair { place, value: 7 }],
            ..Packet::new(Kind::Data, job, Op::Add)
        };
        let send = |packet: &Packet| to(MAPPERS, REDUCER, packet);
        assert!(pipeline.handle(None, &ask(&request(Kind::Open, 0))).is_some());
        let first = pipeline.handle(Some(0), &send(&data(JOB, 0, 6)));
        assert!(first.is_some());
        // Data at another mapper's port, and of a channel that nobody has; requests at a mapper's port.
        let forged = [
            pipeline.handle(Some(1), &send(&data(JOB, 0, 3))),
            pipeline.handle(Some(0), &send(&data(JOB, 1, 3))),
            pipeline.handle(Some(0), &send(&data(JOB, 99, 3))),
            pipeline.handle(Some(0), &ask(&request(Kind::Close, 0))),
            pipeline.handle(Some(0), &ask(&request(Kind::Open, 0))),
        ];
        let count = forged.len() as u64;
        assert_eq!(forged, [const { None }; 5], "{engine:?}");
        assert_eq!(pipeline.refused(), count, "{engine:?}");
        // Packets of a job that the switch does not have are ordinary traffic.
        let other = send(&data(JOB + 1, 0, 3));
        assert_eq!(pipeline.handle(Some(0), &other), Some(Reached::Reducer(other)), "{engine:?}");
        // A copy gets the answer again, an older packet none.
        assert_eq!(pipeline.handle(Some(0), &send(&data(JOB, 0, 6))), first);
        assert_eq!(pipeline.handle(Some(0), &send(&data(JOB, 0, 2))), None);
        assert!(pipeline.handle(None, &ask(&request(Kind::Close, 0))).is_some());
        let read = pipeline.handle(None, &ask(&Packet { seq: 1 << 16, ..request(Kind::Read, 1) }));
        let Some(Reached::Reducer(read)) = read else { panic!("{read:?}") };
        let rows = Packet::parse(&read.payload, &SMALL).expect("a packet");
        assert_eq!(rows.pairs, [Pair { place, value: 7 }], "{engine:?}: counted once");
    }
}

/// The second pass of a READ finds the bank open for another generation, or closed and emptied: it reads nothing of that.
#[test]
fn requests_that_come_around_meet_other_generations() {
    let ask = |kind, generation, aux| {
        let request = Packet::new(kind, JOB, Op::Add);
        let packet = Packet { generation, boot: 1, channel: NUMBER, aux, ..request };
        let payload = packet.bytes(&SMALL);
        Datagram { source: REDUCER, destination: SWITCH, port: 42606, ecn: 0, payload }
    };
    let place = Place { slot: Slot { lane: 2, index: 0 }, tag: 5 };
    let pairs = vec![Pair { place, value: 7 }];
    let data = Packet { generation: 1, seq: 1 << 16, pairs, ..Packet::new(Kind::Data, JOB, Op::Add) };
    let payload = data.bytes(&SMALL);
    let data = Datagram { source: MAPPERS, destination: REDUCER, port: 42606, ecn: 0, payload };
    let kind = |reached: &Reached| match reached {
        Reached::Reducer(datagram) | Reached::Mapper(_, datagram) => {
            Packet::parse(&datagram.payload, &SMALL).expect("a packet").kind
        }
    };
    for (program, source) in both(SMALL) {
        let compiled = compile(&source).expect("it compiles");
        let mut pipeline =
            Pipeline::new(program, &compiled, Engine::Native, (JOB, NUMBER, 1)).expect("it starts");
        assert!(pipeline.handle(None, &ask(Kind::Open, 1, 0)).is_some());
        assert!(pipeline.handle(Some(0), &data).is_some());
        assert!(pipeline.handle(None, &ask(Kind::Close, 1, 0)).is_some());
        let (read, next) = (ask(Kind::Read, 1, 2), ask(Kind::Open, 3, 0));
        let came = pipeline.together(&[(None, &read), (None, &next)]);
        assert_eq!(came.iter().map(kind).collect::<Vec<_>>(), [Kind::Opened]);
        // Of the same bank, but open.
        let read = ask(Kind::Read, 3, 2);
        assert_eq!(pipeline.handle(None, &read), None);
        // Beside a request that it does not meet, it reads on.
        assert!(pipeline.handle(None, &ask(Kind::Close, 3, 0)).is_some());
        let came = pipeline.together(&[(None, &read), (None, &ask(Kind::Open, 2, 0))]);
        let mut kinds: Vec<Kind> = came.iter().map(kind).collect();
        kinds.sort();
        assert_eq!(kinds, [Kind::Opened, Kind::ReadReply]);
    }
}
