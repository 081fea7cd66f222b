//! Pairs that machine code of the switch program folds in a second of processor time, beside the same program hand-written in C (`pairs.c`): packets with all
//! lanes, in batches as ports give them, and each on its own. Frames of all must be equal. `cargo bench -p aggregate-trials --bench pairs`.

// It starts a C compiler and a process, and reads clocks.
#![allow(clippy::disallowed_methods)]

use aggregate::program::Program;
use aggregate::{Kind, Layout, Op, Packet, Pair, Place, Slot};
use aggregate_trials::{
    Datagram, Engine, MAPPERS, Pipeline, REDUCER, REDUCER_PORT, SWITCH, batches, compile, frame,
};
use base_time::{Rng, Time};
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use target_native::Packet as TargetPacket;

const PACKETS: u32 = 1 << 14;
const ROUNDS: u32 = 6;

/// Packets that a port gives to a switch at a time.
const BATCH: usize = 64;

const SEAT: (u16, u16, u16) = (1, 0, 1);

/// Seconds that this thread has run. (`schedstat` is only counted on with the kernel's ticks, a quarter of a run here.)
fn on_processor() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The program in C, as a process.
struct Peer {
    process: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// `None` without a C compiler.
    fn start(layout: &Layout) -> Option<Peer> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/pairs.c");
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pairs-in-c");
        let (job, number, boot) = SEAT;
        let settings = [
            ("LANES", u32::from(layout.lanes)),
            ("TAG", u32::from(layout.tag_bits / 8)),
            ("FORMAT", aggregate::packet::format(layout).into()),
            ("ROWS", layout.rows()),
            ("WINDOW", layout.window),
            ("EVICT", layout.evict.into()),
            ("PORT", aggregate::packet::PORT.into()),
            ("JOB", job.into()),
            ("NUMBER", number.into()),
            ("BOOT", boot.into()),
            ("CHANNELS", 1),
            ("REDUCER_PORT", REDUCER_PORT),
        ];
        let mut compiler = Command::new("cc");
        compiler.args(["-O3", "-march=native", "-Wall", "-o"]).arg(&file).arg(here);
        compiler.args(settings.map(|(name, value)| format!("-D{name}={value}")));
        if !compiler.status().is_ok_and(|status| status.success()) {
            return None;
        }
        let mut process = Command::new(file).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let input = BufWriter::new(process.stdin.take()?);
        let output = BufReader::new(process.stdout.take()?);
        Some(Peer { process, input, output })
    }

    /// Seconds, and frames.
    fn pass(&mut self, port: u32, frames: &[Vec<u8>]) -> std::io::Result<(f64, Vec<Vec<u8>>)> {
        self.input.write_all(&(frames.len() as u32).to_le_bytes())?;
        self.input.write_all(&port.to_le_bytes())?;
        for frame in frames {
            self.input.write_all(&(frame.len() as u32).to_le_bytes())?;
            self.input.write_all(frame)?;
        }
        self.input.flush()?;
        let mut time = [0; 8];
        self.output.read_exact(&mut time)?;
        let mut came = vec![];
        for _ in frames {
            let mut length = [0; 4];
            self.output.read_exact(&mut length)?;
            let mut frame = vec![0; u32::from_le_bytes(length) as usize];
            self.output.read_exact(&mut frame)?;
            came.push(frame);
        }
        Ok((u64::from_le_bytes(time) as f64 / 1e9, came))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn main() {
    let small = Layout { index_bits: 8, ..Layout::SOFTWARE };
    let rows = [
        ("pipeline, every pair folded", Layout::PIPELINE, 1),
        ("software, every pair folded", Layout::SOFTWARE, 1),
        ("software, one of three evicts", Layout::SOFTWARE, 3),
        ("software, 256 rows, every pair folded", small, 1),
        ("software, 256 rows, one of three evicts", small, 3),
    ];
    for (name, layout, tags) in rows {
        let program = Program::new(layout, Op::Add, 1);
        let compiled = compile(&program.source().expect("it prints")).expect("it compiles");
        let mut batches = batches(&program, &compiled, SEAT).expect("it starts");
        let mut pipeline = Pipeline::new(program, &compiled, Engine::Native, SEAT).expect("it starts");
        let mut peer = Peer::start(&layout);
        let datagram = |source, destination, packet: &Packet| Datagram {
            source,
            destination,
            port: aggregate::packet::PORT,
            ecn: 2,
            payload: packet.bytes(&layout),
        };
        let mut rng = Rng::new(1);
        let mut best = [f64::MAX; 3];
        for round in 0..ROUNDS {
            let generation = 2 * round + 2;
            let header = Packet { generation, boot: 1, ..Packet::new(Kind::Open, 1, Op::Add) };
            let open = datagram(REDUCER, SWITCH, &header);
            pipeline.handle(None, &open).expect("it opens");
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
            if let Some(peer) = &mut peer {
                peer.pass(REDUCER_PORT, &[frame(&open)]).expect("it opens");
            }
            let mut open_packet = [TargetPacket::new(REDUCER_PORT, &frame(&open)).expect("it fits")];
            assert!(batches.process(&mut open_packet, Time::ZERO).is_empty());
            let by_peer = peer.as_mut().map(|peer| peer.pass(1, &frames).expect("it runs"));
            let mut packets: Vec<_> =
                frames.iter().map(|frame| TargetPacket::new(1, frame).expect("it fits")).collect();
            let started = on_processor();
            for batch in packets.chunks_mut(BATCH) {
                assert!(batches.process(batch, Time::ZERO).is_empty());
            }
            best[0] = best[0].min(on_processor() - started);
            let started = on_processor();
            let came = pipeline.pass(0, frames);
            best[1] = best[1].min(on_processor() - started);
            assert!(packets.iter().map(TargetPacket::frame).eq(&came), "frames of batches differ");
            if let Some((seconds, frames)) = by_peer {
                assert!(frames == came, "frames of the program in C differ");
                best[2] = best[2].min(seconds);
            }
        }
        let pairs = f64::from(PACKETS) * f64::from(layout.lanes);
        let shown = |seconds: f64| {
            format!(
                "{:.1} M pairs/s, {:.0} ns a packet",
                pairs / seconds / 1e6,
                seconds * 1e9 / f64::from(PACKETS)
            )
        };
        let in_c = if peer.is_some() { shown(best[2]) } else { "no C compiler".into() };
        println!("{name}: {}; each packet alone {}; in C {in_c}", shown(best[0]), shown(best[1]));
    }
}
