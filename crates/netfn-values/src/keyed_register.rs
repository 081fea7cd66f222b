//! `keyed-register`: a register whose cells are found by a key, exactly.
//!
//! | | |
//! |---|---|
//! | synopsis | `KeyedRegister(bit<32> size)`, methods `@noSideEffects bit<N> read(in bit<K> key)`, `void write(in bit<K> key, in bit<N> value)`, for any `K`, and `N` up to 128 |
//! | what it does | `read` gives what was last written for the key, 0 if nothing was. Once `size` keys have a value other than 0, a write for another key has no effect. |
//! | state | for each key with a value other than 0: the key, and 16 bytes |
//! | cost | one search in a tree |
//!
//! Exact twins of blocks (`p4rack block list`) keep one cell for each key of the traffic with it, which switches have no memory for.
//!
//! ```p4
//! @value_extern("keyed-register")
//! extern KeyedRegister {
//!     KeyedRegister(bit<32> size);
//!     @noSideEffects bit<32> read(in bit<104> key);
//!     void write(in bit<104> key, in bit<32> value);
//! }
//! KeyedRegister(1024) packets;
//! // write(7, 3): read(7) is 3, and read(8) is 0
//! ```

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{
    Direction, Effect, ExternError, Form, Method, Registry, SnapshotReader, SnapshotWriter, ValueExtern,
    ValueOffer, ValueType, constructor_arguments,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name in `@value_extern("keyed-register")`.
pub const NAME: &str = "keyed-register";

const WRITE: usize = 0;
const FORMAT: u8 = 1;

/// Offers `keyed-register`.
pub fn register(registry: &mut Registry) {
    let methods = vec![
        Method::new("write", Effect::Writes)
            .param(Direction::In, ValueType::AnyBit)
            .param(Direction::In, ValueType::AnyBit),
        Method::new("read", Effect::Reads).param(Direction::In, ValueType::AnyBit).returns(ValueType::AnyBit),
    ];
    let make =
        Arc::new(|args: &[Bits]| Ok(Box::new(KeyedRegister::from_args(args)?) as Box<dyn ValueExtern>));
    let cost = Duration::from_ns(100);
    registry.add_value(NAME, ValueOffer { form: Form::Object, methods, merge: None, cost, make });
}

/// An instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyedRegister {
    size: usize,
    /// By the key's bytes without leading zeros. No value is 0.
    cells: BTreeMap<Vec<u8>, u128>,
}

impl KeyedRegister {
    fn from_args(args: &[Bits]) -> Result<KeyedRegister, ExternError> {
        let [size] = constructor_arguments(NAME, [("size", 32)], args)?;
        Ok(KeyedRegister { size: size as usize, cells: BTreeMap::new() })
    }

    fn write(&mut self, key: Vec<u8>, value: u128) {
        if value == 0 {
            self.cells.remove(&key);
        } else if self.cells.len() < self.size || self.cells.contains_key(&key) {
            self.cells.insert(key, value);
        }
    }
}

impl ValueExtern for KeyedRegister {
    fn call(&mut self, method: usize, inputs: &[Bits], outputs: &mut [Bits], _now: Time) {
        match (method, inputs, outputs) {
            (WRITE, [key, value], _) => self.write(key.to_canonical_bytes(), value.low_u128()),
            (_, [key], [value]) => {
                let known = self.cells.get(&key.to_canonical_bytes()).copied();
                *value = Bits::new(value.width(), known.unwrap_or(0));
            }
            _ => {}
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        let mut out = SnapshotWriter::default();
        out.u8(FORMAT);
        out.count(self.cells.len());
        for (key, value) in &self.cells {
            out.bytes(key);
            out.raw(&value.to_be_bytes());
        }
        out.finish()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), ExternError> {
        let mut from = SnapshotReader::new(bytes, FORMAT)?;
        let count = from.u32()? as usize;
        let count = from.sensible(count, count <= self.size)?;
        let mut cells = BTreeMap::new();
        for _ in 0..count {
            let key = from.bytes()?.to_vec();
            let value = u128::from_be_bytes(from.array()?);
            let is_new = value != 0 && cells.last_key_value().is_none_or(|(last, _)| *last < key);
            cells.insert(from.sensible(key, is_new)?, value);
        }
        from.end()?;
        self.cells = cells;
        Ok(())
    }
}
