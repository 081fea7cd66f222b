//! Programs that need more memory than there is, and a primary that fills all that it may.

use crate::honest::{Holds, Honest};
use crate::setup::{
    Client, GIGABYTE, Victim, alone, at_length, connect, count, entries, ids, running, runtime, stream,
};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{
    Entity, FieldMatch, ForwardingPipelineConfig, SetForwardingPipelineConfigRequest, WriteRequest,
    field_match,
};
use p4runtime_store::Needs;
use std::path::Path;
use tonic::{Code, Status};

/// The program that runs, with something changed.
fn program(from: &str, to: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

async fn push(client: &mut Client, action: Action, text: Option<&str>) -> Result<(), Status> {
    let config = match text {
        Some(text) => {
            let p4_device_config = text.as_bytes().to_vec().into();
            Some(ForwardingPipelineConfig { p4_device_config, ..running(client).await })
        }
        None => None,
    };
    let head = "device_id: 1 election_id { low: 1 }";
    let mut request: SetForwardingPipelineConfigRequest = from_text(head).unwrap();
    (request.action, request.config) = (action as i32, config);
    client.set_forwarding_pipeline_config(request).await.map(drop)
}

/// Tables of a million entries, and registers that take a gigabyte before the first packet, in a process that has no more.
#[test]
fn programs_that_need_more_memory_than_there_is_are_refused() {
    let _alone = alone();
    let tables = program("size = 131072", "size = 1048576");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacked_too_large.p4");
    std::fs::write(&path, &tables).unwrap();
    let (status, reported) = Victim::refused(GIGABYTE, &[&path.display().to_string()]);
    assert!(!status.success(), "{reported}");
    assert!(reported.contains("the program needs") && reported.contains("`--max-memory`"), "{reported}");
    assert!(reported.contains("destinations` of size 1048576"), "{reported}");
    let registers: String = (0..8).map(|n| format!("    register<bit<64>>(16777216) r{n};\n")).collect();
    let cells = program("    action know() {", &format!("{registers}\n    action know() {{"));
    let uses: String = (0..8).map(|n| format!("        r{n}.write(0, 1);\n")).collect();
    let cells = cells.replacen("        sources.apply();\n", &format!("        sources.apply();\n{uses}"), 1);
    let l2 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4");
    let mut victim = Victim::of(GIGABYTE, &[&l2.display().to_string(), "--max-memory", "450"]);
    let honest = Honest::start(&victim, 1);
    let before = victim.memory();
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let info = p4info(&cells);
        for (what, text, info) in [("tables", &tables, None), ("registers", &cells, Some(info))] {
            let mut config = running(&mut client).await;
            config.p4_device_config = text.as_bytes().to_vec().into();
            config.p4info = info.or(config.p4info);
            let request = "device_id: 1 election_id { low: 1 } action: VERIFY_AND_COMMIT";
            let mut request: SetForwardingPipelineConfigRequest = from_text(request).unwrap();
            request.config = Some(config);
            let refused = client.set_forwarding_pipeline_config(request).await.unwrap_err();
            assert_eq!(refused.code(), Code::ResourceExhausted, "{what}: {refused}");
            assert!(refused.message().contains("`--max-memory`"), "{what}: {refused}");
        }
    });
    honest.end("programs that need too much memory");
    victim.is_as_before(before, "programs that need too much memory");
}

/// An allocator that keeps what it was given back had 44 MiB after an attack, where a switch had begun with 9: requests of a hundred
/// thousand small pieces leave nothing.
#[test]
fn memory_of_large_requests_goes_back() {
    let _alone = alone();
    let (rounds, most) = if at_length() { (10, 100_000) } else { (2, 60_000) };
    let mut victim = Victim::start(GIGABYTE, &[]);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let _stream = stream(&mut client, 1).await;
        let ids = ids(&mut client).await;
        let before = victim.memory();
        for _ in 0..rounds {
            let mut write = entries(ids, 1, "INSERT", 0..most);
            // The first one ends it, when all have been decoded.
            write.updates[0].r#type = 3;
            write.atomicity = 1;
            client.write(write).await.unwrap_err();
        }
        assert!(victim.most_memory() > before + (32 << 20), "{}", victim.most_memory());
        victim.is_as_before(before, "large requests");
        // The thread that frees them kept 8 to 16 MiB of what others had allocated.
        let after = victim.settled(before + (6 << 20));
        assert!(after <= before + (6 << 20), "{before} bytes before, {after} after");
    });
}

