//! The VPN gateway: its controller, and a model that has each frame ready before the gateway sends it.

use crate::frames::{AtPort, ETHERNET, L4, UDP, ipv4};
use crate::network::{Network, bits, entry, route, routed};
use base_bits::Bits;
use base_time::{Duration, Rng};
use control_writes::{Count, Write};
use ir::Name;
use std::collections::BTreeMap;

const GRE: u8 = 47;
/// Greatest length of an IPv4 packet inside.
pub const MOST_INSIDE: u16 = 1500;
/// Counters of tenants.
const SLOTS: u16 = 4096;

/// A tunnel from outside, and how it continues inside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tunnel {
    /// The tenant's end outside, our end, and the key of GRE.
    pub outside: (u32, u32, u32),
    /// Our end inside, the server's end, and the number of VXLAN.
    pub inside: (u32, u32, u32),
}

/// A tunnel that the gateway refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Another tunnel has the same ends and number on one side.
    Taken,
    /// No counter is free.
    Full,
}

#[derive(Clone, Default)]
struct Tenant {
    slot: u16,
    tunnels: Vec<Tunnel>,
}

/// The gateway's controller. The operator adds and removes tenants; a tenant's counter is used again by a later one, which begins at what it has then.
#[derive(Default)]
pub struct Gateway {
    tenants: BTreeMap<u32, Tenant>,
    /// Count of each counter when its tenant came.
    base: BTreeMap<u16, Count>,
    free: Vec<u16>,
    next: u16,
}

impl Gateway {
    /// Adds a tunnel of a tenant, who is new with the first one.
    pub fn add(&mut self, to: &mut impl Network, tenant: u32, tunnel: Tunnel) -> Result<(), Refusal> {
        let mut all = self.tenants.values().flat_map(|tenant| &tenant.tunnels);
        if all.any(|known| known.outside == tunnel.outside || known.inside == tunnel.inside) {
            return Err(Refusal::Taken);
        }
        if !self.tenants.contains_key(&tenant) {
            let slot = match self.free.pop() {
                Some(slot) => slot,
                None if self.next == SLOTS => return Err(Refusal::Full),
                None => {
                    self.next += 1;
                    self.next - 1
                }
            };
            self.base.insert(slot, to.count("VpnIngress.accepted", slot.into()));
            self.tenants.insert(tenant, Tenant { slot, tunnels: vec![] });
        }
        let Some(of) = self.tenants.get_mut(&tenant) else { return Err(Refusal::Full) };
        of.tunnels.push(tunnel);
        let done = entries(tunnel, Some(of.slot)).into_iter().try_for_each(|write| to.write(write));
        done.map_err(|_| Refusal::Full)
    }

    /// Removes a tenant with all tunnels, and gives what was accepted.
    pub fn remove(&mut self, to: &mut impl Network, tenant: u32) -> Option<Count> {
        let of = self.tenants.get(&tenant)?.clone();
        for tunnel in of.tunnels {
            entries(tunnel, None).into_iter().for_each(|write| drop(to.write(write)));
        }
        let last = self.accepted(to, tenant);
        self.tenants.remove(&tenant);
        self.free.push(of.slot);
        last
    }

    /// Packets and bytes accepted of a tenant.
    pub fn accepted(&self, of: &mut impl Network, tenant: u32) -> Option<Count> {
        let slot = self.tenants.get(&tenant)?.slot;
        let now = of.count("VpnIngress.accepted", slot.into());
        let base = self.base.get(&slot).copied().unwrap_or_default();
        Some(Count { packets: now.packets - base.packets, bytes: now.bytes - base.bytes })
    }
}

