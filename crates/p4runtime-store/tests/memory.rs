//! Memory of entities is bounded in sum, and a program is measured before it runs.

use p4runtime_proto::from_text;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::Update;
use p4runtime_store::{Needs, Result, Store};
use std::sync::Arc;

fn info() -> P4Info {
    from_text(
        r#"tables { preamble { id: 1 name: "t" } size: 1000 action_refs { id: 2 }
             match_fields { id: 1 name: "k" bitwidth: 32 match_type: EXACT } }
           actions { preamble { id: 2 name: "a" } params { id: 1 name: "p" bitwidth: 8 } }
           action_profiles { preamble { id: 3 name: "p" } table_ids: 4 }
           tables { preamble { id: 4 name: "u" } implementation_id: 3 action_refs { id: 2 }
             match_fields { id: 1 name: "k" bitwidth: 32 match_type: EXACT } }"#,
    )
    .unwrap()
}

fn entry(how: &str, key: u8, metadata: usize) -> Update {
    let metadata = "x".repeat(metadata);
    from_text(&format!(
        r#"type: {how} entity {{ table_entry {{ table_id: 1 match {{ field_id: 1 exact {{ value: "\{key:03o}" }} }}
           action {{ action {{ action_id: 2 params {{ param_id: 1 value: "\001" }} }} }} metadata: "{metadata}" }} }}"#
    ))
    .unwrap()
}

fn member(how: &str, id: u32) -> Update {
    from_text(&format!(
        r#"type: {how} entity {{ action_profile_member {{ action_profile_id: 3 member_id: {id}
           action {{ action_id: 2 params {{ param_id: 1 value: "\001" }} }} }} }}"#
    ))
    .unwrap()
}

fn write(store: &mut Store, update: &Update) -> Result<()> {
    for change in store.plan(update)? {
        store.commit(change, None);
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_and_what_goes_makes_room() {
    let mut store = Store::new(Arc::new(info()));
    assert_eq!(store.taken(), 0);
    write(&mut store, &entry("INSERT", 1, 0)).unwrap();
    let one = store.taken();
    assert!(one > 500, "{one}");
    store.set_limit(2 * one + 100);
    write(&mut store, &entry("INSERT", 2, 0)).unwrap();
    let refused = write(&mut store, &entry("INSERT", 3, 0)).unwrap_err();
    assert_eq!(refused.code, Code::ResourceExhausted);
    assert!(refused.to_string().contains("`--max-memory`"), "{refused}");
    assert_eq!(store.taken(), 2 * one);
    // Metadata counts; what is replaced does not.
    write(&mut store, &entry("MODIFY", 2, 100)).unwrap();
    write(&mut store, &entry("MODIFY", 2, 101)).unwrap_err();
    write(&mut store, &member("INSERT", 1)).unwrap_err();
    write(&mut store, &entry("MODIFY", 2, 99)).unwrap();
    write(&mut store, &entry("DELETE", 1, 0)).unwrap();
    assert_eq!(store.taken(), one + 99);
    write(&mut store, &member("INSERT", 1)).unwrap();
    write(&mut store, &member("DELETE", 1)).unwrap();
    write(&mut store, &entry("INSERT", 3, 0)).unwrap();
    assert_eq!(store.taken(), 2 * one + 99);
}

/// A limit that is lower than what is there refuses what takes more, and nothing else.
#[test]
fn what_is_there_stays() {
    let mut store = Store::new(Arc::new(info()));
    write(&mut store, &entry("INSERT", 1, 10)).unwrap();
    store.set_limit(1);
    write(&mut store, &entry("MODIFY", 1, 11)).unwrap_err();
    write(&mut store, &entry("MODIFY", 1, 10)).unwrap();
    write(&mut store, &entry("MODIFY", 1, 9)).unwrap();
    write(&mut store, &entry("DELETE", 1, 0)).unwrap();
    assert_eq!(store.taken(), 0);
}

#[test]
fn a_full_table_takes_what_its_program_needs() {
    let mut store = Store::new(Arc::new(info()));
    write(&mut store, &entry("INSERT", 1, 0)).unwrap();
    let needs = Needs::of(&info());
    let (name, size, bytes) = &needs.parts[0];
    assert_eq!((name.as_str(), *size, *bytes), ("t", 1000, 1000 * store.taken()));
    assert!(needs.bytes >= *bytes);
}

/// Cells are there from the start: packets write to them without asking.
#[test]
fn cells_count_before_anything_is_written() {
    let cells = |size: u64, width: u32| -> P4Info {
        from_text(&format!(
            "registers {{ preamble {{ id: 1 name: \"r\" }} size: {size} type_spec {{ bitstring {{ bit {{ bitwidth: {width} }} }} }} }}"
        ))
        .unwrap()
    };
    let taken = |size, width| Store::new(Arc::new(cells(size, width))).taken();
    assert_eq!(taken(1000, 64), 8000);
    assert_eq!(taken(1000, 9), 2000);
    assert!(taken(1000, 129) > 100_000, "they are no array");
    assert!(taken(1 << 25, 8) > 8 << 25, "they are no array");
    assert_eq!(Needs::of(&cells(1 << 30, 64)).bytes, taken(1 << 30, 64));
}

/// Each insertion counted the members that were there: a hundred thousand took minutes.
#[test]
fn members_are_not_counted_again() {
    let mut limited = info();
    limited.action_profiles[0].size = 3;
    let mut store = Store::new(Arc::new(limited));
    for id in 1..=3 {
        write(&mut store, &member("INSERT", id)).unwrap();
    }
    write(&mut store, &member("MODIFY", 3)).unwrap();
    let refused = write(&mut store, &member("INSERT", 4)).unwrap_err();
    assert_eq!(refused.code, Code::ResourceExhausted);
    write(&mut store, &member("DELETE", 2)).unwrap();
    write(&mut store, &member("INSERT", 4)).unwrap();
}
