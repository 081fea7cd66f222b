//! Real mappers, the real reducer and the printed switch program, with an adversary between them: loss, doubling and overtaking of
//! up to a fifth, restarts of the switch and of mappers. Results equal a serial fold. `P4RACK_ALL`: 10,000 seeds.

#[path = "../../aggregate/tests/adversary/mod.rs"]
mod adversary;

use adversary::{Disturbance, From, JOB, Node, World, tree_senders};
use aggregate::program::Program;
use aggregate::{Direction, Kind, Layout, Op, Packet};
use aggregate_trials::{
    CHILDREN, Compiled, Datagram, Engine, MAPPERS, Pipeline, REDUCER, Reached, SWITCH, compile,
};
use base_time::{Rng, Zipf};
use reduce_jobs::job::Reducer;
use reduce_jobs::network::{Packed, rows};
use reduce_jobs::pairs::Combined;
use std::collections::BTreeMap;
use std::fmt::Write;

const MAPPERS_OF_A_JOB: u16 = 3;

/// Streams that a switch has room for.
const STREAMS: u16 = 8;

/// A pipeline as a switch of a [`World`]. Compiled programs live as long as the test.
struct Device {
    layout: Layout,
    pipeline: Pipeline<'static>,
}

impl Node for Device {
    fn handle(&mut self, from: From, packet: Packet, is_marked: bool) -> Vec<(Direction, Packet)> {
        let is_asked = matches!(packet.kind, Kind::Open | Kind::Close | Kind::Read | Kind::Clear);
        let (source, destination) = match from {
            From::Mapper(channel) => (MAPPERS + u32::from(channel), REDUCER),
            From::Switch(switch) => (SWITCH + u32::from(switch), REDUCER),
            From::Reducer if is_asked => (REDUCER, SWITCH + u32::from(packet.channel)),
            From::Reducer => (REDUCER, MAPPERS + u32::from(packet.channel)),
        };
        let from = match from {
            From::Reducer => None,
            From::Mapper(channel) => Some(channel),
            From::Switch(switch) => Some(CHILDREN + switch),
        };
        let ecn = if is_marked { 3 } else { 2 };
        let payload = packet.bytes(&self.layout);
        let datagram = Datagram { source, destination, port: 42606, ecn, payload };
        let out = self.pipeline.outputs(from, &datagram).into_iter().map(|reached| {
            let (is_back, reached) = match reached {
                Reached::Reducer(datagram) => (from.is_none(), datagram),
                Reached::Mapper(channel, datagram) => (from == Some(channel), datagram),
            };
            let direction = if is_back { Direction::Back } else { Direction::On };
            (direction, Packet::parse(&reached.payload, &self.layout).expect("it is a packet"))
        });
        out.collect()
    }

    fn restart(&mut self, boot: u16) {
        self.pipeline.restart(boot).expect("it starts");
    }
}

/// Form of a printed program.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Form {
    #[default]
    V1model,
    /// The same for `simple_switch`, with shorter answers.
    Bmv2,
    Tna,
}

/// Compiled programs by window, eviction, arrays, and whether they are parents.
#[derive(Default)]
struct Programs {
    compiled: BTreeMap<(u32, bool, bool, bool), &'static Compiled>,
    form: Form,
}

impl Programs {
    fn of(form: Form) -> Programs {
        Programs { form, ..Programs::default() }
    }

    fn for_tna() -> Programs {
        Programs::of(Form::Tna)
    }

    fn device(&mut self, layout: Layout) -> Box<dyn Node> {
        let senders: Vec<_> = (0..MAPPERS_OF_A_JOB).map(|channel| (Kind::Data, channel)).collect();
        self.node(layout, 0, (false, false), &senders)
    }

    /// A switch of a tree of so many leaves.
    fn of_tree(&mut self, layout: Layout, number: u16, leaves: u16, channels: u16) -> Box<dyn Node> {
        let senders = tree_senders(number, leaves, channels);
        self.node(layout, number, (number == leaves, number < leaves), &senders)
    }

    fn node(
        &mut self,
        layout: Layout,
        number: u16,
        (is_parent, has_parent): (bool, bool),
        senders: &[(Kind, u16)],
    ) -> Box<dyn Node> {
        let is_for_tna = self.form == Form::Tna;
        let most = if is_for_tna { Program::MOST_OPERATORS_OF_TNA } else { Program::MOST_OPERATORS };
        let operators = [Op::Add, Op::Max, Op::Or][..most].to_vec();
        let program = Program { operators, jobs: 2, is_parent, ..Program::new(layout, Op::Add, STREAMS) };
        let program = if self.form == Form::Bmv2 { program.for_bmv2() } else { program };
        let key = (layout.window, layout.evict, layout.is_dense(), is_parent);
        let compiled = self.compiled.entry(key).or_insert_with(|| {
            let source = if is_for_tna { program.tna() } else { program.source() };
            Box::leak(Box::new(compile(&source.expect("it prints")).expect("it compiles")))
        });
        let job = (JOB, number, 1);
        let pipeline = Pipeline::of_senders(program, compiled, Engine::Native, job, has_parent, senders)
            .expect("it starts");
        Box::new(Device { layout, pipeline })
    }
}

