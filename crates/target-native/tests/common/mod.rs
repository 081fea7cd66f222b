//! The IPv4 router of `examples/bench`, with routes and packets.

// Each test uses some of it.
#![allow(dead_code)]

use base_bits::Bits;
use base_diag::SourceMap;
use base_time::Rng;
use control_writes::Match;
use device::Switch;
use ir::Program;
use p4_arch::Texts;
use p4_syntax::Options;

/// A program of `examples/bench`.
pub fn program(name: &str) -> Program {
    program_at(&format!("{}/../../examples/bench/{name}/{name}.p4", env!("CARGO_MANIFEST_DIR")))
}

/// The program in a file.
pub fn program_at(path: &str) -> Program {
    program_with(path, &[])
}

/// [`program`] with macros.
pub fn program_with(path: &str, macros: &[&str]) -> Program {
    let mut map = SourceMap::new();
    let options =
        Options { defines: macros.iter().map(|name| name.to_string()).collect(), ..Options::default() };
    let text = std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{path}: {why}"));
    let texts = [
        (path, text.as_str()),
        ("headers.p4", include_str!("../../../../examples/bench/headers.p4")),
        ("common.p4", include_str!("../../../ir-interp/testdata/common.p4")),
        ("tna_common.p4", include_str!("../../../ir-interp/testdata/tna_common.p4")),
        ("tna_math.p4", include_str!("../../../ir-interp/testdata/tna_math.p4")),
        ("tna_paths.p4", include_str!("../../../ir-interp/testdata/tna_paths.p4")),
        ("tna_pktgen.p4", include_str!("../../../ir-interp/testdata/tna_pktgen.p4")),
    ];
    let program = ir_elaborate::program(path, &Texts(&texts), &options, &mut map);
    program.unwrap_or_else(|problems| panic!("{path} is refused: {problems:?}"))
}

/// Next hops.
const HOPS: u64 = 64;

/// Fills the router's tables with nested routes. Returns the destinations of the routes.
pub fn fill(switch: &mut Switch, routes: usize, rng: &mut Rng) -> Vec<u32> {
    for hop in 0..HOPS {
        let keys = [Match::Exact(Bits::new(16, u128::from(hop)))];
        let mac = 0x0200_0000_0000 + u128::from(hop);
        let args =
            [Bits::new(9, u128::from(hop % 16 + 1)), Bits::new(48, mac), Bits::new(48, mac + 0x10_0000)];
        switch.table_add("next_hops", &keys, "forward", &args, None).expect("a next hop");
    }
    let mut destinations = vec![];
    while destinations.len() < routes {
        let length = rng.between(8, 32) as u32;
        let address = rng.between(0, u64::from(u32::MAX)) as u32;
        let prefix = if length == 32 { address } else { address >> (32 - length) << (32 - length) };
        let keys = [Match::Lpm { value: Bits::new(32, u128::from(prefix)), prefix_len: length }];
        let hop = Bits::new(16, u128::from(rng.between(0, HOPS - 1)));
        if switch.table_add("routes", &keys, "set_next_hop", &[hop], None).is_ok() {
            destinations.push(address);
        }
    }
    destinations
}

/// An IPv4 packet of 60 bytes to `destination`.
pub fn packet(destination: u32, ttl: u8, rng: &mut Rng) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    frame[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 1, 0x40, 0, ttl, 17]);
    frame[26..30].copy_from_slice(&(rng.between(0, u64::from(u32::MAX)) as u32).to_be_bytes());
    frame[30..34].copy_from_slice(&destination.to_be_bytes());
    set_checksum(&mut frame);
    frame
}

/// Makes the checksum of an IPv4 packet right.
pub fn set_checksum(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum: u32 = frame[14..34].chunks(2).map(|c| u32::from(c[0]) << 8 | u32::from(c[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
}
