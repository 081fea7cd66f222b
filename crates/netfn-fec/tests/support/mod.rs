//! A sender and a receiver as a program would call them.
#![allow(dead_code)]

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use dataplane_api::{Emitted, Emitter, FrameExtern, Registry};
use netfn_fec::tag::{Kind, Parsed, Tag, parse};

pub fn make(name: &str, args: &[(u32, u128)]) -> Box<dyn FrameExtern> {
    let mut registry = Registry::default();
    netfn_fec::register(&mut registry);
    let args: Vec<Bits> = args.iter().map(|(width, value)| Bits::new(*width, *value)).collect();
    registry.get(name).unwrap()(&args).unwrap()
}

pub fn encoder(hold_us: u64) -> Box<dyn FrameExtern> {
    make("fec-encode", &[(48, hold_us.into())])
}

pub fn decoder(wait_us: u64, reach: u8, over: u32, faulty_ppm: u32) -> Box<dyn FrameExtern> {
    let args = [(48, wait_us.into()), (8, reach.into()), (32, over.into()), (32, faulty_ppm.into())];
    make("fec-decode", &args)
}

pub fn us(n: u64) -> Time {
    Time::ZERO + Duration::from_us(n)
}

/// An Ethernet frame that says its number, of `length` bytes.
pub fn frame(number: u32, length: usize) -> Vec<u8> {
    let mut frame = Rng::new(number.into()).bytes(length.max(18));
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

pub fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14..18].try_into().unwrap())
}

/// Output of a call.
pub fn encode(encoder: &mut dyn FrameExtern, frame: &[u8], k: u8, h: u8, now: Time) -> Vec<Emitted> {
    let args = [Bits::new(16, 7), Bits::new(8, 2), Bits::new(8, k.into()), Bits::new(8, h.into())];
    let mut out = Emitter::default();
    encoder.call("encode", &args, frame, now, &mut out);
    out.take().to_vec()
}

pub fn decode(decoder: &mut dyn FrameExtern, frame: &[u8], now: Time) -> Vec<Emitted> {
    let mut out = Emitter::default();
    decoder.call("decode", &[Bits::new(16, 3)], frame, now, &mut out);
    out.take().to_vec()
}

pub fn tick(function: &mut dyn FrameExtern, now: Time) -> Vec<Emitted> {
    let mut out = Emitter::default();
    function.tick(now, &mut out);
    out.take().to_vec()
}

pub fn frames(emitted: Vec<Emitted>) -> Vec<Vec<u8>> {
    emitted.into_iter().map(|e| e.frame).collect()
}

pub fn tag(frame: &[u8]) -> Tag {
    match parse(frame) {
        Parsed::Tagged(tagged) => tagged.tag,
        other => panic!("{other:?}"),
    }
}

/// The frame of a delivered one.
pub fn untagged(frame: &[u8]) -> Vec<u8> {
    match parse(frame) {
        Parsed::Tagged(tagged) if tagged.tag.kind == Kind::Delivered && tagged.tag.channel == 3 => {
            tagged.frame()
        }
        other => panic!("{other:?}"),
    }
}

/// `1 2 +3`: 1 and 2 carry calls on, 3 is fresh; `+M` is a mark.
pub fn reported(emitted: &[Emitted]) -> String {
    let one = |e: &Emitted| {
        let fresh = if e.carries_on { "" } else { "+" };
        match parse(&e.frame) {
            Parsed::Plain => format!("{fresh}M"),
            _ => format!("{fresh}{}", number(&untagged(&e.frame))),
        }
    };
    emitted.iter().map(one).collect::<Vec<_>>().join(" ")
}
