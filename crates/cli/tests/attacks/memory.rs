//! Programs that need more memory than there is, and a primary that fills all that it may.

use crate::setup::{
    Client, GIGABYTE, Honest, Victim, alone, at_length, connect, count, entries, ids, running, runtime,
    stream,
};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{
    Entity, FieldMatch, ForwardingPipelineConfig, SetForwardingPipelineConfigRequest, Update, WriteRequest,
    field_match, update::Type,
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
            let p4_device_config = text.as_bytes().to_vec();
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
    let (status, told) = Victim::refused(GIGABYTE, &[&path.display().to_string()]);
    assert!(!status.success(), "{told}");
    assert!(told.contains("the program needs") && told.contains("`--max-memory`"), "{told}");
    assert!(told.contains("destinations` of size 1048576"), "{told}");
    let registers: String = (0..8).map(|n| format!("    register<bit<64>>(16777216) r{n};\n")).collect();
    let cells = program("    action know() {", &format!("{registers}\n    action know() {{"));
    let uses: String = (0..8).map(|n| format!("        r{n}.write(0, 1);\n")).collect();
    let cells = cells.replacen("        sources.apply();\n", &format!("        sources.apply();\n{uses}"), 1);
    let mut victim = Victim::start(GIGABYTE, &[]);
    let honest = Honest::start(&victim, 1);
    let before = victim.memory();
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let info = p4info(&cells);
        for (what, text, info) in [("tables", &tables, None), ("registers", &cells, Some(info))] {
            let mut config = running(&mut client).await;
            config.p4_device_config = text.as_bytes().to_vec();
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

/// What entries of each kind take is no more than what is taken into account for them.
#[test]
fn entries_take_no_more_than_what_is_counted() {
    let _alone = alone();
    let most = if at_length() { 100_000 } else { 20_000 };
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
            let before = victim.memory();
            for first in (0..most).step_by(500) {
                client.write(shaped(ids, kind, of, first..(first + 500).min(most))).await.unwrap();
            }
            let taken = victim.memory() - before;
            let needs = Needs::of(&info);
            let (_, size, bytes) =
                needs.parts.iter().find(|(name, ..)| name.ends_with("destinations")).unwrap();
            let counted = bytes / *size as u64;
            eprintln!("{most} entries, {kind}: {} bytes each, counted are {counted}", taken / u64::from(most));
            assert!(taken / u64::from(most) <= counted, "{kind}");
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
