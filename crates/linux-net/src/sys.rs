//! Calls of the system that have no safe form elsewhere, with their contracts.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// Types that the kernel may write to and read from.
///
/// # Safety
///
/// All bytes are initialized, and all bit patterns are valid.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: they consist of integers without gaps.
unsafe impl Plain for i32 {}
// SAFETY: the same.
unsafe impl Plain for libc::tpacket_req {}
// SAFETY: the same.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: the same.
unsafe impl Plain for libc::packet_mreq {}

/// `setsockopt`
pub(crate) fn set_option<T: Plain>(socket: BorrowedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads as many bytes as the value has.
    let done =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const *value).cast(), length) };
    ended(done as isize).map(drop)
}

/// `getsockopt`
pub(crate) fn option<T: Plain>(socket: BorrowedFd, level: i32, name: i32, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    let at = (&raw mut *value).cast();
    // SAFETY: the kernel writes at most as many bytes as the value has, of which all are allowed.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, at, &raw mut length) };
    ended(done as isize).map(drop)
}

/// `bind` of a packet socket to the interface with this number; it receives frames of a protocol from then on.
pub(crate) fn bind_packet(socket: BorrowedFd, index: u32, protocol: i32) -> io::Result<()> {
    // SAFETY: zeros are a `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = index as i32;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address has this length.
    let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    ended(done as isize).map(drop)
}

/// Memory that the kernel and this process look at.
pub(crate) struct Mapped {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: it is memory of the process, not of a thread.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps the rings of a socket.
    pub(crate) fn of(socket: BorrowedFd, length: usize) -> io::Result<Mapped> {
        let (both, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a mapping at an address that the kernel chooses changes nothing that is there.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, both, shared, socket.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapped { start, length })
    }

    /// A word that both sides write. `at` is within the memory, and divisible by four.
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.length);
        // SAFETY: it is within the memory, which lives as long as the result, is aligned, and is only used as an atomic.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Bytes that the kernel has handed over and does not write to now.
    pub(crate) fn bytes(&self, at: usize, length: usize) -> &[u8] {
        assert!(at.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: they are within the memory, which lives as long as the result. The kernel writes to a slot only after it was given back, for which callers need
        // the ring mutably: no such slice is there then.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), length) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is of this length, and nothing points into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// `sendmmsg`: each message is the pieces `pieces[ends[n - 1]..ends[n]]`. Gives how many were sent; an error is that of the first one.
pub(crate) fn send_messages(socket: BorrowedFd, pieces: &[io::IoSlice], ends: &[usize]) -> io::Result<usize> {
    const MOST: usize = 64;
    // SAFETY: zeros are messages without anything.
    let mut messages: [libc::mmsghdr; MOST] = unsafe { std::mem::zeroed() };
    let (mut first, count) = (0, ends.len().min(MOST));
    for (message, end) in messages.iter_mut().zip(ends) {
        let pieces = &pieces[first..*end];
        // `IoSlice` has the layout of `iovec`, and the kernel does not write to data that it sends.
        message.msg_hdr.msg_iov = pieces.as_ptr().cast_mut().cast();
        message.msg_hdr.msg_iovlen = pieces.len() as _;
        first = *end;
    }
    let flags = libc::MSG_DONTWAIT;
    // SAFETY: the messages point to pieces that outlive the call.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count as u32, flags as _) };
    ended(sent as isize)
}

/// An argument of the calls that ask for or set something of the interface with a name (netdevice(7)).
pub(crate) struct InterfaceRequest(libc::ifreq);

impl InterfaceRequest {
    /// The interface with this name; no flags.
    pub(crate) fn new(name: &str) -> io::Result<InterfaceRequest> {
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains('\0') {
            let why = "an interface's name has 1 to 15 bytes, and none of them is 0";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        // SAFETY: zeros are a request.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name.iter_mut().zip(name.bytes()).for_each(|(to, byte)| *to = byte as libc::c_char);
        Ok(InterfaceRequest(request))
    }

    pub(crate) fn flags(&self) -> i32 {
        // SAFETY: all bit patterns are flags, and all bytes of the request are initialized.
        i32::from(unsafe { self.0.ifr_ifru.ifru_flags })
    }

    pub(crate) fn set_flags(&mut self, flags: i32) {
        self.0.ifr_ifru.ifru_flags = flags as libc::c_short;
    }

    /// `ioctl` with one of the calls whose argument this is.
    pub(crate) fn ask(&mut self, file: BorrowedFd, call: libc::Ioctl) -> io::Result<()> {
        assert!([libc::TUNSETIFF, libc::SIOCGIFFLAGS, libc::SIOCSIFFLAGS].contains(&call));
        // SAFETY: these calls read and write a request and nothing else.
        let done = unsafe { libc::ioctl(file.as_raw_fd(), call, &raw mut self.0) };
        ended(done as isize).map(drop)
    }
}

fn ended(done: isize) -> io::Result<usize> {
    usize::try_from(done).map_err(|_| io::Error::last_os_error())
}
