//! Tiny XDP programs, assembled here and loaded by bpf(2): frames go to the sockets of a map.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Queues that a map has room for.
pub(super) const MOST_QUEUES: u32 = 64;

const MAP_CREATE: i32 = 0;
const MAP_UPDATE: i32 = 2;
const PROGRAM_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;

const XSK_MAP: u32 = 17;
const XDP_PROGRAM: u32 = 6;
const XDP: u32 = 37;

/// Hook of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// In the driver, before the kernel makes a packet of a frame.
    Native,
    /// After that: any interface can, and it is slower.
    Generic,
}

/// Frames that go to the sockets. The kernel keeps the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frames {
    All,
    /// Datagrams of UDP over IPv4 without options to this port.
    Udp(u16),
}

/// A program at an interface. It goes when this is dropped, or the process ends.
pub(super) struct Attached {
    map: Option<OwnedFd>,
    _program: OwnedFd,
    _link: OwnedFd,
}

/// An instruction: operation, registers (source and destination), offset, constant.
const fn instruction(operation: u8, registers: u8, offset: i16, constant: i32) -> [u8; 8] {
    let (offset, constant) = (offset.to_ne_bytes(), constant.to_ne_bytes());
    [operation, registers, offset[0], offset[1], constant[0], constant[1], constant[2], constant[3]]
}

/// `return bpf_redirect_map(&map, context->rx_queue_index, XDP_PASS)`
fn redirect(map: i32) -> Vec<[u8; 8]> {
    vec![
        // r2 = *(u32 *)(r1 + 16)
        instruction(0x61, 0x12, 16, 0),
        // r1 = map, in two parts
        instruction(0x18, 0x11, 0, map),
        instruction(0, 0, 0, 0),
        // r3 = XDP_PASS
        instruction(0xb7, 0x03, 0, 2),
        // call bpf_redirect_map
        instruction(0x85, 0, 0, 51),
        instruction(0x95, 0, 0, 0),
    ]
}

/// As [`redirect`], but for frames that are not for a port:
///
/// ```text
/// if (data + 38 > data_end || ethernet.type != IPV4 || ipv4.version_and_length != 0x45 || ipv4.protocol != UDP || udp.destination != port)
///     return XDP_PASS
/// ```
fn redirect_udp(map: i32, port: u16) -> Vec<[u8; 8]> {
    // Words of a frame are compared as they are in memory.
    let word = |bytes: [u8; 2]| i32::from(u16::from_ne_bytes(bytes));
    let mut program = vec![
        // r6 = r1, the context; r2 = *(u32 *)(r6 + 0), where the frame begins; r3 = *(u32 *)(r6 + 4), where it ends
        instruction(0xbf, 0x16, 0, 0),
        instruction(0x61, 0x62, 0, 0),
        instruction(0x61, 0x63, 4, 0),
        // r4 = r2 + 38
        instruction(0xbf, 0x24, 0, 0),
        instruction(0x07, 0x04, 0, 38),
        // if r4 > r3 goto pass
        instruction(0x2d, 0x34, 15, 0),
        // r5 = *(u16 *)(r2 + 12); if r5 != IPV4 goto pass
        instruction(0x69, 0x25, 12, 0),
        instruction(0x55, 0x05, 13, word([8, 0])),
        // r5 = *(u8 *)(r2 + 14); if r5 != 0x45 goto pass
        instruction(0x71, 0x25, 14, 0),
        instruction(0x55, 0x05, 11, 0x45),
        // r5 = *(u8 *)(r2 + 23); if r5 != UDP goto pass
        instruction(0x71, 0x25, 23, 0),
        instruction(0x55, 0x05, 9, 17),
        // r5 = *(u16 *)(r2 + 36); if r5 != port goto pass
        instruction(0x69, 0x25, 36, 0),
        instruction(0x55, 0x05, 7, word(port.to_be_bytes())),
        // r1 = r6
        instruction(0xbf, 0x61, 0, 0),
    ];
    program.extend(redirect(map));
    // pass: return XDP_PASS
    program.extend([instruction(0xb7, 0, 0, 2), instruction(0x95, 0, 0, 0)]);
    program
}

/// `return XDP_DROP`
fn drop_all() -> Vec<[u8; 8]> {
    vec![instruction(0xb7, 0, 0, 1), instruction(0x95, 0, 0, 0)]
}

