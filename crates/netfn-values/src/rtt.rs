//! `rtt`: the round-trip time of a path, as TCP estimates it (RFC 6298 §2).
//!
//! | | |
//! |---|---|
//! | synopsis | `Rtt(bit<32> least)`, methods `void sample(in bit<32> measured, out rtt_t estimate)` with `struct rtt_t { bit<32> smoothed; bit<32> variation; bit<32> timeout; }`, `@noSideEffects bool known()` |
//! | what it does | `sample` takes a measured round-trip time, in any unit, and gives the smoothed one, its variation, and the time after which to send again, which is `least` at least. The weights are 1/8 and 1/4. `known` says whether there was a sample. Values above 32 bits become all ones. |
//! | state | 16 bytes: both estimates with 3 and 2 bits after the point; and whether there was a sample |
//! | cost | ten additions and shifts |
//!
//! ```p4
//! struct rtt_t { bit<32> smoothed; bit<32> variation; bit<32> timeout; }
//! @value_extern("rtt")
//! extern Rtt {
//!     Rtt(bit<32> least);
//!     void sample(in bit<32> measured, out rtt_t estimate);
//!     @noSideEffects bool known();
//! }
//! Rtt(1000) path;
//! // samples 800, 800: { 800, 400, 2400 }, { 800, 300, 2000 }
//! ```

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{
    Direction, Effect, ExternError, Form, Method, Registry, SnapshotReader, SnapshotWriter, ValueExtern,
    ValueOffer, ValueType, constructor_arguments,
};
use std::sync::Arc;

/// The name in `@value_extern("rtt")`.
pub const NAME: &str = "rtt";

const SAMPLE: usize = 0;
const FORMAT: u8 = 1;

/// Offers `rtt`.
pub fn register(registry: &mut Registry) {
    let estimate = ValueType::Struct(vec![ValueType::Bit(32), ValueType::Bit(32), ValueType::Bit(32)]);
    let methods = vec![
        Method::new("sample", Effect::Writes)
            .param(Direction::In, ValueType::Bit(32))
            .param(Direction::Out, estimate),
        Method::new("known", Effect::Reads).returns(ValueType::Bool),
    ];
    let make = Arc::new(|args: &[Bits]| {
        let [least] = constructor_arguments(NAME, [("least", 32)], args)?;
        Ok(Box::new(Rtt { least, estimate: None }) as Box<dyn ValueExtern>)
    });
    let cost = Duration::from_ns(10);
    registry.add_value(NAME, ValueOffer { form: Form::Object, methods, merge: None, cost, make });
}

/// An instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rtt {
    least: u64,
    /// None before the first sample.
    estimate: Option<Estimate>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Estimate {
    /// With 3 bits after the point.
    smoothed: u64,
    /// With 2 bits after the point.
    variation: u64,
}

impl Rtt {
    fn sample(&mut self, measured: u64) -> Estimate {
        let next = match self.estimate {
            None => Estimate { smoothed: measured << 3, variation: measured << 1 },
            Some(Estimate { smoothed, variation }) => {
                let before = smoothed >> 3;
                Estimate {
                    smoothed: smoothed - before + measured,
                    variation: variation - (variation >> 2) + before.abs_diff(measured),
                }
            }
        };
        self.estimate = Some(next);
        next
    }
}

impl ValueExtern for Rtt {
    fn call(&mut self, method: usize, inputs: &[Bits], outputs: &mut [Bits], _now: Time) {
        let number = |value: u64| Bits::new(32, value.min(u64::from(u32::MAX)).into());
        match (method, inputs, outputs) {
            (SAMPLE, [measured], [smoothed, variation, timeout]) => {
                let now = self.sample(measured.low_u64());
                let mean = now.smoothed >> 3;
                (*smoothed, *variation) = (number(mean), number(now.variation >> 2));
                *timeout = number((mean + now.variation).max(self.least));
            }
            (_, _, [known]) => *known = Bits::from_bool(self.estimate.is_some()),
            _ => {}
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        let mut out = SnapshotWriter::default();
        out.u8(FORMAT);
        out.u64(self.least);
        out.u8(u8::from(self.estimate.is_some()));
        if let Some(Estimate { smoothed, variation }) = self.estimate {
            out.u64(smoothed);
            out.u64(variation);
        }
        out.finish()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), ExternError> {
        let mut from = SnapshotReader::new(bytes, FORMAT)?;
        let least = from.u64()?;
        if least != self.least {
            return Err(ExternError(format!(
                "the snapshot is of {NAME}({least}), and this is {NAME}({})",
                self.least
            )));
        }
        let estimate = match from.bool()? {
            false => None,
            true => {
                let (smoothed, variation) = (from.u64()?, from.u64()?);
                let fits = smoothed >> 35 == 0 && variation >> 34 == 0;
                Some(from.sensible(Estimate { smoothed, variation }, fits)?)
            }
        };
        from.end()?;
        self.estimate = estimate;
        Ok(())
    }
}
