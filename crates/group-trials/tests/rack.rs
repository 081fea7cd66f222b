//! Printed programs of a switch and of servers with their fronts and the group's controller, beside the whole program.

use base_time::Rng;
use group_trials::rack::{BUCKETS, Logged, Packet, Programs, Rack};
use server_groups::filters::{Filters, Hashes, Insert};
use server_groups::{Member, Row, Table, Write};
use std::collections::{BTreeMap, BTreeSet};

const SERVERS: u32 = 4;

/// Flows send a packet after so many ticks at most; a flow without packets for 400 has ended.
const LONGEST_GAP: u64 = 60;

fn programs(change: &dyn Fn(String) -> String) -> Programs {
    Programs::new(SERVERS, false, change).unwrap_or_else(|why| panic!("{why}"))
}

/// The same, with numbers of calls.
fn numbered(change: &dyn Fn(String) -> String) -> Programs {
    Programs::new(SERVERS, true, change).unwrap_or_else(|why| panic!("{why}"))
}

/// The same, with Bloom filters of so many cells.
fn filtered(cells: u32, change: &dyn Fn(String) -> String) -> Programs {
    Programs::filtered(SERVERS, cells, change).unwrap_or_else(|why| panic!("{why}"))
}

/// Traffic over a group that changes; `deaths`: servers die and restart, too. Gives the rack and the number of deaths.
fn run<'p>(programs: &'p Programs, seed: u64, ticks: u64, deaths: bool) -> Result<(Rack<'p>, u32), String> {
    run_in(Rack::new(programs, &[Member(0), Member(1)], seed)?, ticks, deaths)
}

/// The same on links that carry some calls and answers twice.
fn run_doubled(programs: &Programs, seed: u64, ticks: u64) -> Result<Rack<'_>, String> {
    let mut rack = Rack::new(programs, &[Member(0), Member(1)], seed)?;
    rack.doubles = true;
    Ok(run_in(rack, ticks, false)?.0)
}

fn run_in(mut rack: Rack<'_>, ticks: u64, deaths: bool) -> Result<(Rack<'_>, u32), String> {
    let mut flows: Vec<(u16, u64, u64)> = vec![];
    let (mut next_flow, mut died, mut next_change) = (0u16, 0, 150);
    for tick in 0..ticks {
        rack.step()?;
        if tick % 8 == 0 {
            flows.push((next_flow, tick, tick + 100 + rack.rng.below(500)));
            next_flow += 1;
        }
        flows.retain(|(_, _, end)| *end > tick);
        for flow in &mut flows {
            if flow.1 == tick {
                flow.1 = tick + 1 + rack.rng.below(LONGEST_GAP);
                rack.send(flow.0)?;
            }
        }
        if tick == next_change {
            next_change += 20 + rack.rng.below(300);
            let (taking, up) = (rack.taking(), rack.up());
            let member = Member(rack.rng.below(u64::from(SERVERS)) as u16);
            match rack.rng.below(if deaths { 3 } else { 2 }) {
                0 => rack.add(member)?,
                1 if taking.len() > 1 => rack.remove(member)?,
                2 if taking.iter().any(|other| *other != member) && up.contains(&member) => {
                    rack.kill(member)?;
                    died += 1;
                }
                _ => {}
            }
        }
    }
    rack.settle()?;
    Ok((rack, died))
}

fn by_flow(packets: &[Packet]) -> BTreeMap<u16, Vec<Packet>> {
    let mut flows: BTreeMap<u16, Vec<Packet>> = BTreeMap::new();
    packets.iter().for_each(|packet| flows.entry(packet.flow).or_default().push(*packet));
    flows
}

/// The first difference between the rack and the whole program. A server allocates ports of its own, each for one flow: the flows' ports are
/// compared by a bijection. Flows that a dead server had to do with are not compared.
fn difference(rack: &Rack<'_>) -> Option<String> {
    let (came, expected) = (by_flow(&rack.received), by_flow(&rack.expected));
    let mut ports: BTreeMap<u16, u16> = BTreeMap::new();
    for (flow, expected) in expected.iter().filter(|(flow, _)| !rack.hurt.contains(flow)) {
        let came = came.get(flow).map_or(&[][..], |came| came.as_slice());
        if came.len() != expected.len() {
            return Some(format!("flow {flow}: {} of {} packets came", came.len(), expected.len()));
        }
        for (came, expected) in came.iter().zip(expected) {
            if (came.number, came.count) != (expected.number, expected.count) {
                return Some(format!("flow {flow}: {came:?} instead of {expected:?}"));
            }
            if *ports.entry(came.port).or_insert(expected.port) != expected.port {
                return Some(format!("port {} is of two flows", came.port));
            }
        }
        let all: BTreeSet<u16> = came.iter().map(|packet| packet.port).collect();
        if all.len() != 1 {
            return Some(format!("flow {flow} has the ports {all:?}"));
        }
    }
    None
}

