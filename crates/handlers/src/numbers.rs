//! Values of a program as the bytes of a request or a response: see `ir_handlers::Struct`.

use base_bits::Bits;
use ir_handlers::Struct;

/// Writes one number for each field.
pub fn encode(fields: &Struct, values: &[Bits], to: &mut [u8]) {
    for (field, value) in fields.fields.iter().zip(values) {
        let Some(place) = to.get_mut(field.at..field.at + field.size) else { return };
        if field.width > 64 {
            let bytes = value.to_be_bytes();
            let length = bytes.len().min(place.len());
            place.fill(0);
            place[field.size - length..].copy_from_slice(&bytes[bytes.len() - length..]);
        } else {
            put(place, value.low_u64());
        }
        let unused = field.size as u32 * 8 - field.width;
        if unused > 0 && field.kind.is_signed() && value.bit(field.width - 1) {
            place[0] |= 0xffu8 << (8 - unused);
        }
    }
}

/// Reads one number for each field; bits that a field does not have are dropped.
pub fn decode(fields: &Struct, from: &[u8], values: &mut [Bits]) {
    for (field, value) in fields.fields.iter().zip(values) {
        let Some(bytes) = from.get(field.at..field.at + field.size) else { return };
        *value = match field.kind {
            ir_handlers::FieldKind::Bool => Bits::from_bool(bytes != [0]),
            _ if field.width > 64 => Bits::from_be_bytes(field.width, bytes),
            _ => {
                let word = bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                Bits::new(field.width, u128::from(word))
            }
        };
    }
}

/// The last bytes of a number. Sizes of machine words are written as such.
fn put(place: &mut [u8], value: u64) {
    let bytes = value.to_be_bytes();
    match place {
        [byte] => *byte = value as u8,
        [_, _] => place.copy_from_slice(&bytes[6..]),
        [_, _, _, _] => place.copy_from_slice(&bytes[4..]),
        _ => place.copy_from_slice(&bytes[8 - place.len()..]),
    }
}

/// The fields of a request with their values, for people.
pub fn shown(fields: &Struct, bytes: &[u8]) -> String {
    let mut values = vec![Bits::zero(1); fields.fields.len()];
    decode(fields, bytes, &mut values);
    let each = fields.fields.iter().zip(values);
    let each = each.map(|(field, value)| format!("{} = {:#x}", field.path.join("."), value.to_biguint()));
    each.collect::<Vec<_>>().join(", ")
}

/// The bytes of the key in a request.
pub fn key(request: &Struct, key: &Struct, bytes: &[u8]) -> Vec<u8> {
    let mut made = vec![];
    for field in &key.fields {
        let whole = request.field(&field.path).and_then(|f| bytes.get(f.at..f.at + f.size));
        made.extend_from_slice(whole.unwrap_or_default());
    }
    made
}
