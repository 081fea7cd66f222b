//! Pairs that machine code of the switch program folds in a second of processor time: packets with all lanes, each passed on its own.
//! `cargo bench -p aggregate-trials --bench pairs`.

use aggregate::program::Program;
use aggregate::{Kind, Layout, Op, Packet, Pair, Place, Slot};
use aggregate_trials::{Datagram, Engine, MAPPERS, Pipeline, REDUCER, SWITCH, compile, frame};
use base_time::Rng;

const PACKETS: u32 = 1 << 14;
const ROUNDS: u32 = 20;

/// Seconds that this thread has run; the first number of `schedstat` is in nanoseconds.
#[allow(clippy::disallowed_methods)]
fn on_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN) / 1e9
}

fn main() {
    for (name, layout, tags) in [("pipeline", Layout::PIPELINE, 1), ("software", Layout::SOFTWARE, 3)] {
        let program = Program::new(layout, Op::Add, 1);
        let compiled = compile(&program.source().expect("it prints")).expect("it compiles");
        let mut pipeline = Pipeline::new(program, &compiled, Engine::Native, (1, 0, 1)).expect("it starts");
        let datagram = |source, destination, packet: &Packet| Datagram {
            source,
            destination,
            port: aggregate::packet::PORT,
            ecn: 2,
            payload: packet.bytes(&layout),
        };
        let mut rng = Rng::new(1);
        let mut best = f64::MAX;
        for round in 0..ROUNDS {
            let generation = 2 * round + 2;
            let header = Packet { generation, boot: 1, ..Packet::new(Kind::Open, 1, Op::Add) };
            pipeline.handle(None, &datagram(REDUCER, SWITCH, &header)).expect("it opens");
            let frames: Vec<Vec<u8>> = (0..PACKETS)
                .map(|number| {
                    let pair = |lane| {
                        let slot = Slot { lane, index: rng.below(layout.rows().into()) as u16 };
                        Pair { place: Place { slot, tag: u128::from(rng.between(1, tags)) }, value: 1 }
                    };
                    let pairs = (0..layout.lanes).map(pair).collect();
                    let seq = generation << 16 | number;
                    let data = Packet { seq, pairs, kind: Kind::Data, ..header.clone() };
                    frame(&datagram(MAPPERS, REDUCER, &data))
                })
                .collect();
            let started = on_processor();
            let came = pipeline.pass(0, frames);
            best = best.min(on_processor() - started);
            assert_eq!(came, PACKETS as usize);
        }
        let pairs = f64::from(PACKETS) * f64::from(layout.lanes);
        println!(
            "{name}: {:.1} M pairs/s, {:.0} ns a packet",
            pairs / best / 1e6,
            best * 1e9 / f64::from(PACKETS)
        );
    }
}
