//! Long answers in pieces.

use base_bits::Bits;
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{Entity, Update};
use p4runtime_proto::{from_text, to_text};
use p4runtime_store::{Live, Result, Store, Wanted};
use std::ops::Range;
use std::sync::Arc;

const INFO: &str = r#"
    pkg_info { arch: "psa" }
    tables {
        preamble { id: 1 name: "t" } size: 1024
        match_fields { id: 1 name: "k" bitwidth: 16 match_type: TERNARY }
        action_refs { id: 7 } direct_resource_ids: [3, 5] initial_default_action { action_id: 7 }
    }
    tables { preamble { id: 2 name: "empty" } action_refs { id: 7 } initial_default_action { action_id: 7 } }
    actions { preamble { id: 7 name: "a" } }
    action_profiles { preamble { id: 8 name: "p" } table_ids: 1 with_selector: true size: 64 max_group_size: 8 }
    direct_counters { preamble { id: 3 name: "dc" } spec { unit: BOTH } direct_table_id: 1 }
    direct_meters { preamble { id: 5 name: "dm" } spec { unit: PACKETS } direct_table_id: 1 }
    counters { preamble { id: 11 name: "c" } spec { unit: BOTH } size: 40 }
    counters { preamble { id: 12 name: "d" } spec { unit: BOTH } size: 3 }
    meters { preamble { id: 13 name: "m" } spec { unit: PACKETS } size: 40 }
    registers { preamble { id: 14 name: "r" } type_spec { bitstring { bit { bitwidth: 8 } } } size: 40 }
    value_sets { preamble { id: 15 name: "v" } match { id: 1 name: "x" bitwidth: 8 match_type: EXACT } size: 4 }
    digests { preamble { id: 16 name: "g" } type_spec { bitstring { bit { bitwidth: 8 } } } }
"#;

/// Every cell whose number ends in 3 has been written; only those are reported.
struct Threes;

fn threes(cells: Range<u64>) -> impl Iterator<Item = u64> {
    cells.filter(|cell| cell % 10 == 3)
}

impl Live for Threes {
    fn counter(&self, _: u32, index: u64) -> Result<Count> {
        Ok(Count { packets: u64::from(index % 10 == 3), bytes: 0 })
    }

    fn counters(&self, counter: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Count)) -> Result<()> {
        threes(cells).try_for_each(|cell| self.counter(counter, cell).map(|count| give(cell, count)))
    }

    fn registers(&self, _: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Data)) -> Result<()> {
        threes(cells).for_each(|cell| give(cell, Data::Bits(Bits::new(8, 9))));
        Ok(())
    }

    fn direct_counter(&self, _: u32, _: &EntryKey) -> Result<Count> {
        Ok(Count { packets: 1, bytes: 2 })
    }

    fn register(&self, _: u32, index: u64) -> Result<Data> {
        Ok(Data::Bits(Bits::new(8, if index % 10 == 3 { 9 } else { 0 })))
    }

    fn since_last_hit(&self, _: u32, _: &EntryKey) -> Result<u64> {
        Ok(1)
    }
}

fn filled() -> Store {
    let info: P4Info = from_text(INFO).unwrap();
    let mut store = Store::new(Arc::new(info));
    let mut write = |how: &str, entity: String| {
        let update: Update = from_text(&format!("type: {how} entity {{ {entity} }}")).unwrap();
        for change in store.plan(&update).unwrap_or_else(|fault| panic!("{entity}: {fault}")) {
            store.commit(change, None);
        }
    };
    for n in 1..=30 {
        let key = format!(
            "match {{ field_id: 1 ternary {{ value: \"\\{n:03o}\" mask: \"\\377\" }} }} priority: {}",
            1 + n % 3
        );
        write(
            "INSERT",
            format!("table_entry {{ table_id: 1 {key} action {{ action {{ action_id: 7 }} }} }}"),
        );
        write(
            "INSERT",
            format!(
                "action_profile_member {{ action_profile_id: 8 member_id: {n} action {{ action_id: 7 }} }}"
            ),
        );
        let of = "packet_replication_engine_entry";
        let to = "replicas { port: \"\\001\" instance: 1 }";
        write("INSERT", format!("{of} {{ multicast_group_entry {{ multicast_group_id: {n} {to} }} }}"));
        write("INSERT", format!("{of} {{ clone_session_entry {{ session_id: {n} {to} }} }}"));
    }
    for n in 1..=8 {
        write(
            "INSERT",
            format!(
                "action_profile_group {{ action_profile_id: 8 group_id: {n} members {{ member_id: {n} weight: 1 }} max_size: 8 }}"
            ),
        );
    }
    let rates = "config { cir: 1 cburst: 1 pir: 1 pburst: 1 }";
    write("MODIFY", format!("meter_entry {{ meter_id: 13 index {{ index: 17 }} {rates} }}"));
    write(
        "MODIFY",
        "value_set_entry { value_set_id: 15 members { match { field_id: 1 exact { value: \"\\004\" } } } }"
            .to_string(),
    );
    write("INSERT", "digest_entry { digest_id: 16 config { max_list_size: 1 } }".to_string());
    store
}

