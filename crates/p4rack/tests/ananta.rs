//! `examples/ananta`: connections keep their servers while servers come and go, and agents answer for the virtual address.

use crate::support::{engines_of, example};
use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use control_writes::{ActionCall, Entry, EntryKey, Match, Run, Write};
use dataplane_api::{Device, QueueRecord};
use device::Switch;
use device_classes::DeviceClass;
use ir_value::Value;
use p4rack::up;
use std::collections::BTreeMap;

const VIP: u32 = 0x0a01_0001;

/// The ones' complement sum of 16-bit words.
fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (folded & 0xffff) + (folded >> 16)
}

/// A packet with right checksums.
fn frame(protocol: u8, [from, to]: [u32; 2], [source, destination]: [u16; 2], payload: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0xee, 0xee, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    let header = if protocol == 6 { 20 } else { 8 };
    frame.extend(((20 + header + payload) as u16).to_be_bytes());
    frame.extend([0, 7, 0x40, 0, 64, protocol, 0, 0]);
    frame.extend(from.to_be_bytes());
    frame.extend(to.to_be_bytes());
    frame.extend(source.to_be_bytes());
    frame.extend(destination.to_be_bytes());
    if protocol == 6 {
        frame.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    } else {
        frame.extend([((8 + payload) >> 8) as u8, (8 + payload) as u8, 0, 0]);
    }
    frame.extend((0..payload).map(|at| (at * 7 + source as usize) as u8));
    let checksum = |sum: u32| (!(sum as u16)).to_be_bytes();
    let own = checksum(sum(&frame[14..34]));
    frame[24..26].copy_from_slice(&own);
    let at = if protocol == 6 { 50 } else { 40 };
    let mut whole = frame[26..34].to_vec();
    whole.extend([0, protocol]);
    whole.extend(((header + payload) as u16).to_be_bytes());
    whole.extend(&frame[34..]);
    let mut own = checksum(sum(&whole));
    if own == [0, 0] && protocol == 17 {
        // No checksum is said by 0.
        own = [0xff, 0xff];
    }
    frame[at..at + 2].copy_from_slice(&own);
    frame
}

/// The packet in a header to a server.
fn encapsulated(packet: &[u8], server: u8) -> Vec<u8> {
    let mut frame = packet[..14].to_vec();
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 1, server]);
    let length = (packet.len() - 14 + 20) as u16;
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 4, 0, 0, 10, 255, 254, 1, 10, 0, 1, server]);
    let own = (!(sum(&frame[14..34]) as u16)).to_be_bytes();
    frame[24..26].copy_from_slice(&own);
    frame.extend(&packet[14..]);
    frame
}

/// The port and the frame that leave; none of a dropped one.
fn pass(devices: &mut [Switch; 2], port: u32, frame: &[u8], now: u64) -> Option<(u32, Vec<u8>)> {
    let at = Time::ZERO + Duration::from_us(now);
    let found = devices.each_mut().map(|device| {
        let queued = device.ingress(port, frame.to_vec(), at).pop()?;
        let port = queued.replica.port;
        Some((port, device.egress(queued, QueueRecord::default(), at).output?.frame))
    });
    let [engine, interpreter] = found;
    assert_eq!(engine, interpreter);
    engine
}

/// The virtual address' slot leads to a server from now on.
fn give(devices: &mut [Switch; 2], slot: u128, server: u8) {
    let matches = [(4, 1), (8, slot)].map(|(width, value)| Match::Exact(Bits::new(width, value)));
    let call = ActionCall { action: "MuxIngress.use".into(), args: vec![Bits::new(6, server.into())] };
    let write = Write::Entry {
        table: "MuxIngress.slots".into(),
        key: EntryKey { matches: matches.into(), priority: 0 },
        to: Some(Box::new(Entry::new(Run::Action(call)))),
        count: None,
    };
    devices.iter_mut().for_each(|device| device.write(&write, Time::ZERO).unwrap());
}

