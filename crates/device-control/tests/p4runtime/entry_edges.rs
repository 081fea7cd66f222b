//! The edge that the controller takes for an entry's is the one that packets take.

use crate::histories::SHARDED;
use crate::parts::compiled_text;
use crate::setup::{maker, sender_of};
use base_time::Rng;
use controller::{Planner, Rollout};
use device_control::{Maker, Splitter};
use failover::Thresholds;
use ir_pin::{Affinity, Request, Shards, pin};
use ir_split::Placement;
use p4runtime_proto::p4::v1::{FieldMatch, ForwardingPipelineConfig, TableEntry, field_match};
use std::collections::BTreeSet;
use std::sync::Arc;
use traffic_classes::Class;

/// Ports of the first helper and the others lead to them.
const FIRST: usize = 10;

/// No helper answers the switch, which does not mind.
fn sharded() -> Placement {
    let thresholds = Thresholds { patience: 1_000_000, most_missed: 100, ..Thresholds::default() };
    Placement { thresholds, ..crate::setup::sharded() }
}

fn planned(program: &Arc<ir::Program>) -> Rollout {
    planned_at(program, &sharded())
}

fn planned_at(program: &Arc<ir::Program>, placement: &Placement) -> Rollout {
    let maker = Maker { own: Some(Arc::clone(program)), ..maker() };
    let plan = Splitter::new(maker, placement.clone()).plan(&ForwardingPipelineConfig::default(), 1);
    plan.unwrap_or_else(|status| panic!("{status:?}"))
}

fn id(rollout: &Rollout, name: &str) -> u32 {
    let tables = rollout.plain.tables.iter().filter_map(|table| table.preamble.as_ref());
    tables.into_iter().find(|table| table.name == name).expect("a table").id
}

