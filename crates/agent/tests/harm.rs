//! Controllers that do not read, or vanish, harm nobody; frames that have arrived leave before a switch ends.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use crate::metrics::{get, value};
use agent::{Setup, Switch, cable};
use base_diag::SourceMap;
use compiler::{Until, compile};
use device_control::Metric;
use p4rack::Disk;
use p4runtime_grpc::P4RuntimeClient;
use p4runtime_proto::from_text;
use p4runtime_proto::p4::config::v1::{P4Info, Preamble};
use p4runtime_proto::p4::v1::{
    GetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, WriteRequest,
    stream_message_response::Update as ResponseUpdate,
};
use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tonic::Streaming;
use tonic::transport::Channel;

type Client = P4RuntimeClient<Channel>;

/// A switch with two tables of 131,072 entries.
fn start(setup: impl FnOnce(Setup) -> Setup) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<Vec<Metric>>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/served/l2.p4");
    let options = p4_syntax::Options::default();
    let compiled = compile(path, &Disk, &options, Until::Elaborated, &mut SourceMap::new());
    let setup = setup(Setup::new(Switch::One(Some(compiled.program.unwrap()))));
    let (stop, stopped) = oneshot::channel::<()>();
    let (bound, address) = channel();
    let switch = spawn(move || {
        agent::run_until(|| async { drop(stopped.await) }, setup, |at| bound.send(at).unwrap()).unwrap()
    });
    (address.recv().unwrap(), stop, switch)
}

async fn connect(address: SocketAddr) -> Client {
    Client::connect(format!("http://{address}")).await.unwrap()
}

/// A stream of a controller with an election id; it has heard that it is the primary.
async fn stream(
    client: &mut Client,
    election: u64,
) -> (mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>) {
    let (say, said) = mpsc::channel(4);
    let hello = format!("arbitration {{ device_id: 1 election_id {{ low: {election} }} }}");
    say.send(from_text(&hello).unwrap()).await.unwrap();
    let said = tokio_stream::wrappers::ReceiverStream::new(said);
    let mut heard = client.stream_channel(said).await.unwrap().into_inner();
    let Some(ResponseUpdate::Arbitration(reported)) = heard.message().await.unwrap().unwrap().update else {
        panic!()
    };
    assert_eq!(reported.status.unwrap().code, 0);
    (say, heard)
}

/// Ids of a table and an action.
async fn ids(client: &mut Client) -> (u32, u32) {
    let request = GetForwardingPipelineConfigRequest { device_id: 1, ..Default::default() };
    let config = client.get_forwarding_pipeline_config(request).await.unwrap().into_inner().config.unwrap();
    let info: P4Info = config.p4info.unwrap();
    let is = |preamble: &&Preamble, name: &str| preamble.name.ends_with(name);
    let tables = info.tables.iter().filter_map(|table| table.preamble.as_ref());
    let actions = info.actions.iter().filter_map(|action| action.preamble.as_ref());
    let id = |mut all: Box<dyn Iterator<Item = &Preamble> + '_>, name: &str| {
        all.find(|preamble| is(preamble, name)).unwrap().id
    };
    (id(Box::new(tables), "destinations"), id(Box::new(actions), "forward"))
}

/// Frames for the address 07 go to a port.
async fn write(client: &mut Client, election: u64, (table, forward): (u32, u32), how: &str, port: u32) {
    let request: WriteRequest = from_text(&format!(
        "device_id: 1 election_id {{ low: {election} }} updates {{ type: {how} entity {{ table_entry {{ \
         table_id: {table} match {{ field_id: 1 exact {{ value: \"\\007\" }} }} action {{ action {{ \
         action_id: {forward} params {{ param_id: 1 value: \"\\00{port}\" }} }} }} }} }} }}"
    ))
    .unwrap();
    client.write(request).await.unwrap();
}

/// A controller comes, says that frames for the address 07 go to port 2, and leaves.
async fn forward(address: SocketAddr) {
    let mut client = connect(address).await;
    let _stream = stream(&mut client, 1).await;
    let ids = ids(&mut client).await;
    write(&mut client, 1, ids, "INSERT", 2).await;
}

fn frame() -> Vec<u8> {
    [vec![0, 0, 0, 0, 0, 7], vec![2, 0, 0, 0, 0, 1], vec![8, 0], vec![0; 46]].concat()
}

fn sum(metrics: &[Metric], name: &str) -> u64 {
    metrics.iter().filter(|metric| metric.name == name).map(|metric| metric.value).sum()
}

