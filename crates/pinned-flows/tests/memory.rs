//! Memory of the flows of a pinned program, for the statement in docs/internals/flows.md. One test: it measures the process.

use base_bits::Bits;
use base_time::Duration;
use control_writes::{ActionCall, Entry, EntryKey, Match, Run, Write};
use device::Options;
use flow_control::flows::Place;
use flow_control::popularity::Costs;
use ir::Name;
use ir_keys::keys;
use ir_pin::{Affinity, Request, Resident, pin};
use pinned_flows::{Ended, Flow, PinnedFlows};

#[path = "../../ir-touch/tests/support/mod.rs"]
#[allow(dead_code)]
mod apps;

use apps::{APPS, bits, compiled};

/// Flows with an entry in each direction.
const FLOWS: u64 = 100_000;

/// Flows at the switch: so many first, whose memory is not counted, and then so many.
const RESIDENTS: [u64; 2] = [200, 1_000];

/// Bytes of a flow of the example app `nat`: two entries, with five and six fields.
const MOST_FLOW: u64 = 6 << 10;

/// Bytes of such a flow that is at the switch, besides.
const MOST_RESIDENT: u64 = 4 << 10;

const COSTS: Costs = Costs {
    window: Duration::from_ms(100),
    write: Duration::from_ms(1),
    writes: 8,
    together: 1,
    idle: Duration::from_s(2),
};

/// Bytes of the process in memory.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has the line");
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kib << 10
}

/// The entry of an exact table.
fn entry(table: &str, action: &str, fields: &[(u32, u64)], args: &[(u32, u64)]) -> Write<Name> {
    let matches: Vec<Match> =
        fields.iter().map(|(width, value)| Match::Exact(bits(*width, *value))).collect();
    let args = args.iter().map(|(width, value)| bits(*width, *value)).collect();
    let call = ActionCall { action: action.into(), args };
    let key = EntryKey { matches: matches.into(), priority: 0 };
    Write::Entry { table: table.into(), key, to: Some(Box::new(Entry::new(Run::Action(call)))), count: None }
}

/// Both entries of a flow: packets to and from port 80 of a server.
fn entries(flow: u64) -> [Write<Name>; 2] {
    let [tenant, protocol] = [1, 17].map(|value| (8, value));
    let [inner, server, outer] = [0x0a00_0000 + flow, 0xc000_0201, 0xc633_6401].map(|value| (32, value));
    let [port, web] = [1024, 80].map(|value| (16, value));
    let (outbound, inbound) = ("NatIngress.outbound", "NatIngress.inbound");
    [
        entry(
            outbound,
            "NatIngress.source_is",
            &[tenant, inner, server, protocol, port, web],
            &[outer, port],
        ),
        entry(
            inbound,
            "NatIngress.destination_is",
            &[outer, (32, 0x0c00_0000 + flow), protocol, port, web],
            &[inner, port],
        ),
    ]
}

/// All steps are done at once.
fn go_on(flows: &mut PinnedFlows) {
    while let Some(step) = flows.next_step() {
        flows.ended(step.id, Ended::Done);
    }
    while flows.moved().is_some() {}
}

#[test]
fn a_flow_takes_as_much_memory_as_is_stated() {
    let (_, source) = APPS.iter().find(|(name, _)| *name == "nat").expect("it is an app");
    let whole = compiled(&source.replace("size = 65536", "size = 131072"));
    let keys = keys(&whole);
    let is_whole = |name: &str| name.ends_with(".tenants") || name.ends_with(".routes");
    let tables = whole.controls.iter().flat_map(|control| &control.tables);
    let resident = tables.map(|table| {
        let name = table.control_plane_name.clone();
        let resident = if is_whole(name.as_str()) { Resident::Whole } else { Resident::Most(4096) };
        (name, resident)
    });
    let request = Request {
        affinity: Affinity::Medium,
        region: "external".into(),
        key: keys.key.parts.iter().map(|part| part.name.clone()).collect(),
        shards: None,
        flows: 4096,
        resident: resident.collect(),
    };
    let pinned = pin(&whole, &request).unwrap_or_else(|found| panic!("{found:#?}"));

    let all: Vec<Write<Name>> = (0..FLOWS).flat_map(entries).collect();
    let before = memory();
    let made = PinnedFlows::new(&whole, &keys, &pinned, &all, COSTS, Options::default());
    let mut flows = made.unwrap_or_else(|found| panic!("{found:#?}"));
    let a_flow = memory().saturating_sub(before) / FLOWS;

    // Any values make a flow; its lookups may be misses, which take as much memory as entries.
    let flow = |number: u64| -> Flow {
        let value = |part: &ir_keys::Part| -> Bits {
            let is_source = part.name.as_str().ends_with("ipv4.src");
            bits(part.width, if is_source { 0x0a00_0000 + number } else { 1 })
        };
        keys.key.parts.iter().map(value).collect()
    };
    let [first, counted] = RESIDENTS;
    let mut before = 0;
    for number in 0..first + counted {
        if number == first {
            before = memory();
        }
        flows.promote(&flow(number)).unwrap_or_else(|why| panic!("{number}: {why:?}"));
        go_on(&mut flows);
    }
    let a_resident = memory().saturating_sub(before) / counted;
    assert_eq!(flows.numbers().get(&Place::Resident).copied(), Some((first + counted) as usize));
    eprintln!("{a_flow} bytes for a flow, {a_resident} more at the switch");
    assert!(a_flow <= MOST_FLOW, "{a_flow}");
    assert!(a_resident <= MOST_RESIDENT, "{a_resident}");

    // Back at its helper, a flow has its entries and nothing else.
    for number in 0..first + counted {
        flows.demote(&flow(number)).unwrap_or_else(|why| panic!("{number}: {why:?}"));
        go_on(&mut flows);
    }
    assert!(flows.is_empty() && flows.numbers().is_empty(), "{:?}", flows.numbers());
}