#[test]
fn a_group_that_changes_does_what_one_device_does() {
    let programs = programs(&|text| text);
    let (mut hops, mut packets) = (0, 0);
    for seed in features::seeds(1, 300) {
        let (rack, _) = run(&programs, seed, 3000, false).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert_eq!(difference(&rack), None, "seed {seed}");
        let (more, drops) = rack.extra_hops_and_drops();
        assert_eq!(drops, 0, "seed {seed}");
        (hops, packets) = (hops + more, packets + rack.received.len());
    }
    assert!(hops > 100 && packets > 1000, "{hops} extra hops, {packets} packets");
}

/// Calls have a greatest age, which other servers' frames and instructions do not have.
#[test]
fn frames_between_servers_are_never_too_old() {
    let programs = programs(&|text| text);
    let mut hops = 0;
    for seed in features::seeds(1, 100) {
        let mut rack = Rack::new(&programs, &[Member(0), Member(1)], seed).expect("it starts");
        rack.waits = true;
        let (rack, _) = run_in(rack, 3000, false).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert_eq!(difference(&rack), None, "seed {seed}");
        let (more, drops) = rack.extra_hops_and_drops();
        assert_eq!(drops, 0, "seed {seed}");
        hops += more;
    }
    assert!(hops > 60, "{hops} extra hops");
}

#[test]
fn the_death_of_a_server_costs_its_own_flows_alone() {
    let programs = programs(&|text| text);
    let (mut deaths, mut compared) = (0, 0);
    for seed in features::seeds(1, 300) {
        let (rack, died) =
            run(&programs, seed, 3000, true).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert_eq!(difference(&rack), None, "seed {seed}: {died} died");
        let flows = by_flow(&rack.expected).len();
        (deaths, compared) = (deaths + died, compared + flows - rack.hurt.len());
    }
    assert!(deaths > 2 && compared > 100, "{deaths} deaths, {compared} flows");
}

/// Each call is handled once, and each answer is used once; all repeats are counted where they end.
#[test]
fn calls_and_answers_that_come_twice_count_once() {
    let programs = numbered(&|text| text);
    let mut doubled = (0, 0);
    for seed in features::seeds(1, 300) {
        let rack = run_doubled(&programs, seed, 3000).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert_eq!(difference(&rack), None, "seed {seed}");
        assert_eq!(rack.repeated(), Ok(rack.doubled), "seed {seed}");
        assert_eq!(rack.received.len(), rack.expected.len(), "seed {seed}");
        doubled = (doubled.0 + rack.doubled.0, doubled.1 + rack.doubled.1);
    }
    assert!(doubled.0 > 50 && doubled.1 > 50, "{doubled:?}");
    let plain = self::programs(&|text| text);
    let without = run_doubled(&plain, 1, 3000).expect("it runs");
    assert!(difference(&without).is_some(), "without numbers, repeats count");
}

#[test]
fn faults_of_the_numbers_are_noticed() {
    let faults = [
        ("repeated answers are not dropped", "again = 1", "again = 0"),
        ("all calls have one number", "call = call + 1", "call = 1"),
    ];
    for (fault, from, to) in faults {
        let faulty = numbered(&|text| {
            assert!(text.contains(from), "`{from}` is not in the program:\n{text}");
            text.replacen(from, to, 1)
        });
        let noticed = run_doubled(&faulty, 1, 1000).map_or(true, |rack| difference(&rack).is_some());
        assert!(noticed, "nothing notices that {fault}");
    }
}

/// The hash of a flow of 16 bits, as the switch computes it: Jenkins' `one_at_a_time` of a word.
fn hash(flow: u16) -> u32 {
    let mut h = u32::from(flow);
    h = h.wrapping_add(h << 10);
    h ^= h >> 6;
    h = h.wrapping_add(h << 3);
    h ^= h >> 11;
    h.wrapping_add(h << 15)
}