/// The lists of helpers of the edges over which packets come to an entry with these exact keys.
fn lists(rollout: &Rollout, table: &str, keys: &[u8]) -> Option<BTreeSet<Vec<usize>>> {
    let exact = |value: &u8| field_match::FieldMatchType::Exact(field_match::Exact { value: vec![*value] });
    let field = |(field_id, value): (u32, &u8)| FieldMatch { field_id, field_match_type: Some(exact(value)) };
    let r#match = (1..).zip(keys).map(field).collect();
    let entry = TableEntry { table_id: id(rollout, table), r#match, ..TableEntry::default() };
    let edges = rollout.edges_to.as_ref().expect("shards have edges")(&entry)?;
    let lists: BTreeSet<_> = edges.iter().map(|at| rollout.edges[*at].targets.clone()).collect();
    assert_eq!(
        lists.len(),
        edges.len(),
        "{table} {keys:?}: edges of another region lead to the same helpers"
    );
    Some(lists)
}

#[test]
fn the_edge_of_an_entry_is_that_of_its_packets() {
    // The second program's numbers begin at 1.
    for (hashed, shards) in [("8w0, { hdr.h.a }, 8w6", 6), ("8w1, { hdr.h.a }, 8w5", 5)] {
        let program = compiled_text(&SHARDED.replace("8w0, { hdr.h.a }, 8w6", hashed));
        let (rollout, mut switch) = (planned(&program), sender_of(&program, &sharded()));
        let mut seen = BTreeSet::new();
        for address in 1..=u8::MAX {
            let lists = lists(&rollout, "In.t", &[address]).expect("the key fixes the shard");
            let [list] = lists.iter().collect::<Vec<_>>()[..] else { panic!("{address}: {lists:?}") };
            let out = switch.packet(1, &format!("{address:02x}02 aa"));
            assert!(out.starts_with(&format!("{}: ", FIRST + list[0])), "{address}: {list:?} {out}");
            seen.insert(list.clone());
        }
        assert_eq!(seen.len(), shards);
        assert_eq!(
            lists(&rollout, "In.t", &[0]).map(|lists| lists.len()),
            Some(2),
            "a packet without the header has another shard"
        );
    }
}

/// Both directions of a connection have one shard, whose number a pinned program computes from values that change places.
#[test]
fn a_pinned_program_says_the_edges_of_its_entries() {
    let source = SHARDED
        .replace("struct metadata { @shard(\"R\", 6) bit<8> shard; }", "struct metadata { bit<8> m; }")
        .replace("hash(meta.shard, HashAlgorithm.crc32, 8w0, { hdr.h.a }, 8w6);", "")
        .replace("bit<8> b; }", "bit<8> b; bit<8> c; }")
        .replace("@region(\"R\") { t.apply(); }", "t.apply(); users.apply();")
        .replace(
            "apply {\n",
            "table users { key = { hdr.h.a: exact; } actions = { set; NoAction; } }\n    apply {\n",
        );
    for affinity in [Affinity::Medium, Affinity::Low] {
        let source = source.replace(
            "key = { hdr.h.a: exact; } actions = { set; NoAction; } default",
            "key = { hdr.h.a: exact; hdr.h.c: exact; } actions = { set; NoAction; } default",
        );
        let request = Request {
            affinity,
            region: "R".into(),
            key: vec!["hdr.h.a".into(), "hdr.h.c".into()],
            shards: Some(Shards { count: 6, parts: vec![0, 1], pairs: vec![(0, 1)] }),
            flows: 4,
            resident: Default::default(),
        };
        let pinned = pin(&compiled_text(&source), &request).unwrap_or_else(|found| panic!("{found:#?}"));
        let program = Arc::new(pinned.program);
        let (rollout, mut switch) = (planned(&program), sender_of(&program, &sharded()));
        let (mut rng, mut seen) = (Rng::new(1), BTreeSet::new());
        for at in 0..200 {
            let [a, c] = [0, 1].map(|_| if at % 10 == 0 { 0 } else { rng.below(256) as u8 });
            let lists =
                [[a, c], [c, a]].map(|keys| lists(&rollout, "In.t", &keys).expect("the keys fix the shard"));
            assert_eq!(lists[0], lists[1]);
            let [list] = lists[0].iter().collect::<Vec<_>>()[..] else { panic!("{a} {c}: {lists:?}") };
            for (a, c) in [(a, c), (c, a)] {
                let out = switch.packet(1, &format!("{a:02x}02{c:02x} aa"));
                assert!(out.starts_with(&format!("{}: ", FIRST + list[0])), "{a} {c}: {list:?} {out}");
            }
            seen.insert(list.clone());
        }
        assert_eq!(seen.len(), 6, "{affinity:?}");
        assert_eq!(lists(&rollout, "In.users", &[7]), None, "packets of several shards have this address");
    }
}

/// Two apps on one switch, whose flows are at the same helpers: each has shards of its own, and packets of the other do not come to its entries.
#[test]
fn apps_that_share_a_switch_have_edges_of_their_own() {
    let alone = compiled_text(SHARDED);
    let app = |name: &str, class: &str| ir_merge::App {
        name: name.into(),
        program: &alone,
        class: Some(Class::read(class).expect("a class")),
        priority: None,
        has_regions: true,
        shares_parser: false,
    };
    let merged = ir_merge::merge(&[app("east", "port == 1"), app("west", "port == 3")]);
    let program = Arc::new(merged.unwrap_or_else(|found| panic!("{found:#?}")).program);
    let of_one = sharded();
    let site = |region: &str| (region.into(), of_one.sites["R"].clone());
    let placement = Placement { sites: [site("east_R"), site("west_R")].into(), ..of_one };
    let (rollout, mut switch) = (planned_at(&program, &placement), sender_of(&program, &placement));
    for (table, port) in [("east.In.t", 1), ("west.In.t", 3)] {
        let mut seen = BTreeSet::new();
        for address in 1..=u8::MAX {
            let lists = lists(&rollout, table, &[address]).expect("the key fixes the shard");
            let [list] = lists.iter().collect::<Vec<_>>()[..] else { panic!("{table} {address}: {lists:?}") };
            let out = switch.packet(port, &format!("{address:02x}02 aa"));
            assert!(out.starts_with(&format!("{}: ", FIRST + list[0])), "{table} {address}: {list:?} {out}");
            seen.insert(list.clone());
        }
        assert_eq!(seen.len(), 6, "{table}");
    }
}