/// Tables as large as they may be, filled, in the program that runs and in one that is saved beside it, which is then committed and built
/// anew with all of its entries: a primary that filled a table of a million entries ended a switch that could use 1 GB.
#[test]
fn a_primary_that_fills_all_that_it_may_ends_nothing() {
    let _alone = alone();
    let (full, limit) = if at_length() { (75_000, 256) } else { (5_000, 17) };
    let text = program("size = 131072", &format!("size = {full}"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacked_full.p4");
    std::fs::write(&path, &text).unwrap();
    let args = [path.display().to_string(), "--max-memory".to_string(), limit.to_string()];
    let mut victim = Victim::of(GIGABYTE, &args.each_ref().map(String::as_str));
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let _stream = stream(&mut client, 1).await;
        let tables = both(&mut client).await;
        let before = victim.memory();
        assert_eq!(fill(&mut client, &tables, full).await.unwrap(), 2 * full);
        push(&mut client, Action::VerifyAndSave, Some(&text)).await.unwrap();
        let refused = fill(&mut client, &tables, full).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unknown, "{refused}");
        assert!(refused.message().contains("the limit on memory is reached"), "{refused}");
        push(&mut client, Action::Commit, None).await.unwrap();
        let all = from_text("device_id: 1 entities { table_entry {} }").unwrap();
        let saved = count(&mut client, all).await.unwrap();
        assert!(saved > 100 && saved < full as usize, "{saved}");
        push(&mut client, Action::VerifyAndCommit, Some(&text)).await.unwrap();
        assert_eq!(fill(&mut client, &tables, full).await.unwrap(), 2 * full);
        push(&mut client, Action::ReconcileAndCommit, Some(&text)).await.unwrap();
        // Metadata is no part of a table's size.
        let mut large = entries(tables[0], 1, "MODIFY", 0..full.min(30_000));
        for update in &mut large.updates {
            use p4runtime_proto::p4::v1::entity::Entity::TableEntry;
            if let Some(Entity { entity: Some(TableEntry(entry)) }) = &mut update.entity {
                entry.metadata = vec![7; 1000];
            }
        }
        let refused = client.write(large).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unknown, "{refused}");
        assert!(refused.message().contains("the limit on memory is reached"), "{refused}");
        push(&mut client, Action::VerifyAndCommit, Some(&text)).await.unwrap();
        victim.is_as_before(before, "full tables");
        let holds = Holds::of(&victim.reach());
        eprintln!("full tables:\n{holds}");
        assert!(holds.pieces("memory") > 0, "{holds}");
    });
}

/// The two tables, each with its action.
async fn both(client: &mut Client) -> [(u32, u32); 2] {
    let info = running(client).await.p4info.unwrap();
    let id = |name: &str| {
        let tables = info.tables.iter().filter_map(|table| table.preamble.as_ref());
        let actions = info.actions.iter().filter_map(|action| action.preamble.as_ref());
        tables.chain(actions).find(|preamble| preamble.name.ends_with(name)).unwrap().id
    };
    [(id("destinations"), id("forward")), (id("sources"), id("know"))]
}