/// The hashes of a flow where the switch has filters of so many cells.
fn hashes(flow: u16, cells: u32) -> Hashes {
    let mut h = hash(flow);
    let member = h % BUCKETS as u32;
    h = h.wrapping_add(0x9E37_79B9);
    h = h.wrapping_add(h << 10);
    h ^= h >> 6;
    h = h.wrapping_add(h << 3);
    h ^= h >> 11;
    h = h.wrapping_add(h << 15);
    Hashes { filters: [[h % cells, h >> (32 - cells.ilog2())]; 2], member }
}

/// Flows with packets at different servers.
fn broken(rack: &Rack<'_>) -> BTreeSet<u16> {
    let mut first = BTreeMap::new();
    let sent = rack.log.iter().filter_map(|step| match step {
        Logged::Sent(flow, to) => Some((*flow, *to)),
        Logged::Wrote(_) => None,
    });
    sent.filter(|(flow, to)| first.entry(*flow).or_insert(*to) != to).map(|(flow, _)| flow).collect()
}

/// The switch's filters against the model of CLIP's, packet by packet. Gives the flows whose first packet a false positive sent to older members.
fn follow(rack: &Rack<'_>, cells: u32) -> Result<BTreeSet<u16>, String> {
    let (mut rows, mut pins) = (vec![Member(0); BUCKETS], BTreeMap::new());
    let (mut filters, mut known, mut falsely) = (None, BTreeSet::new(), BTreeSet::new());
    for step in &rack.log {
        match step {
            Logged::Wrote(Write::Row { bucket, row }) => rows[*bucket as usize] = row.current,
            Logged::Wrote(Write::Pin { flow, row }) => drop(pins.insert(flow.clone(), row.current)),
            Logged::Wrote(Write::Unpin { flow }) => drop(pins.remove(flow)),
            Logged::Wrote(Write::Lease { .. }) => {}
            Logged::Wrote(Write::Roles { .. }) => {
                let filters = filters.as_mut().ok_or("the filters change roles before there are packets")?;
                Filters::flip(filters, rows.clone());
            }
            Logged::Sent(flow, to) => {
                let filters =
                    filters.get_or_insert_with(|| Filters::new(cells as usize, rows.clone(), Insert::Always));
                let hashes = hashes(*flow, cells);
                let is_first = known.insert(*flow);
                let expected = match pins.get(flow.to_be_bytes().as_slice()) {
                    Some(server) => Some(*server),
                    None => {
                        if is_first && filters.knows(&hashes) {
                            falsely.insert(*flow);
                        }
                        filters.dispatch(&hashes)
                    }
                };
                if expected != Some(*to) {
                    return Err(format!("flow {flow}: {to:?} instead of {expected:?}"));
                }
            }
        }
    }
    Ok(falsely)
}

/// CLIP's filters break the flows that their model says, which all began with a false positive, and no others. Other flows are as on one device.
/// Without filters, no flow breaks in the same traffic (`a_group_that_changes_does_what_one_device_does`).
#[test]
fn two_bloom_filters_break_the_flows_that_their_model_says() {
    for (cells, breaks) in [(64, true), (1 << 15, false)] {
        let programs = filtered(cells, &|text| text);
        let (mut all, mut flows, mut moved) = (0, 0, 0);
        for seed in features::seeds(1, 300) {
            let (mut rack, _) =
                run(&programs, seed, 3000, false).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
            let broken = broken(&rack);
            let falsely = follow(&rack, cells).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
            assert!(broken.is_subset(&falsely), "seed {seed}: {broken:?} {falsely:?}");
            assert_eq!(difference(&rack).is_some(), !broken.is_empty(), "seed {seed}");
            rack.hurt = broken.clone();
            assert_eq!(difference(&rack), None, "seed {seed}");
            assert_eq!(rack.extra_hops_and_drops(), (0, 0), "seed {seed}");
            all += broken.len();
            flows += by_flow(&rack.expected).len();
            let is_pin = |step: &&Logged| matches!(step, Logged::Wrote(Write::Pin { .. }));
            moved += rack.log.iter().filter(is_pin).count();
        }
        println!("{cells} cells: {all} of {flows} flows broken, {moved} pins");
        assert!(moved > 20, "{moved} pins");
        assert_eq!(all > 0, breaks, "{cells} cells: {all} of {flows} flows broken");
    }
}

