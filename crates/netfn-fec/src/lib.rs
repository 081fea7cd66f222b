//! `fec-encode` and `fec-decode`: frames lost on a link come back, by a Reed-Solomon erasure code.
//!
//! | | |
//! |---|---|
//! | synopsis | `FecEncode(bit<48> hold_us)`, method `encode(in bit<16> port, in bit<8> traffic_class, in bit<8> k, in bit<8> h)`; `FecDecode(bit<48> wait_us, bit<8> reach, bit<32> over, bit<32> faulty_ppm)`, method `decode(in bit<16> port)` |
//! | encoding | Frames of one port and class make blocks: up to `k` of them (1 to 128) are tagged and go on at once, then `h` parity frames (0 to 16) come fresh after the call. A block that is not full `hold_us` microseconds after its first frame is closed as it is. Any `h` lost frames of a block can be made again. `h` = 0 numbers frames, so that losses are seen. A frame that cannot be tagged goes on as it is: [`Encoder::passed`] counts them. |
//! | decoding | Tagged frames go on in the order in which they were sent, marked [delivered](tag::Kind::Delivered); lost ones are made again as soon as enough of their block is there. Frames after a gap wait `wait_us` microseconds at most, and no longer than until a frame from more than `reach` blocks later comes: 0 where links keep order. Parity frames end here; so do doubles, late frames and malformed ones. Untagged frames go on unchanged. |
//! | faulty links | Of every `over` frames that were sent to a port (0 switches it off), the lost ones are counted before repair. At `faulty_ppm` millionths a [mark], an LLDP frame, comes fresh after the call, for the program to send back: the other end learns that its link is faulty. Below half of that, another says that it is well. |
//! | state | an encoder: `h` frames of the longest length a port and class; a decoder: `reach + 1` blocks a port and class. 256 ports and classes each; frames of others go on untagged, or end in the decoder |
//! | cost | encoding: `h` multiplications of a frame; decoding: a copy of each frame, and for each lost one as many multiplications as its block has frames. `h` = 1 is without multiplications: the first parity is the sum |
//! | counters | [`Encoder::passed`]; [`decoder::Counted`] |
//! | length | tags are 14 bytes; a parity frame is 30 bytes longer than the longest frame of its block, or with `h` above 1 up to 93 |
//!
//! ```p4
//! @frame_extern("fec-encode")
//! extern FecEncode {
//!     FecEncode(bit<48> hold_us);
//!     void encode(in bit<16> port, in bit<8> traffic_class, in bit<8> k, in bit<8> h);
//! }
//! @frame_extern("fec-decode")
//! extern FecDecode {
//!     FecDecode(bit<48> wait_us, bit<8> reach, bit<32> over, bit<32> faulty_ppm);
//!     void decode(in bit<16> port);
//! }
//! // encode(port, 0, 5, 1): frames 1 2 3 4 5 6 go out as 1 2 3 4 5 P 6, and 3 that is lost comes back after P:
//! // 1 2 P 4 5 -> 1 2 3 4 5
//! ```
//!
//! Fresh frames have no metadata, so a tag names the port of the call: after `encode` the program sends tagged frames to
//! `channel`, after `decode` it takes `channel` for the port that the frame came by, puts `ether_type` where it was, and
//! makes the tag's header invalid. [`tag`] has the format.
//!
//! The field has 2^16 elements, its vector arithmetic is `reed-solomon-simd`'s. The matrix is a Cauchy matrix whose first
//! row is all ones, so neither depends on `k` and `h`; the blocks are short, and a small linear system is solved for the
//! lost frames alone.

pub mod code;
pub mod decoder;
pub mod encoder;
pub mod mark;
mod snapshot;
pub mod tag;

pub use decoder::{Decoder, Limits};
pub use encoder::Encoder;

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{Emitter, ExternError, FrameExtern, Registry, call_arguments, constructor_arguments};
use std::sync::Arc;

/// The name in `@frame_extern("fec-encode")`.
pub const ENCODE: &str = "fec-encode";
/// The name in `@frame_extern("fec-decode")`.
pub const DECODE: &str = "fec-decode";

/// The ports and classes of which an instance keeps blocks.
pub const STREAMS: usize = 256;

/// Offers `fec-encode` and `fec-decode`.
pub fn register(registry: &mut Registry) {
    registry.add(ENCODE, Arc::new(|args| Ok(Box::new(encoder_of(args)?))));
    registry.add(DECODE, Arc::new(|args| Ok(Box::new(decoder_of(args)?))));
}

fn encoder_of(args: &[Bits]) -> Result<Encoder, ExternError> {
    let [hold_us] = constructor_arguments(ENCODE, [("hold_us", 48)], args)?;
    Ok(Encoder::new(Duration::from_us(hold_us)))
}

fn decoder_of(args: &[Bits]) -> Result<Decoder, ExternError> {
    let wanted = [("wait_us", 48), ("reach", 8), ("over", 32), ("faulty_ppm", 32)];
    let [wait_us, reach, over, faulty_ppm] = constructor_arguments(DECODE, wanted, args)?;
    if reach > Limits::MOST_REACH {
        let most = Limits::MOST_REACH;
        return Err(ExternError(format!("`reach` of `{DECODE}` is {most} at most, and not {reach}")));
    }
    Ok(Decoder::new(Limits {
        wait: Duration::from_us(wait_us),
        reach: reach as u32,
        over: over as u32,
        faulty_ppm: faulty_ppm as u32,
    }))
}

impl FrameExtern for Encoder {
    fn call(&mut self, _method: &str, args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter) {
        let protection = call_arguments(args).and_then(|[port, class, k, h]| {
            encoder::Protection::new(port.try_into().ok()?, class.try_into().ok()?, k, h)
        });
        match protection {
            Some(protection) => self.encode(protection, frame, now, out),
            None => self.pass(frame, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next_close()
    }

    fn tick(&mut self, now: Time, out: &mut Emitter) {
        self.close_due(now, out);
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::of_encoder(self)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), ExternError> {
        *self = snapshot::to_encoder(self, bytes)?;
        Ok(())
    }
}

impl FrameExtern for Decoder {
    fn call(&mut self, _method: &str, args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter) {
        let port = call_arguments(args).and_then(|[port]| u16::try_from(port).ok());
        self.decode(port.unwrap_or(u16::MAX), frame, now, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.next_release()
    }

    fn tick(&mut self, now: Time, out: &mut Emitter) {
        self.release_due(now, out);
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::of_decoder(self)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), ExternError> {
        *self = snapshot::to_decoder(self, bytes)?;
        Ok(())
    }
}
