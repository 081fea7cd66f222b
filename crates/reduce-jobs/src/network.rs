//! Keys and values to the pairs of packets, and back.
//!
//! A packet's pair holds one value of 32 bits. Several values of a key, and values of 64 bits, travel as *chunks*: pairs with keys of
//! their own, each folded on its own.
//!
//! ```text
//! "user7" -> [12, 5_000_000_000]   as u64, add:   user7/0 -> 12   user7/3 -> 0x05f200   user7/4 -> 0x12a
//! ```
//!
//! A 64-bit value is cut into three chunks of 24 bits for sums, so that sums of up to 256 mappers fit 32 bits, and into two of 32
//! bits for OR. Chunks that are 0 are left out, but for the first of a key.

use crate::job::{KeyKind, Reducer, ValueKind};
use aggregate::reducer::Sums;
use aggregate::{Op, Pair, Place};
use std::collections::BTreeMap;

/// A key that no packet carries, or two keys that no switch can distinguish.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyError {
    /// Longer than whole keys may be: bytes, and the most.
    TooLong(Vec<u8>, usize),
    /// No number, or too large a one: the most.
    NoNumber(Vec<u8>, u64),
    /// An element beyond the end of the job's arrays: the element, and their length.
    Beyond(u64, u64),
    /// Two keys with one hash.
    Collide(Vec<u8>, Vec<u8>),
}

impl KeyError {
    /// Title, and what to do.
    pub fn in_words(&self) -> (String, String) {
        let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        match self {
            KeyError::TooLong(key, most) => (
                format!("the key `{}` has {} bytes", text(key), key.len()),
                format!(
                    "whole keys have 1 to {most} bytes and do not end with a zero byte: use `key = hashed`"
                ),
            ),
            KeyError::NoNumber(key, most) => (
                format!("the key `{}` is not a number up to {most}", text(key)),
                "use `key = hashed`, or more `rows`".into(),
            ),
            KeyError::Beyond(element, elements) => (
                format!("the data has an element {element}, and the job's arrays have {elements}"),
                format!("elements are numbered from 0: use `elements = {}` or more", element + 1),
            ),
            KeyError::Collide(one, other) => (
                format!("the keys `{}` and `{}` have the same hash", text(one), text(other)),
                "use another `seed`, or `profile = software`".into(),
            ),
        }
    }
}

impl Reducer {
    /// Bits of a chunk, and chunks of a value.
    fn chunk(&self) -> (u32, u32) {
        match (self.value, self.op) {
            (ValueKind::U32, _) => (32, 1),
            (ValueKind::U64, Op::Add) => (24, 3),
            (ValueKind::U64, _) => (32, 2),
        }
    }

    /// Chunks of a key.
    pub fn chunks(&self) -> u32 {
        self.values * self.chunk().1
    }

    /// The place of a chunk of a key.
    pub fn place(&self, key: &[u8], chunk: u32) -> Result<Place, KeyError> {
        let is_single = self.chunks() == 1;
        match self.key {
            KeyKind::Hashed => {
                let mut bytes = key.to_vec();
                if !is_single {
                    bytes.extend(chunk.to_be_bytes());
                }
                Ok(Place::of_hashed(&bytes, self.seed, &self.layout))
            }
            KeyKind::Text => {
                let mut bytes = key.to_vec();
                let most = self.most_key();
                if !is_single {
                    // Keys have no zero at their end.
                    bytes.push(chunk as u8 + 1);
                }
                let place = Place::of_key(&bytes, self.seed, &self.layout).filter(|_| key.len() <= most);
                place.filter(|_| !key.is_empty()).ok_or_else(|| KeyError::TooLong(key.to_vec(), most))
            }
            KeyKind::Number if self.layout.is_dense() => {
                let number = std::str::from_utf8(key).ok().and_then(|text| text.parse::<u64>().ok());
                let number = number.ok_or_else(|| KeyError::NoNumber(key.to_vec(), u64::MAX))?;
                let elements = self.elements().unwrap_or(0);
                if number >= elements {
                    return Err(KeyError::Beyond(number, elements));
                }
                let element = number * u64::from(self.chunks()) + u64::from(chunk);
                Ok(Place::of_element(element, &self.layout))
            }
            KeyKind::Number => {
                let most = (Place::numbers(&self.layout) / u64::from(self.chunks())).saturating_sub(1);
                let number = std::str::from_utf8(key).ok().and_then(|text| text.trim().parse::<u64>().ok());
                let number = number.filter(|number| *number <= most);
                let place = number.and_then(|number| {
                    Place::of_number(number * u64::from(self.chunks()) + u64::from(chunk), &self.layout)
                });
                place.ok_or_else(|| KeyError::NoNumber(key.to_vec(), most))
            }
        }
    }