/// The two entries of a tunnel; without a counter, their deletions.
fn entries(tunnel: Tunnel, slot: Option<u16>) -> [Write<Name>; 2] {
    let (Tunnel { outside: (peer, us, key), inside: (inner, server, vni) }, table) =
        (tunnel, "VpnIngress.tunnels");
    let ends = |protocol: u8, src: u32, dst: u32, number: u32| {
        [bits(8, protocol), bits(32, src), bits(32, dst), bits(32, number)]
    };
    let tenant = |slot: u16| bits(16, slot);
    let entropy = 0xc000 | (key as u16 & 0x3fff);
    let inward = |slot| -> Vec<Bits> {
        vec![
            tenant(slot),
            bits(32, inner),
            bits(32, server),
            bits(24, vni),
            bits(16, entropy),
            bits(16, MOST_INSIDE),
        ]
    };
    let outward = |slot| vec![tenant(slot), bits(32, us), bits(32, peer), bits(32, key)];
    [
        entry(table, &ends(GRE, peer, us, key), slot.map(|slot| ("VpnIngress.inward", inward(slot)))),
        entry(table, &ends(UDP, server, inner, vni), slot.map(|slot| ("VpnIngress.outward", outward(slot)))),
    ]
}

/// Port of the outside.
pub const OUTSIDE: u32 = 1;
/// Port of the inside.
pub const INSIDE: u32 = 2;

/// A packet of a tunnel as it comes from outside.
pub fn outer(tunnel: &Tunnel, payload: &[u8]) -> Vec<u8> {
    let (peer, us, key) = tunnel.outside;
    ipv4(GRE, peer, us, 64, &[&[0x20, 0, 8, 0], &key.to_be_bytes()[..], payload].concat())
}

/// A packet of a tunnel as it comes from inside.
pub fn inner(tunnel: &Tunnel, payload: &[u8]) -> Vec<u8> {
    let (us, server, vni) = tunnel.inside;
    vxlan(server, us, vni, tunnel.outside.2, payload)
}

fn vxlan(src: u32, dst: u32, vni: u32, key: u32, payload: &[u8]) -> Vec<u8> {
    let length = (8 + 8 + 14 + payload.len()) as u16;
    let entropy = 0xc000 | (key as u16 & 0x3fff);
    let udp = [entropy.to_be_bytes(), 4789u16.to_be_bytes(), length.to_be_bytes(), [0, 0]].concat();
    let vxlan = [&[8, 0, 0, 0], &(vni << 8).to_be_bytes()[..]].concat();
    let ethernet = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    ipv4(UDP, src, dst, 64, &[&udp[..], &vxlan, &ethernet, payload].concat())
}

/// How a trial went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Packets sent.
    pub packets: u64,
    /// Packets that came out.
    pub accepted: u64,
    /// No tunnel or damaged, unknown tunnel, too long.
    pub refused: [u64; 3],
    /// Tenants removed.
    pub removed: u64,
}

/// Random packets of tenants that come and go. An error if a frame or a count differs from the model's.
pub fn trial(on: &mut impl Network, packets: u64, seed: u64) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed).split("vpn");
    for (prefix, port) in [(0xc600_0000, OUTSIDE), (0x0a00_0000, INSIDE)] {
        on.write(route("VpnIngress", prefix, 8, port))?;
    }
    let mut gateway = Gateway::default();
    let (mut tenants, mut next): (BTreeMap<u32, (Vec<Tunnel>, Count)>, u32) = (BTreeMap::new(), 1);
    let mut outcome = Outcome::default();
    while outcome.packets < packets {
        if tenants.len() < 20 && rng.chance(1, 20) || tenants.is_empty() {
            let tunnels: Vec<Tunnel> =
                (0..1 + rng.below(3) as u32).map(|number| tunnel(next, number)).collect();
            for tunnel in &tunnels {
                gateway.add(on, next, *tunnel).map_err(|why| format!("tenant {next}: {why:?}"))?;
            }
            tenants.insert(next, (tunnels, Count::default()));
            next += 1;
        }
        if tenants.len() > 10 && rng.chance(1, 200) {
            let gone = *tenants.keys().nth(rng.index(tenants.len())).unwrap_or(&0);
            let (_, wanted) = tenants.remove(&gone).unwrap_or_default();
            let last = gateway.remove(on, gone);
            if last != Some(wanted) {
                return Err(format!("tenant {gone}: {last:?} accepted, wanted {wanted:?}"));
            }
            outcome.removed += 1;
        }
        // Also tenants that have gone, and one that has not come yet.
        let who = rng.below(u64::from(next)) as u32 + u32::from(rng.chance(1, 50));
        let of = tunnel(who, rng.below(3) as u32);
        let is_known = tenants.get(&who).is_some_and(|(tunnels, _)| tunnels.contains(&of));
        let (port, frame, wanted) = packet(&of, is_known, &mut rng);
        let got = on.frame(port, &frame);
        let bytes = frame.len() as u64;
        match &wanted {
            Ok(left) => {
                outcome.accepted += 1;
                if let Some((_, count)) = tenants.get_mut(&who) {
                    *count = Count { packets: count.packets + 1, bytes: count.bytes + bytes };
                }
                if got != [left.clone()] {
                    return Err(format!("packet {}: {got:02x?}\nwanted {left:02x?}", outcome.packets));
                }
            }
            Err(why) => {
                outcome.refused[*why] += 1;
                if !got.is_empty() {
                    return Err(format!("packet {} is to be refused ({why}): {frame:02x?}", outcome.packets));
                }
            }
        }
        outcome.packets += 1;
        if rng.chance(1, 100) {
            on.pass(Duration::from_us(rng.below(1000)));
        }
    }
    for (tenant, (_, wanted)) in &tenants {
        let got = gateway.accepted(on, *tenant);
        if got != Some(*wanted) {
            return Err(format!("tenant {tenant}: {got:?} accepted, wanted {wanted:?}"));
        }
    }
    for (index, wanted) in outcome.refused.iter().enumerate() {
        let got = on.count("VpnIngress.refused", index as u64).packets;
        if got != *wanted {
            return Err(format!("{got} packets are counted as refused ({index}), wanted {wanted}"));
        }
    }
    Ok(outcome)
}

