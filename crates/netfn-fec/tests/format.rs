//! The format from its description alone: an encoder and a decoder that share nothing with the crate's, not its field
//! either. Each side reads the other's output.

use crate::support;

use base_time::Rng;
use support::{decode, decoder, encode, encoder, frame, frames, us};

/// The field of 2^16 elements as `code` describes it: an element is a sum of a basis, and products are of polynomials.
struct Field {
    /// Polynomials of elements, indexed by the element as it is on the wire.
    polynomial: Vec<u16>,
    /// The other way round.
    wire: Vec<u16>,
}

const POLYNOMIAL: u32 = 0x1_002d;
const BASIS: [u16; 16] = [
    0x0001, 0xacca, 0x3c0e, 0x163e, 0xc582, 0xed2e, 0x914c, 0x4012, 0x6c98, 0x10d8, 0x6a72, 0xb900, 0xfdb8,
    0xfb34, 0xff38, 0x991e,
];

/// The product of polynomials.
fn times(a: u16, b: u16) -> u16 {
    let (mut product, mut shifted) = (0u32, u32::from(a));
    for bit in 0..16 {
        if b >> bit & 1 == 1 {
            product ^= shifted;
        }
        shifted <<= 1;
        if shifted >> 16 == 1 {
            shifted ^= POLYNOMIAL;
        }
    }
    product as u16
}

impl Field {
    fn new() -> Field {
        let of =
            |element: u16| (0..16).filter(|bit| element >> bit & 1 == 1).fold(0, |sum, bit| sum ^ BASIS[bit]);
        let polynomial: Vec<u16> = (0..=u16::MAX).map(of).collect();
        let mut wire = vec![0; 1 << 16];
        (0..=u16::MAX).for_each(|element| wire[usize::from(polynomial[usize::from(element)])] = element);
        Field { polynomial, wire }
    }

    fn product(&self, a: u16, b: u16) -> u16 {
        let at = |element: u16| self.polynomial[usize::from(element)];
        self.wire[usize::from(times(at(a), at(b)))]
    }

    /// `a` to the power 2^16 - 2.
    fn inverse(&self, a: u16) -> u16 {
        let mut power = a;
        let mut all = 1;
        for _ in 1..16 {
            power = self.product(power, power);
            all = self.product(all, power);
        }
        all
    }

    /// Row `row`, column `column` of the matrix.
    fn coefficient(&self, row: u16, column: u16) -> u16 {
        let y = 16 + column;
        self.product(y, self.inverse(row ^ y))
    }

    /// `sum += factor * bytes`, in chunks of 64 bytes: the low bytes of 32 elements, then the high ones.
    fn add(&self, sum: &mut [u8], factor: u16, bytes: &[u8]) {
        for at in (0..bytes.len()).filter(|at| at % 64 < 32) {
            let term = self.product(factor, u16::from_le_bytes([bytes[at], bytes[at + 32]])).to_le_bytes();
            sum[at] ^= term[0];
            sum[at + 32] ^= term[1];
        }
    }
}

/// A frame's length and bytes, with zeros up to `chunks` chunks.
fn symbol(frame: &[u8], chunks: usize) -> Vec<u8> {
    let mut symbol = [&(frame.len() as u16).to_be_bytes(), frame].concat();
    symbol.resize(chunks * 64, 0);
    symbol
}

/// The frames of a block, written by hand: `k` is that of full blocks, `before` what the block before had.
fn written(field: &Field, sent: &[Vec<u8>], k: u8, h: u8, block: u32, before: u8) -> Vec<Vec<u8>> {
    let head = |kind: u8, index: usize, count: u8, length: usize| {
        let numbers = [0x08, 0x1c, kind << 4 | 2, index as u8, count, before, 0, 7];
        [&numbers[..], &(length as u16).to_be_bytes(), &block.to_be_bytes()].concat()
    };
    let data = sent
        .iter()
        .enumerate()
        .map(|(index, frame)| [&frame[..12], &head(1, index, k, frame.len()), &frame[12..]].concat());
    let longest = sent.iter().map(Vec::len).max().unwrap() + 2;
    let chunks = longest.div_ceil(64);
    let parity = (0..h).map(|row| {
        let mut coded = vec![0; chunks * 64];
        for (column, frame) in (0..).zip(sent) {
            field.add(&mut coded, field.coefficient(row.into(), column), &symbol(frame, chunks));
        }
        coded.truncate(if row == 0 { longest } else { coded.len() });
        [&sent[0][..12], &head(2, row.into(), sent.len() as u8, coded.len()), &[0, 0], &coded].concat()
    });
    data.chain(parity).collect()
}