    /// Elements of the arrays in data, if it reduces such.
    pub fn elements(&self) -> Option<u64> {
        self.keys.filter(|_| self.layout.is_dense()).map(|(elements, _)| elements)
    }

    /// Bytes of the longest whole key.
    fn most_key(&self) -> usize {
        if self.chunks() == 1 { 16 } else { 15 }
    }

    /// The pairs of a key.
    pub fn pairs(&self, key: &[u8], values: &[u64], out: &mut Vec<Pair>) -> Result<(), KeyError> {
        let (bits, parts) = self.chunk();
        for (value, first) in values.iter().zip((0..).step_by(parts as usize)) {
            for part in 0..parts {
                let piece = (value >> (bits * part)) & ((1 << bits) - 1);
                if piece != 0 || first + part == 0 || parts == 1 {
                    out.push(Pair { place: self.place(key, first + part)?, value: piece as u32 });
                }
            }
        }
        Ok(())
    }
}

/// The pairs of a mapper for a reducer, and where hashed keys belong.
#[derive(Clone, Debug)]
pub struct Packed {
    /// One for each chunk of each key.
    pub pairs: Vec<Pair>,
    /// Keys by the place of their first chunk, where packets carry hashes.
    pub names: BTreeMap<Place, Vec<u8>>,
}

impl Packed {
    /// Packs combined pairs.
    pub fn new<'k>(
        reducer: &Reducer,
        combined: impl Iterator<Item = (&'k [u8], &'k [u64])>,
    ) -> Result<Packed, KeyError> {
        let (mut pairs, mut names) = (vec![], BTreeMap::new());
        let mut owners: BTreeMap<Place, &[u8]> = BTreeMap::new();
        for (key, values) in combined {
            let first = pairs.len();
            reducer.pairs(key, values, &mut pairs)?;
            if reducer.key == KeyKind::Hashed {
                for pair in &pairs[first..] {
                    if let Some(other) = owners.insert(pair.place, key) {
                        return Err(KeyError::Collide(other.to_vec(), key.to_vec()));
                    }
                }
                names.insert(pairs[first].place, key.to_vec());
            }
        }
        Ok(Packed { pairs, names })
    }
}

/// A row of a result: the key and its values.
pub type Row = (Vec<u8>, Vec<u128>);

/// The rows of a result: key and values, in the order of keys; of arrays, each element, 0 if no mapper has it. `names` are keys by the place of their first chunk, where packets carry
/// hashes. A place that nobody knows is an error.
pub fn rows(reducer: &Reducer, sums: &Sums, names: &BTreeMap<Place, Vec<u8>>) -> Result<Vec<Row>, Place> {
    let chunks = reducer.chunks();
    let mut rows: BTreeMap<Vec<u8>, Vec<u128>> = BTreeMap::new();
    let (bits, parts) = reducer.chunk();
    for element in 0..reducer.elements().unwrap_or(0) {
        rows.insert(element.to_string().into_bytes(), vec![0; reducer.values as usize]);
    }
    let mut add = |key: Vec<u8>, chunk: u32, sum: u64| {
        let values = rows.entry(key).or_insert_with(|| vec![0; reducer.values as usize]);
        if let Some(value) = values.get_mut((chunk / parts) as usize) {
            *value += u128::from(sum) << (bits * (chunk % parts));
        }
    };
    match reducer.key {
        KeyKind::Hashed => {
            let mut known = 0;
            for key in names.values() {
                for chunk in 0..chunks {
                    let place = reducer.place(key, chunk).ok();
                    if let Some(sum) = place.and_then(|place| sums.get(&place)) {
                        known += 1;
                        add(key.clone(), chunk, *sum);
                    }
                }
            }
            if known != sums.len() {
                let is_unknown = |place: &&Place| !names.contains_key(place);
                // With several chunks, those after the first are no names.
                return Err(*sums.keys().find(is_unknown).or(sums.keys().next()).expect("there is one"));
            }
        }
        KeyKind::Text => {
            for (place, sum) in sums {
                let mut key = place.key();
                let chunk = if chunks == 1 { 0 } else { key.pop().map_or(0, |last| u32::from(last) - 1) };
                add(key, chunk, *sum);
            }
        }
        KeyKind::Number => {
            for (place, sum) in sums {
                let number = match reducer.layout.is_dense() {
                    true => place.element(&reducer.layout),
                    false => place.number(&reducer.layout),
                };
                let (number, chunk) = (number / u64::from(chunks), (number % u64::from(chunks)) as u32);
                add(number.to_string().into_bytes(), chunk, *sum);
            }
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    if reducer.key == KeyKind::Number {
        rows.sort_by_key(|(key, _)| (key.len(), key.clone()));
    }
    Ok(rows)
}
