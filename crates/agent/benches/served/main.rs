//! Latencies of controllers of one device and of a split rack, over gRPC: writes of 100,000 entries, and 1,000 writes a
//! second under half of the load that the ports sustain. `cargo bench -p agent`; `-- SECONDS` sets the duration (10).

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use agent::{Cable, Setup, SplitProgram, Switch, cable};
use base_diag::SourceMap;
use compiler::{Until, compile};
use device_control::Metric;
use p4rack::{Disk, rack};
use p4runtime_grpc::P4RuntimeClient;
use p4runtime_proto::p4::v1::{
    Action, Entity, FieldMatch, MasterArbitrationUpdate, ReadRequest, StreamMessageRequest, TableAction,
    TableEntry, Uint128, Update, WriteRequest, action::Param, entity::Entity as Kind, field_match,
    stream_message_request::Update as Asked, table_action, update::Type,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ENTRIES: u64 = 100_000;
const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };

type Client = P4RuntimeClient<tonic::transport::Channel>;

fn main() {
    let seconds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(10);
    println!("{:<34}{:>12}{:>12}", "", "one device", "rack");
    let measured = [true, false].map(|one| measure(one, seconds));
    for ((what, one), (_, rack)) in measured[0].iter().zip(&measured[1]) {
        println!("{what:<34}{one:>12}{rack:>12}");
    }
}

fn measure(one: bool, seconds: u64) -> Vec<(String, String)> {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (sender, address) = std::sync::mpsc::channel();
    // So long that the generator, which also counts what comes out, may lose its turn for a while.
    let (inside, outside) = cable(1 << 16);
    let (drain, sink) = cable(1 << 16);
    let switch = std::thread::spawn(move || {
        let setup = Setup { cables: vec![(1, inside), (2, drain)], ..Setup::new(switch(one)) };
        let stop = || async { drop(stopped.await) };
        agent::run_until(stop, setup, |address| sender.send(address).unwrap()).unwrap()
    });
    let address = address.recv().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut rows = runtime.block_on(async {
        let mut client = Client::connect(format!("http://{address}"))
            .await
            .unwrap()
            .max_decoding_message_size(1 << 30)
            .max_encoding_message_size(1 << 30);
        let (say, said) = tokio::sync::mpsc::channel(4);
        let hello =
            MasterArbitrationUpdate { device_id: 1, election_id: Some(ELECTION), ..Default::default() };
        say.send(StreamMessageRequest { update: Some(Asked::Arbitration(hello)) }).await.unwrap();
        let said = tokio_stream::wrappers::ReceiverStream::new(said);
        let mut heard = client.stream_channel(said).await.unwrap().into_inner();
        heard.message().await.unwrap();
        let mut rows = writes(&mut client).await;
        rows.extend(under_load(&mut client, outside, sink, seconds).await);
        rows
    });
    stop.send(()).unwrap();
    let metrics = switch.join().unwrap();
    let of = |name: &str| metrics.iter().filter(|m| m.name == name).map(|m: &Metric| m.value).sum::<u64>();
    rows.push(("frames received".into(), of("frames_received_total").to_string()));
    rows.push(("frames sent".into(), of("frames_sent_total").to_string()));
    rows.push((
        "frames lost or dropped".into(),
        (of("frames_lost_total") + of("frames_dropped_total")).to_string(),
    ));
    rows
}

fn switch(one: bool) -> Switch {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/served"));
    let mut map = SourceMap::new();
    if one {
        let path = folder.join("l2.p4");
        let compiled = compile(
            path.to_str().unwrap(),
            &Disk,
            &p4_syntax::Options::default(),
            Until::Elaborated,
            &mut map,
        );
        return Switch::One(Some(compiled.program.unwrap()));
    }
    let racked =
        rack::load(&folder.join("RACK.toml"), &[], &mut map).unwrap_or_else(|found| panic!("{found:#?}"));
    let app = racked.only_app("a switch").unwrap();
    let updates = device_control::updates(app.entries.writes(), &app.whole).unwrap();
    Switch::Rack(Box::new(SplitProgram {
        whole: app.whole.clone(),
        placement: app.placement.clone(),
        made: (app.parts.clone(), app.texts.clone()),
        updates,
        hold_down: base_time::Duration::ZERO,
        flows: vec![],
        resizing: None,
        views: vec![],
    }))
}

/// Ids of the program's, from its P4Info.
struct Ids {
    table: u32,
    forward: u32,
}

async fn ids(client: &mut Client) -> Ids {
    let config =
        client.get_forwarding_pipeline_config(p4runtime_proto::p4::v1::GetForwardingPipelineConfigRequest {
            device_id: 1,
            ..Default::default()
        });
    let info = config.await.unwrap().into_inner().config.unwrap().p4info.unwrap();
    let name = |p: &Option<p4runtime_proto::p4::config::v1::Preamble>| p.as_ref().unwrap().name.clone();
    let id = |p: &Option<p4runtime_proto::p4::config::v1::Preamble>| p.as_ref().unwrap().id;
    let table = info.tables.iter().find(|t| name(&t.preamble).ends_with("destinations")).unwrap();
    let forward = info.actions.iter().find(|a| name(&a.preamble).ends_with("forward")).unwrap();
    Ids { table: id(&table.preamble), forward: id(&forward.preamble) }
}

fn canonical(number: u64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(7);
    bytes[first..].to_vec()
}

