//! Types whose values are strings for the control plane (`@p4runtime_translation(URI, string)`; P4Runtime 1.5, section
//! 8.4.6): the mapping between strings and values.
//!
//! ```text
//! "vrf-red"   the next value, from the middle of the type's values up, when it is first written
//! "7"         7: a decimal number stands for itself
//! 9           "9", if no other name is mapped to it
//! ```
//!
//! At any time, each string has one value, and each value one string. A string keeps its value while an entity of a
//! controller contains it, and after that until no value is free: then values that no entity contains are reused.
//! Values that data planes store (registers) or send do not hold a string. 0 is never assigned: it is the value of
//! memory that has not been written.
//!
//! Requests are translated on arrival and answers before they are sent; everything after that, and every device of a
//! rack, uses numbers only. All updates of a request are translated before any of them is done, so that a rollback
//! restores entries whose values are still mapped.

use crate::fault::{Result, Within, fault};
use crate::places::{Places, visit, visit_data};
use crate::store::Store;
use base_bits::num_bigint::BigUint;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{Entity, P4Data, PacketMetadata, Update};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The most strings of one type.
const MOST: usize = 1 << 18;
/// The longest string, in bytes.
const LONGEST: usize = 256;

/// The values of strings.
#[derive(Clone, Default, Debug)]
pub struct Names {
    places: Places,
    types: BTreeMap<String, Named>,
    /// Counts requests.
    round: u64,
}

/// The strings of one type.
#[derive(Clone, Debug)]
struct Named {
    bits: u32,
    values: BTreeMap<String, Held>,
    names: BTreeMap<BigUint, String>,
    /// Number of values tried since all were tried the last time.
    tried: u64,
}

#[derive(Clone, Debug)]
struct Held {
    value: BigUint,
    /// The request that had it last; `None` if the program has it.
    round: Option<u64>,
}

/// Values in use, by type.
type Used = BTreeMap<String, BTreeSet<BigUint>>;

impl Names {
    /// Names for a program: `info` is its P4Info, `plain` the same with numbers instead of strings, `initial` its own
    /// entries in numbers. Values in `initial` and in default actions are never assigned to strings.
    pub fn new(info: &P4Info, plain: &P4Info, initial: &[Update]) -> Names {
        let places = Places::new(info);
        let bits = |name: &String| Named {
            bits: crate::places::bits(plain, name),
            values: BTreeMap::new(),
            names: BTreeMap::new(),
            tried: 0,
        };
        let types = places.types().map(|name| (name.clone(), bits(name))).collect();
        let mut names = Names { places, types, round: 0 };
        names.note_all(initial, None);
        for call in plain.tables.iter().filter_map(|table| table.initial_default_action.as_ref()) {
            for argument in &call.arguments {
                let named = names.places.param(call.action_id, argument.param_id);
                if let Some(named) = named.and_then(|ty| names.types.get_mut(ty)) {
                    named.note(&argument.value, None);
                }
            }
        }
        names
    }

    /// True if no value is a string.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Takes over the mappings of another program for types that both have.
    pub fn adopt(&mut self, other: &Names) {
        for (name, own) in &mut self.types {
            let Some(known) = other.types.get(name).filter(|known| known.bits == own.bits) else { continue };
            for (text, held) in &known.values {
                if !own.values.contains_key(text) && !own.names.contains_key(&held.value) {
                    own.hold(text.clone(), held.value.clone(), Some(0));
                }
            }
            own.tried = known.tried;
        }
    }