const SMALL: Layout = Layout { lanes: 4, tag_bits: 32, index_bits: 2, window: 4, evict: false };

#[test]
fn results_are_exact_whatever_happens_to_packets() {
    let mut programs = Programs::default();
    for seed in features::seeds(80, 10_000) {
        let mut rng = Rng::new(seed);
        let window = *rng.pick(&[1, 4, 256]).expect("there are some");
        // Word count and flow statistics add, ranks take the maximum, sets of flags OR.
        let op = *rng.pick(&[Op::Add, Op::Max, Op::Or]).expect("there are some");
        let layout = Layout { window, evict: rng.next_bool(), ..SMALL };
        let mut world = World::new(layout, op, MAPPERS_OF_A_JOB, 120, rng.between(1, 3) as u32, &mut rng);
        world.nodes(vec![programs.device(layout)]);
        world.banks(rng.between(1, 2) as u8);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

/// Jobs with so many pairs, at switches of 24 lanes: a request for 16 or 32 rows has several answers.
fn results_are_exact_with_several_answers(form: Form, (least, most): (u64, u64)) {
    let mut programs = BTreeMap::new();
    for seed in features::seeds(8, 10_000) {
        let mut rng = Rng::new(seed);
        let layout = Layout { lanes: 24, index_bits: rng.between(4, 5) as u8, window: 16, ..SMALL };
        let pairs = rng.between(least, most) as u32;
        let mut world = World::new(layout, Op::Add, MAPPERS_OF_A_JOB, pairs, 2, &mut rng);
        let own = programs.entry(layout.index_bits).or_insert_with(|| Programs::of(form));
        world.nodes(vec![own.device(layout)]);
        world.banks(rng.between(1, 2) as u8);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

#[test]
fn results_are_exact_whatever_happens_to_the_answers_of_a_request() {
    results_are_exact_with_several_answers(Form::V1model, (200, 1200));
}

/// Programs for `simple_switch`, whose answers have room for two full rows: the reducer expects five.
#[test]
fn results_are_exact_if_answers_have_fewer_rows_than_expected() {
    results_are_exact_with_several_answers(Form::Bmv2, (600, 1500));
}

#[test]
fn a_restart_of_the_switch_at_any_event_costs_nothing_but_time() {
    let mut programs = Programs::default();
    for evict in [false, true] {
        let layout = Layout { evict, ..SMALL };
        let mut world = || {
            let mut world = World::new(layout, Op::Add, 2, 24, 2, &mut Rng::new(7));
            world.nodes(vec![programs.device(layout)]);
            world
        };
        let calm = world().run(Disturbance::default()).expect("nothing happens");
        assert!(calm > 60, "{calm} events");
        for at in 0..calm {
            let disturbance = Disturbance { restarts: vec![at], ..Disturbance::default() };
            world().run(disturbance).unwrap_or_else(|what| panic!("restart at {at}: {what}"));
        }
    }
}

#[test]
fn trees_are_exact_whatever_happens_to_packets() {
    let mut programs = Programs::default();
    for seed in features::seeds(40, 10_000) {
        let mut rng = Rng::new(seed);
        let window = *rng.pick(&[1, 4, 256]).expect("there are some");
        let op = *rng.pick(&[Op::Add, Op::Max, Op::Or]).expect("there are some");
        let layout = Layout { window, evict: rng.next_bool(), ..SMALL };
        let mut world = World::new(layout, op, 5, 100, rng.between(1, 3) as u32, &mut rng);
        world.tree((0..3).map(|number| programs.of_tree(layout, number, 2, 5)).collect());
        world.banks(rng.between(1, 2) as u8);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

/// One switch or a tree of them, and requests of several answers.
#[test]
fn results_of_programs_for_tna_are_exact_whatever_happens_to_packets() {
    let mut programs = BTreeMap::new();
    for seed in features::seeds(24, 10_000) {
        let mut rng = Rng::new(seed);
        let window = *rng.pick(&[1, 4, 256]).expect("there are some");
        let op = *rng.pick(&[Op::Add, Op::Max]).expect("there are some");
        let lanes = if rng.chance(1, 6) { 24 } else { 4 };
        let layout = Layout { lanes, index_bits: if lanes == 24 { 4 } else { 2 }, window, ..SMALL };
        let own: &mut Programs = programs.entry(lanes).or_insert_with(Programs::for_tna);
        let is_tree = lanes == 4 && rng.next_bool();
        let mappers = if is_tree { 5 } else { MAPPERS_OF_A_JOB };
        let keys = if lanes == 24 { 600 } else { 110 };
        let mut world = World::new(layout, op, mappers, keys, rng.between(1, 3) as u32, &mut rng);
        match is_tree {
            true => world.tree((0..3).map(|number| own.of_tree(layout, number, 2, 5)).collect()),
            false => world.nodes(vec![own.device(layout)]),
        }
        world.banks(rng.between(1, 2) as u8);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

#[test]
fn arrays_are_exact_whatever_happens_to_packets() {
    let mut programs = Programs::default();
    for seed in features::seeds(40, 10_000) {
        let mut rng = Rng::new(seed);
        let window = *rng.pick(&[1, 4, 256]).expect("there are some");
        let op = *rng.pick(&[Op::Add, Op::Max, Op::Or]).expect("there are some");
        let layout = Layout { window, tag_bits: Layout::NO_TAG, ..SMALL };
        let elements = rng.between(1, 48) as u32;
        let is_tree = rng.next_bool();
        let mappers = if is_tree { 5 } else { MAPPERS_OF_A_JOB };
        let mut world = World::new(layout, op, mappers, elements, elements.div_ceil(16), &mut rng);
        match is_tree {
            true => world.tree((0..3).map(|number| programs.of_tree(layout, number, 2, 5)).collect()),
            false => world.nodes(vec![programs.device(layout)]),
        }
        world.banks(rng.between(1, 2) as u8);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

/// A router's records of flows (flow, packets, bytes): Zipf's law, up to 2^40 packets in a record.
fn records(flows: &Zipf, rng: &mut Rng) -> Vec<(u64, u64, u64)> {
    let record = |_| {
        let flow = (flows.draw(rng) as u64 * 0x9e37_79b1) & ((1 << 31) - 1);
        let bits = rng.below(41);
        let packets = 1 + rng.below(1 << bits);
        (flow, packets, packets * rng.between(64, 1500))
    };
    (0..60).map(record).collect()
}

/// Packets and bytes of each flow: two values of 64 bits, in chunks of 24 bits, from the mapper's data to the rows of the result.
#[test]
fn flow_statistics_are_exact_whatever_happens_to_packets() {
    let text = "dataset d = \"h:records.csv\"\n\
                mapper m = pairs(d, key = flow, value = packets, value = bytes)\n\
                reducer flows = add(m, key = number, value = u64)\n";
    let job = reduce_jobs::check(text, 1, &mut vec![]).expect("it is a job");
    let flows = Zipf::new(40, 1100);
    let mut programs = Programs::default();
    for seed in features::seeds(40, 10_000) {
        let mut rng = Rng::new(seed);
        let window = *rng.pick(&[1, 4, 256]).expect("there are some");
        let layout = Layout { window, evict: rng.next_bool(), ..SMALL };
        let reducer = Reducer { layout, ..job.reducers[0].clone() };
        let is_tree = rng.next_bool();
        let mappers = if is_tree { 5 } else { MAPPERS_OF_A_JOB };
        let mut wanted: BTreeMap<u64, [u128; 2]> = BTreeMap::new();
        let mut pairs = vec![];
        for _ in 0..mappers {
            let mut csv = String::from("flow,packets,bytes\n");
            for (flow, packets, bytes) in records(&flows, &mut rng) {
                writeln!(csv, "{flow},{packets},{bytes}").expect("text grows");
                let sums = wanted.entry(flow).or_default();
                *sums = [sums[0] + u128::from(packets), sums[1] + u128::from(bytes)];
            }
            let mut own = Combined::new(Op::Add, 2, u64::MAX);
            own.read(&job.mappers[0].function, csv.as_bytes()).expect("it is CSV");
            pairs.push(Packed::new(&reducer, own.iter()).expect("flows are numbers").pairs);
        }
        let mut world = World::of_pairs(layout, Op::Add, pairs, rng.between(1, 3) as u32, &mut rng);
        match is_tree {
            true => world.tree((0..3).map(|number| programs.of_tree(layout, number, 2, 5)).collect()),
            false => world.nodes(vec![programs.device(layout)]),
        }
        world.banks(rng.between(1, 2) as u8);
        world.run(Disturbance::some(&mut rng)).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let found = rows(&reducer, world.reducer.result(), &BTreeMap::new()).expect("all keys are known");
        let row = |(flow, sums): (Vec<u8>, Vec<u128>)| {
            (String::from_utf8(flow).unwrap().parse().unwrap(), [sums[0], sums[1]])
        };
        assert_eq!(found.into_iter().map(row).collect::<BTreeMap<u64, _>>(), wanted, "seed {seed}");
    }
}
