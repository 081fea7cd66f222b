//! Direct counters and meters of entries and of default entries.

use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{Entity, Update};
use p4runtime_proto::{from_text, to_text};
use p4runtime_store::{Before, Change, Live, Result, Store, fault};
use std::sync::Arc;

/// Tables `hosts` (1, an exact key) and `all` (2, no key, a constant default action), each with a direct counter and meter.
const INFO: &str = r#"
    pkg_info { arch: "ARCH" }
    tables {
        preamble { id: 1 name: "hosts" }
        match_fields { id: 1 name: "h" bitwidth: 8 match_type: EXACT }
        action_refs { id: 7 }
        initial_default_action { action_id: 7 }
        direct_resource_ids: [3, 5]
    }
    tables {
        preamble { id: 2 name: "all" } action_refs { id: 7 } const_default_action_id: 7 direct_resource_ids: [4, 6]
    }
    actions { preamble { id: 7 name: "seen" } }
    direct_counters { preamble { id: 3 name: "a" } spec { unit: BOTH } direct_table_id: 1 }
    direct_counters { preamble { id: 4 name: "b" } spec { unit: BOTH } direct_table_id: 2 }
    direct_meters { preamble { id: 5 name: "c" } spec { unit: PACKETS } direct_table_id: 1 }
    direct_meters { preamble { id: 6 name: "d" } spec { unit: PACKETS } direct_table_id: 2 }
"#;

fn store(arch: &str) -> Store {
    let info: P4Info = from_text(&INFO.replace("ARCH", arch)).unwrap();
    Store::new(Arc::new(info))
}

/// Every default entry has counted this.
struct Counted(Count);

impl Live for Counted {
    fn counter(&self, _: u32, _: u64) -> Result<Count> {
        fault("not asked", "there are no counters")
    }

    fn direct_counter(&self, _: u32, key: &EntryKey) -> Result<Count> {
        Ok(if key.is_of_default() { self.0 } else { Count { packets: 1, bytes: 1 } })
    }

    fn register(&self, _: u32, _: u64) -> Result<Data> {
        fault("not asked", "there are no registers")
    }

    fn since_last_hit(&self, _: u32, _: &EntryKey) -> Result<u64> {
        fault("not asked", "nothing times out")
    }
}

const LIVE: Counted = Counted(Count { packets: 3, bytes: 33 });

fn entity(text: &str) -> Entity {
    from_text(text).unwrap()
}

fn update(text: &str) -> Update {
    from_text(&format!("type: MODIFY entity {{ {text} }}")).unwrap()
}

fn plan(store: &Store, text: &str) -> Result<Change> {
    store.plan(&update(text)).map(|mut changes| changes.remove(0))
}

/// Does an update; its inverse.
fn write(store: &mut Store, text: &str) -> Change {
    let change = plan(store, text).unwrap();
    store.commit(change, Some(Before::Count(LIVE.0))).unwrap()
}

fn shown(entity: &Entity) -> String {
    to_text(entity).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn read(store: &Store, query: &str) -> Vec<String> {
    let mut found = vec![];
    store.read(&entity(query), &LIVE, &mut |entity| found.push(shown(&entity))).unwrap();
    found
}

fn refusal(result: Result<impl std::fmt::Debug>) -> String {
    let fault = result.unwrap_err();
    format!("{:?} {fault}", fault.code)
}

const OF_HOSTS: &str = "table_id: 1 is_default_action: true";
const RATES: &str = "cir: 1 cburst: 1 pir: 2 pburst: 2";

#[test]
fn what_is_written_to_a_default_entry_is_led_back_by_its_inverse() {
    let mut store = store("psa");
    let asked = format!("table_entry {{ {OF_HOSTS} meter_config {{}} counter_data {{}} }}");
    let at_first = read(&store, &asked);
    let text = format!(
        "table_entry {{ {OF_HOSTS} action {{ action {{ action_id: 7 }} }} metadata: \"mine\"
             meter_config {{ {RATES} }} counter_data {{ packet_count: 9 }} }}"
    );
    let inverse = write(&mut store, &text);
    assert!(read(&store, &asked)[0].contains("meter_config { cir: 1 cburst: 1 pir: 2 pburst: 2 }"));
    assert!(matches!(&inverse, Change::Default { to, count: Some(count), .. }
        if **to == Default::default() && *count == LIVE.0));
    let again = store.commit(inverse, None).unwrap();
    assert_eq!(read(&store, &asked), at_first);
    store.commit(again, None).unwrap();
    // Without an action it is the program's own, with rates if they are said.
    write(&mut store, &format!("table_entry {{ {OF_HOSTS} metadata: \"mine\" meter_config {{ {RATES} }} }}"));
    assert!(read(&store, &asked)[0].contains("meter_config") && !read(&store, &asked)[0].contains("mine"));
    write(&mut store, &format!("table_entry {{ {OF_HOSTS} }}"));
    assert_eq!(read(&store, &asked), at_first);
}

#[test]
fn updates_lead_back_from_updates() {
    let mut store = store("psa");
    let rates = format!("direct_meter_entry {{ table_entry {{ {OF_HOSTS} }} config {{ {RATES} }} }}");
    for text in [
        rates.clone(),
        format!("table_entry {{ {OF_HOSTS} action {{ action {{ action_id: 7 }} }} metadata: \"a\" }}"),
        format!("direct_meter_entry {{ table_entry {{ {OF_HOSTS} }} }}"),
        format!("table_entry {{ {OF_HOSTS} }}"),
        rates.replace("table_id: 1", "table_id: 2"),
    ] {
        let before = store.default_entry(1).clone();
        let back = store.undoing(&update(&text), &LIVE).unwrap();
        write(&mut store, &text);
        let mut other = store.clone();
        for update in &back {
            let change = other.plan(update).unwrap().remove(0);
            other.commit(change, None);
        }
        assert_eq!(*other.default_entry(1), before, "{text}");
    }
}

