//! A program's input to a reduction: its own pairs, equal keys combined.

use super::link::{Go, Stock};
use super::{GroupError, Keys, Values, problem};
use aggregate::union::Smallest;
use aggregate::{Layout, Op, Pair, Place, key};
use std::collections::BTreeMap;

/// The longest key, in bytes.
const MOST_KEY: usize = 1 << 12;

/// Seed of the hashes from which the union is estimated.
const SKETCH: u64 = 0x5eed;

/// Keys of a call.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    Number(u64),
    Text(Vec<u8>),
}

impl Key {
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Key::Number(number) => number.to_be_bytes().to_vec(),
            Key::Text(text) => text.clone(),
        }
    }

    pub fn of_bytes(bytes: &[u8], is_text: bool) -> Option<Key> {
        match is_text {
            true => Some(Key::Text(bytes.to_vec())),
            false => bytes.try_into().ok().map(|bytes| Key::Number(u64::from_be_bytes(bytes))),
        }
    }

    /// The place of a chunk; none if the layout has none for numbers that large.
    pub fn place(
        &self,
        chunk: u32,
        chunks: u32,
        is_hashed: bool,
        seed: u64,
        layout: &Layout,
    ) -> Option<Place> {
        match self {
            Key::Number(number) if !is_hashed => {
                let number = number.checked_mul(chunks.into())?.checked_add(chunk.into())?;
                match layout.is_dense() {
                    true => Some(Place::of_element(number, layout)),
                    false => Place::of_number(number, layout),
                }
            }
            _ => {
                let mut bytes = self.bytes();
                bytes.extend(chunk.to_be_bytes());
                Some(Place::of_hashed(&bytes, seed, layout))
            }
        }
    }
}

/// Numbers that need no hash: keys below it have places for `chunks` pairs.
pub(super) fn numbers(layout: &Layout, chunks: u32) -> u64 {
    match layout.tag_bits {
        Layout::NO_TAG => u64::MAX,
        Layout::SHORT_TAG => Place::numbers(layout) / u64::from(chunks.max(1)),
        _ => 0,
    }
}

/// Combined pairs, in the order of keys.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Combined(pub Vec<(Key, i128)>);

pub(super) fn fold(op: Op, a: i128, b: i128) -> i128 {
    match op {
        Op::Add => a.saturating_add(b),
        Op::Max => a.max(b),
        Op::Min => a.min(b),
        Op::Or => a | b,
    }
}

impl Combined {
    /// The places of an array.
    pub fn of_array(values: &Values) -> Combined {
        Combined((0..values.len()).map(|at| (Key::Number(at as u64), values.get(at))).collect())
    }

    /// Pairs of keys and values, equal keys combined.
    pub fn of_keys(op: Op, keys: &Keys, values: &Values) -> Result<Combined, GroupError> {
        if keys.len() != values.len() {
            let title = format!("{} keys and {} values", keys.len(), values.len());
            return Err(problem(title, "each key has one value"));
        }
        let mut pairs = vec![];
        for at in 0..keys.len() {
            let key = match keys {
                Keys::Numbers(numbers) => {
                    let number = numbers.get(at);
                    let negative =
                        || problem(format!("key {at} is {number}"), "numbers as keys are from 0 to 2^64 - 1");
                    Key::Number(u64::try_from(number).map_err(|_| negative())?)
                }
                Keys::Texts(texts) if texts[at].len() > MOST_KEY => {
                    let title = format!("key {at} has {} bytes", texts[at].len());
                    return Err(problem(title, format!("keys have at most {MOST_KEY}")));
                }
                Keys::Texts(texts) => Key::Text(texts[at].to_vec()),
            };
            pairs.push((key, values.get(at)));
        }
        pairs.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        pairs.dedup_by(|other, first| {
            let is_same = other.0 == first.0;
            if is_same {
                first.1 = fold(op, first.1, other.1);
            }
            is_same
        });
        let is_wide = |value: &i128| *value > i128::from(u64::MAX) || *value < i128::from(i64::MIN);
        match pairs.iter().find(|(_, value)| is_wide(value)) {
            Some((key, _)) => Err(problem(
                format!("the sum of {} is wider than 64 bits", key.shown()),
                "use a coarser unit",
            )),
            None => Ok(Combined(pairs)),
        }
    }

    pub fn stock(&self) -> Stock {
        let values = || self.0.iter().map(|(_, value)| *value);
        let (least, most) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
        let hashes = Smallest::of(self.0.iter().map(|(key, _)| key::hash(&key.bytes(), SKETCH)));
        let largest = match self.0.last() {
            Some((Key::Number(number), _)) => *number,
            _ => 0,
        };
        Stock {
            keys: self.0.len() as u64,
            largest,
            // A least value that is larger than all of i64 is of no use.
            least: least.try_into().unwrap_or(i64::MAX),
            most: most.try_into().unwrap_or(0),
            negative: (most < 0).then(|| most.try_into().unwrap_or(i64::MIN)),
            hashes: hashes.hashes().to_vec(),
        }
    }

    /// The pairs of packets, and where hashed keys belong.
    pub fn pairs(&self, go: &Go, seed: u64, layout: &Layout) -> Result<(Vec<Pair>, Names), GroupError> {
        let (mut pairs, mut names) = (vec![], Names::new());
        for (key, value) in &self.0 {
            for (chunk, piece) in go.form.pieces(*value) {
                let place = key.place(chunk, go.form.chunks(), go.is_hashed, seed, layout);
                let place =
                    place.ok_or_else(|| problem(format!("{} has no place", key.shown()), "report it"))?;
                pairs.push(Pair { place, value: piece });
                if !go.is_hashed {
                    continue;
                }
                if let Some(other) = names.insert(place, key.clone()).filter(|other| other != key) {
                    let title = format!("{} and {} have the same hash", other.shown(), key.shown());
                    return Err(problem(title, "use another `seed`, or `profile = software`"));
                }
            }
        }
        Ok((pairs, names))
    }
}

impl Key {
    pub fn shown(&self) -> String {
        match self {
            Key::Number(number) => format!("key {number}"),
            Key::Text(text) => format!("key `{}`", String::from_utf8_lossy(text)),
        }
    }
}

/// Keys by place.
pub(super) type Names = BTreeMap<Place, Key>;