/// Inserts entries into both tables, and says how many; the first update that fails ends it.
async fn fill(client: &mut Client, tables: &[(u32, u32); 2], most: u32) -> Result<u32, Status> {
    use p4runtime_proto::p4::v1::entity::Entity::TableEntry;
    use p4runtime_proto::p4::v1::table_action::Type::Action;
    let mut done = 0;
    for (at, table) in tables.iter().enumerate() {
        for first in (0..most).step_by(5_000) {
            let mut write = entries(*table, 1, "INSERT", first..(first + 5_000).min(most));
            for update in &mut write.updates {
                if let Some(Entity { entity: Some(TableEntry(entry)) }) = &mut update.entity
                    && let Some(Action(action)) = entry.action.as_mut().and_then(|a| a.r#type.as_mut())
                    && at == 1
                {
                    action.params.clear();
                }
            }
            let updates = write.updates.len() as u32;
            client.write(write).await?;
            done += updates;
        }
    }
    Ok(done)
}

/// The P4Info of a program, as the command writes it.
fn p4info(text: &str) -> P4Info {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacked_info.p4");
    std::fs::write(&path, text).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_p4rack"))
        .args(["p4info", &path.display().to_string()])
        .output()
        .unwrap();
    from_text(std::str::from_utf8(&output.stdout).unwrap()).unwrap()
}

/// A kind of match, with the value and mask of an entry by its number.
type Shape = (&'static str, &'static str, fn(u32) -> field_match::FieldMatchType);

fn wide(number: u32) -> Vec<u8> {
    // The first bytes differ, and the last ones are not zero.
    [&(number + 1).to_be_bytes().map(|byte| byte ^ 0x80)[..], &[0x55; 12]].concat()
}

const SHAPES: [Shape; 4] = [
    ("exact", "wide: exact", |n| field_match::FieldMatchType::Exact(field_match::Exact { value: wide(n) })),
    ("lpm", "wide: lpm", |n| {
        field_match::FieldMatchType::Lpm(field_match::Lpm { value: wide(n), prefix_len: 128 })
    }),
    ("ternary", "wide: ternary", |n| {
        field_match::FieldMatchType::Ternary(field_match::Ternary { value: wide(n), mask: vec![0xff; 16] })
    }),
    ("range", "wide: range", |n| {
        field_match::FieldMatchType::Range(field_match::Range { low: wide(n), high: vec![0xff; 16] })
    }),
];

/// The measured memory of entries of each kind is no more than its estimate. Buffers of the connection and of writes are no entries: the
/// first tenth is written before it is measured, and what is free goes back to the system a little later.
#[test]
fn entries_take_no_more_than_what_is_counted() {
    let _alone = alone();
    let most = if at_length() { 100_000 } else { 10_000 };
    for (kind, key, of) in SHAPES {
        let text = program("bit<16> ether_type;", "bit<16> ether_type;\n    bit<128> wide;");
        let text = text.replacen("hdr.ethernet.dst: exact", &format!("hdr.ethernet.{key}"), 1);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacked_shape.p4");
        std::fs::write(&path, &text).unwrap();
        let victim = Victim::of("true", &[&path.display().to_string()]);
        runtime().block_on(async {
            let mut client = connect(&victim.address).await;
            let _stream = stream(&mut client, 1).await;
            let ids = ids(&mut client).await;
            let info = running(&mut client).await.p4info.unwrap();
            let needs = Needs::of(&info);
            let (_, size, bytes) =
                needs.parts.iter().find(|(name, ..)| name.ends_with("destinations")).unwrap();
            let counted = bytes / *size as u64;
            let begin = most / 10;
            let mut before = 0;
            for first in (0..most).step_by(500) {
                if first == begin {
                    before = victim.memory();
                }
                client.write(shaped(ids, kind, of, first..first + 500)).await.unwrap();
            }
            let count = u64::from(most - begin);
            let taken = victim.settled(before + counted * count).saturating_sub(before) / count;
            eprintln!("{most} entries, {kind}: {taken} bytes each, counted are {counted}");
            assert!(taken > counted / 4, "{kind}: nothing was measured");
            assert!(taken <= counted, "{kind}");
        });
    }
}

/// A write of entries of a shape.
fn shaped(
    ids: (u32, u32),
    kind: &str,
    of: fn(u32) -> field_match::FieldMatchType,
    numbers: std::ops::Range<u32>,
) -> WriteRequest {
    use p4runtime_proto::p4::v1::entity::Entity::TableEntry;
    let mut write = entries(ids, 1, "INSERT", numbers.clone());
    for (update, number) in write.updates.iter_mut().zip(numbers) {
        if let Some(Entity { entity: Some(TableEntry(entry)) }) = &mut update.entity {
            entry.r#match = vec![FieldMatch { field_id: 1, field_match_type: Some(of(number)) }];
            entry.priority = if ["ternary", "range"].contains(&kind) { number as i32 + 1 } else { 0 };
        }
    }
    write
}