fn shown(entity: &Entity) -> String {
    to_text(entity).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Read in pieces of so many cells' room.
fn read(store: &Store, query: &str, wanted: Wanted, room: u64) -> Vec<String> {
    let query: Entity = from_text(query).unwrap();
    let mut cursor = store.find(&query, wanted).unwrap();
    let mut all = vec![];
    while !cursor.is_over() {
        let (mut left, before) = (room, all.len());
        store.read_some(&mut cursor, &mut left, &Threes, &mut |entity| all.push(shown(&entity))).unwrap();
        assert!((all.len() - before) as u64 <= room && all.len() < 1000, "{query:?}");
    }
    all
}

const QUERIES: [(&str, usize); 26] = [
    ("table_entry {}", 30),
    ("table_entry { table_id: 1 counter_data {} meter_config {} }", 30),
    ("table_entry { table_id: 1 priority: 2 }", 10),
    ("table_entry { table_id: 1 match { field_id: 1 ternary { value: \"\\007\" mask: \"\\377\" } } }", 1),
    ("table_entry { table_id: 2 }", 0),
    ("table_entry { is_default_action: true }", 2),
    ("table_entry { table_id: 1 is_default_action: true }", 1),
    ("direct_counter_entry {}", 30),
    ("direct_counter_entry { table_entry { table_id: 1 priority: 1 } }", 10),
    (
        "direct_counter_entry { table_entry { table_id: 1 match { field_id: 1 ternary { value: \"\\007\" mask: \"\\377\" } } priority: 2 } }",
        1,
    ),
    ("direct_counter_entry { table_entry { is_default_action: true } }", 1),
    ("direct_counter_entry { table_entry { table_id: 2 } }", 0),
    ("direct_meter_entry { table_entry { table_id: 1 } }", 30),
    ("direct_meter_entry { table_entry { table_id: 1 is_default_action: true } }", 1),
    ("counter_entry {}", 43),
    ("counter_entry { counter_id: 11 index { index: 3 } }", 1),
    ("meter_entry { meter_id: 13 }", 40),
    ("register_entry {}", 40),
    ("action_profile_member {}", 30),
    ("action_profile_member { member_id: 4 }", 1),
    ("action_profile_group { action_profile_id: 8 }", 8),
    ("value_set_entry {}", 1),
    ("digest_entry {}", 1),
    ("packet_replication_engine_entry { multicast_group_entry {} }", 30),
    ("packet_replication_engine_entry { clone_session_entry {} }", 30),
    ("packet_replication_engine_entry { clone_session_entry { session_id: 30 } }", 1),
];

#[test]
fn an_answer_in_pieces_is_the_whole_answer() {
    let store = filled();
    for (query, count) in QUERIES {
        let all = read(&store, query, Wanted::All, u64::MAX);
        assert_eq!(all.len(), count, "{query}: {all:?}");
        for room in [1, 7, 8, 20, 100] {
            assert_eq!(read(&store, query, Wanted::All, room), all, "{query} in pieces of {room}");
        }
    }
}

/// An entity takes the room of several cells, one alone any room.
#[test]
fn pieces_are_bounded() {
    let store = filled();
    let sizes = |query: &str| {
        let mut cursor = store.find(&from_text(query).unwrap(), Wanted::All).unwrap();
        let mut sizes = vec![];
        while !cursor.is_over() {
            let mut count = 0;
            store.read_some(&mut cursor, &mut 80, &Threes, &mut |_| count += 1).unwrap();
            sizes.push(count);
        }
        sizes
    };
    assert_eq!(sizes("table_entry {}"), [10, 10, 10, 0]);
    // Those that do not fit are looked at, too.
    assert_eq!(sizes("table_entry { table_id: 1 priority: 7 }"), [0, 0, 0, 0]);
    assert_eq!(sizes("counter_entry {}"), [43]);
    // Large ones take the room of many: 32 MiB of metadata were one piece, and 30 ms of work.
    let mut large = filled();
    for n in 1..=3 {
        let key = "match { field_id: 1 ternary { value: \"\\001\" mask: \"\\377\" } }";
        let metadata = "m".repeat(256 * 70);
        let entry = format!("table_id: 1 {key} priority: {} metadata: \"{metadata}\"", 100 + n);
        let update = format!(
            "type: INSERT entity {{ table_entry {{ {entry} action {{ action {{ action_id: 7 }} }} }} }}"
        );
        for change in large.plan(&from_text::<Update>(&update).unwrap()).unwrap() {
            large.commit(change, None);
        }
    }
    let mut cursor = large.find(&from_text("table_entry {}").unwrap(), Wanted::All).unwrap();
    let mut count = 0;
    large.read_some(&mut cursor, &mut 80, &Threes, &mut |_| count += 1).unwrap();
    assert!(count <= 3, "{count}");
}

#[test]
fn cells_that_are_zero_are_given_where_all_are_wanted() {
    let store = filled();
    let cells = |query: &str, wanted| read(&store, query, wanted, 9);
    let counts = cells("counter_entry { counter_id: 12 }", Wanted::All);
    let cell = |index: &str| format!("counter_entry {{ counter_id: 12 index {{ {index}}} data {{ }} }}");
    assert_eq!(counts, [cell(""), cell("index: 1 "), cell("index: 2 ")]);
    let data: Vec<bool> =
        cells("register_entry {}", Wanted::All).iter().map(|cell| cell.contains("\\t")).collect();
    assert_eq!(data, (0..40).map(|cell| cell % 10 == 3).collect::<Vec<_>>());
    assert_eq!(cells("counter_entry {}", Wanted::Written).len(), 4);
    assert_eq!(cells("register_entry {}", Wanted::Written).len(), 4);
    assert_eq!(cells("meter_entry {}", Wanted::Written).len(), 1);
    // One cell that is asked for is given: who undoes a write writes its zero again.
    for query in
        ["counter_entry { counter_id: 11", "meter_entry { meter_id: 13", "register_entry { register_id: 14"]
    {
        assert_eq!(cells(&format!("{query} index {{ index: 4 }} }}"), Wanted::Written).len(), 1, "{query}");
    }
}

/// An entity written between two pieces is found if it comes later in order; none is found twice or missed.
#[test]
fn what_is_written_meanwhile_disturbs_nothing() {
    let mut store = filled();
    let mut cursor = store.find(&from_text("action_profile_member {}").unwrap(), Wanted::All).unwrap();
    let mut all = vec![];
    let mut first = vec![];
    store.read_some(&mut cursor, &mut 80, &Threes, &mut |entity| first.push(shown(&entity))).unwrap();
    let member = |n: u32| {
        format!("action_profile_member {{ action_profile_id: 8 member_id: {n} action {{ action_id: 7 }} }}")
    };
    // The last one that was read goes, and a later one.
    for (how, n) in [("DELETE", 10), ("DELETE", 12), ("INSERT", 31)] {
        let update: Update = from_text(&format!("type: {how} entity {{ {} }}", member(n))).unwrap();
        for change in store.plan(&update).unwrap() {
            store.commit(change, None);
        }
    }
    all.extend(first);
    while !cursor.is_over() {
        store.read_some(&mut cursor, &mut 80, &Threes, &mut |entity| all.push(shown(&entity))).unwrap();
    }
    assert_eq!(all, (1..=31).filter(|n| *n != 12).map(member).collect::<Vec<_>>());
}

/// All that is written comes in the order in which it can be written, in pieces as at once.
#[test]
fn what_is_written_comes_in_pieces() {
    let store = filled();
    let mut all = vec![];
    store.read_written(&Threes, &mut |entity| all.push(shown(&entity))).unwrap();
    // 30 members, 8 groups, 30 entries, 30 groups and 30 sessions, a value set, a digest, a meter; the default entry's counter, 4 cells of counters, 4 of a register.
    assert_eq!(all.len(), 140);
    for room in [1, 7, 100] {
        let (mut written, mut pieces) = (store.written(), vec![]);
        while !written.is_over() {
            let (mut left, before) = (room, pieces.len());
            store
                .read_written_some(&mut written, &mut left, &Threes, &mut |entity| {
                    pieces.push(shown(&entity))
                })
                .unwrap();
            assert!((pieces.len() - before) as u64 <= room);
        }
        assert_eq!(pieces, all, "{room}");
    }
    let mut written = store.written_by_controllers();
    let mut own = vec![];
    store
        .read_written_some(&mut written, &mut 10_000, &Threes, &mut |entity| own.push(shown(&entity)))
        .unwrap();
    assert_eq!(own.len(), 131);
    assert!(own.iter().all(|entity| !entity.contains("counter") && !entity.contains("register")), "{own:?}");
}

#[test]
fn searches_are_counted_by_what_they_go_through() {
    let store = filled();
    assert_eq!(store.entities(), 128);
    let searched = |query: &str| store.searched(&from_text(query).unwrap());
    assert_eq!(searched("table_entry {}"), 30);
    assert_eq!(searched("table_entry { table_id: 2 }"), 0);
    assert_eq!(searched("direct_meter_entry { table_entry { table_id: 1 } }"), 30);
    assert_eq!(searched("action_profile_member { member_id: 3 }"), 30);
    assert_eq!(searched("action_profile_group {}"), 8);
    assert_eq!(searched(QUERIES[24].0), 30);
    assert_eq!(searched("register_entry {}"), 0);
}

/// An update of any kind of entity, that can be done now.
fn any_update(store: &Store, rng: &mut base_time::Rng) -> Update {
    let n = rng.between(1, 40);
    let key = format!("match {{ field_id: 1 ternary {{ value: \"\\{n:03o}\" mask: \"\\377\" }} }}");
    let entry = format!("table_id: 1 {key} priority: {}", 1 + n % 3);
    let of = "packet_replication_engine_entry";
    let kinds = [
        format!("table_entry {{ {entry} action {{ action {{ action_id: 7 }} }} metadata: \"new\" }}"),
        "table_entry { table_id: 1 is_default_action: true action { action { action_id: 7 } } metadata: \"new\" }".to_string(),
        format!("direct_meter_entry {{ table_entry {{ {entry} }} config {{ cir: 9 cburst: 9 pir: 9 pburst: 9 }} }}"),
        format!("action_profile_member {{ action_profile_id: 8 member_id: {n} action {{ action_id: 7 }} }}"),
        format!("action_profile_group {{ action_profile_id: 8 group_id: {} max_size: 8 }}", n % 10),
        format!("value_set_entry {{ value_set_id: 15 members {{ match {{ field_id: 1 exact {{ value: \"\\{n:03o}\" }} }} }} }}"),
        "digest_entry { digest_id: 16 config { max_list_size: 2 } }".to_string(),
        format!("{of} {{ multicast_group_entry {{ multicast_group_id: {n} metadata: \"new\" }} }}"),
        format!("{of} {{ clone_session_entry {{ session_id: {n} packet_length_bytes: 9 replicas {{ port: \"\\002\" }} }} }}"),
        format!("meter_entry {{ meter_id: 13 index {{ index: {} }} config {{ cir: 9 cburst: 9 pir: 9 pburst: 9 }} }}", n % 40),
        "meter_entry { meter_id: 13 config { cir: 8 cburst: 8 pir: 8 pburst: 8 } }".to_string(),
    ];
    loop {
        let kind = &kinds[rng.below(kinds.len() as u64) as usize];
        for how in ["INSERT", "MODIFY", "DELETE"].into_iter().cycle().skip(rng.below(3) as usize).take(3) {
            let update: Update = from_text(&format!("type: {how} entity {{ {kind} }}")).unwrap();
            if store.plan(&update).is_ok_and(|changes| !changes.is_empty()) {
                return update;
            }
        }
    }
}

/// A read that began before a write finds each entity as it was, once, at any position and for every kind, members, groups, default
/// actions and cells included.
#[test]
fn all_is_read_before_it_is_written() {
    let mut rng = base_time::Rng::new(29);
    for (query, count) in QUERIES {
        for room in [1, 8, 24, 160] {
            let mut store = filled();
            let whole = read(&store, query, Wanted::All, u64::MAX);
            let mut cursor = store.find(&from_text(query).unwrap(), Wanted::All).unwrap();
            let mut found = vec![];
            while !cursor.is_over() {
                for _ in 0..3 {
                    let update = any_update(&store, &mut rng);
                    let touched = store.touched(update.entity.as_ref().unwrap()).unwrap();
                    let mut give = |entity| found.push(shown(&entity));
                    store.read_before(&mut cursor, &touched, &Threes, &mut give).unwrap();
                    for change in store.plan(&update).unwrap() {
                        store.commit(change, None);
                    }
                }
                store
                    .read_some(&mut cursor, &mut { room }, &Threes, &mut |entity| found.push(shown(&entity)))
                    .unwrap();
            }
            found.sort_unstable();
            let mut wanted = whole.clone();
            wanted.sort_unstable();
            assert_eq!((found.len(), &found), (count, &wanted), "{query} in pieces of {room}");
        }
    }
}
