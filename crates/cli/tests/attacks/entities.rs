//! Entities that no message could hold or no device has, and programs without a description.

use crate::honest::Honest;
use crate::setup::{GIGABYTE, Victim, alone, at_length, count, entries, ids, running, runtime, stream};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{
    Entity, ReadRequest, SetForwardingPipelineConfigRequest, WriteRequest, entity::Entity as Kind,
};
use tonic::Code;

fn everything() -> ReadRequest {
    let groups = "entities { packet_replication_engine_entry { multicast_group_entry {} } }";
    from_text(&format!("device_id: 1 entities {{ table_entry {{}} }} {groups}")).unwrap()
}

/// Entries of a write get so much metadata each.
fn with_metadata(mut write: WriteRequest, bytes: usize) -> WriteRequest {
    for update in &mut write.updates {
        if let Some(Entity { entity: Some(Kind::TableEntry(entry)) }) = &mut update.entity {
            entry.metadata = vec![0x5a; bytes];
        }
    }
    write
}

/// Eight entries with 60 MB each made a table unreadable: an answer holds no such entity, and not the sum.
#[test]
fn metadata_keeps_no_table_from_being_read() {
    let _alone = alone();
    let large = if at_length() { 60_000_000 } else { 5_000_000 };
    let mut victim = Victim::start(GIGABYTE, &[]);
    let honest = Honest::start(&victim, 1);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let ids = ids(&mut client).await;
        let before = victim.memory();
        let there = count(&mut client, everything()).await.unwrap();
        for n in 0..8 {
            let write = with_metadata(entries(ids, 1, "INSERT", n..n + 1), large);
            let refused = client.write(write).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unknown, "{refused}");
            let why = format!("the entity is too large: it has {large}");
            assert!(refused.message().contains(&why[..30]), "{refused}");
        }
        assert_eq!(count(&mut client, everything()).await.unwrap(), there);
        // As much as there may be, and all of it is read.
        const EACH: usize = 65_536;
        const ALL: u32 = (32 << 20) / EACH as u32;
        for first in (0..ALL).step_by(64) {
            client.write(with_metadata(entries(ids, 1, "INSERT", first..first + 64), EACH)).await.unwrap();
        }
        let more = with_metadata(entries(ids, 1, "INSERT", ALL..ALL + 1), EACH);
        let refused = client.write(more).await.unwrap_err();
        assert!(refused.message().contains("the limit is 33554432"), "{refused}");
        assert_eq!(count(&mut client, everything()).await.unwrap(), there + ALL as usize);
        client.write(entries(ids, 1, "DELETE", 0..ALL)).await.unwrap();
        honest.end("metadata");
        victim.is_as_before(before, "metadata");
    });
}

/// Groups that v1model's 16 bits cannot name, and pipelines whose P4Info is missing or another program's, were accepted.
#[test]
fn groups_and_programs_that_cannot_be_are_refused() {
    let _alone = alone();
    let victim = Victim::start(GIGABYTE, &[]);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let _stream = stream(&mut client, 1).await;
        let group = |id: u32| -> WriteRequest {
            let group = format!("multicast_group_entry {{ multicast_group_id: {id} }}");
            let entity = format!("entity {{ packet_replication_engine_entry {{ {group} }} }}");
            let head = "device_id: 1 election_id { low: 1 }";
            from_text(&format!("{head} updates {{ type: INSERT {entity} }}")).unwrap()
        };
        for id in [0, 65_536, u32::MAX] {
            let refused = client.write(group(id)).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unknown, "{refused}");
            assert!(refused.message().contains("group"), "{refused}");
        }
        client.write(group(1)).await.unwrap();
        let config = running(&mut client).await;
        let infos = [None, Some(P4Info::default()), config.p4info.clone()];
        for (info, is_taken) in infos.into_iter().zip([false, false, true]) {
            for action in ["VERIFY", "VERIFY_AND_SAVE", "VERIFY_AND_COMMIT", "RECONCILE_AND_COMMIT"] {
                let request = format!("device_id: 1 election_id {{ low: 1 }} action: {action}");
                let mut request: SetForwardingPipelineConfigRequest = from_text(&request).unwrap();
                let what = if info.is_none() { "no" } else { "this" };
                request.config = Some(config.clone());
                request.config.as_mut().unwrap().p4info.clone_from(&info);
                let done = client.set_forwarding_pipeline_config(request).await;
                assert_eq!(done.is_ok(), is_taken, "{action} with {what} P4Info: {done:?}");
                if let Err(refused) = done {
                    assert_eq!(refused.code(), Code::InvalidArgument, "{action}: {refused}");
                    assert!(refused.message().contains("P4Info"), "{action}: {refused}");
                }
            }
        }
        // The running program was not replaced until the last.
        assert_eq!(running(&mut client).await.p4info, config.p4info);
    });
}
