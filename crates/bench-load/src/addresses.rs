//! Prefixes as routing tables have them, addresses within them, and next hops.

use crate::entry::{begins, entry, is};
use base_time::Rng;
use p4_entries::Statement;
use std::collections::BTreeSet;

/// Ports of the routers; those of next hops are 1 to this.
pub const PORTS: u64 = 16;

/// Next hops of the routers, from 1.
pub const NEXT_HOPS: u64 = 64;

/// The router's own address at all ports.
pub const ROUTER: u64 = 0x0200_0000_00fe;

/// The address of a station: no two numbers below 2^32 have the same.
pub fn station_mac(number: u64) -> u64 {
    0x0200_0000_0000 | (number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff)
}

/// Lengths of IPv4 prefixes with their shares in percent, after what the global table looks like; and a few longer ones.
const LENGTHS: [(u32, u64); 10] =
    [(12, 1), (14, 2), (16, 8), (18, 4), (20, 9), (21, 8), (22, 14), (23, 10), (24, 39), (28, 5)];

/// Lengths of IPv6 prefixes.
const LENGTHS6: [(u32, u64); 6] = [(29, 6), (32, 20), (40, 12), (44, 12), (48, 45), (64, 5)];

fn length(lengths: &[(u32, u64)], rng: &mut Rng) -> u32 {
    let mut at = rng.below(100);
    for (length, share) in lengths {
        match at.checked_sub(*share) {
            Some(rest) => at = rest,
            None => return *length,
        }
    }
    24
}

/// Different IPv4 prefixes, with their lengths, in 11.0.0.0 to 191.255.255.255: what lies below and above is free.
pub fn prefixes(count: usize, rng: &mut Rng) -> Vec<(u32, u32)> {
    let mut seen = BTreeSet::new();
    let mut prefixes = vec![];
    while prefixes.len() < count {
        let length = length(&LENGTHS, rng);
        let address = (rng.between(11, 191) << 24 | rng.below(1 << 24)) as u32;
        let prefix = address & (u32::MAX << (32 - length));
        if seen.insert((prefix, length)) {
            prefixes.push((prefix, length));
        }
    }
    prefixes
}

/// Different IPv6 prefixes in 2000::/3.
pub fn prefixes6(count: usize, rng: &mut Rng) -> Vec<(u128, u32)> {
    let mut seen = BTreeSet::new();
    let mut prefixes = vec![];
    while prefixes.len() < count {
        let length = length(&LENGTHS6, rng);
        // Providers' blocks: not all of the space is used.
        let address = 0x2001u128 << 112 | u128::from(rng.below(1 << 12)) << 100 | rng.next_u128() >> 28;
        let prefix = address & (u128::MAX << (128 - length));
        if seen.insert((prefix, length)) {
            prefixes.push((prefix, length));
        }
    }
    prefixes
}

/// An address in one of the prefixes.
pub fn within(prefixes: &[(u32, u32)], rng: &mut Rng) -> u32 {
    let (prefix, length) = prefixes[rng.index(prefixes.len())];
    prefix | (rng.next_u64() as u32 & u32::MAX.checked_shr(length).unwrap_or(0))
}

/// An address in one of the prefixes.
pub fn within6(prefixes: &[(u128, u32)], rng: &mut Rng) -> u128 {
    let (prefix, length) = prefixes[rng.index(prefixes.len())];
    prefix | (rng.next_u128() & u128::MAX.checked_shr(length).unwrap_or(0))
}

/// Entries of an IPv4 table `set_next_hop(next_hop)`.
pub fn routes(table: &str, prefixes: &[(u32, u32)], rng: &mut Rng) -> Vec<Statement> {
    let route = |(prefix, length): &(u32, u32)| {
        entry(table, vec![begins(*prefix, *length)], "set_next_hop", &[rng.between(1, NEXT_HOPS)])
    };
    prefixes.iter().map(route).collect()
}

/// Entries of a table `forward(port, src_addr, dst_addr)` by next hop.
pub fn next_hops(table: &str) -> Vec<Statement> {
    let next_hop = |number: u64| {
        let port = 1 + (number - 1) % PORTS;
        let args = [port, 0x0200_0000_0000 + port, 0x0200_0000_1000 + number];
        entry(table, vec![is(number)], "forward", &args)
    };
    (1..=NEXT_HOPS).map(next_hop).collect()
}

/// Entries of routers between two sides: routes to `prefixes` outside and to 10.0.0.0/8 inside, next hops, and the
/// inside ports, 1 to 8.
pub fn two_sides(prefixes: &[(u32, u32)], draws: &mut Rng) -> Vec<Statement> {
    let mut entries = routes("routes", prefixes, draws);
    entries.extend((0..=255u128).map(|net| {
        let next_hop = draws.between(1, NEXT_HOPS);
        entry("routes", vec![begins(0x0a00_0000 | net << 16, 16)], "set_next_hop", &[next_hop])
    }));
    entries.extend(next_hops("next_hops"));
    entries.extend((1..=8u64).map(|port| entry("sides", vec![is(port)], "set_side", &[1])));
    entries
}