/// One test at a time: memory is the process's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of memory that the process holds.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn who_does_not_read_harms_nobody() {
    const FRAMES: usize = 200_000;
    const WAITING: usize = 1 << 10;
    let _alone = alone();
    let (inside, mut outside) = cable(WAITING);
    let (address, stop, switch) =
        start(|setup| Setup { cables: vec![(1, inside)], cpu_port: Some(2), ..setup });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut slow, mut other) = (connect(address).await, connect(address).await);
        // Every frame is reported to the primary, which reads none of them.
        let unread = stream(&mut slow, 1).await;
        let ids = ids(&mut other).await;
        write(&mut other, 1, ids, "INSERT", 2).await;
        let before = resident();
        let load = spawn(move || {
            for _ in 0..FRAMES {
                while !outside.send(&frame()) {
                    std::thread::sleep(Duration::from_micros(100));
                }
            }
            outside
        });
        let mut worst = Duration::ZERO;
        while !load.is_finished() {
            let asked = Instant::now();
            write(&mut other, 1, ids, "MODIFY", 2).await;
            worst = worst.max(asked.elapsed());
        }
        assert!(worst < Duration::from_secs(10), "a write of another controller took {worst:?}");
        // 200,000 messages of 100 bytes and more would be some; a thousand wait.
        assert!(resident().saturating_sub(before) < 16 << 20, "{before} {}", resident());
        let mut outside = load.join().unwrap();
        // It vanishes; the next one is reported.
        drop((unread, slow));
        let (_say, mut heard) = stream(&mut other, 2).await;
        assert!(outside.send(&frame()));
        assert!(matches!(heard.message().await.unwrap().unwrap().update, Some(ResponseUpdate::Packet(_))));
        stop.send(()).unwrap();
    });
    let counted = switch.join().unwrap();
    // Those that came before the last may still be on their cable: any of them is reported to the next primary.
    assert!(sum(&counted, "frames_received_total") >= (FRAMES - WAITING) as u64);
    // In the stream's queue, or before it, where a lane that is faster than the owner leaves them: which of the two is a matter of speed.
    let lost = sum(&counted, "messages_lost_total") + sum(&counted, "frames_lost_total");
    assert!(lost > FRAMES as u64 / 2, "{lost} messages were lost");
}

/// Frames come a few at a time, so the lane leaves none of them to the owner's queue: only the controller is too slow.
#[test]
fn messages_that_nobody_reads_are_counted() {
    let _alone = alone();
    let metrics = linux_net::free_addresses(1).unwrap()[0];
    let (inside, mut outside) = cable(16);
    let (address, stop, switch) = start(|setup| Setup {
        metrics: Some(metrics),
        cables: vec![(1, inside)],
        cpu_port: Some(2),
        ..setup
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _unread = runtime.block_on(async {
        let (mut slow, mut other) = (connect(address).await, connect(address).await);
        let unread = stream(&mut slow, 1).await;
        let ids = ids(&mut other).await;
        write(&mut other, 1, ids, "INSERT", 2).await;
        (unread, slow)
    });
    let lost = || value(&get(metrics, "/metrics"), "messages_lost_total");
    assert_eq!(lost(), 0);
    let (started, long) = (Instant::now(), [frame(), vec![0; 1400]].concat());
    while lost() == 0 {
        for _ in 0..16 {
            let _ = outside.send(&long);
        }
        assert!(started.elapsed() < Duration::from_secs(60), "no message was lost");
    }
    stop.send(()).unwrap();
    let counted = switch.join().unwrap();
    assert!(sum(&counted, "messages_lost_total") > 0);
}

#[test]
fn what_has_come_in_leaves_before_the_end() {
    let _alone = alone();
    let ((inside, mut outside), (drain, mut sink)) = (cable(1 << 14), cable(1 << 15));
    (0..1 << 14).for_each(|_| assert!(outside.send(&frame())));
    let (address, stop, switch) = start(|setup| Setup { cables: vec![(1, inside), (2, drain)], ..setup });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        forward(address).await;
        while !outside.send(&frame()) {}
        // One of those that come after the entry.
        while sink.receive().is_none() {
            let _ = outside.send(&frame());
            tokio::task::yield_now().await;
        }
    });
    for _ in 0..1000 {
        let _ = outside.send(&frame());
    }
    stop.send(()).unwrap();
    let counted = switch.join().unwrap();
    let left = 1 + std::iter::from_fn(|| sink.receive()).count() as u64;
    assert_eq!(left, sum(&counted, "frames_sent_total"));
    let (received, dropped) = (sum(&counted, "frames_received_total"), sum(&counted, "frames_dropped_total"));
    assert_eq!(received, left + dropped);
    assert_eq!(sum(&counted, "frames_lost_total"), 0);
}

/// Nobody takes frames from port 2, which has room for 16.
#[test]
fn what_a_full_port_loses_is_counted_there() {
    const FRAMES: u64 = 200;
    let _alone = alone();
    let ((inside, mut outside), (full, mut sink)) = (cable(8), cable(16));
    let (address, stop, switch) = start(|setup| Setup { cables: vec![(1, inside), (2, full)], ..setup });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        forward(address).await;
    });
    for _ in 0..FRAMES {
        while !outside.send(&frame()) {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    stop.send(()).unwrap();
    let counted = switch.join().unwrap();
    let left = std::iter::from_fn(|| sink.receive()).count() as u64;
    let lost = |place: &str| {
        let at = |metric: &&Metric| {
            metric.name == "frames_lost_total" && metric.labels.iter().any(|(_, value)| value == place)
        };
        counted.iter().filter(at).map(|metric| metric.value).sum::<u64>()
    };
    let received = sum(&counted, "frames_received_total");
    assert!(received >= FRAMES - 8, "{received}");
    assert_eq!((lost("ports"), lost("the queue of frames")), (received - left, 0));
}
