//! Values of P4's fixed-width integers: `bit<N>`, `int<N>`, `varbit<N>`.
//!
//! A [`Bits`] is a width and that many bits. Whether they mean a signed or an unsigned number is not part of
//! the value: the operation says so, as in `shr` and `shr_signed`. Arithmetic follows P4-16 §8.5 to §8.8.
//!
//! ```
//! use base_bits::Bits;
//! let ttl = Bits::new(8, 1);
//! assert_eq!(ttl.sub(&Bits::new(8, 2)), Bits::ones(8));
//! assert_eq!(ttl.concat(&Bits::new(4, 0xf)).to_literal(), "12w0x1f");
//! ```

mod arith;
mod bits;
mod bytes;
mod logic;
mod shape;
mod text;
mod wire;

pub use bits::Bits;
pub use num_bigint;
pub use text::{Literal, ParseBitsError};
pub use wire::{BitReader, BitWriter, read_at, write_at};
