//! Hashes of a key: CRC-32 of the key, turned by a different number of bits for each hash.
//!
//! A CRC is linear: with different constants in front of the key, keys that collide in one hash would collide in all.

use crate::Values;

/// The key as data of hash `index` of `count`, as a P4 expression.
pub(crate) fn expression(key: &str, bits: u32, index: u32, count: u32) -> String {
    match turned_by(bits, index, count) {
        0 => format!("{{ {key} }}"),
        by => format!("{{ {key}[{}:0] ++ {key}[{}:{by}] }}", by - 1, bits - 1),
    }
}

/// Hash `index` of `count` of a key.
pub(crate) fn of(key: u128, bits: u32, index: u32, count: u32) -> u32 {
    let by = turned_by(bits, index, count);
    let turned = if by == 0 { key } else { (key << (bits - by) | key >> by) & (u128::MAX >> (128 - bits)) };
    crc32(&turned.to_be_bytes()[16 - bits as usize / 8..])
}

fn turned_by(bits: u32, index: u32, count: u32) -> u32 {
    (index * bits / count) | u32::from(index > 0)
}

/// Cells of the same number in each row; a key has one in each, by the hash of the row.
pub(crate) struct Rows<T> {
    rows: Vec<Vec<T>>,
    key: u32,
}

impl<T: Clone + Default> Rows<T> {
    /// For a block with these `columns` and bits of its `key`.
    pub(crate) fn new(values: &Values, rows: u32) -> Rows<T> {
        let row = vec![T::default(); values.get("columns") as usize];
        Rows { rows: vec![row; rows as usize], key: values.small("key") }
    }

    /// The cells of a key.
    pub(crate) fn cells(&mut self, key: u128) -> impl Iterator<Item = &mut T> {
        let (bits, count) = (self.key, self.rows.len() as u32);
        self.rows.iter_mut().zip(0..).map(move |(row, number)| {
            let index = of(key, bits, number, count) as usize % row.len();
            &mut row[index]
        })
    }
}

/// CRC-32/ISO-HDLC.
fn crc32(data: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !data.iter().fold(u32::MAX, |crc, byte| crc >> 8 ^ TABLE[(crc as u8 ^ byte) as usize])
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 != 0 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
}
