//! `header-compress` and `header-decompress`: headers of TCP and UDP over IPv4 and IPv6 made short on a link.
//!
//! | | |
//! |---|---|
//! | synopsis | `HeaderCompress(bit<16> contexts, bit<16> refresh)`, method `compress(in bit<16> port)`; `HeaderDecompress(bit<16> contexts)`, method `decompress(in bit<16> port)` |
//! | compressing | A flow of a port gets one of `contexts` contexts (4 to 32,768, a power of two) and a *reference*: the headers of one of its frames. Frames contain the differences from it. The first three frames after a new reference carry it along, and every `refresh`-th one again (0: never). Frames that cannot be compressed go on unchanged: other protocols, fragments, extension headers, wrong lengths or IPv4 checksums, options but TCP's timestamps, which a switch at the other end would not read. |
//! | decompressing | Headers are the reference's with the differences. A frame whose reference is missing, or whose headers do not match the transmitted check, is dropped; uncompressed frames go on unchanged. |
//! | loss and reordering | No frame depends on another but on the one that brought its reference: a lost one harms no other. The reference before the current one is still known. After all frames with a reference are lost, frames end at the decompressor until the next that carries it. A frame is wrong only if 256 references of its context are lost together, or a compressor has restarted, all frames with its first reference are lost and that has, by chance, the generation of the one before; and if its check, a CRC of 16 bits over all its headers, agrees by chance, too. |
//! | fields | Of IPv4 TOS, TTL, identification; of IPv6 traffic class, hop limit; of TCP all but ports and data offset, timestamps among the options; of UDP the checksum. Anything else that changes is another reference, after four frames in a row that do not fit the last one. |
//! | state | a compressor: about 300 bytes a context and port; a decompressor: two references, 250 bytes, a context and port. 64 ports each; frames of others go on uncompressed, or end in the decompressor |
//! | cost | one hash of addresses and ports, four contexts looked at, one pass over the headers for the check |
//! | counters | [`compress::Counted`], [`decompress::Counted`] |
//! | length | EtherType and headers of UDP over IPv4 are 30 bytes and become 13; of TCP 42 and become 17 and up, with timestamps 54 and 25. A frame with its reference is longer than before by 10 bytes and the differences; a frame that looks compressed by 11 |
//!
//! ```p4
//! @frame_extern("header-compress")
//! extern HeaderCompress {
//!     HeaderCompress(bit<16> contexts, bit<16> refresh);
//!     void compress(in bit<16> port);
//! }
//! @frame_extern("header-decompress")
//! extern HeaderDecompress {
//!     HeaderDecompress(bit<16> contexts);
//!     void decompress(in bit<16> port);
//! }
//! // a UDP flow over IPv4: EtherType and headers, 30 bytes, are 40 44 44 13 13 13 ... bytes on the link
//! ```
//!
//! [`wire`] has the format. It is made of whole fields, each there or not, so that a P4 parser reads it: `p4/compress.p4` does all of it in P4. `p4/compress_tna.p4` is for a Tofino.

mod block;
pub mod compress;
mod crc;
pub mod decompress;
mod snapshot;
pub mod wire;

pub use compress::Compressor;
pub use decompress::Decompressor;

use base_bits::Bits;
use base_time::Time;
use dataplane_api::{Emitter, ExternError, FrameExtern, Registry, call_arguments, constructor_arguments};
use std::sync::Arc;

/// The name in `@frame_extern("header-compress")`.
pub const COMPRESS: &str = "header-compress";
/// The name in `@frame_extern("header-decompress")`.
pub const DECOMPRESS: &str = "header-decompress";

/// The ports of which an instance keeps contexts.
pub const PORTS: usize = 64;

/// Offers `header-compress` and `header-decompress`.
pub fn register(registry: &mut Registry) {
    registry.add(COMPRESS, Arc::new(|args| Ok(Box::new(compressor_of(args)?))));
    registry.add(DECOMPRESS, Arc::new(|args| Ok(Box::new(decompressor_of(args)?))));
}

fn compressor_of(args: &[Bits]) -> Result<Compressor, ExternError> {
    let [contexts, refresh] = constructor_arguments(COMPRESS, [("contexts", 16), ("refresh", 16)], args)?;
    Ok(Compressor::new(checked(COMPRESS, contexts)?, refresh as u16))
}

fn decompressor_of(args: &[Bits]) -> Result<Decompressor, ExternError> {
    let [contexts] = constructor_arguments(DECOMPRESS, [("contexts", 16)], args)?;
    Ok(Decompressor::new(checked(DECOMPRESS, contexts)?))
}

fn checked(name: &str, contexts: u64) -> Result<u16, ExternError> {
    let fits = contexts.is_power_of_two() && (4..=32_768).contains(&contexts);
    let message = || format!("`contexts` of `{name}` is a power of two from 4 to 32768, and not {contexts}");
    u16::try_from(contexts).ok().filter(|_| fits).ok_or_else(|| ExternError(message()))
}

/// The port that a call names.
fn port(args: &[Bits]) -> Option<u16> {
    call_arguments(args).and_then(|[port]| u16::try_from(port).ok())
}

impl FrameExtern for Compressor {
    fn call(&mut self, _method: &str, args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter) {
        out.carry_on(match port(args) {
            Some(port) => self.compress(port, frame, now),
            None => frame.to_vec(),
        });
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn tick(&mut self, _now: Time, _out: &mut Emitter) {}

    fn snapshot(&self) -> Vec<u8> {
        snapshot::of_compressor(self)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), ExternError> {
        *self = snapshot::to_compressor(self, bytes)?;
        Ok(())
    }
}

impl FrameExtern for Decompressor {
    fn call(&mut self, _method: &str, args: &[Bits], frame: &[u8], _now: Time, out: &mut Emitter) {
        if let Some(frame) = self.decompress(port(args).unwrap_or(u16::MAX), frame) {
            out.carry_on(frame);
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn tick(&mut self, _now: Time, _out: &mut Emitter) {}

    fn snapshot(&self) -> Vec<u8> {
        snapshot::of_decompressor(self)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), ExternError> {
        *self = snapshot::to_decompressor(self, bytes)?;
        Ok(())
    }
}
