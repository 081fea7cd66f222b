//! Ports and groups as far as the program's architecture has room for them.

use p4runtime_proto::from_text;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::Update;
use p4runtime_store::{Catalog, Numbers, Store};
use std::sync::Arc;

/// A store whose ports have 4 bits, and whose groups have 5.
fn store(arch: &str) -> Store {
    let info: P4Info = from_text(&format!("pkg_info {{ arch: \"{arch}\" }}")).unwrap();
    Store::with(Catalog::with(Arc::new(info), Numbers { port_bits: 4, group_bits: 5 }))
}

/// The device checked the same again, by the program's types.
#[test]
fn numbers_are_the_programs() {
    let group = |group: u32, port: &str| -> Update {
        from_text(&format!(
            "type: INSERT entity {{ packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {group} \
             replicas {{ port: \"{port}\" instance: 1 }} }} }} }}"
        ))
        .unwrap()
    };
    for arch in ["v1model", "psa"] {
        let store = store(arch);
        assert!(store.plan(&group(31, "\\017")).is_ok());
        let refused = store.plan(&group(32, "\\017")).unwrap_err();
        assert!(refused.to_string().contains("the largest is 31"), "{refused}");
        let refused = store.plan(&group(31, "\\020")).unwrap_err();
        assert!(refused.to_string().contains("16 needs more than 4 bits"), "{refused}");
    }
}