    /// The updates of one request with numbers instead of strings; `store` is the state before them.
    pub fn lower<'u>(&mut self, updates: &'u [Update], store: &Store) -> Vec<Result<Cow<'u, Update>>> {
        self.round += 1;
        let is_same = self.is_empty();
        let one = |update| {
            if is_same { Ok(Cow::Borrowed(update)) } else { self.lower_one(update, store).map(Cow::Owned) }
        };
        updates.iter().map(one).collect()
    }

    fn lower_one(&mut self, update: &Update, store: &Store) -> Result<Update> {
        let mut update = update.clone();
        let (types, places, round) = (&mut self.types, &self.places, self.round);
        if let Some(entity) = &mut update.entity {
            let mut each = |ty: &str, bytes: &mut Vec<u8>| {
                let Some(named) = types.get_mut(ty) else { return Ok(()) };
                let text = text(bytes)?;
                let value = match named.known(text, Some(round))? {
                    Some(value) => value,
                    None => named.give(ty, text, round, &mut || used(places, store))?,
                };
                *bytes = value.to_bytes_be();
                Ok(())
            };
            visit(places, entity, &mut each).within("entity")?;
        }
        Ok(update)
    }

    /// A query with numbers instead of strings; `None` if it contains an unknown string.
    pub fn lower_query(&self, query: &Entity) -> Result<Option<Entity>> {
        let mut query = query.clone();
        let mut is_known = true;
        let mut each = |ty: &str, bytes: &mut Vec<u8>| {
            match self.value(ty, bytes)? {
                Some(value) => *bytes = value.to_bytes_be(),
                None => is_known = false,
            }
            Ok(())
        };
        visit(&self.places, &mut query, &mut each)?;
        Ok(is_known.then_some(query))
    }

    /// The current value of a string.
    fn value(&self, ty: &str, bytes: &[u8]) -> Result<Option<BigUint>> {
        let Some(named) = self.types.get(ty) else { return Ok(Some(BigUint::from_bytes_be(bytes))) };
        let text = text(bytes)?;
        match (named.values.get(text), numeral(text)) {
            (Some(held), _) => Ok(Some(held.value.clone())),
            (None, Some(value)) if named.fits(&value) && !named.names.contains_key(&value) => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    /// Numbers that did not come as strings: they are not handed out.
    pub fn note(&mut self, updates: &[Update]) {
        self.note_all(updates, Some(self.round));
    }

    /// A string that is a numeral has its number as value, so no other string of these entities gets such a value.
    pub fn note_numerals(&mut self, entities: &[Entity]) {
        for entity in entities {
            let types = &mut self.types;
            let mut each = |ty: &str, bytes: &mut Vec<u8>| {
                let value = std::str::from_utf8(bytes).ok().and_then(numeral);
                if let (Some(value), Some(named)) = (value, types.get_mut(ty))
                    && named.fits(&value)
                {
                    named.note(&value.to_bytes_be(), Some(self.round));
                }
                Ok(())
            };
            let _ = visit(&self.places, &mut entity.clone(), &mut each);
        }
    }

    fn note_all(&mut self, updates: &[Update], round: Option<u64>) {
        for entity in updates.iter().filter_map(|update| update.entity.as_ref()) {
            let types = &mut self.types;
            let mut each = |ty: &str, bytes: &mut Vec<u8>| {
                if let Some(named) = types.get_mut(ty) {
                    named.note(bytes, round);
                }
                Ok(())
            };
            // Strings are not matched in parts; such a match is refused where it is written.
            let _ = visit(&self.places, &mut entity.clone(), &mut each);
        }
    }

    /// True if an entity has a value that is a string on the controller's side.
    pub fn says_strings(&self, entity: &Entity) -> bool {
        let mut found = false;
        if !self.is_empty() {
            let mut each = |_: &str, _: &mut Vec<u8>| {
                found = true;
                Ok(())
            };
            let _ = visit(&self.places, &mut entity.clone(), &mut each);
        }
        found
    }

    /// Puts strings in the place of numbers.
    pub fn raise(&self, entity: &mut Entity) {
        if !self.is_empty() {
            // All values here are strings.
            let _ = visit(&self.places, entity, &mut |ty, bytes| self.raise_bytes(ty, bytes));
        }
    }

    /// The same, in a digest.
    pub fn raise_digest(&self, digest: u32, data: &mut P4Data) {
        if !self.is_empty() {
            let spec = self.places.digest(digest);
            let _ = visit_data(&self.places, spec, data, &mut |ty, bytes| self.raise_bytes(ty, bytes));
        }
    }

    /// The same, in the metadata of a packet to a controller.
    pub fn raise_packet(&self, metadata: &mut [PacketMetadata]) {
        for one in metadata {
            if let Some(ty) = self.places.packet_in(one.metadata_id) {
                let _ = self.raise_bytes(ty, &mut one.value);
            }
        }
    }

    /// The metadata of a packet from a controller, with numbers instead of strings.
    pub fn lower_packet(&self, metadata: &mut [PacketMetadata]) -> Result<()> {
        for (index, one) in metadata.iter_mut().enumerate() {
            let Some(ty) = self.places.packet_out(one.metadata_id) else { continue };
            let value = self.value(ty, &one.value).at("metadata", index)?;
            let Some(value) = value else {
                let why = format!("no entity uses it, and it is not a number of `{ty}`");
                return fault("the string is unknown", why).at("metadata", index);
            };
            one.value = value.to_bytes_be();
        }
        Ok(())
    }

    fn raise_bytes(&self, ty: &str, bytes: &mut Vec<u8>) -> Result<()> {
        let value = BigUint::from_bytes_be(bytes);
        let name = self.types.get(ty).and_then(|named| named.names.get(&value));
        *bytes = name.cloned().unwrap_or_else(|| value.to_string()).into_bytes();
        Ok(())
    }
}

/// All that controllers have written.
fn used(places: &Places, store: &Store) -> Used {
    let mut used = Used::new();
    let mut each = |ty: &str, bytes: &mut Vec<u8>| {
        used.entry(ty.to_string()).or_default().insert(BigUint::from_bytes_be(bytes));
        Ok(())
    };
    store.read_kept(&mut |mut entity| {
        let _ = visit(places, &mut entity, &mut each);
    });
    used
}

impl Named {
    fn fits(&self, value: &BigUint) -> bool {
        value.bits() <= u64::from(self.bits)
    }

    fn note(&mut self, bytes: &[u8], round: Option<u64>) {
        let value = BigUint::from_bytes_be(bytes);
        if !self.names.contains_key(&value) {
            self.hold(value.to_string(), value, round);
        }
    }

    fn hold(&mut self, text: String, value: BigUint, round: Option<u64>) {
        self.names.insert(value.clone(), text.clone());
        self.values.insert(text, Held { value, round });
    }

    /// The value that a string has already, which is in use again.
    fn known(&mut self, text: &str, round: Option<u64>) -> Result<Option<BigUint>> {
        if let Some(held) = self.values.get_mut(text) {
            held.round = held.round.and(round);
            return Ok(Some(held.value.clone()));
        }
        match numeral(text) {
            Some(value) if !self.fits(&value) => {
                let why = format!("{value} needs {} bits, and there are only {}", value.bits(), self.bits);
                fault("the value does not fit", why).code(Code::OutOfRange)
            }
            _ => Ok(None),
        }
    }

    /// A value for a string that has none.
    fn give(&mut self, ty: &str, text: &str, round: u64, used: &mut dyn FnMut() -> Used) -> Result<BigUint> {
        let wanted = numeral(text);
        // The second try comes after the values that no entity contains have been freed.
        for tries in 0..2 {
            let free = match &wanted {
                Some(value) => Some(value.clone()).filter(|value| !self.names.contains_key(value)),
                None => self.next(),
            };
            match free {
                Some(value) if self.values.len() < MOST => {
                    self.hold(text.to_string(), value.clone(), Some(round));
                    return Ok(value);
                }
                _ if tries == 0 => self.forget(used().get(ty), round),
                _ => {}
            }
        }
        let why = match wanted.and_then(|value| self.names.get(&value).cloned()) {
            Some(other) => format!("`{other}` has this value"),
            None => format!("`{ty}` has {} bits, and {} strings in use", self.bits, self.values.len()),
        };
        fault(format!("no value is free for `{text}`"), why).code(Code::ResourceExhausted)
    }

    /// Forgets unused mappings.
    fn forget(&mut self, used: Option<&BTreeSet<BigUint>>, round: u64) {
        let is_used = |held: &Held| {
            held.round.is_none_or(|last| last == round) || used.is_some_and(|used| used.contains(&held.value))
        };
        self.values.retain(|_, held| is_used(held));
        self.names.retain(|_, text| self.values.contains_key(text));
        self.tried = 0;
    }

    /// The next free value: from the middle upwards, then downwards, all ones last.
    fn next(&mut self) -> Option<BigUint> {
        let one = BigUint::from(1u8);
        let middle = &one << self.bits.checked_sub(1)?;
        let upper = &middle - &one;
        loop {
            let tried = BigUint::from(self.tried);
            let value = match &tried {
                tried if *tried < upper => &middle + tried,
                tried if *tried < &upper + &upper => tried - &upper + &one,
                tried if *tried == &upper + &upper => &middle + &upper,
                _ => return None,
            };
            self.tried += 1;
            if !self.names.contains_key(&value) {
                return Some(value);
            }
        }
    }
}

/// The number that a string is, written without leading zeros.
fn numeral(text: &str) -> Option<BigUint> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok()).flatten()
}

fn text(bytes: &[u8]) -> Result<&str> {
    if bytes.len() > LONGEST {
        return fault(
            "the string is too long",
            format!("it has {} bytes, and the limit is {LONGEST}", bytes.len()),
        );
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => fault("the value is not a string", "its bytes are not UTF-8"),
    }
}
