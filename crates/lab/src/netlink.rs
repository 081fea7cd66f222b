//! Requests to the kernel about interfaces, addresses, routes and neighbours (RFC 3549, rtnetlink(7)), in the network namespace of the calling thread.

use crate::space::Space;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use rack_model::{Mac, Network};
use std::net::IpAddr;
use std::os::fd::AsRawFd;

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const NEW_NEIGHBOUR: u16 = 28;

/// `NLM_F_REQUEST | NLM_F_ACK`, to which requests add other flags.
const REQUEST: u16 = 0x5;
const REPLACE: u16 = 0x100;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;

const ERROR: u16 = 2;

/// Bytes of a message's head.
const HEAD: usize = 16;

/// An interface's state.
const UP: u32 = 1;

/// The number of an interface.
pub fn index(name: &str) -> nix::Result<u32> {
    nix::net::if_::if_nametoindex(name)
}

/// Sets an interface up or down.
pub fn set_up(index: u32, is_up: bool) -> nix::Result<()> {
    ask(NEW_LINK, 0, &link(index, if is_up { UP } else { 0 }, UP))
}

/// Has an interface shown as working (RFC 2863): the kernel does not know that of one which never lost its carrier.
pub fn set_working(index: u32) -> nix::Result<()> {
    const OPERATIONAL_STATE: u16 = 16;
    const WORKS: u8 = 6;
    let mut body = link(index, 0, 0);
    attribute(&mut body, OPERATIONAL_STATE, &[WORKS]);
    ask(NEW_LINK, 0, &body)
}

/// Sets the MAC address of an interface.
pub fn set_mac(index: u32, mac: Mac) -> nix::Result<()> {
    const ADDRESS: u16 = 1;
    let mut body = link(index, 0, 0);
    attribute(&mut body, ADDRESS, &mac.0);
    ask(NEW_LINK, 0, &body)
}

/// Makes a pair of interfaces that are joined by a cable: one in this namespace, its peer in another.
pub fn add_veth(name: &str, peer: &str, in_space: &Space, mtu: u32) -> nix::Result<()> {
    const NAME: u16 = 3;
    const MTU: u16 = 4;
    const ABOUT: u16 = 18;
    const SPACE: u16 = 28;
    const KIND: u16 = 1;
    const DATA: u16 = 2;
    const PEER: u16 = 1;
    let named = |name: &str| {
        let mut body = link(0, 0, 0);
        attribute(&mut body, NAME, &[name.as_bytes(), &[0]].concat());
        attribute(&mut body, MTU, &mtu.to_ne_bytes());
        body
    };
    let mut other = named(peer);
    attribute(&mut other, SPACE, &in_space.descriptor().to_ne_bytes());
    let (mut data, mut about) = (vec![], vec![]);
    attribute(&mut data, PEER, &other);
    attribute(&mut about, KIND, b"veth");
    attribute(&mut about, DATA, &data);
    let mut body = named(name);
    attribute(&mut body, ABOUT, &about);
    ask(NEW_LINK, CREATE | EXCLUSIVE, &body)
}

/// Gives an interface an address.
pub fn add_address(index: u32, network: Network) -> nix::Result<()> {
    const ADDRESS: u16 = 1;
    const LOCAL: u16 = 2;
    let (family, bytes) = bytes_of(network.address);
    let mut body = vec![family, network.prefix, 0, 0];
    body.extend(index.to_ne_bytes());
    attribute(&mut body, LOCAL, &bytes);
    attribute(&mut body, ADDRESS, &bytes);
    ask(NEW_ADDRESS, CREATE | EXCLUSIVE, &body)
}

/// Has all other networks reached by a gateway on an interface, whether or not its address is of a network there.
pub fn add_default_route(index: u32, gateway: IpAddr) -> nix::Result<()> {
    const INTERFACE: u16 = 4;
    const GATEWAY: u16 = 5;
    const TABLE_MAIN: u8 = 254;
    const PROTOCOL_STATIC: u8 = 4;
    const UNICAST: u8 = 1;
    const ON_LINK: u32 = 4;
    let (family, bytes) = bytes_of(gateway);
    let mut body = vec![family, 0, 0, 0, TABLE_MAIN, PROTOCOL_STATIC, 0, UNICAST];
    body.extend(ON_LINK.to_ne_bytes());
    attribute(&mut body, GATEWAY, &bytes);
    attribute(&mut body, INTERFACE, &index.to_ne_bytes());
    ask(NEW_ROUTE, CREATE | REPLACE, &body)
}

/// Has a neighbour known for good.
pub fn add_neighbour(index: u32, address: IpAddr, mac: Mac) -> nix::Result<()> {
    const DESTINATION: u16 = 1;
    const LINK_ADDRESS: u16 = 2;
    const PERMANENT: u16 = 0x80;
    let (family, bytes) = bytes_of(address);
    let mut body = vec![family, 0, 0, 0];
    body.extend(index.to_ne_bytes());
    body.extend(PERMANENT.to_ne_bytes());
    body.extend([0, 0]);
    attribute(&mut body, DESTINATION, &bytes);
    attribute(&mut body, LINK_ADDRESS, &mac.0);
    ask(NEW_NEIGHBOUR, CREATE | REPLACE, &body)
}

/// Begin of a message about an interface: its index, and flags, of which those in `changed` are set.
fn link(index: u32, flags: u32, changed: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend(index.to_ne_bytes());
    body.extend(flags.to_ne_bytes());
    body.extend(changed.to_ne_bytes());
    body
}

/// Kind and length come before a value, zeros up to a multiple of four after it.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((value.len() as u16 + 4).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn bytes_of(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (AddressFamily::Inet as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (AddressFamily::Inet6 as u8, address.octets().to_vec()),
    }
}

/// Makes a request and waits until it is done.
fn ask(kind: u16, flags: u16, body: &[u8]) -> nix::Result<()> {
    let socket =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    let mut message = ((HEAD + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend((REQUEST | flags).to_ne_bytes());
    message.resize(HEAD, 0);
    message.extend(body);
    send(socket.as_raw_fd(), &message, MsgFlags::empty())?;
    let mut buffer = [0; 4096];
    let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
    match code(&buffer[..length]) {
        Some(0) => Ok(()),
        Some(code) => Err(Errno::from_raw(-code)),
        None => Err(Errno::EPROTO),
    }
}

/// Code of an answer: 0, or a negative error number.
fn code(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes([*answer.get(4)?, *answer.get(5)?]);
    let code = answer.get(HEAD..)?.first_chunk()?;
    (kind == ERROR).then(|| i32::from_ne_bytes(*code))
}
