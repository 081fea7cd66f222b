//! Frames for each function, as it receives them in use.

use base_bits::Bits;
use base_time::{Rng, Time, Zipf};
use dataplane_api::{Emitter, FrameExtern};
use netfn_compress::Compressor;
use netfn_fec::Encoder;

/// How a function is made and called.
pub struct Workload {
    /// The constructor's arguments.
    pub constructor: Vec<Bits>,
    /// Arguments of each call.
    pub args: Vec<Bits>,
    /// Frames before those that are timed.
    pub before: Vec<Vec<u8>>,
    /// Frames that are timed.
    pub frames: Vec<Vec<u8>>,
    /// The frames without losses, if the timed frames have losses; empty otherwise.
    pub lossless: Vec<Vec<u8>>,
}

fn bits<const N: usize>(values: [(u32, u128); N]) -> Vec<Bits> {
    values.map(|(width, value)| Bits::new(width, value)).to_vec()
}

/// The workload of a function with frames of `size` bytes; why there is none.
pub fn of(function: &str, size: usize, count: usize) -> Result<Workload, String> {
    if !(SHORTEST..=1514).contains(&size) {
        return Err(format!("frames have {SHORTEST} to 1514 bytes, not {size}"));
    }
    let port = (16, 1);
    let with =
        |constructor, args, before, frames| Workload { constructor, args, before, frames, lossless: vec![] };
    let tcp = || flows(size, count + 3 * FLOWS);
    Ok(match function {
        "beacon" => with(bits([(32, 0), (48, 0)]), vec![], vec![], flows(size, count)),
        // Five frames and a parity frame; of each six the third is lost, so that there is something to decode. Without a loss
        // fewer frames would leave, since the parity frame is removed.
        "fec-encode" => with(bits([(48, 1000)]), protection(), vec![], flows(size, count)),
        "fec-decode" => {
            let frames =
                emitted(&mut Encoder::new(base_time::Duration::from_us(1000)), &protection(), &tcp());
            let lossless = frames[..frames.len() / 6 * 6].to_vec();
            let come = frames.into_iter().enumerate().filter(|(at, _)| at % 6 != 2).map(|(_, frame)| frame);
            let constructor = bits([(48, 1000), (8, 0), (32, 0), (32, 0)]);
            let timed = with(constructor, bits([port]), vec![], come.take(count).collect());
            Workload { lossless, ..timed }
        }
        "header-compress" => {
            let mut before = tcp();
            let frames = before.split_off(3 * FLOWS);
            with(bits([(16, 1024), (16, 0)]), bits([port]), before, frames)
        }
        "header-decompress" => {
            let mut before = emitted(&mut Compressor::new(1024, 0), &bits([port]), &tcp());
            let frames = before.split_off(3 * FLOWS);
            with(bits([(16, 1024)]), bits([port]), before, frames)
        }
        "kv-cache" => {
            let (before, frames) = reads(size, count);
            with(bits([(32, 1000), (48, 0)]), vec![], before, frames)
        }
        _ => return Err(format!("there is no workload for `{function}` yet")),
    })
}

/// The shortest frame of the workloads.
const SHORTEST: usize = 80;
/// Flows in turn.
const FLOWS: usize = 64;

fn protection() -> Vec<Bits> {
    bits([(16, 1), (8, 0), (8, 5), (8, 1)])
}

fn emitted(function: &mut dyn FrameExtern, args: &[Bits], frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut out = Emitter::default();
    for frame in frames {
        function.call("", args, frame, Time::ZERO, &mut out);
    }
    out.take().into_iter().map(|one| one.frame).collect()
}

/// TCP over IPv4, each flow's sequence numbers following one another.
fn flows(size: usize, count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let payload = size - 54;
    let frame = |n: usize| {
        let (flow, turn) = ((n % FLOWS) as u8, (n / FLOWS) as u32);
        let sequence = (turn * payload as u32).to_be_bytes();
        let tcp =
            [&[4, flow, 0, 80], &sequence[..], &[0, 0, 0, 1, 0x50, 0x10, 1, 0], &rng.bytes(payload + 4)]
                .concat();
        ipv4(6, [10, 0, 0, 1], [10, 0, 1, flow], &tcp)
    };
    (0..count).map(frame).collect()
}

/// Reads of 10,000 keys by Zipf's law, after answers that filled the cache; values fill frames of `size` bytes.
fn reads(size: usize, count: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let udp = |from: u16, to: u16, text: &str| {
        let length = (16 + text.len() as u16).to_be_bytes();
        let frame = [0, 1, 0, 0, 0, 1, 0, 0];
        [&from.to_be_bytes()[..], &to.to_be_bytes(), &length, &[0, 0], &frame, text.as_bytes()].concat()
    };
    let read = |n: usize| ipv4(17, client, server, &udp(4000, 11211, &format!("get {n:08}\r\n")));
    let value = "v".repeat(size.saturating_sub(84).min(1300));
    let answer = |n: usize| {
        let text = format!("VALUE {n:08} 0 {}\r\n{value}\r\nEND\r\n", value.len());
        ipv4(17, server, client, &udp(11211, 4000, &text))
    };
    let before = (0..1000).flat_map(|n| [read(n), answer(n)]).collect();
    let (zipf, mut rng) = (Zipf::new(10_000, 1000), Rng::new(1));
    (before, (0..count).map(|_| read(zipf.draw(&mut rng))).collect())
}

fn ipv4(protocol: u8, from: [u8; 4], to: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let length = (rest.len() as u16 + 20).to_be_bytes();
    let mut ip = [&[0x45, 0], &length[..], &[0, 0, 0x40, 0, 64, protocol, 0, 0], &from, &to].concat();
    let sum: u32 = ip.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    let check = !((once & 0xffff) + (once >> 16)) as u16;
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0], &ip[..], rest].concat()
}
