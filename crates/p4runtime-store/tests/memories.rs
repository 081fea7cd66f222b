//! Memories of frame externs and value externs.

use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::p4::v1::{Entity, Update};
use p4runtime_proto::{from_text, to_text};
use p4runtime_store::{Before, Change, Live, Result, Store, Wanted, fault};
use std::sync::Arc;

const INFO: &str = r#"
    externs { extern_type_id: 0x85 extern_type_name: "Cache" instances { preamble { id: 0x85000001 name: "a" } } }
    externs { extern_type_id: 0x90 extern_type_name: "Ewma" instances { preamble { id: 0x90000002 name: "b" } } }
"#;

/// The first memory has so many bytes; the second one is empty.
struct Memories(usize);

impl Live for Memories {
    fn counter(&self, _: u32, _: u64) -> Result<Count> {
        fault("not asked", "there are none")
    }

    fn direct_counter(&self, _: u32, _: &EntryKey) -> Result<Count> {
        fault("not asked", "there are none")
    }

    fn register(&self, _: u32, _: u64) -> Result<Data> {
        fault("not asked", "there are none")
    }

    fn since_last_hit(&self, _: u32, _: &EntryKey) -> Result<u64> {
        fault("not asked", "there are none")
    }

    fn memory(&self, object: u32) -> Result<Vec<u8>> {
        Ok(if object == 0x8500_0001 { vec![1; self.0] } else { vec![] })
    }
}

fn store() -> Store {
    Store::new(Arc::new(from_text(INFO).unwrap()))
}

fn one_line(entity: &Entity) -> String {
    to_text(entity).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn found(query: &str) -> std::result::Result<Vec<String>, String> {
    let query: Entity = from_text(&format!("extern_entry {{ {query} }}")).unwrap();
    let mut found = vec![];
    let read = store().read(&query, &Memories(1), &mut |entity| found.push(one_line(&entity)));
    read.map(|()| found).map_err(|fault| fault.to_string())
}

/// `0x0a 0x01 BYTE` is a `Memory` of one byte.
fn entry(ty: u32, id: u32, bytes: &str) -> String {
    format!(
        "extern_entry {{ extern_type_id: {ty} extern_id: {id} entry {{ type_url: \"type.googleapis.com/p4rack.v1.Memory\"{bytes} }} }}"
    )
}

#[test]
fn a_query_finds_objects_by_type_and_id() {
    let a = entry(0x85, 0x8500_0001, r#" value: "\n\001\001""#);
    let b = entry(0x90, 0x9000_0002, "");
    assert_eq!(found(""), Ok(vec![a.clone(), b.clone()]));
    assert_eq!(found("extern_type_id: 0x90"), Ok(vec![b]));
    assert_eq!(found("extern_id: 0x85000001"), Ok(vec![a]));
    assert_eq!(found("extern_type_id: 0x90 extern_id: 0x85000001"), Ok(vec![]));
    assert!(found("extern_id: 7").unwrap_err().contains("there is no extern object 7"));
}

#[test]
fn a_memory_is_written_as_a_whole_and_taken_back() {
    let mut store = store();
    let write = |how: &str, entry: &str| -> Update {
        from_text(&format!("type: {how} entity {{ {entry} }}")).unwrap()
    };
    let new = entry(0x85, 0x8500_0001, r#" value: "\n\001\007""#);
    let changes = store.plan(&write("MODIFY", &new)).unwrap();
    let object = 0x8500_0001;
    assert_eq!(changes, [Change::Memory { object, to: vec![7] }]);
    let undone = store.undoing(&write("MODIFY", &new), &Memories(1)).unwrap();
    assert_eq!(undone, [write("MODIFY", &entry(0x85, object, r#" value: "\n\001\001""#))]);
    let back = store.commit(changes[0].clone(), Some(Before::Memory(vec![1])));
    assert_eq!(back, Some(Change::Memory { object, to: vec![1] }));
    assert_eq!(store.update_of(&changes[0]).unwrap(), write("MODIFY", &new));
    let refused = [
        (write("INSERT", &new), "can only be modified"),
        (write("MODIFY", &entry(0x90, object, "")), "its `extern_type_id` is 133"),
        (
            write("MODIFY", "extern_entry { extern_type_id: 133 extern_id: 2231369729 }"),
            "the memory is missing",
        ),
        (write("MODIFY", &entry(0x85, object, r#" value: "\n\005""#)), "the memory cannot be read"),
        (write("MODIFY", &entry(0x85, 9, "")), "there is no extern object 9"),
    ];
    for (update, why) in refused {
        let reported = store.plan(&update).unwrap_err().to_string();
        assert!(reported.contains(why), "{reported}");
    }
}

/// State carried over to a device that was just built: an empty memory is as built.
#[test]
fn memories_that_are_not_empty_were_written() {
    let mut found = vec![];
    store().read_written(&Memories(1), &mut |entity| found.push(one_line(&entity))).unwrap();
    assert_eq!(found, [entry(0x85, 0x8500_0001, r#" value: "\n\001\001""#)]);
}

/// All memories of a program were copied in one slice, however large they were.
#[test]
fn a_large_memory_takes_as_much_room_as_many_entities() {
    let query: Entity = from_text("extern_entry {}").unwrap();
    for (bytes, expected) in [(1, vec![2]), (1 << 16, vec![1, 1])] {
        let (store, mut pieces) = (store(), vec![]);
        let mut cursor = store.find(&query, Wanted::All).unwrap();
        while !cursor.is_over() {
            let mut count = 0;
            store.read_some(&mut cursor, &mut 80, &Memories(bytes), &mut |_| count += 1).unwrap();
            pieces.push(count);
        }
        assert_eq!(pieces, expected, "{bytes}");
    }
}
