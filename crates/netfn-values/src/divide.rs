//! `divide`: division, which P4 has for constants only.
//!
//! | | |
//! |---|---|
//! | synopsis | `bool divide(inout bit<64> number, in bit<32> by, out bit<32> rest)` |
//! | what it does | `number` becomes the quotient, and `rest` what is left over. By 0, it gives `false` and leaves `number`. |
//! | state | none |
//! | cost | one division |
//!
//! ```p4
//! @value_extern("divide") extern bool divide(inout bit<64> number, in bit<32> by, out bit<32> rest);
//! // number 17, by 5: number 3, rest 2, true
//! ```

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{Direction, Effect, ExternError, Method, Registry, ValueExtern, ValueType};

/// The name in `@value_extern("divide")`.
pub const NAME: &str = "divide";

/// Offers `divide`.
pub fn register(registry: &mut Registry) {
    let method = Method::new(NAME, Effect::Pure)
        .param(Direction::InOut, ValueType::Bit(64))
        .param(Direction::In, ValueType::Bit(32))
        .param(Direction::Out, ValueType::Bit(32))
        .returns(ValueType::Bool);
    registry.add_value(NAME, crate::function::<Divide>(method, Duration::from_ns(10)));
}

/// The function.
#[derive(Clone, Copy, Default, Debug)]
pub struct Divide;

impl ValueExtern for Divide {
    fn call(&mut self, _method: usize, inputs: &[Bits], outputs: &mut [Bits], _now: Time) {
        let ([number, by], [quotient, rest, done]) = (inputs, outputs) else { return };
        let (number, by) = (number.low_u64(), by.low_u64());
        if let (Some(q), Some(r)) = (number.checked_div(by), number.checked_rem(by)) {
            *quotient = Bits::new(64, q.into());
            *rest = Bits::new(32, r.into());
            *done = Bits::from_bool(true);
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        vec![]
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError> {
        crate::restore_nothing(snapshot)
    }
}
