//! Metrics of a switch, as Prometheus reads them.

#![allow(clippy::disallowed_methods)]

use agent::{Setup, Switch, cable};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: p4rack\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn metrics_are_served_and_nothing_else() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (bound, address) = channel();
    let (inside, _outside) = cable(1);
    let switch = std::thread::spawn(move || {
        let setup = Setup { metrics: Some(free), cables: vec![(1, inside)], ..Setup::new(Switch::One(None)) };
        agent::run_until(|| async { drop(stopped.await) }, setup, |at| bound.send(at).unwrap()).map(drop)
    });
    address.recv().unwrap();
    let answer = get(free, "/metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("content-type: text/plain; version=0.0.4"), "{answer}");
    assert!(answer.contains("# TYPE p4rack_streams gauge\np4rack_streams 0\n"), "{answer}");
    assert!(get(free, "/").starts_with("HTTP/1.1 404"));
    stop.send(()).unwrap();
    switch.join().unwrap().unwrap();
}
