//! Value externs: small functions on values that P4 lacks. Each file is one; its head is its manual page.
//!
//! | name | form | |
//! |---|---|---|
//! | [`ewma`] | object | exponentially weighted moving average |
//! | [`rtt`] | object | smoothed round-trip time and retransmission timeout of RFC 6298 |
//! | [`crc7`] | function | the CRC of SD and MMC cards |
//! | [`keyed_register`] | object | a register whose cells are found by a key |
//! | [`divide`] | function | division of numbers that are known at run time only |

pub mod crc7;
pub mod divide;
pub mod ewma;
pub mod keyed_register;
pub mod rtt;

use base_time::Duration;
use dataplane_api::{ExternError, Form, Method, Registry, ValueExtern, ValueOffer};
use std::sync::Arc;

/// Offers all of them.
pub fn register(registry: &mut Registry) {
    crc7::register(registry);
    divide::register(registry);
    ewma::register(registry);
    keyed_register::register(registry);
    rtt::register(registry);
}

/// The offer of a function, which has no memory.
fn function<F: ValueExtern + Default + 'static>(method: Method, cost: Duration) -> ValueOffer {
    let make = Arc::new(|_: &[base_bits::Bits]| Ok(Box::new(F::default()) as Box<dyn ValueExtern>));
    ValueOffer { form: Form::Function, methods: vec![method], merge: None, cost, make }
}

/// The memory of a function: none.
fn restore_nothing(snapshot: &[u8]) -> Result<(), ExternError> {
    match snapshot {
        [] => Ok(()),
        _ => Err(ExternError("a function has no memory".into())),
    }
}
