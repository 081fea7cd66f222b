//! Receiving frames.

use super::{HEAD, offload};
use crate::sys::{self, Mapped};
use base_offload::Offload;
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recvmsg, socket};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

/// Slots of a ring.
const SLOTS: usize = 2048;

/// Bytes of a slot that are not for the frame: the kernel's header, its address, and the work left to the card.
const BESIDE: usize = 128;

/// Bytes of Ethernet's header with two VLAN tags.
const ETHERNET: usize = 22;

/// Bytes that the kernel allocates at a time.
const BLOCK: usize = 1 << 16;

/// Bytes that wait for calls.
const WAITING: i32 = 8 << 20;

/// Bytes of the longest frame: Linux's large segments have no more.
const LONGEST: usize = 1 << 17;

/// Offsets in the head of a slot (`tpacket2_hdr`).
const LENGTH: usize = 4;
const TAKEN: usize = 8;
const FRAME: usize = 12;
const TAG: usize = 24;

/// Frames of one interface. Its own sending is not among them.
pub struct Receiver {
    socket: OwnedFd,
    ring: Mapped,
    slot: usize,
    next: usize,
    lost: u64,
}

/// A frame that has come.
#[derive(Debug)]
pub struct Frame {
    /// Place of the bytes.
    pub place: Place,
    /// Work left to the card; `None` if it cannot be done in software here.
    pub offload: Option<Offload>,
    /// The VLAN tag that is not in the frame: protocol and control.
    pub tag: Option<(u16, u16)>,
}

/// Place of a frame's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the ring, until it is [given back](Receiver::give_back): the first byte, and how many.
    Slot(usize, usize),
    /// The frame is in the caller's memory, with this length in bytes.
    Memory(usize),
    /// The frame was too long, and is lost.
    Nowhere,
}

impl Receiver {
    /// Frames of the interface with a number, in promiscuous mode, from now on.
    pub fn open(index: u32, mtu: u32) -> io::Result<Receiver> {
        let kind = (AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK);
        let socket = socket(kind.0, kind.1, kind.2, None)?;
        let slot = (mtu as usize + ETHERNET + BESIDE).next_power_of_two().clamp(2048, BLOCK);
        let set = |name, value: i32| sys::set_option(socket.as_fd(), libc::SOL_PACKET, name, &value);
        set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32)?;
        set(libc::PACKET_VNET_HDR, 1)?;
        set(libc::PACKET_IGNORE_OUTGOING, 1)?;
        set(libc::PACKET_COPY_THRESH, 1)?;
        sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &WAITING)
            .or_else(|_| sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &WAITING))?;
        let ring = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (SLOTS * slot / BLOCK) as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: SLOTS as u32,
        };
        sys::set_option(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_RX_RING, &ring)?;
        let ring = Mapped::of(socket.as_fd(), SLOTS * slot)?;
        sys::bind_packet(socket.as_fd(), index, libc::ETH_P_ALL)?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        sys::set_option(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
        Ok(Receiver { socket, ring, slot, next: 0, lost: 0 })
    }

    /// The next frame, if one has come. One that no slot holds goes to `memory`. The others lie in the ring, and have to be given back before the next one is taken.
    pub fn next(&mut self, memory: &mut Vec<u8>) -> Option<Frame> {
        let at = self.next * self.slot;
        let status = self.ring.word(at).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let word = |offset: usize| self.ring.word(at + offset).load(Ordering::Relaxed);
        let half = |word: u32, half: usize| {
            u16::from_ne_bytes(word.to_ne_bytes()[2 * half..][..2].try_into().unwrap_or_default())
        };
        let (length, taken, first) =
            (word(LENGTH) as usize, word(TAKEN) as usize, usize::from(half(word(FRAME), 0)));
        let tag = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let has_protocol = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            (if has_protocol { half(word(TAG), 1) } else { 0x8100 }, half(word(TAG), 0))
        });
        if status & libc::TP_STATUS_COPY != 0 {
            self.give_back();
            let (place, offload) = self.copied(memory);
            return Some(Frame { place, offload, tag });
        }
        if taken < length {
            self.give_back();
            return Some(Frame { place: Place::Nowhere, offload: None, tag });
        }
        let head = self.ring.bytes(at + first - HEAD, HEAD).first_chunk().copied().unwrap_or_default();
        Some(Frame { place: Place::Slot(at + first, length), offload: offload(&head), tag })
    }

    /// The bytes of a frame in the ring.
    pub fn bytes(&self, at: usize, length: usize) -> &[u8] {
        self.ring.bytes(at, length)
    }

    /// The slot of the last frame is free again.
    pub fn give_back(&mut self) {
        self.ring.word(self.next * self.slot).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
    }

    /// Takes a frame by a call.
    fn copied(&self, memory: &mut Vec<u8>) -> (Place, Option<Offload>) {
        memory.resize(LONGEST, 0);
        let (mut head, flags) = ([0; HEAD], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC);
        let mut pieces = [IoSliceMut::new(&mut head), IoSliceMut::new(memory)];
        match recvmsg::<()>(self.socket.as_raw_fd(), &mut pieces, None, flags).map(|came| came.bytes) {
            Ok(length) if (HEAD..=HEAD + LONGEST).contains(&length) => {
                (Place::Memory(length - HEAD), offload(&head))
            }
            _ => (Place::Nowhere, None),
        }
    }

    /// Frames that have found no free slot since it was opened.
    pub fn lost(&mut self) -> u64 {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        // Reading sets them to zero.
        if sys::option(self.socket.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut counts).is_ok() {
            self.lost += u64::from(counts.tp_drops);
        }
        self.lost
    }

    /// Clears a reported error, so that waiting for the socket does not return at once.
    pub fn clear_error(&self) -> Option<Errno> {
        let mut error = 0;
        let read = sys::option(self.socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut error);
        (read.is_ok() && error != 0).then(|| Errno::from_raw(error))
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
