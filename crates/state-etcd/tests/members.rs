//! The same over gRPC: members that are not there, answers that are lost, refusals.

use crate::server::Server;
use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use state_etcd::api::RangeRequest;
use state_etcd::{Cluster, EtcdError, EtcdPlace, Leading, Members};
use state_journal::{Batch, Kept, MERGE_ROWS, Store};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// An address at which nothing listens.
fn nowhere() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn place(members: &[&str]) -> EtcdPlace {
    format!("etcd://{}/members?lease=60", members.join(",")).parse().unwrap()
}

fn leading(place: &EtcdPlace) -> Leading {
    Leading::seek(place, "a test", &mut |_| (), || ()).unwrap()
}

#[test]
fn a_state_outlives_its_leaders_and_lost_answers() {
    let (server, none) = (Server::start(), nowhere());
    // The first member is down.
    let place = place(&[&none, &server.address]);
    let mut kept = Kept::default();
    let mut before = 0;
    for number in 0..3_u8 {
        let leading = leading(&place);
        assert!(leading.holds() && leading.term() > before);
        before = leading.term();
        let (mut store, state) = leading.open(false).unwrap();
        assert!(state == kept.state().unwrap());
        server.lose(2);
        for length in [1, 150, 2] {
            let row = |key: u8| (vec![MERGE_ROWS, key, number], Some(vec![key]));
            let program = (length == 1 && number == 1).then(ForwardingPipelineConfig::default);
            let program = program.or((number == 0 && length == 1).then(ForwardingPipelineConfig::default));
            let batch = Batch { program, rows: (0..length).map(row).collect() };
            store.commit(&batch).unwrap();
            kept.follow(&batch);
        }
        server.lose(0);
    }
}

#[test]
fn a_second_candidate_waits_until_the_first_has_ended() {
    let server = Server::start();
    let place = place(&[&server.address]);
    let first = leading(&place);
    let (report, reported) = std::sync::mpsc::channel();
    let second = std::thread::spawn(move || {
        let mut report = |text: &str| report.send(text.to_string()).unwrap();
        Leading::seek(&place, "another test", &mut report, || ()).unwrap().term()
    });
    assert_eq!(reported.recv().unwrap(), "waiting: a test leads");
    let term = first.term();
    drop(first);
    assert!(second.join().unwrap() > term);
}

#[test]
fn an_unreachable_cluster_and_a_refusal_are_named() {
    let (server, none) = (Server::start(), nowhere());
    let mut members =
        Members::new(std::slice::from_ref(&none), Duration::from_secs(5), Instant::now()).unwrap();
    let error = members.range(RangeRequest::default()).unwrap_err();
    assert!(matches!(&error, EtcdError::Unreachable(why) if why.starts_with(&none)), "{error}");
    assert!(error.to_string().starts_with("etcd cannot be reached: "), "{error}");
    let leading = leading(&place(&[&server.address]));
    let (mut store, _) = leading.open(false).unwrap();
    // One row with a key that no request can have.
    let rows = BTreeMap::from([(vec![MERGE_ROWS; 2_000_000], Some(vec![]))]);
    let refused = store.commit(&Batch { program: None, rows }).unwrap_err();
    assert_eq!(refused, "etcd has refused a request: etcdserver: request is too large");
}
