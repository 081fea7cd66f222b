//! A state in etcd without faults: it is read back as it was kept, whatever it has.

use crate::world::{Faults, World};
use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use state_etcd::{EtcdError, Layout, StateEtcd, seek};
use state_journal::{Batch, Kept, MERGE_ROWS, Store};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NONE: Faults = Faults { lost: 0, repeated: 0, late: 0, paused: 0 };

fn row(number: u32, length: usize) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut key = vec![MERGE_ROWS];
    key.extend(number.to_be_bytes());
    (key, Some(vec![number as u8; length]))
}

fn program(cookie: u64, text: usize) -> Option<ForwardingPipelineConfig> {
    let mut program =
        ForwardingPipelineConfig { p4_device_config: vec![1; text].into(), ..Default::default() };
    program.cookie.get_or_insert_default().cookie = cookie;
    Some(program)
}

/// Runs one controller after the other; each commits a batch, and reads what the one before it has kept.
fn one_after_the_other(batches: Vec<Batch>) {
    let mut world = World::new(1, NONE);
    let mut kept = Kept::default();
    let done = Arc::new(Mutex::new(0));
    let count = batches.len();
    for (number, batch) in batches.into_iter().enumerate() {
        let (before, done, now) = (kept.state().unwrap(), Arc::clone(&done), batch.clone());
        world.start(number, move |mut connection| {
            let layout = Layout::new("stores");
            let lead = Arc::new(seek(&mut connection, &layout, 60, "a test", &mut |_| ()).unwrap());
            let opened = StateEtcd::open(connection, layout, Arc::clone(&lead), false);
            let (mut store, state) = opened.ok().unwrap();
            assert!(state == before, "batch {number} finds another state");
            store.commit(&now).unwrap();
            *done.lock().unwrap() += 1;
            lead.end(store.cluster());
        });
        kept.follow(&batch);
        let end = world.now + Duration::from_secs(30);
        world.run_until(end);
    }
    assert_eq!(*done.lock().unwrap(), count);
}

#[test]
fn long_values_and_many_rows_come_back() {
    let rows =
        |rows: Vec<(Vec<u8>, Option<Vec<u8>>)>| Batch { program: None, rows: rows.into_iter().collect() };
    one_after_the_other(vec![
        Batch { program: program(1, 2_000_000), rows: BTreeMap::from([row(1, 0), row(2, 262_144)]) },
        // A value gets more pieces, and fewer; a long one goes.
        rows(vec![row(1, 1_000_000), row(2, 262_145)]),
        rows(vec![row(1, 3), row(2, 300_000)]),
        rows(vec![(row(2, 0).0, None)]),
        // More pairs than an answer has, more operations than a transaction.
        rows((10..1300).map(|number| row(number, 8)).collect()),
        rows((10..1300).map(|number| (row(number, 0).0, None)).collect()),
        Batch { program: program(2, 10), rows: (0..150).map(|number| row(number, 1)).collect() },
        Batch { program: program(3, 10), rows: BTreeMap::new() },
        Batch::default(),
    ]);
}

#[test]
fn the_state_of_another_version_stays_as_it_is() {
    let mut world = World::new(1, NONE);
    let put = |key: &str, value: &str| state_etcd::api::RequestOp {
        request: Some(state_etcd::api::request_op::Request::RequestPut(state_etcd::api::PutRequest {
            key: format!("p4rack/stores/state/{key}").into_bytes(),
            value: value.as_bytes().to_vec(),
            lease: 0,
        })),
    };
    for (format, why) in [
        ("p4rack state 2", "another version of p4rack has written it: its form is `p4rack state 2`"),
        ("notes", "it is the database of another program"),
    ] {
        // A journal that this version would execute.
        let success = vec![put("format", format), put("journal/whole", "1"), put("journal/00000000", "x")];
        world.etcd.transact(&state_etcd::api::TxnRequest { success, ..Default::default() }).unwrap();
        let refused = Arc::new(Mutex::new(None));
        let is = Arc::clone(&refused);
        world.start(world.now.as_secs() as usize, move |mut connection| {
            let layout = Layout::new("stores");
            let lead = seek(&mut connection, &layout, 2, "a test", &mut |_| ()).unwrap();
            let (_, error) = StateEtcd::open(connection, layout, Arc::new(lead), false).err().unwrap();
            *is.lock().unwrap() = Some(error);
        });
        let end = world.now + Duration::from_secs(30);
        world.run_until(end);
        let error = refused.lock().unwrap().take();
        let Some(EtcdError::Unreadable(text)) = error else { panic!("{error:?}") };
        assert!(text.starts_with(why), "{text}");
    }
}
