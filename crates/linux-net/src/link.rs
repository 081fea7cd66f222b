//! Interfaces and their changes, by rtnetlink (RFC 3549, rtnetlink(7)).

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Bytes of a message's header and of the link's header, before its attributes.
const HEAD: usize = 16;
const ABOUT: usize = 16;

const ERROR: u16 = 2;
const DONE: u16 = 3;
const NEW_LINK: u16 = 16;
const DELETED_LINK: u16 = 17;
const GET_LINK: u16 = 18;

const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;

const ADDRESS: u16 = 1;
const NAME: u16 = 3;
const MTU: u16 = 4;
const MASTER: u16 = 10;

/// Messages about links.
const LINKS: u32 = 1;

/// Bytes of a large message: a card with many functions has many attributes.
const LONGEST: usize = 1 << 16;

/// An interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The kernel's number. One that is made anew has another.
    pub index: u32,
    /// Name of the interface.
    pub name: String,
    /// Bytes of the longest packet, without Ethernet's header.
    pub mtu: u32,
    /// True if the interface is up and has a carrier.
    pub is_up: bool,
    /// The bridge, bond or switch that takes its frames.
    pub master: Option<u32>,
    /// The Ethernet address; zeros if the interface has none.
    pub address: [u8; 6],
}

/// Change of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// There is one like this.
    Is(Link),
    /// The one with this number and name is gone.
    Gone(u32, String),
    /// There are no others than those with these numbers.
    Only(Vec<u32>),
}

/// The interface with a name, if there is one.
pub fn find(name: &str) -> io::Result<Option<Link>> {
    let mut attribute = vec![];
    push(&mut attribute, (name.len() + 5) as u16);
    push(&mut attribute, NAME);
    attribute.extend(name.as_bytes());
    attribute.resize((attribute.len() + 4) & !3, 0);
    let found = ask(REQUEST, &attribute);
    match found {
        Ok(mut links) => Ok(links.pop()),
        Err(Errno::ENODEV) => Ok(None),
        // A name that no interface can have.
        Err(Errno::ERANGE | Errno::EINVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// All interfaces.
pub fn all() -> io::Result<Vec<Link>> {
    Ok(ask(REQUEST | DUMP, &[])?)
}

fn ask(flags: u16, attributes: &[u8]) -> nix::Result<Vec<Link>> {
    let socket = open(0)?;
    let mut request = ((HEAD + ABOUT + attributes.len()) as u32).to_ne_bytes().to_vec();
    push(&mut request, GET_LINK);
    push(&mut request, flags);
    request.resize(HEAD + ABOUT, 0);
    request.extend(attributes);
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    let (mut buffer, mut found) = (vec![0; LONGEST], vec![]);
    loop {
        let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        for (kind, body) in messages(&buffer[..length]) {
            match kind {
                NEW_LINK => found.extend(link(body)),
                ERROR => {
                    let code = body.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                    return Err(Errno::from_raw(-code));
                }
                DONE => return Ok(found),
                _ => {}
            }
        }
        if flags & DUMP == 0 {
            return Ok(found);
        }
    }
}

/// Reports changes of interfaces.
pub struct Monitor {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Monitor {
    /// Begins to listen.
    pub fn open() -> io::Result<Monitor> {
        Ok(Monitor { socket: open(LINKS)?, buffer: vec![0; LONGEST] })
    }

    /// Changes since the last call. After too many changes, the complete list of interfaces.
    pub fn changes(&mut self) -> io::Result<Vec<Change>> {
        let mut found = vec![];
        loop {
            let length = match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => length,
                Err(Errno::EAGAIN) => return Ok(found),
                Err(Errno::EINTR) => continue,
                Err(Errno::ENOBUFS) => {
                    // Too much has happened, and some of it is lost.
                    let all = all()?;
                    let only = all.iter().map(|link| link.index).collect();
                    found.extend(all.into_iter().map(Change::Is));
                    found.push(Change::Only(only));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            for (kind, body) in messages(&self.buffer[..length]) {
                match (kind, link(body)) {
                    (NEW_LINK, Some(link)) => found.push(Change::Is(link)),
                    (DELETED_LINK, Some(link)) => found.push(Change::Gone(link.index, link.name)),
                    _ => {}
                }
            }
        }
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open(groups: u32) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
    Ok(socket)
}

fn push(bytes: &mut Vec<u8>, word: u16) {
    bytes.extend(word.to_ne_bytes());
}

/// The messages of a datagram: kind and body.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
        let body = bytes.get(HEAD..length)?;
        bytes = bytes.get((length + 3) & !3..).unwrap_or_default();
        Some((kind, body))
    })
}

/// Attributes: their kinds and values.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
        let kind = u16::from_ne_bytes([*bytes.get(2)?, *bytes.get(3)?]);
        let value = bytes.get(4..length)?;
        bytes = bytes.get((length + 3) & !3..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A link, from a message's body.
fn link(body: &[u8]) -> Option<Link> {
    let number = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let (index, flags) = (number(body.get(4..)?)?, number(body.get(8..)?)?);
    let (up, running) = (libc::IFF_UP as u32, libc::IFF_RUNNING as u32);
    let is_up = flags & up != 0 && flags & running != 0;
    let mut link = Link { index, name: String::new(), mtu: 1500, is_up, master: None, address: [0; 6] };
    for (kind, value) in attributes(body.get(ABOUT..)?) {
        match kind {
            NAME => {
                link.name = String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned()
            }
            ADDRESS => link.address = value.try_into().unwrap_or_default(),
            MTU => link.mtu = number(value)?,
            MASTER => link.master = number(value),
            _ => {}
        }
    }
    (!link.name.is_empty()).then_some(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_found() {
        let found = find("lo").unwrap().unwrap();
        assert_eq!((found.index, found.mtu, found.master, found.address), (1, 65536, None, [0; 6]));
        assert!(all().unwrap().contains(&found));
        assert_eq!(find("no-such-link").unwrap(), None);
        assert_eq!(find("a-name-that-is-far-too-long").unwrap(), None);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for first in 0..=40u8 {
            for length in 0..=80 {
                let bytes: Vec<u8> = (0..length).map(|at| if at % 4 == 0 { first } else { 0 }).collect();
                messages(&bytes).for_each(|(_, body)| drop(link(body)));
                attributes(&bytes).for_each(drop);
            }
        }
    }
}
