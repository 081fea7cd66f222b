//! Addresses on the loopback for sockets that another process opens later.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Ports below are those of known services.
const FIRST: u16 = 1 << 14;

/// Ports that each process looks at before those of the next one.
const OF_A_PROCESS: usize = 61;

/// Ports for sockets without a number, if the kernel does not say: Linux's usual ones.
const USUAL: RangeInclusive<u16> = 32_768..=60_999;

/// Addresses of the loopback that no socket has, neither of UDP nor of TCP, with ports that the kernel gives to no socket that names none: nobody takes one by chance
/// before its owner opens it. If the kernel may give nearly all ports, they are some of those. Processes that ask at the same time begin at different places.
pub fn free_addresses(count: usize) -> io::Result<Vec<SocketAddr>> {
    // Counts the ports that this process has looked at: each is looked at once.
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let given = given(&std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default());
    let ports: Vec<u16> = in_order(&given, std::process::id() as usize * OF_A_PROCESS).collect();
    let tries = ports.iter().map(|_| ports[SEEN.fetch_add(1, Ordering::Relaxed) % ports.len()]);
    let addresses = tries.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let is_free =
        |address: &SocketAddr| UdpSocket::bind(address).is_ok() && TcpListener::bind(address).is_ok();
    let free: Vec<SocketAddr> = addresses.filter(is_free).take(count).collect();
    match free.len() == count {
        true => Ok(free),
        false => Err(io::ErrorKind::AddrInUse.into()),
    }
}

/// Ports that the kernel does not give, then those that it does, each from a place on.
fn in_order(given: &RangeInclusive<u16>, first: usize) -> impl Iterator<Item = u16> {
    let (given, others): (Vec<u16>, Vec<u16>) = (FIRST..=u16::MAX).partition(|port| given.contains(port));
    let from = move |ports: Vec<u16>| (0..ports.len()).map(move |at| ports[(first + at) % ports.len()]);
    from(others).chain(from(given))
}

/// The ports in the kernel's text: the first and the last one.
fn given(text: &str) -> RangeInclusive<u16> {
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    numbers.next().zip(numbers.next()).map_or(USUAL, |(first, last)| first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn addresses_are_given_once_and_by_nobody_else() {
        // Sockets on the way: the next addresses are further on.
        let taken: Vec<UdpSocket> = (1..=50)
            .filter_map(|at| {
                let given = free_addresses(1).unwrap()[0].port();
                UdpSocket::bind((Ipv4Addr::LOCALHOST, given.checked_add(at)?)).ok()
            })
            .collect();
        assert!(!taken.is_empty());
        let first = free_addresses(100).unwrap();
        let held = UdpSocket::bind(free_addresses(1).unwrap()[0]).unwrap();
        let all: BTreeSet<SocketAddr> = first.into_iter().chain(free_addresses(100).unwrap()).collect();
        assert_eq!(all.len(), 200);
        assert!(!all.contains(&held.local_addr().unwrap()));
        let kernels = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let given = given(&std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap());
        assert!(given.contains(&kernels) && all.iter().all(|address| !given.contains(&address.port())));
    }

    #[test]
    fn ports_that_the_kernel_gives_come_last() {
        let of = |given: RangeInclusive<u16>, first| in_order(&given, first).collect::<Vec<u16>>();
        let some = of(20_000..=65_530, 1);
        assert_eq!(some.len(), (1 << 16) - usize::from(FIRST));
        assert_eq!((some[0], &some[3619..3622]), (FIRST + 1, &[u16::MAX, FIRST, 20_001][..]));
        assert_eq!(of(1024..=u16::MAX, 5)[..2], [FIRST + 5, FIRST + 6]);
    }

    #[test]
    fn the_kernels_ports_are_read() {
        assert_eq!(given("40000\t50000\n"), 40_000..=50_000);
        assert_eq!(given("40000\n"), USUAL);
        assert_eq!(given(""), USUAL);
    }
}
