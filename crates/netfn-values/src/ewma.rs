//! `ewma`: an exponentially weighted moving average.
//!
//! | | |
//! |---|---|
//! | synopsis | `Ewma(bit<8> shift)`, methods `bit<32> update(in bit<32> sample)`, `@noSideEffects bit<32> value()` |
//! | what it does | `update` takes a sample into the average with the weight 2^-`shift` and gives the new average; the first sample is the average. `value` gives the average, 0 before the first sample. `shift` is 32 at most. |
//! | state | 8 bytes: the average with `shift` bits after the point; and whether there was a sample |
//! | cost | three additions and shifts |
//!
//! ```p4
//! @value_extern("ewma")
//! extern Ewma {
//!     Ewma(bit<8> shift);
//!     bit<32> update(in bit<32> sample);
//!     @noSideEffects bit<32> value();
//! }
//! Ewma(1) average;
//! // samples 100, 0, 0: update gives 100, 50, 25
//! ```

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{
    Direction, Effect, ExternError, Form, Method, Registry, SnapshotReader, SnapshotWriter, ValueExtern,
    ValueOffer, ValueType, constructor_arguments,
};
use std::sync::Arc;

/// The name in `@value_extern("ewma")`.
pub const NAME: &str = "ewma";

const UPDATE: usize = 0;
const FORMAT: u8 = 1;

/// Offers `ewma`.
pub fn register(registry: &mut Registry) {
    let methods = vec![
        Method::new("update", Effect::Writes)
            .param(Direction::In, ValueType::Bit(32))
            .returns(ValueType::Bit(32)),
        Method::new("value", Effect::Reads).returns(ValueType::Bit(32)),
    ];
    let make = Arc::new(|args: &[Bits]| Ok(Box::new(Ewma::from_args(args)?) as Box<dyn ValueExtern>));
    let cost = Duration::from_ns(5);
    registry.add_value(NAME, ValueOffer { form: Form::Object, methods, merge: None, cost, make });
}

/// An instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ewma {
    shift: u32,
    /// The average, with `shift` bits after the point; none before the first sample.
    average: Option<u64>,
}

impl Ewma {
    fn from_args(args: &[Bits]) -> Result<Ewma, ExternError> {
        match constructor_arguments(NAME, [("shift", 8)], args)? {
            [shift] if shift <= 32 => Ok(Ewma { shift: shift as u32, average: None }),
            [shift] => Err(ExternError(format!("`shift` of `{NAME}` is 32 at most, and {shift} was given"))),
        }
    }

    fn update(&mut self, sample: u32) {
        let sample = u64::from(sample);
        self.average = Some(match self.average {
            None => sample << self.shift,
            Some(average) => average - (average >> self.shift) + sample,
        });
    }

    fn value(&self) -> u64 {
        self.average.unwrap_or(0) >> self.shift
    }
}

impl ValueExtern for Ewma {
    fn call(&mut self, method: usize, inputs: &[Bits], outputs: &mut [Bits], _now: Time) {
        if let (UPDATE, [sample]) = (method, inputs) {
            self.update(sample.low_u64() as u32);
        }
        if let [average] = outputs {
            *average = Bits::new(32, self.value().into());
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        let mut out = SnapshotWriter::default();
        out.u8(FORMAT);
        out.u8(self.shift as u8);
        out.u8(u8::from(self.average.is_some()));
        out.u64(self.average.unwrap_or(0));
        out.finish()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), ExternError> {
        let mut from = SnapshotReader::new(bytes, FORMAT)?;
        let shift = u32::from(from.u8()?);
        if shift != self.shift {
            return Err(ExternError(format!(
                "the snapshot is of {NAME}({shift}), and this is {NAME}({})",
                self.shift
            )));
        }
        let has_sample = from.bool()?;
        let average = from.u64()?;
        let fits = if has_sample { average >> shift <= u64::from(u32::MAX) } else { average == 0 };
        let average = from.sensible(average, fits)?;
        from.end()?;
        self.average = has_sample.then_some(average);
        Ok(())
    }
}
