//! Frames of flows, and calls as a program makes them.
#![allow(dead_code)]

use base_bits::Bits;
use base_time::{Rng, Time};
use dataplane_api::{Emitter, ExternError, FrameExtern, Registry};

pub fn make(name: &str, args: &[u16]) -> Result<Box<dyn FrameExtern>, ExternError> {
    let mut registry = Registry::default();
    netfn_compress::register(&mut registry);
    let args: Vec<Bits> = args.iter().map(|value| Bits::new(16, (*value).into())).collect();
    registry.get(name).unwrap()(&args)
}

pub fn compressor(contexts: u16, refresh: u16) -> Box<dyn FrameExtern> {
    make("header-compress", &[contexts, refresh]).unwrap()
}

pub fn decompressor(contexts: u16) -> Box<dyn FrameExtern> {
    make("header-decompress", &[contexts]).unwrap()
}

/// Frame that a call emits, if any.
pub fn call(function: &mut dyn FrameExtern, port: u16, frame: &[u8]) -> Option<Vec<u8>> {
    let mut out = Emitter::default();
    function.call("", &[Bits::new(16, port.into())], frame, Time::ZERO, &mut out);
    let mut emitted = out.take();
    assert!(emitted.len() <= 1 && emitted.iter().all(|e| e.carries_on));
    emitted.pop().map(|e| e.frame)
}

fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    !((once & 0xffff) + (once >> 16)) as u16
}

/// A flow that makes frames.
#[derive(Clone, Debug)]
pub struct Flow {
    pub is_ipv6: bool,
    pub is_tcp: bool,
    pub number: u16,
    pub ip_options: usize,
    /// TCP options in bytes; 12 are timestamps.
    pub options: usize,
    pub class: u8,
    pub ttl: u8,
    pub id: u16,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub window: u16,
    pub clock: u32,
}

impl Flow {
    pub fn new(number: u16, is_ipv6: bool, is_tcp: bool) -> Flow {
        Flow {
            is_ipv6,
            is_tcp,
            number,
            ip_options: 0,
            options: 0,
            class: 0,
            ttl: 64,
            id: number.wrapping_mul(77),
            sequence: u32::from(number) << 20,
            acknowledgement: 9,
            window: 500,
            clock: 0,
        }
    }

    pub fn random(rng: &mut Rng, number: u16) -> Flow {
        let mut flow = Flow::new(number, rng.next_bool(), rng.chance(2, 3));
        flow.ip_options = if rng.chance(1, 6) { 8 } else { 0 };
        flow.options = *rng.pick(&[0, 0, 12, 20]).unwrap();
        flow
    }

    /// The next frame, with `payload` bytes of it and `trailer` after the packet.
    pub fn frame(&mut self, rng: &mut Rng, payload: usize, trailer: usize) -> Vec<u8> {
        let transport = if self.is_tcp { 20 + self.options } else { 8 };
        let length = transport + payload;
        let mut ip = if self.is_ipv6 {
            let mut ip = vec![0x60 | self.class >> 4, self.class << 4, 0, self.number as u8];
            ip.extend((length as u16).to_be_bytes());
            ip.extend([if self.is_tcp { 6 } else { 17 }, self.ttl]);
            ip.extend([0xfd; 15]);
            ip.push(1);
            ip.extend([0xfd; 15]);
            ip.push(2);
            ip
        } else {
            let header = 20 + self.ip_options;
            let mut ip = vec![0x40 | (header / 4) as u8, self.class];
            ip.extend(((header + length) as u16).to_be_bytes());
            ip.extend(self.id.to_be_bytes());
            ip.extend([0x40, 0, self.ttl, if self.is_tcp { 6 } else { 17 }, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            ip.extend(std::iter::repeat_n(1, self.ip_options));
            let check = checksum(&ip);
            ip[10..12].copy_from_slice(&check.to_be_bytes());
            ip
        };
        let ports = [self.number.to_be_bytes(), 443u16.to_be_bytes()].concat();
        ip.extend(ports);
        if self.is_tcp {
            ip.extend(self.sequence.to_be_bytes());
            ip.extend(self.acknowledgement.to_be_bytes());
            ip.extend([((20 + self.options) / 4) as u8 * 16, if payload == 0 { 0x10 } else { 0x18 }]);
            ip.extend(self.window.to_be_bytes());
            ip.extend(rng.bytes(2));
            ip.extend([0, 0]);
            if self.options >= 12 {
                ip.extend([1, 1, 8, 10]);
                ip.extend(self.clock.to_be_bytes());
                ip.extend((self.clock / 2).to_be_bytes());
                ip.extend(std::iter::repeat_n(1, self.options - 12));
            }
            self.sequence = self.sequence.wrapping_add(payload as u32);
        } else {
            ip.extend((length as u16).to_be_bytes());
            ip.extend(rng.bytes(2));
        }
        self.id = self.id.wrapping_add(1);
        ip.extend(rng.bytes(payload + trailer));
        let kind: [u8; 2] = if self.is_ipv6 { [0x86, 0xdd] } else { [8, 0] };
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &kind[..], &ip].concat()
    }

    /// Something changes, as it may from frame to frame.
    pub fn change(&mut self, rng: &mut Rng) {
        self.clock += rng.below(3) as u32;
        match rng.below(24) {
            0 => self.class = rng.next_u8(),
            1 => self.ttl = rng.next_u8(),
            2 => self.window = rng.next_u64() as u16,
            3 if self.is_tcp => self.options = *rng.pick(&[0, 12, 20]).unwrap(),
            4 => self.ip_options = if self.is_ipv6 { 0 } else { *rng.pick(&[0, 8]).unwrap() },
            5 => self.sequence = rng.next_u64() as u32,
            _ => self.acknowledgement = self.acknowledgement.wrapping_add(rng.below(3) as u32 * 1000),
        }
    }
}
