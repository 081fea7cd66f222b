//! Data that controllers store with entities is bounded in sum, so that every write can be read back.

use p4runtime_proto::from_text;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    Entity, MulticastGroupEntry, PacketReplicationEngineEntry, Replica, Update, entity::Entity as Kind,
    packet_replication_engine_entry::Type, replica::PortKind, update,
};
use p4runtime_store::{Result, Store};
use std::sync::Arc;

fn group(how: update::Type, id: u32, metadata: usize, replicas: u32) -> Update {
    let replica =
        |instance| Replica { port_kind: Some(PortKind::Port(vec![1])), instance, ..Replica::default() };
    let entry = MulticastGroupEntry {
        multicast_group_id: id,
        metadata: vec![7; metadata],
        replicas: (0..replicas).map(replica).collect(),
    };
    let entry = PacketReplicationEngineEntry { r#type: Some(Type::MulticastGroupEntry(entry)) };
    let entity = Entity { entity: Some(Kind::PacketReplicationEngineEntry(entry)) };
    Update { r#type: how as i32, entity: Some(entity) }
}

fn write(store: &mut Store, update: &Update) -> Result<()> {
    for change in store.plan(update)? {
        store.commit(change, None);
    }
    Ok(())
}

#[test]
fn metadata_is_bounded_in_sum() {
    let mut store = Store::new(Arc::new(from_text("pkg_info { arch: \"psa\" }").unwrap()));
    let insert = |id| group(update::Type::Insert, id, 65536, 0);
    for id in 1..=512 {
        write(&mut store, &insert(id)).unwrap();
    }
    let refused = write(&mut store, &insert(513)).unwrap_err();
    assert_eq!(refused.code, Code::ResourceExhausted);
    assert!(refused.to_string().contains("the limit is 33554432"), "{refused}");
    // Existing entries can be replaced; deleted ones make room.
    write(&mut store, &group(update::Type::Modify, 7, 65536, 0)).unwrap();
    write(&mut store, &group(update::Type::Delete, 9, 0, 0)).unwrap();
    write(&mut store, &insert(513)).unwrap();
    write(&mut store, &insert(9)).unwrap_err();
    write(&mut store, &group(update::Type::Modify, 7, 0, 0)).unwrap();
    write(&mut store, &insert(9)).unwrap();
}

#[test]
fn so_are_replicas() {
    let mut store = Store::new(Arc::new(from_text("pkg_info { arch: \"psa\" }").unwrap()));
    let insert = |id| group(update::Type::Insert, id, 0, 4_096);
    let done = (1..=1_000).take_while(|id| write(&mut store, &insert(*id)).is_ok()).count();
    assert!((150..600).contains(&done), "{done}");
}
