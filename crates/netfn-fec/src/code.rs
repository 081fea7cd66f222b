//! The code: parity rows of a block of frames, and reconstruction of lost frames.
//!
//! A frame's *symbol* is its length in two bytes and its bytes, zeros after. Row `r` of the parity is the sum of
//! `a(r, i) * symbol i`, with `a(r, i) = (x0 + yi) / (xr + yi)` for `xr = r` and `yi = 16 + i`: a Cauchy matrix with its columns
//! scaled so that row 0 is the plain sum. All its square parts can be inverted, so any `e` rows give any `e` lost frames.
//!
//! Vectors are chunks of 64 bytes, each 32 elements: the low bytes, then the high ones, as `reed-solomon-simd` has them. An element with bits
//! `ei` is the polynomial `e0 b0 + e1 b1 + ...` modulo x^16 + x^5 + x^3 + x^2 + 1, of Cantor's basis: b0 = 1, and each other one is a root of
//! x^2 + x = the one before (0001 acca 3c0e 163e c582 ed2e 914c 4012 6c98 10d8 6a72 b900 fdb8 fb34 ff38 991e).

use reed_solomon_simd::engine::{DefaultEngine, Engine, GF_MODULUS, tables, utils};

/// The most data frames of a block.
pub const MOST_DATA: usize = 128;
/// The most parity frames of a block.
pub const MOST_PARITY: usize = 16;

/// Bytes of a symbol beside its frame.
const LENGTH: usize = 2;

type Chunk = [u8; 64];

/// The library's arithmetic, for the processor that this runs on.
pub struct Field {
    engine: DefaultEngine,
    scratch: Vec<Chunk>,
}

impl Default for Field {
    fn default() -> Field {
        Field { engine: DefaultEngine::new(), scratch: vec![] }
    }
}

impl Clone for Field {
    fn clone(&self) -> Field {
        Field::default()
    }
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Field")
    }
}

/// The parity rows of a block that is being filled.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Parity {
    /// The longest symbol so far, in bytes.
    pub(crate) longest: usize,
    pub(crate) rows: Vec<Vec<Chunk>>,
}

impl Parity {
    /// `rows` rows of an empty block.
    pub fn new(rows: usize) -> Parity {
        Parity { longest: 0, rows: vec![vec![]; rows] }
    }

    /// Begins a new block in the memory of this one.
    pub fn clear(&mut self) {
        self.longest = 0;
        self.rows.iter_mut().for_each(Vec::clear);
    }

    /// Adds data frame `index`.
    pub fn add(&mut self, field: &mut Field, index: usize, frame: &[u8]) {
        self.longest = self.longest.max(frame.len() + LENGTH);
        if !self.rows.is_empty() {
            add_to_rows(field, index, frame, self.rows.iter_mut().enumerate());
        }
    }

    /// The coded bytes of row `row`. The first is as long as the longest symbol, the others are whole chunks.
    pub fn coded(&self, row: usize) -> &[u8] {
        let bytes = self.rows[row].as_flattened();
        if row == 0 { &bytes[..self.longest.min(bytes.len())] } else { bytes }
    }
}

/// `rows[r] += a(r, index) * symbol` for each `(r, rows[r])`, in rising order of `r`.
fn add_to_rows<'a>(
    field: &mut Field,
    index: usize,
    frame: &[u8],
    rows: impl Iterator<Item = (usize, &'a mut Vec<Chunk>)>,
) {
    let Field { engine, scratch } = field;
    let chunks = (frame.len() + LENGTH).div_ceil(64);
    scratch.clear();
    scratch.resize(chunks, [0; 64]);
    let bytes = scratch.as_flattened_mut();
    bytes[..LENGTH].copy_from_slice(&(frame.len() as u16).to_be_bytes());
    bytes[LENGTH..][..frame.len()].copy_from_slice(frame);
    let mut done = 0;
    for (row, sum) in rows {
        let wanted = log_coefficient(row, index);
        multiply(engine, scratch, log_quotient(wanted, done));
        done = wanted;
        if sum.len() < chunks {
            sum.resize(chunks, [0; 64]);
        }
        utils::xor(&mut sum[..chunks], scratch);
    }
}

fn multiply(engine: &DefaultEngine, vector: &mut [Chunk], log: u16) {
    if log != 0 {
        engine.mul(vector, log);
    }
}

/// The logarithm of `a(row, index)`.
fn log_coefficient(row: usize, index: usize) -> u16 {
    let y = (MOST_PARITY + index) as u16;
    log_quotient(log(y), log(row as u16 ^ y))
}

