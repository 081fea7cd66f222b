//! Measures the rate of one TCP connection between two hosts, without an external program.

use crate::network::Network;
use base_time::Rate;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for a connection to be established.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends from one host to another for the given time; returns the receiver's rate.
pub fn transfer(network: &Network, from: usize, to: usize, span: Duration) -> Result<Rate, String> {
    let name = |host: usize| network.lab.hosts[host].name.value.clone();
    let address = network.address(to).ok_or_else(|| format!("{} has no address", name(to)))?;
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let listener = network.space(to).and_then(|space| space.within(|| TcpListener::bind(any(address)))?);
    let listener = listener.map_err(|error| failed(&name(to), &error))?;
    let port = listener.local_addr().map_err(|error| failed(&name(to), &error))?.port();
    let connect = || TcpStream::connect_timeout(&SocketAddr::new(address, port), PATIENCE);
    let stream = network.space(from).and_then(|space| space.within(connect)?);
    let stream = stream.map_err(|error| format!("{} cannot reach {}: {error}", name(from), name(to)))?;
    let (other, _) = listener.accept().map_err(|error| failed(&name(to), &error))?;
    let (bytes, took) = thread::scope(|scope| {
        let receiver = scope.spawn(move || receive(other));
        send(stream, span)?;
        receiver.join().map_err(|_| io::Error::other("the receiver has ended early"))?
    })
    .map_err(|error: io::Error| failed("the connection broke", &error))?;
    let took = base_time::Duration::from_ns(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    Rate::of(bytes, took).ok_or_else(|| "nothing arrived".to_string())
}

fn any(like: IpAddr) -> SocketAddr {
    match like {
        IpAddr::V4(_) => (std::net::Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

fn send(mut stream: TcpStream, span: Duration) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE + span))?;
    let (piece, until) = (vec![0x55; 1 << 17], Instant::now() + span);
    while Instant::now() < until {
        stream.write_all(&piece)?;
    }
    Ok(())
}

fn receive(mut stream: TcpStream) -> io::Result<(u64, Duration)> {
    stream.set_read_timeout(Some(PATIENCE * 6))?;
    let (mut buffer, mut bytes, begun) = (vec![0; 1 << 17], 0, Instant::now());
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok((bytes, begun.elapsed())),
            count => bytes += count as u64,
        }
    }
}
