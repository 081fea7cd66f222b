//! Look-ups of handlers in tables of the program, as bytes: see `ir_handlers::Mirror`.

use crate::numbers;
use base_bits::Bits;
use dataplane_api::Mirrors;
use ir_handlers::Handler;

/// Writes the entry that fits the key; leaves it as it is where the handler has no such table, or where sizes differ.
pub fn look_up(handler: &Handler, mirrors: &dyn Mirrors, table: u32, key: &[u8], entry: &mut [u8]) {
    let mirror = handler.mirrors.iter().find(|mirror| mirror.number == table);
    let Some(mirror) = mirror.filter(|m| m.key.size == key.len() && m.entry.size == entry.len()) else {
        return;
    };
    let mut keys = vec![Bits::zero(1); mirror.key.fields.len()];
    numbers::decode(&mirror.key, key, &mut keys);
    let Some(found) = mirrors.look_up(&mirror.table, &keys) else { return };
    let mut values: Vec<Bits> = mirror.entry.fields.iter().map(|field| Bits::zero(field.width)).collect();
    let Some((first, count)) = mirror.data.get(found.action).copied() else { return };
    values[0] = Bits::from_bool(found.hit);
    values[1] = Bits::new(mirror.entry.fields[1].width, found.action as u128);
    values[first..first + count].iter_mut().zip(found.data).for_each(|(value, data)| *value = data);
    numbers::encode(&mirror.entry, &values, entry);
}
