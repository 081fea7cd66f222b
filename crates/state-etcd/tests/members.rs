//! The same over gRPC: members that are not there, answers that are lost, refusals.

use crate::server::Server;
use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use state_etcd::api::RangeRequest;
use state_etcd::{Cluster, EtcdError, EtcdPlace, Leading, Members};
use state_journal::{Batch, Kept, MERGE_ROWS, Store};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// An address at which nothing listens.
fn nowhere() -> String {
    linux_net::free_addresses(1).unwrap()[0].to_string()
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
    let mut members = Members::new(&place(&[&none]), Duration::from_secs(5), Instant::now()).unwrap();
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

/// A file of a test, and who may read it.
fn file(name: &str, text: &str, mode: u32) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("members_{name}"));
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path.display().to_string()
}

/// The place of a server with more options.
fn place_with(server: &Server, options: &str) -> EtcdPlace {
    format!("{}&{options}", place(&[&server.address])).parse().unwrap()
}

fn refusal(place: &EtcdPlace) -> String {
    Leading::seek(place, "a test", &mut |_| (), || ()).unwrap_err().to_string()
}

#[test]
fn a_user_authenticates_again_when_the_token_has_ended() {
    let server = Server::start();
    server.wants("rack", "a secret");
    let password = file("password", "a secret\n", 0o600);
    let place = place_with(&server, &format!("user=rack&password={password}"));
    let leading = leading(&place);
    let (mut store, state) = leading.open(false).unwrap();
    assert!(state.is_none());
    assert_eq!(server.forget_tokens(), 2, "one for the lease, one for the store");
    for number in 0..3_u8 {
        let program = (number == 0).then(ForwardingPipelineConfig::default);
        store
            .commit(&Batch { program, rows: BTreeMap::from([(vec![MERGE_ROWS, number], Some(vec![1]))]) })
            .unwrap();
    }
    assert_eq!(server.forget_tokens(), 3, "one more, for three commits");
    assert!(leading.open(false).unwrap().1.is_some());
}

#[test]
fn users_and_files_that_etcd_would_not_take_are_named() {
    let server = Server::start();
    server.wants("rack", "a secret");
    assert_eq!(
        refusal(&place(&[&server.address])),
        "etcd has refused a request: etcdserver: user name is empty: add `?user=NAME&password=FILE` to its address"
    );
    let with = |name: &str, text: &str, mode| {
        refusal(&place_with(&server, &format!("user=rack&password={}", file(name, text, mode))))
    };
    let wrong = "etcd has refused a request: etcdserver: authentication failed, invalid user ID or password";
    assert_eq!(with("wrong", "another", 0o600), wrong);
    let open = with("open", "a secret", 0o640);
    assert!(open.starts_with("other users can read `"), "{open}");
    assert!(open.ends_with("members_open` (mode 640): run `chmod 600` on it"), "{open}");
    let missing = refusal(&place_with(&server, "user=rack&password=/none"));
    assert!(missing.starts_with("`/none` cannot be read: "), "{missing}");
    let no_pem = file("no.pem", "nothing", 0o600);
    let no_pem = refusal(&place_with(&server, &format!("cacert={no_pem}")));
    assert!(no_pem.ends_with("does not contain a certificate in PEM form"), "{no_pem}");
}