#[test]
fn what_is_written_again_makes_the_same() {
    let mut first = store("psa");
    for text in [
        format!(
            "table_entry {{ {OF_HOSTS} action {{ action {{ action_id: 7 }} }} meter_config {{ {RATES} }} }}"
        ),
        format!(
            "direct_meter_entry {{ table_entry {{ table_id: 2 is_default_action: true }} config {{ {RATES} }} }}"
        ),
    ] {
        write(&mut first, &text);
    }
    let mut second = store("psa");
    let mut kinds = vec![];
    first
        .read_written(&LIVE, &mut |entity| {
            let text = shown(&entity);
            kinds.push(text.split(' ').next().unwrap_or_default().to_string());
            write(&mut second, &text);
        })
        .unwrap();
    let meter = ["direct_meter_entry"; 2];
    assert_eq!(kinds, [&["table_entry"][..], &meter, &["direct_counter_entry"; 2]].concat());
    for table in [1, 2] {
        assert_eq!(second.default_entry(table), first.default_entry(table));
    }
    let mut counted = 0;
    first.read_counted(&LIVE, &|_| false, &mut |_| counted += 1).unwrap();
    assert_eq!(counted, 2);
}

#[test]
fn a_table_without_key_has_its_default_entry_alone() {
    let store = store("psa");
    assert!(read(&store, "direct_counter_entry { table_entry { table_id: 2 } }").is_empty());
    let all = read(&store, "direct_counter_entry { table_entry { table_id: 2 is_default_action: true } }");
    let wanted = "direct_counter_entry { table_entry { table_id: 2 is_default_action: true } data { byte_count: 33 packet_count: 3 } }";
    assert_eq!(all, [wanted]);
    let other = plan(&store, "direct_counter_entry { table_entry { table_id: 2 } data {} }");
    assert_eq!(
        refusal(other),
        "NotFound entity.direct_counter_entry.table_entry: the entry does not exist: no update has inserted it"
    );
    let matched = "table_id: 1 is_default_action: true priority: 1";
    let wrong = plan(&store, &format!("direct_counter_entry {{ table_entry {{ {matched} }} data {{}} }}"));
    assert!(refusal(wrong).contains("priority: a default action has no priority"));
}

#[test]
fn an_entry_that_is_deleted_comes_back_with_its_count() {
    let mut store = store("v1model");
    let entry =
        "table_id: 1 match { field_id: 1 exact { value: \"\\001\" } } action { action { action_id: 7 } }";
    let mut done = |how: &str| {
        let update: Update =
            from_text(&format!("type: {how} entity {{ table_entry {{ {entry} }} }}")).unwrap();
        let change = store.plan(&update).unwrap().remove(0);
        store.commit(change, (how != "INSERT").then_some(Before::Count(LIVE.0)))
    };
    let counts = ["INSERT", "MODIFY", "DELETE"].map(|how| match done(how) {
        Some(Change::Entry { count, .. }) => count,
        other => panic!("{other:?}"),
    });
    assert_eq!(counts, [None, None, Some(LIVE.0)]);
}

#[test]
fn v1model_counts_hits_alone() {
    let store = store("v1model");
    for (text, place) in [
        (format!("table_entry {{ {OF_HOSTS} counter_data {{}} }}"), "table_entry.counter_data"),
        (format!("table_entry {{ {OF_HOSTS} meter_config {{}} }}"), "table_entry.meter_config"),
        (
            format!("direct_counter_entry {{ table_entry {{ {OF_HOSTS} }} data {{}} }}"),
            "direct_counter_entry.table_entry",
        ),
        (format!("direct_meter_entry {{ table_entry {{ {OF_HOSTS} }} }}"), "direct_meter_entry.table_entry"),
    ] {
        let wanted = format!(
            "Unimplemented entity.{place}: default actions have no direct counters and meters: v1model counts and meters only hits"
        );
        let found = refusal(plan(&store, &text));
        assert!(found.starts_with(&wanted), "{found}");
    }
    assert!(read(&store, "direct_counter_entry {}").is_empty());
    assert!(read(&store, "direct_meter_entry { table_entry { is_default_action: true } }").is_empty());
    let asked = entity(&format!("table_entry {{ {OF_HOSTS} counter_data {{}} }}"));
    assert!(refusal(store.read(&asked, &LIVE, &mut |_| {})).starts_with("Unimplemented"));
    let known = read(&store, "table_entry { is_default_action: true counter_data {} meter_config {} }");
    assert_eq!(known.len(), 2);
    assert!(known.iter().all(|entry| !entry.contains("counter_data")));
}

/// A register may have two thousand million cells. Reading them all would keep everybody waiting.
#[test]
fn cells_without_end_are_read_one_by_one() {
    let info: P4Info = from_text("registers { preamble { id: 1 name: \"r\" } size: 2147483647 }").unwrap();
    let store = Store::new(Arc::new(info));
    let read = |query: &str| store.read(&from_text(query).unwrap(), &LIVE, &mut |_| {});
    for query in ["register_entry {}", "register_entry { register_id: 1 }"] {
        assert_eq!(read(query).unwrap_err().code, Code::ResourceExhausted, "{query}");
    }
    // A single cell is asked for, which this device does not have.
    let one = read("register_entry { register_id: 1 index { index: 7 } }").unwrap_err();
    assert_eq!(one.code, Code::InvalidArgument);
}
