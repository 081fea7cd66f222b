//! Cables to other processes: a frame is a datagram from one address to the other.
//!
//! A batch is one call of the system each way. A frame that is longer than a packet's buffer gets memory of its own.

use crate::batch::{BATCH, Batch};
use crate::port::{Sink, Source, Wait};
use base_time::Time;
use dataplane_api::Port;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg, sendmmsg};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use target_native::{MOST_BYTES, Packet};

/// Bytes of the longest datagram that do not fit into a packet's buffer.
const REST: usize = (1 << 16) - MOST_BYTES;

/// One end of the cable.
pub struct Udp {
    socket: UdpSocket,
    /// For each packet of a batch; made when the first one comes.
    rests: Vec<Vec<u8>>,
    /// Frames that came with one that ended their batch.
    pending: VecDeque<Vec<u8>>,
}

impl Udp {
    /// The end at `from`; datagrams from elsewhere than `to` are dropped.
    pub fn open(from: SocketAddr, to: SocketAddr) -> io::Result<Udp> {
        let socket = UdpSocket::bind(from)?;
        socket.connect(to)?;
        Ok(Udp { socket, rests: vec![], pending: VecDeque::new() })
    }

    /// A second handle of this end: one handle receives, the other sends.
    pub fn again(&self) -> io::Result<Udp> {
        Ok(Udp { socket: self.socket.try_clone()?, rests: vec![], pending: VecDeque::new() })
    }

    /// Reads as many datagrams as have come and there is room for, and gives their lengths.
    fn take(&mut self, room: &mut [Packet]) -> nix::Result<Vec<usize>> {
        self.rests.resize_with(BATCH, || vec![0; REST]);
        let mut slices: Vec<[IoSliceMut; 2]> = room
            .iter_mut()
            .zip(&mut self.rests)
            .map(|(packet, rest)| [IoSliceMut::new(packet.room()), IoSliceMut::new(rest)])
            .collect();
        // The headers cannot be kept by a thread, so they are built for each call.
        let mut headers = MultiHeaders::<()>::preallocate(slices.len(), None);
        let came =
            recvmmsg(self.socket.as_raw_fd(), &mut headers, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None)?;
        Ok(came.map(|message| message.bytes).collect())
    }

    /// Stores datagrams received by [`take`](Udp::take) as frames of any length; empty datagrams are dropped.
    fn set_aside(&mut self, room: &mut [Packet], lengths: &[usize]) {
        for ((packet, rest), length) in room.iter_mut().zip(&self.rests).zip(lengths) {
            let (first, more) = ((*length).min(MOST_BYTES), length.saturating_sub(MOST_BYTES));
            if *length > 0 {
                self.pending.push_back([&packet.room()[..first], &rest[..more]].concat());
            }
        }
    }
}

impl Source for Udp {
    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        if self.pending.is_empty() {
            let lengths = match self.take(batch.room()) {
                Ok(lengths) => lengths,
                // No datagram, or an ICMP error for an earlier one: later datagrams may arrive.
                Err(Errno::EAGAIN | Errno::ECONNREFUSED | Errno::EINTR) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            if lengths.iter().all(|length| (1..=MOST_BYTES).contains(length)) {
                batch
                    .room()
                    .iter_mut()
                    .zip(&lengths)
                    .for_each(|(packet, length)| packet.arrive(port, *length));
                batch.filled(lengths.len());
                return Ok(());
            }
            self.set_aside(batch.room(), &lengths);
        }
        while !batch.room().is_empty() {
            let Some(frame) = self.pending.pop_front() else { break };
            batch.push(port, &frame);
        }
        Ok(())
    }

    fn wait(&mut self, _: &Arc<mio::Waker>) -> Wait {
        Wait::Readable(self.socket.as_raw_fd())
    }

    fn keeps(&self) -> bool {
        false
    }
}

impl Sink for Udp {
    fn send(&mut self, packets: &mut [Packet], which: &[usize], _: Time) -> usize {
        let mut sent = 0;
        while let Some(rest) = which.get(sent..).filter(|rest| !rest.is_empty()) {
            let rest = &rest[..rest.len().min(BATCH)];
            // The error may belong to the former datagram: then the next call reports this one's.
            match give(&self.socket, packets, rest).or_else(|_| give(&self.socket, packets, rest)) {
                Ok(0) | Err(_) => break,
                Ok(count) => sent += count,
            }
        }
        sent
    }

    fn send_frame(&mut self, frame: &[u8], _: Time) -> bool {
        self.socket.send(frame).or_else(|_| self.socket.send(frame)).is_ok()
    }
}

/// Sends packets, [`BATCH`] at most; gives how many were sent.
fn give(socket: &UdpSocket, packets: &[Packet], which: &[usize]) -> nix::Result<usize> {
    let slices: Vec<[IoSlice; 1]> = which.iter().map(|at| [IoSlice::new(packets[*at].frame())]).collect();
    let mut headers = MultiHeaders::<()>::preallocate(slices.len(), None);
    let to = vec![None; slices.len()];
    let sent = sendmmsg(socket.as_raw_fd(), &mut headers, &slices, to, [], MsgFlags::empty())?;
    Ok(sent.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Udp, Udp) {
        let free = || UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (here, there) = (free(), free());
        (Udp::open(here, there).unwrap(), Udp::open(there, here).unwrap())
    }

    fn receive(from: &mut Udp, count: usize) -> Vec<Vec<u8>> {
        let (mut batch, mut got) = (Batch::default(), vec![]);
        while got.len() < count {
            batch.clear();
            from.receive(7, &mut batch).unwrap();
            for at in 0..batch.came() {
                assert_eq!(batch.packets()[at].in_port(), 7);
                got.push(batch.packets()[at].frame().to_vec());
            }
            got.extend(batch.take_long());
        }
        got
    }

    #[test]
    fn frames_of_all_lengths_pass_in_order() {
        let (mut one, mut other) = pair();
        let lengths = [60, MOST_BYTES, 1, MOST_BYTES + 1, 64, 60_000, 9000, 100];
        let frames: Vec<Vec<u8>> = lengths.iter().map(|length| vec![*length as u8; *length]).collect();
        for frame in &frames {
            assert!(one.send_frame(frame, Time::ZERO));
        }
        assert_eq!(receive(&mut other, frames.len()), frames);
    }

    #[test]
    fn a_batch_passes_as_it_is() {
        let (mut one, mut other) = pair();
        let mut packets: Vec<Packet> = (0..40).map(|n| Packet::new(0, &[n; 60]).unwrap()).collect();
        let which: Vec<usize> = (0..40).rev().collect();
        assert_eq!(one.send(&mut packets, &which, Time::ZERO), 40);
        let expected: Vec<Vec<u8>> = (0..40).rev().map(|n| vec![n; 60]).collect();
        assert_eq!(receive(&mut other, 40), expected);
    }

    #[test]
    fn an_empty_datagram_is_no_frame() {
        let (mut one, mut other) = pair();
        one.socket.send(&[]).unwrap();
        assert!(one.send_frame(&[1; 60], Time::ZERO));
        assert_eq!(receive(&mut other, 1), [vec![1; 60]]);
    }
}