#[test]
fn a_connection_keeps_its_server_when_servers_come_and_go() {
    let mut devices = engines_of(&example("ananta"), 0, 0);
    let mut rng = Rng::new(9);
    let mut now = 100_000_000u64;
    // Server of a connection, and its last packet.
    let mut known: BTreeMap<(u32, u16, u8), (u8, u64)> = BTreeMap::new();
    // Servers that have slots.
    let mut pool: Vec<u8> = vec![1, 2, 3];
    let (mut kept, mut begun) = (0, [0; 4]);
    for round in 0..12_000u32 {
        now += rng.below(20_000);
        if round % 1500 == 1499 {
            pool = [&[1, 2][..], &[3], &[1, 2, 3], &[2, 3]][rng.index(4)].to_vec();
            for slot in 0..256 {
                give(&mut devices, slot, pool[slot as usize % pool.len()]);
            }
        }
        let client = 0x0a00_0000 | rng.below(40) as u32;
        let port = 40_000 + rng.below(10) as u16 + (now >> 26) as u16 * 10;
        let protocol = [6, 17][rng.index(2)];
        let packet = frame(protocol, [client, VIP], [port, 80], rng.index(900));
        let (out, found) = pass(&mut devices, 1, &packet, now).unwrap();
        let server = (out - 10) as u8;
        assert_eq!(found, encapsulated(&packet, server));
        let is_live = |(_, last): &(u8, u64)| now - last <= 60_000_000;
        match known.insert((client, port, protocol), (server, now)).filter(is_live) {
            Some((before, _)) => {
                assert_eq!(server, before, "a connection moved");
                kept += u32::from(!pool.contains(&server));
            }
            None => {
                assert!(pool.contains(&server), "{server} has no slots: {pool:?}");
                begun[usize::from(server)] += 1;
            }
        }
    }
    // Some went on to a server without slots, and all got new ones.
    assert!(kept > 300 && begun[1..].iter().all(|count| *count > 200), "{kept} {begun:?}");
    // Other ports and protocols of the address, and other addresses, are forwarded by MAC address: nobody has this one.
    assert_eq!(pass(&mut devices, 1, &frame(6, [1, VIP], [5, 81], 10), now), None);
    let mut other = frame(17, [1, 0x0a00_0002], [5, 80], 10);
    other[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    assert_eq!(pass(&mut devices, 1, &other, now), Some((2, other)));
}

#[test]
fn connections_are_divided_evenly() {
    let mut devices = engines_of(&example("ananta"), 0, 0);
    let mut counts = [0f64; 4];
    for client in 0..3000 {
        let packet = frame(6, [0x0a00_0000 | client, VIP], [1000 + client as u16, 80], 0);
        let (out, _) = pass(&mut devices, 1, &packet, 1_000_000 + u64::from(client)).unwrap();
        counts[out as usize - 10] += 1.0;
    }
    assert!(counts[1..].iter().all(|count| (count - 1000.0).abs() < 4.0 * 1000f64.sqrt()), "{counts:?}");
}

#[test]
fn a_busy_address_is_reported_once_in_a_second() {
    let mut devices = engines_of(&example("ananta"), 0, 0);
    let packet = frame(17, [0x0a00_0001, VIP], [9, 80], 0);
    // 1, then 2,001, then 2,000 packets in an interval of 2^20 us.
    for (second, count) in [(100u64, 1), (101, 2001), (102, 2000), (103, 1)] {
        for number in 0..count {
            let at = Time::ZERO + Duration::from_us((second << 20) + number * 500);
            for device in &mut devices {
                device.ingress(1, packet.clone(), at);
                let found = device.take_digests();
                let wanted = second == 102 && number == 0;
                assert_eq!(found.len(), usize::from(wanted), "{second} {number}");
                if let Some(Value::Struct(fields)) = found.first().map(|digest| &digest.data) {
                    let [Value::Bits(vip), Value::Bits(packets)] = &fields[..] else { panic!("{fields:?}") };
                    assert_eq!((vip.low_u64(), packets.low_u64()), (1, 2001));
                }
            }
        }
    }
}

#[test]
fn an_agent_answers_for_the_virtual_address() {
    let racked = example("ananta");
    let mut mux = engines_of(&racked, 0, 0);
    let mut agents: Vec<[Switch; 2]> = (1..4).map(|at| engines_of(&racked, at, at)).collect();
    let mut rng = Rng::new(2);
    for _ in 0..2000 {
        let (client, port) = (0x0a00_0000 | rng.below(1000) as u32, 1024 + rng.below(60_000) as u16);
        let (protocol, payload) = ([6, 17][rng.index(2)], rng.index(900));
        let packet = frame(protocol, [client, VIP], [port, 80], payload);
        let (out, sent) = pass(&mut mux, 1, &packet, 1_000_000).unwrap();
        let server = out as u8 - 10;
        let own = 0x0a00_0100 | u32::from(server);
        let agent = &mut agents[usize::from(server) - 1];
        let mut wanted = frame(protocol, [client, own], [port, 80], payload);
        wanted[..14].copy_from_slice(&sent[..14]);
        assert_eq!(pass(agent, 1, &sent, 1_000_000), Some((2, wanted)));
        // The answer has the virtual address, and right checksums.
        let answer = frame(protocol, [own, client], [80, port], payload);
        let wanted = frame(protocol, [VIP, client], [80, port], payload);
        assert_eq!(pass(agent, 2, &answer, 1_000_000), Some((1, wanted)));
        // Other ports of the server are its own.
        let other = frame(protocol, [own, client], [81, port], payload);
        assert_eq!(pass(agent, 2, &other, 1_000_000), Some((1, other)));
        // Without an outer header, packets pass; with one for an unknown port, they do not.
        let plain = frame(protocol, [client, own], [port, 22], payload);
        assert_eq!(pass(agent, 1, &plain, 1_000_000), Some((2, plain.clone())));
        assert_eq!(pass(agent, 1, &encapsulated(&plain, server), 1_000_000), None);
    }
}

#[test]
fn servers_are_reached_by_their_own_addresses() {
    let report = up::bring_up(&example("ananta")).unwrap().run().unwrap();
    assert_eq!((report.workloads[0].received, report.workloads[0].lost), (90, 0));
}

#[test]
fn a_limited_switch_runs_the_mux() {
    let racked = example("ananta");
    let found = ir_limits::check(&racked.apps[0].whole, DeviceClass::FlexSwitch);
    assert!(found.is_empty(), "{found:#?}");
}