#[test]
fn faults_of_the_filters_are_noticed() {
    let faults = [
        ("a flow is old if one of its cells is", "at_low == older && at_high == older", "at_high == older"),
        ("new flows go to the previous server", "at_low == older", "at_low != older"),
        ("old flows go to the current server", "to = other;", "to = to;"),
        ("cells of the current filter count", "older = mark_of_older", "older = mark_of_current"),
    ];
    for (fault, from, to) in faults {
        let faulty = filtered(64, &|text| {
            assert!(text.contains(from), "`{from}` is not in the program:\n{text}");
            text.replacen(from, to, 1)
        });
        let noticed = run(&faulty, 1, 1500, false).map_or(true, |(rack, _)| follow(&rack, 64).is_err());
        assert!(noticed, "nothing notices that {fault}");
    }
}

/// The switch's tables against the model's: the server that gets a packet, its bucket, the previous server.
fn dispatch(programs: &Programs, seed: u64) -> Option<String> {
    let mut rng = Rng::new(seed);
    let mut model = Table::new(vec![Row { current: Member(0), previous: None, epoch: 0 }; BUCKETS]);
    let mut writes = vec![];
    let row = |rng: &mut Rng| {
        let mut member = || Member(rng.below(u64::from(SERVERS)) as u16);
        let (current, previous) = (member(), member());
        Row { current, previous: rng.next_bool().then_some(previous), epoch: 0 }
    };
    for bucket in 0..BUCKETS as u32 {
        writes.push(Write::Row { bucket, row: row(&mut rng) });
    }
    let flow = |rng: &mut Rng| (rng.below(300) as u16).to_be_bytes().to_vec();
    for _ in 0..40 {
        let flow = flow(&mut rng);
        writes.push(Write::Pin { flow, row: row(&mut rng) });
    }
    let mut pinned: Vec<_> = writes
        .iter()
        .filter_map(|write| match write {
            Write::Pin { flow, .. } => Some(flow.clone()),
            _ => None,
        })
        .collect();
    pinned.sort();
    pinned.dedup();
    writes.extend(pinned.into_iter().step_by(3).map(|flow| Write::Unpin { flow }));
    writes.iter().for_each(|write| model.write(write));
    let mut rack = Rack::new(programs, &[Member(0)], seed).ok()?;
    if let Err(why) = rack.write(&writes) {
        return Some(why);
    }
    for _ in 0..200 {
        let flow = flow(&mut rng);
        let expected = model.dispatch(&flow, hash(u16::from_be_bytes([flow[0], flow[1]])));
        let came = match rack.dispatched(u16::from_be_bytes([flow[0], flow[1]])) {
            Ok(came) => came,
            Err(why) => return Some(why),
        };
        if came != expected {
            return Some(format!("flow {flow:?}: {came:?} instead of {expected:?}"));
        }
    }
    None
}

#[test]
fn the_printed_switch_dispatches_as_the_model_does() {
    let programs = programs(&|text| text);
    for seed in features::seeds(2, 500) {
        assert_eq!(dispatch(&programs, seed), None, "seed {seed}");
    }
}

#[test]
fn faults_of_the_switch_are_noticed() {
    let faults = [
        ("the previous server is not named", "other = previous;", "other = 0;"),
        ("frames between servers are dispatched", "if (to == 0)", "if (port == 0)"),
        ("pins do not come first", "if (!pins", "if (pins"),
        ("all flows are in one bucket", "& mask", "& 0"),
        ("a frame leaves by the port of the previous server", "to: exact", "other: exact"),
    ];
    let text = {
        let seen = std::cell::RefCell::new(String::new());
        programs(&|text| {
            *seen.borrow_mut() = text.clone();
            text
        });
        seen.into_inner()
    };
    for (fault, from, to) in faults {
        assert!(text.contains(from), "`{from}` is not in the program:\n{text}");
        let faulty = programs(&|text| text.replacen(from, to, 1));
        let noticed = dispatch(&faulty, 1).is_some()
            || run(&faulty, 1, 2000, false).map_or(true, |(rack, _)| difference(&rack).is_some());
        assert!(noticed, "nothing notices that {fault}");
    }
}