/// A tunnel of a tenant.
fn tunnel(tenant: u32, number: u32) -> Tunnel {
    let (key, vni) = (tenant * 4 + number, 0x10000 + tenant * 4 + number);
    Tunnel {
        outside: (0xc633_6400 + tenant, 0xc000_0201, key),
        inside: (0x0a00_0001, 0x0a01_0000 + tenant, vni),
    }
}

/// A packet that comes in, and the frame that leaves or the number of the counter for those that are refused.
fn packet(of: &Tunnel, is_known: bool, rng: &mut Rng) -> (u32, Vec<u8>, Result<AtPort, usize>) {
    let length = 20 + rng.index(200);
    let payload = rng.bytes(length);
    let inward = rng.chance(1, 2);
    let (port, mut frame, out, mut left) = match inward {
        true => {
            let ((us, server, vni), key) = (of.inside, of.outside.2);
            (OUTSIDE, outer(of, &payload), INSIDE, vxlan(us, server, vni, key, &payload))
        }
        false => {
            let back = Tunnel { outside: (of.outside.1, of.outside.0, of.outside.2), ..*of };
            (INSIDE, inner(of, &payload), OUTSIDE, outer(&back, &payload))
        }
    };
    // The gateway begins with a TTL of 65 and takes one off.
    left[22] += 1;
    left = routed(&left, out);
    let ip = |frame: &mut Vec<u8>, at: usize, to: u8| {
        frame[ETHERNET + at] = to;
        frame[24..26].copy_from_slice(&[0, 0]);
        let sum = !crate::frames::folded(&frame[ETHERNET..L4]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    };
    let wanted = match rng.below(20) {
        0 => {
            ip(&mut frame, 8, 0);
            Err(0)
        }
        // More fragments, or a later one.
        1 => {
            let (at, to) = [(6, 0x20), (7, 1 + rng.below(200) as u8)][rng.index(2)];
            ip(&mut frame, at, to);
            Err(0)
        }
        2 => {
            frame[24] ^= 1 << rng.below(8);
            Err(0)
        }
        3 => {
            frame[13] = 0x06;
            Err(0)
        }
        4 => {
            frame.truncate(rng.index(L4));
            Err(0)
        }
        5 if inward => {
            let length = usize::from(MOST_INSIDE) - 49 - payload.len() + rng.index(20);
            let more = rng.bytes(length);
            frame = outer(of, &[payload, more].concat());
            if is_known { Err(2) } else { Err(1) }
        }
        6 if inward => {
            // A checksum, a sequence number, or no key.
            frame[L4] = [0xa0, 0x30, 0x00][rng.index(3)];
            if is_known { Err(0) } else { Err(1) }
        }
        _ if is_known => Ok((out, left)),
        _ => Err(1),
    };
    (port, frame, wanted)
}
