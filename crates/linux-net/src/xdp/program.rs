//! A tiny XDP program, assembled here and loaded by bpf(2): frames go to the sockets of a map.
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

/// `return XDP_DROP`
fn drop_all() -> Vec<[u8; 8]> {
    vec![instruction(0xb7, 0, 0, 1), instruction(0x95, 0, 0, 0)]
}

impl Attached {
    /// Frames of an interface go to sockets.
    pub(super) fn redirect(index: u32, mode: Mode) -> io::Result<Attached> {
        let map = create_map()?;
        let program = redirect(map.as_raw_fd());
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