impl Attached {
    /// Frames of an interface go to sockets.
    pub(super) fn redirect(index: u32, mode: Mode, frames: Frames) -> io::Result<Attached> {
        let map = create_map()?;
        let program = match frames {
            Frames::All => redirect(map.as_raw_fd()),
            Frames::Udp(port) => redirect_udp(map.as_raw_fd(), port),
        };
        Attached::new(index, mode, &program, Some(map))
    }

    /// Drops all frames of an interface: an upper bound on speed.
    pub(super) fn drop_all(index: u32, mode: Mode) -> io::Result<Attached> {
        Attached::new(index, mode, &drop_all(), None)
    }

    fn new(index: u32, mode: Mode, program: &[[u8; 8]], map: Option<OwnedFd>) -> io::Result<Attached> {
        let program = load(program)?;
        let link = link(&program, index, mode)?;
        Ok(Attached { map, _program: program, _link: link })
    }

    /// Frames of a queue go to a socket.
    pub(super) fn add(&self, queue: u32, socket: BorrowedFd) -> io::Result<()> {
        let Some(map) = &self.map else { return Ok(()) };
        let value = socket.as_raw_fd() as u32;
        let mut request = Request::default();
        request.u32(0, map.as_raw_fd() as u32);
        request.address(8, (&raw const queue).cast());
        request.address(16, (&raw const value).cast());
        // SAFETY: key and value have the sizes of the map's.
        unsafe { request.call(MAP_UPDATE) }.map(drop)
    }
}

/// `union bpf_attr`, as far as it is used.
#[repr(C, align(8))]
struct Request([u8; 144]);

impl Default for Request {
    fn default() -> Request {
        Request([0; 144])
    }
}

impl Request {
    fn u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    fn address(&mut self, at: usize, of: *const u8) {
        self.0[at..at + 8].copy_from_slice(&(of.expose_provenance() as u64).to_ne_bytes());
    }

    /// # Safety
    ///
    /// Addresses in it are of memory that the kernel may read or write as the command says.
    unsafe fn call(&self, command: i32) -> io::Result<i32> {
        // SAFETY: the request is as long as it says; the rest is the caller's.
        let done = unsafe { libc::syscall(libc::SYS_bpf, command, &raw const self.0, self.0.len()) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(done as i32)
    }

    /// The same of commands that give a file.
    ///
    /// # Safety
    ///
    /// See [`call`](Request::call).
    unsafe fn file(&self, command: i32) -> io::Result<OwnedFd> {
        // SAFETY: the kernel has made the file for us.
        unsafe { self.call(command).map(|file| OwnedFd::from_raw_fd(file)) }
    }
}

fn create_map() -> io::Result<OwnedFd> {
    let mut request = Request::default();
    request.u32(0, XSK_MAP);
    request.u32(4, 4);
    request.u32(8, 4);
    request.u32(12, MOST_QUEUES);
    // SAFETY: there are no addresses.
    unsafe { request.file(MAP_CREATE) }
}

fn load(program: &[[u8; 8]]) -> io::Result<OwnedFd> {
    let license = c"Apache-2.0";
    let mut request = Request::default();
    request.u32(0, XDP_PROGRAM);
    request.u32(4, program.len() as u32);
    request.address(8, program.as_ptr().cast());
    request.address(16, license.as_ptr().cast());
    // SAFETY: as many instructions as it says, and a text with a zero at its end.
    unsafe { request.file(PROGRAM_LOAD) }
}

fn link(program: &OwnedFd, index: u32, mode: Mode) -> io::Result<OwnedFd> {
    let mut request = Request::default();
    request.u32(0, program.as_raw_fd() as u32);
    request.u32(4, index);
    request.u32(8, XDP);
    request.u32(
        12,
        match mode {
            Mode::Generic => 2,
            Mode::Native => 4,
        },
    );
    // SAFETY: there are no addresses.
    unsafe { request.file(LINK_CREATE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a program for frames that are not for the port, and every jump to it.
    #[test]
    fn frames_for_others_pass() {
        let program = redirect_udp(7, 42_606);
        let pass = program.len() - 2;
        assert_eq!(program[pass..], [instruction(0xb7, 0, 0, 2), instruction(0x95, 0, 0, 0)]);
        let jumps = (0..).zip(&program).filter(|(_, one)| [0x2d, 0x55].contains(&one[0]));
        let targets: Vec<usize> =
            jumps.map(|(at, one)| at + 1 + usize::from(u16::from_ne_bytes([one[2], one[3]]))).collect();
        assert_eq!(targets, [pass; 5]);
    }
}
