//! Interfaces by packet sockets.
//!
//! Frames of local senders come with work that is left to the card. It is done here: the program sees frames as on the
//! wire. In the other direction, frames of one TCP stream that are neighbours in a batch go as one large segment, which
//! the card or the kernel cuts again where the receiver is not this machine.

use crate::batch::{BATCH, Batch};
use crate::link::LinkState;
use crate::losses::{Losses, Reason};
use crate::port::{Sink, Source, Wait};
use base_offload::{Joined, Offload, Segments, complete, tag};
use base_time::Time;
use dataplane_api::Port;
use linux_net::packet::{Frame, Place, Receiver, Sender, Work};
use nix::errno::Errno;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use target_native::{MOST_BYTES, Packet};

/// Rounds after which frames are counted that the kernel has lost.
const COUNTED: u32 = 1024;

/// Receiving end of an interface.
pub(crate) struct PacketSource {
    link: Arc<LinkState>,
    losses: Arc<Losses>,
    receiver: Option<(u32, Receiver)>,
    /// The interface with this number could not be opened. It is tried again after a while.
    refused: Option<u32>,
    /// The lane does not wait for this receiver yet.
    is_new: bool,
    /// A frame that is too long for a slot, with the work left to the card.
    memory: Vec<u8>,
    cutting: Option<(Segments, usize)>,
    /// For a frame that is too long for a packet's buffer.
    long: Vec<u8>,
    rounds: u32,
}

/// Sending end of an interface.
pub(crate) struct PacketSink {
    link: Arc<LinkState>,
    losses: Arc<Losses>,
    sender: Option<(u32, Sender)>,
}

/// Opens an interface.
pub(crate) fn open(
    link: &Arc<LinkState>,
    losses: &Arc<Losses>,
) -> Result<(PacketSource, PacketSink), String> {
    let named = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "`{}`: no permission for packet sockets: run as root, or `setcap cap_net_raw,cap_net_admin+ep` the command",
            link.name()
        ),
        _ => format!("`{}`: {error}", link.name()),
    };
    let mut source = PacketSource {
        link: Arc::clone(link),
        losses: Arc::clone(losses),
        receiver: None,
        refused: None,
        is_new: false,
        memory: vec![],
        cutting: None,
        // The longest segment that the kernel hands over: 64 KiB.
        long: vec![0; 1 << 16],
        rounds: 0,
    };
    let mut sink = PacketSink { link: Arc::clone(link), losses: Arc::clone(losses), sender: None };
    source.renew().map_err(named)?;
    sink.renew().map_err(named)?;
    Ok((source, sink))
}

impl PacketSource {
    /// Opens the interface that has the name now, if that is another one.
    fn renew(&mut self) -> io::Result<()> {
        let index = self.link.index();
        if self.receiver.as_ref().map(|(index, _)| *index) != index {
            self.receiver = None;
            if let Some(index) = index {
                self.receiver = Some((index, Receiver::open(index, self.link.mtu())?));
                self.is_new = true;
            }
        }
        Ok(())
    }

    /// Adds segments of the frame in memory, as many as there is room for.
    fn cut(&mut self, port: Port, batch: &mut Batch) {
        let Some((segments, length)) = &mut self.cutting else { return };
        let (fits, frame) = (segments.longest() <= MOST_BYTES, &self.memory[..*length]);
        while let Some(packet) = batch.room().first_mut() {
            let room = if fits { packet.room() } else { self.long.as_mut_slice() };
            let Some(length) = segments.next(frame, room) else {
                self.cutting = None;
                return;
            };
            if fits {
                packet.arrive(port, length);
                batch.filled(1);
            } else {
                batch.push(port, &self.long[..length]);
            }
        }
    }

    /// Adds a frame of the ring to the batch, or begins to cut it.
    fn take(&mut self, port: Port, frame: &Frame, at: usize, length: usize, batch: &mut Batch) {
        let Some((_, receiver)) = &mut self.receiver else { return };
        let (Some(packet), Some(offload)) = (batch.room().first_mut(), frame.offload) else {
            receiver.give_back();
            return self.losses.add(Reason::Offload, 1);
        };
        let bytes = receiver.bytes(at, length);
        let fits = length + 4 * usize::from(frame.tag.is_some()) <= MOST_BYTES;
        if offload.large.is_some() || !fits {
            self.memory.resize(self.memory.len().max(length + 4), 0);
            self.memory[..length].copy_from_slice(bytes);
            receiver.give_back();
            return self.take_memory(port, frame, offload, length, batch);
        }
        let room = packet.room();
        room[..length].copy_from_slice(bytes);
        receiver.give_back();
        let length = as_on_the_wire(room, length, offload, frame.tag);
        packet.arrive(port, length);
        batch.filled(1);
    }

    /// Takes a frame that is in memory.
    fn take_memory(&mut self, port: Port, frame: &Frame, offload: Offload, length: usize, batch: &mut Batch) {
        let Some(large) = offload.large else {
            let length = as_on_the_wire(&mut self.memory, length, offload, frame.tag);
            return batch.push(port, &self.memory[..length]);
        };
        let length = frame
            .tag
            .and_then(|(protocol, control)| tag(&mut self.memory, length, protocol, control))
            .unwrap_or(length);
        match Segments::of(&self.memory[..length], large) {
            Some(segments) => {
                self.cutting = Some((segments, length));
                self.cut(port, batch);
            }
            None => self.losses.add(Reason::Offload, 1),
        }
    }

    fn count(&mut self) {
        if let Some((_, receiver)) = &mut self.receiver {
            let lost = receiver.lost();
            self.losses.set(Reason::ReceiveRing, lost);
        }
    }
}