/// The logarithm of an element that is not zero, below the field's order.
fn log(element: u16) -> u16 {
    tables::get_exp_log().log[usize::from(element)] % GF_MODULUS
}

fn exp(log: u16) -> u16 {
    tables::get_exp_log().exp[usize::from(log)]
}

fn log_quotient(of: u16, by: u16) -> u16 {
    if of >= by { of - by } else { of + (GF_MODULUS - by) }
}

fn product(a: u16, b: u16) -> u16 {
    let (exp, log_table) = (&tables::get_exp_log().exp, &tables::get_exp_log().log);
    if b == 0 { 0 } else { tables::mul(a, log(b), exp, log_table) }
}

/// The lost frames of a block, each with its index: `data` has the received frames, `parity` the received rows with
/// their coded bytes. `None` if there are too few, or if they are inconsistent.
pub fn recover(
    field: &mut Field,
    data: &[Option<&[u8]>],
    parity: &[(usize, &[u8])],
) -> Option<Vec<(usize, Vec<u8>)>> {
    let lost: Vec<usize> = (0..data.len()).filter(|i| data[*i].is_none()).collect();
    let mut used = parity.get(..lost.len())?.to_vec();
    used.sort_unstable_by_key(|(row, _)| *row);
    let chunks = used.iter().map(|(_, coded)| coded.len().div_ceil(64)).max()?;
    let fits = |frame: &[u8]| frame.len() + LENGTH <= chunks * 64;
    if !data.iter().flatten().all(|frame| fits(frame)) {
        return None;
    }
    let mut sums: Vec<Vec<Chunk>> = used.iter().map(|(_, coded)| vector(coded, chunks)).collect();
    for (index, frame) in (0..).zip(data) {
        if let Some(frame) = frame {
            add_to_rows(field, index, frame, used.iter().map(|(row, _)| *row).zip(&mut sums));
        }
    }
    let rows: Vec<usize> = used.iter().map(|(row, _)| *row).collect();
    let inverse = inverse(&rows, &lost)?;
    let solved = lost.iter().zip(inverse).map(|(index, factors)| {
        let symbol = combined(field, &sums, &factors);
        frame_of(symbol.as_flattened()).map(|frame| (*index, frame.to_vec()))
    });
    solved.collect()
}

fn vector(bytes: &[u8], chunks: usize) -> Vec<Chunk> {
    let mut vector = vec![[0; 64]; chunks];
    vector.as_flattened_mut()[..bytes.len()].copy_from_slice(bytes);
    vector
}

/// The sum of `vectors`, each times its factor.
fn combined(field: &mut Field, vectors: &[Vec<Chunk>], factors: &[u16]) -> Vec<Chunk> {
    let mut sum: Option<Vec<Chunk>> = None;
    for (vector, factor) in vectors.iter().zip(factors).filter(|(_, factor)| **factor != 0) {
        let mut term = vector.clone();
        multiply(&field.engine, &mut term, log(*factor));
        match &mut sum {
            Some(sum) => utils::xor(sum, &term),
            None => sum = Some(term),
        }
    }
    sum.unwrap_or_default()
}

/// The frame of a symbol, if its length fits and the remaining bytes are zero.
fn frame_of(symbol: &[u8]) -> Option<&[u8]> {
    let (length, bytes) = symbol.split_first_chunk::<LENGTH>()?;
    let (frame, behind) = bytes.split_at_checked(u16::from_be_bytes(*length).into())?;
    behind.iter().all(|byte| *byte == 0).then_some(frame)
}

/// The inverse of the matrix `a(rows, columns)`, by Gauss and Jordan.
fn inverse(rows: &[usize], columns: &[usize]) -> Option<Vec<Vec<u16>>> {
    let size = columns.len();
    let mut matrix: Vec<Vec<u16>> = (0..size)
        .map(|at| {
            let row = columns.iter().map(|column| exp(log_coefficient(rows[at], *column)));
            row.chain((0..size).map(|other| u16::from(other == at))).collect()
        })
        .collect();
    for at in 0..size {
        let pivot = (at..size).find(|row| matrix[*row][at] != 0)?;
        matrix.swap(at, pivot);
        let scale = exp(log_quotient(0, log(matrix[at][at])));
        matrix[at].iter_mut().for_each(|value| *value = product(*value, scale));
        let own = matrix[at].clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(row, _)| *row != at) {
            let factor = row[at];
            row.iter_mut().zip(&own).for_each(|(value, own)| *value ^= product(*own, factor));
        }
    }
    Some(matrix.into_iter().map(|row| row[size..].to_vec()).collect())
}
