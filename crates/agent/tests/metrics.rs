//! Metrics of a switch, as Prometheus reads them.

#![allow(clippy::disallowed_methods)]

use agent::{Limits, Setup, Switch, cable};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

pub fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: p4rack\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The value of a metric without labels.
pub fn value(answer: &str, name: &str) -> u64 {
    let line = answer.lines().find_map(|line| line.strip_prefix(&format!("p4rack_{name} ")));
    line.unwrap_or_else(|| panic!("no {name}: {answer}")).parse().unwrap()
}

#[test]
fn metrics_are_served_and_nothing_else() {
    let free = linux_net::free_addresses(1).unwrap()[0];
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (bound, address) = channel();
    let (inside, _outside) = cable(1);
    let switch = std::thread::spawn(move || {
        let setup = Setup { metrics: Some(free), cables: vec![(1, inside)], ..Setup::new(Switch::One(None)) };
        let limits = Limits { connections: 4, ..setup.limits };
        let setup = Setup { limits, ..setup };
        agent::run_until(|| async { drop(stopped.await) }, setup, |at| bound.send(at).unwrap()).map(drop)
    });
    let address = address.recv().unwrap();
    let answer = get(free, "/metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("content-type: text/plain; version=0.0.4"), "{answer}");
    assert!(answer.contains("# TYPE p4rack_streams gauge\np4rack_streams 0\n"), "{answer}");
    assert!(get(free, "/").starts_with("HTTP/1.1 404"));
    // Three of one address: each further one costs one that is idle its place.
    let silent: Vec<TcpStream> = (0..6).map(|_| TcpStream::connect(address).unwrap()).collect();
    let names = ["connections", "connections_ended_total", "connections_refused_total"];
    let counted = || names.map(|name| value(&get(free, "/metrics"), name));
    let started = Instant::now();
    while counted() != [3, 3, 0] {
        assert!(started.elapsed() < Duration::from_secs(30), "{names:?}: {:?}", counted());
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(silent);
    stop.send(()).unwrap();
    switch.join().unwrap().unwrap();
}