/// Completes the checksum of a frame in the first bytes of some room, and puts its tag back; gives its length.
fn as_on_the_wire(room: &mut [u8], length: usize, offload: Offload, of_vlan: Option<(u16, u16)>) -> usize {
    if let Some(partial) = offload.checksum {
        complete(&mut room[..length], partial);
    }
    of_vlan.and_then(|(protocol, control)| tag(room, length, protocol, control)).unwrap_or(length)
}

impl Source for PacketSource {
    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        let index = self.link.index();
        // Tried again only when the name stands for another interface: one warning, not one per round.
        if self.refused.is_some() && self.refused == index {
            return Ok(());
        }
        if let Err(error) = self.renew() {
            tracing::warn!(port, interface = self.link.name(), %error, "cannot be opened");
            self.refused = index;
            return Ok(());
        }
        self.rounds += 1;
        if self.rounds.is_multiple_of(COUNTED) {
            self.count();
        }
        self.cut(port, batch);
        while !batch.room().is_empty() {
            let Some((_, receiver)) = &mut self.receiver else { break };
            let Some(frame) = receiver.next(&mut self.memory) else { break };
            match (frame.place, frame.offload) {
                (Place::Slot(at, length), _) => self.take(port, &frame, at, length, batch),
                (Place::Memory(length), Some(offload)) => {
                    self.take_memory(port, &frame, offload, length, batch)
                }
                (Place::Memory(_), None) => self.losses.add(Reason::Offload, 1),
                (Place::Nowhere, _) => self.losses.add(Reason::TooLong, 1),
            }
        }
        Ok(())
    }

    fn wait(&mut self, _: &Arc<mio::Waker>) -> Wait {
        self.count();
        self.refused = None;
        let Some((_, receiver)) = &self.receiver else { return Wait::Woken };
        receiver.clear_error();
        let file = receiver.as_fd().as_raw_fd();
        match std::mem::take(&mut self.is_new) {
            true => Wait::Anew(vec![file]),
            false => Wait::Woken,
        }
    }

    fn keeps(&self) -> bool {
        false
    }

    fn is_up(&self) -> bool {
        self.link.is_up()
    }
}

impl PacketSink {
    fn renew(&mut self) -> io::Result<()> {
        let index = self.link.index();
        if self.sender.as_ref().map(|(index, _)| *index) != index {
            self.sender = None;
            if let Some(index) = index {
                self.sender = Some((index, Sender::open(index)?));
            }
        }
        Ok(())
    }

    /// Sends frames, and gives how many were taken.
    fn send_all(&mut self, frames: &[&[u8]]) -> usize {
        let is_open = self.renew();
        let Some((_, sender)) = self.sender.as_ref().filter(|_| is_open.is_ok()) else {
            self.losses.add(Reason::Down, frames.len() as u64);
            return 0;
        };
        let mut sent = 0;
        for frames in frames.chunks(BATCH) {
            let messages = join(frames);
            let (mut pieces, mut ends) = (Vec::with_capacity(2 * BATCH + 2), Vec::with_capacity(BATCH));
            for message in &messages {
                pieces.push(message.work.piece());
                match &message.joined {
                    Some(joined) => {
                        let header = joined.header();
                        pieces.push(IoSlice::new(header));
                        pieces
                            .extend(message.frames.iter().map(|frame| IoSlice::new(&frame[header.len()..])));
                    }
                    None => pieces.extend(message.frames.iter().map(|frame| IoSlice::new(frame))),
                }
                ends.push(pieces.len());
            }
            let (mut first, mut piece) = (0, 0);
            while first < messages.len() {
                let ends: Vec<usize> = ends[first..].iter().map(|end| end - piece).collect();
                match sender.send(&pieces[piece..], &ends) {
                    Ok(count) if count > 0 => {
                        sent += messages[first..first + count]
                            .iter()
                            .map(|message| message.frames.len())
                            .sum::<usize>();
                        piece += ends[count - 1];
                        first += count;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // The kernel refuses the first message of the rest: it is counted as lost, and the others are tried.
                    ended => {
                        let why = ended.err().map_or(Reason::Refused, |error| reason(&error));
                        self.losses.add(why, messages[first].frames.len() as u64);
                        piece += ends[0];
                        first += 1;
                    }
                }
            }
        }
        sent
    }
}

/// A message: a frame, or several that were joined.
struct Message<'f> {
    frames: &'f [&'f [u8]],
    joined: Option<Joined>,
    work: Work,
}

/// Joins consecutive segments of one stream; frames with VLAN tags are not changed.
fn join<'f>(mut frames: &'f [&'f [u8]]) -> Vec<Message<'f>> {
    let mut messages = Vec::with_capacity(frames.len());
    while let Some(first) = frames.first() {
        let is_ip = matches!(first.get(12..14), Some([8, 0] | [0x86, 0xdd]));
        let joined = if is_ip { Joined::of(frames.iter().copied()) } else { None };
        let (these, others) = frames.split_at(joined.as_ref().map_or(1, Joined::count));
        let work = joined.as_ref().map_or(Work::NONE, Work::cut);
        messages.push(Message { frames: these, joined, work });
        frames = others;
    }
    messages
}

fn reason(error: &io::Error) -> Reason {
    match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
        Errno::EAGAIN | Errno::ENOBUFS => Reason::Queue,
        Errno::EMSGSIZE => Reason::Mtu,
        Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV => Reason::Down,
        _ => Reason::Refused,
    }
}

impl Sink for PacketSink {
    fn send(&mut self, packets: &mut [Packet], which: &[usize], _: Time) -> usize {
        let frames: Vec<&[u8]> = which.iter().map(|at| packets[*at].frame()).collect();
        self.send_all(&frames)
    }

    fn send_frame(&mut self, frame: &[u8], _: Time) -> bool {
        self.send_all(&[frame]) == 1
    }
}
