//! One end of a TCP connection, as little of it as a proxy can be tried with: a window of a few segments, go-back-N, one timer.

use crate::frames::Segment;
use base_time::{Duration, Time};

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Time after which everything that is not acknowledged is sent again.
const AGAIN: Duration = Duration::from_ms(2);
/// Segments under way.
const WINDOW: usize = 4;
/// Bytes of a segment.
const BYTES: usize = 500;

/// A segment to send.
pub struct Sent {
    /// Header.
    pub header: Segment,
    /// Data.
    pub payload: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// A server without a client.
    Waits,
    /// Has sent its SYN, or SYN-ACK.
    Begins,
    Open,
}

/// An end. Its stream is sent, and then FIN.
pub struct End {
    is_client: bool,
    state: State,
    mss: u16,
    stream: Vec<u8>,
    /// Number of the SYN.
    first: u32,
    /// Bytes of the stream, and FIN as one, that are acknowledged, and those that were sent.
    acknowledged: usize,
    sent: usize,
    /// Number of the next byte from the other end.
    next: u32,
    received: Vec<u8>,
    has_fin: bool,
    owes_ack: bool,
    timer: Time,
}

impl End {
    /// An end that opens a connection at once.
    pub fn client(stream: Vec<u8>, first: u32, mss: u16) -> End {
        End::new(stream, first, mss, true)
    }

    /// An end that waits for a SYN.
    pub fn server(stream: Vec<u8>, first: u32, mss: u16) -> End {
        End::new(stream, first, mss, false)
    }

    fn new(stream: Vec<u8>, first: u32, mss: u16, is_client: bool) -> End {
        End {
            is_client,
            state: if is_client { State::Begins } else { State::Waits },
            mss,
            stream,
            first,
            acknowledged: 0,
            sent: 0,
            next: 0,
            received: vec![],
            has_fin: false,
            owes_ack: false,
            timer: Time::ZERO,
        }
    }

    /// The stream that it sends.
    pub fn stream(&self) -> &[u8] {
        &self.stream
    }

    /// The bytes that it has received, in order.
    pub fn received(&self) -> &[u8] {
        &self.received
    }

    /// Maximum segment size that it asks for.
    pub fn mss(&self) -> u16 {
        self.mss
    }

    /// The other end has answered the SYN.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Everything is sent, acknowledged and received.
    pub fn is_done(&self) -> bool {
        self.is_open() && self.acknowledged == self.stream.len() + 1 && self.has_fin
    }

    /// Segments to send now.
    pub fn due(&mut self, now: Time) -> Vec<Sent> {
        let is_late = now >= self.timer;
        if is_late {
            self.timer = now + AGAIN;
        }
        match self.state {
            State::Waits => vec![],
            State::Begins if !is_late => vec![],
            State::Begins => {
                let flags = if self.is_client { SYN } else { SYN | ACK };
                let mss = Some(self.mss);
                vec![Sent { header: Segment { seq: self.first, mss, ..self.header(flags) }, payload: vec![] }]
            }
            State::Open => {
                if is_late {
                    self.sent = self.acknowledged;
                }
                let mut all = self.data();
                if all.is_empty() && std::mem::take(&mut self.owes_ack) {
                    all.push(Sent { header: self.header(ACK), payload: vec![] });
                }
                self.owes_ack = false;
                all
            }
        }
    }

    fn header(&self, flags: u8) -> Segment {
        let ack = if flags & ACK != 0 { self.next } else { 0 };
        let seq = self.first.wrapping_add(1).wrapping_add(self.sent as u32);
        Segment { seq, ack, flags, window: 4000, mss: None }
    }

    /// As much as the window allows.
    fn data(&mut self) -> Vec<Sent> {
        let mut all = vec![];
        while self.sent <= self.stream.len() && self.sent < self.acknowledged + WINDOW * BYTES {
            let end = (self.sent + BYTES).min(self.stream.len());
            let payload = self.stream[self.sent..end].to_vec();
            let is_last = end == self.stream.len();
            let header = self.header(if is_last { ACK | FIN } else { ACK });
            self.sent = end + usize::from(is_last);
            all.push(Sent { header, payload });
        }
        all
    }

    /// Takes a segment. An error if it cannot be one of this connection.
    pub fn receive(&mut self, header: &Segment, payload: &[u8], now: Time) -> Result<(), String> {
        if header.flags & RST != 0 {
            return Err("the connection is reset".into());
        }
        if header.flags & SYN != 0 {
            return self.begin(header, now);
        }
        if self.state == State::Waits {
            return Err("data before a SYN".into());
        }
        if header.flags & ACK == 0 {
            return Err("a segment without ACK".into());
        }
        let acknowledged = header.ack.wrapping_sub(self.first.wrapping_add(1)) as usize;
        // One more than the stream: the FIN.
        if acknowledged > self.stream.len() + 1 {
            return Err(format!("{:#x} acknowledges what was not sent", header.ack));
        }
        self.state = State::Open;
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
            self.sent = self.sent.max(acknowledged);
            self.timer = now + AGAIN;
        }
        let ahead = header.seq.wrapping_sub(self.next) as i32;
        // Windows are not scaled.
        if ahead.unsigned_abs() > 1 << 16 {
            return Err(format!("number {:#x} is far from {:#x}", header.seq, self.next));
        }
        let is_fin = header.flags & FIN != 0;
        if !payload.is_empty() || is_fin {
            self.owes_ack = true;
        }
        if ahead == 0 && !self.has_fin {
            self.received.extend(payload);
            self.has_fin = is_fin;
            self.next = self.next.wrapping_add(payload.len() as u32 + u32::from(is_fin));
        }
        Ok(())
    }

    fn begin(&mut self, header: &Segment, now: Time) -> Result<(), String> {
        let is_answer = header.flags & ACK != 0;
        if is_answer != self.is_client {
            return Err(format!("a SYN with flags {:#x}", header.flags));
        }
        if is_answer && header.ack != self.first.wrapping_add(1) {
            return Err("a SYN-ACK of another number".into());
        }
        // A repeated one is acknowledged again. Cookies of two time slots differ: the first counts.
        let is_new = match self.is_client {
            true => self.state == State::Begins,
            false => self.state == State::Waits,
        };
        if is_new {
            self.next = header.seq.wrapping_add(1);
            self.timer = now;
            self.state = if self.is_client { State::Open } else { State::Begins };
        }
        self.owes_ack = true;
        Ok(())
    }
}