/// All data frames of a block from those of its frames that came, if there are enough.
fn read(field: &Field, link: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let parity: Vec<&Vec<u8>> = link.iter().filter(|frame| frame[14] >> 4 == 2).collect();
    let count = usize::from(link.iter().find(|frame| frame[14] >> 4 == 2)?[16]);
    let mut all: Vec<Option<Vec<u8>>> = vec![None; count];
    for frame in link.iter().filter(|frame| frame[14] >> 4 == 1) {
        all[usize::from(frame[15])] = Some([&frame[..12], &frame[26..]].concat());
    }
    let lost: Vec<usize> = (0..count).filter(|at| all[*at].is_none()).collect();
    let rows = parity.get(..lost.len())?;
    let chunks = parity.iter().map(|frame| (frame.len() - 28).div_ceil(64)).max()?;
    // Each row as an equation: factors of the lost ones, and what they sum up to.
    let mut equations: Vec<(Vec<u16>, Vec<u8>)> = vec![];
    for frame in rows {
        let row = u16::from(frame[15]);
        let mut sum = frame[28..].to_vec();
        sum.resize(chunks * 64, 0);
        for (column, frame) in all.iter().enumerate() {
            if let Some(frame) = frame {
                field.add(&mut sum, field.coefficient(row, column as u16), &symbol(frame, chunks));
            }
        }
        equations.push((lost.iter().map(|column| field.coefficient(row, *column as u16)).collect(), sum));
    }
    for at in 0..lost.len() {
        let pivot = (at..lost.len()).find(|row| equations[*row].0[at] != 0)?;
        equations.swap(at, pivot);
        let (factors, sum) = equations[at].clone();
        let scale = field.inverse(factors[at]);
        for (row, other) in equations.iter_mut().enumerate() {
            let by = if row == at { scale ^ 1 } else { field.product(other.0[at], scale) };
            other.0.iter_mut().zip(&factors).for_each(|(own, factor)| *own ^= field.product(by, *factor));
            field.add(&mut other.1, by, &sum);
        }
    }
    for (index, (_, symbol)) in lost.into_iter().zip(equations) {
        let length = usize::from(u16::from_be_bytes([symbol[0], symbol[1]]));
        all[index] = Some(symbol[2..2 + length].to_vec());
    }
    all.into_iter().collect()
}

#[test]
fn the_field_is_one() {
    let field = Field::new();
    // Each of the basis is a root of x^2 + x = the one before, so that the basis is Cantor's.
    assert!(BASIS.windows(2).all(|two| times(two[1], two[1]) ^ two[1] == two[0]));
    let mut rng = Rng::new(1);
    for _ in 0..500 {
        let [a, b, c] = [0; 3].map(|_: u16| rng.between(1, 65_535) as u16);
        assert_eq!(field.product(a, field.inverse(a)), 1);
        assert_eq!(field.product(a, b ^ c), field.product(a, b) ^ field.product(a, c));
    }
}

#[test]
fn what_is_written_by_hand_is_decoded() {
    let field = Field::new();
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let (k, h) = (rng.between(1, 12) as u8, rng.between(1, 6) as u8);
        let mut receiver = decoder(1000, 0, 0, 0);
        let (mut block, mut before, mut number) = (u32::MAX - 2, 0, 0);
        let (mut got, mut wanted) = (vec![], vec![]);
        for _ in 0..6 {
            // Some are closed before they are full.
            let count = if rng.chance(1, 3) { rng.between(1, k.into()) } else { k.into() } as u8;
            let sent: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    number += 1;
                    frame(number, rng.between(18, 250) as usize)
                })
                .collect();
            let mut link = written(&field, &sent, k, h, block, before);
            for _ in 0..rng.below(u64::from(h) + 1) {
                link.remove(rng.index(link.len()));
            }
            for frame in &link {
                got.extend(decode(&mut *receiver, frame, us(1)).iter().map(|e| support::untagged(&e.frame)));
            }
            wanted.extend(sent);
            (block, before) = (block.wrapping_add(1), count);
        }
        assert_eq!(got, wanted, "seed {seed}: k {k}, h {h}");
    }
}

#[test]
fn what_is_encoded_is_read_by_hand() {
    let field = Field::new();
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let (k, h) = (rng.between(1, 12) as u8, rng.between(1, 6) as u8);
        let mut sender = encoder(100);
        for block in 0..4u32 {
            let sent: Vec<Vec<u8>> =
                (0..k).map(|n| frame(block * 100 + u32::from(n), rng.between(18, 250) as usize)).collect();
            let mut link: Vec<Vec<u8>> =
                sent.iter().flat_map(|frame| frames(encode(&mut *sender, frame, k, h, us(0)))).collect();
            assert_eq!(link.len(), usize::from(k + h));
            for _ in 0..rng.below(u64::from(h) + 1) {
                link.remove(rng.index(link.len()));
            }
            if link.iter().any(|frame| frame[14] >> 4 == 2) {
                assert_eq!(read(&field, &link), Some(sent), "seed {seed}: k {k}, h {h}");
            }
        }
    }
}