fn update(ids: &Ids, how: Type, address: u64, port: u64) -> Update {
    let params = vec![Param { param_id: 1, value: canonical(port) }];
    let action = table_action::Type::Action(Action { action_id: ids.forward, params });
    let exact = field_match::Exact { value: canonical(address) };
    let entry = TableEntry {
        table_id: ids.table,
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(field_match::FieldMatchType::Exact(exact)),
        }],
        action: (how != Type::Delete).then_some(TableAction { r#type: Some(action) }),
        ..Default::default()
    };
    Update { r#type: how as i32, entity: Some(Entity { entity: Some(Kind::TableEntry(entry)) }) }
}

async fn write(client: &mut Client, updates: Vec<Update>) {
    let request = WriteRequest { device_id: 1, election_id: Some(ELECTION), updates, ..Default::default() };
    client.write(request).await.unwrap();
}

async fn writes(client: &mut Client) -> Vec<(String, String)> {
    let ids = ids(client).await;
    let mut rows = vec![];
    for (what, how, port) in
        [("insert", Type::Insert, 2), ("modify", Type::Modify, 3), ("delete", Type::Delete, 0)]
    {
        let updates: Vec<Update> = (0..ENTRIES).map(|n| update(&ids, how, n, port)).collect();
        let begin = Instant::now();
        write(client, updates).await;
        rows.push((format!("{what} {ENTRIES} at once"), format!("{:.2} s", begin.elapsed().as_secs_f64())));
    }
    let begin = Instant::now();
    for batch in 0..ENTRIES / 100 {
        write(client, (0..100).map(|n| update(&ids, Type::Insert, batch * 100 + n, 2)).collect()).await;
    }
    rows.push((format!("insert {ENTRIES}, 100 a write"), format!("{:.2} s", begin.elapsed().as_secs_f64())));
    let begin = Instant::now();
    let mut found = 0;
    let query = TableEntry { table_id: ids.table, ..Default::default() };
    let entities = vec![Entity { entity: Some(Kind::TableEntry(query)) }];
    let request = ReadRequest { device_id: 1, entities, ..Default::default() };
    let mut answers = client.read(request).await.unwrap().into_inner();
    while let Some(answer) = answers.message().await.unwrap() {
        found += answer.entities.len();
    }
    assert_eq!(found as u64, ENTRIES);
    rows.push((format!("read {ENTRIES}"), format!("{:.2} s", begin.elapsed().as_secs_f64())));
    rows
}

/// Bytes of memory that the process holds.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Frames per second that pass while the ports are offered `rate`, for this time.
fn offer(outside: &mut Cable, sink: &mut Cable, rate: Option<f64>, time: Duration) -> (u64, u64) {
    let frame: Vec<u8> = [vec![0, 0, 0, 0, 0, 7], vec![2, 0, 0, 0, 0, 1], vec![8, 0], vec![0; 46]].concat();
    let begin = Instant::now();
    let (mut sent, mut got) = (0, 0);
    while begin.elapsed() < time {
        let due = rate.map_or(u64::MAX, |rate| (begin.elapsed().as_secs_f64() * rate) as u64);
        let mut burst = 0;
        while sent < due && burst < 64 && outside.send(&frame) {
            sent += 1;
            burst += 1;
        }
        while sink.receive().is_some() {
            got += 1;
        }
        if burst == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    let end = Instant::now();
    while got < sent && end.elapsed() < Duration::from_secs(2) {
        got += u64::from(sink.receive().is_some());
    }
    (sent, got)
}

async fn under_load(
    client: &mut Client,
    mut outside: Cable,
    mut sink: Cable,
    seconds: u64,
) -> Vec<(String, String)> {
    let ids = ids(client).await;
    let (_, most) = offer(&mut outside, &mut sink, None, Duration::from_secs(2));
    let most = most as f64 / 2.0;
    let ends = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&ends);
    let load = std::thread::spawn(move || {
        let counted = offer(&mut outside, &mut sink, Some(most / 2.0), Duration::from_secs(seconds));
        ended.store(true, Ordering::Relaxed);
        counted
    });
    let begin = Instant::now();
    let (mut done, mut worst) = (0u64, Duration::ZERO);
    let before = resident();
    while !ends.load(Ordering::Relaxed) {
        let how = if done % 2 == 0 { Type::Insert } else { Type::Delete };
        let asked = Instant::now();
        write(client, vec![update(&ids, how, ENTRIES + done / 2 % 1000, 2)]).await;
        worst = worst.max(asked.elapsed());
        done += 1;
        // A timer may be a millisecond late: who is behind does not wait.
        let early = Duration::from_millis(done).saturating_sub(begin.elapsed());
        if !early.is_zero() {
            tokio::time::sleep(early).await;
        }
    }
    let (sent, got) = load.join().unwrap();
    let grown = resident().saturating_sub(before) >> 10;
    vec![
        ("most frames a second".into(), format!("{most:.0}")),
        (format!("frames offered in {seconds} s"), sent.to_string()),
        ("  of them lost".into(), (sent - got).to_string()),
        ("writes a second meanwhile".into(), format!("{:.0}", done as f64 / begin.elapsed().as_secs_f64())),
        ("  the slowest".into(), format!("{:.1} ms", worst.as_secs_f64() * 1e3)),
        ("  memory grown by".into(), format!("{grown} KiB")),
    ]
}
