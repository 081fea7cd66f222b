//! Keys and values in etcd: batches to operations, and back.
//!
//! A value longer than [`PIECE`] is split. The key of a row is preceded by its length: no key is then the beginning of
//! another, and a range of pieces is of one row.

use crate::api::request_op::Request;
use crate::api::{DeleteRangeRequest, KeyValue, PutRequest, RequestOp};
use crate::cluster::EtcdError;
use p4runtime_proto::to_binary;
use state_journal::{Batch, FORMAT, Kept};
use std::collections::BTreeSet;

/// Most bytes of one value.
const PIECE: usize = 256 << 10;

/// Most operations and bytes of one transaction; etcd refuses more than 128 operations or 1.5 MiB.
const MOST_OPERATIONS: usize = 100;
const MOST_BYTES: usize = 1 << 20;

/// The keys of one state.
#[derive(Clone, Debug)]
pub struct Layout {
    root: String,
}

/// The state as it was read.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) kept: Kept,
    pub(crate) generation: u64,
    /// Keys of rows with several pieces.
    pub(crate) long: BTreeSet<Vec<u8>>,
}

/// The first key after all that begin with `prefix`, which ends with an ASCII character.
pub(crate) fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

pub(crate) fn put(key: Vec<u8>, value: Vec<u8>) -> RequestOp {
    RequestOp { request: Some(Request::RequestPut(PutRequest { key, value, lease: 0 })) }
}

pub(crate) fn delete(key: Vec<u8>, range_end: Vec<u8>) -> RequestOp {
    RequestOp { request: Some(Request::RequestDeleteRange(DeleteRangeRequest { key, range_end })) }
}

fn size(operation: &RequestOp) -> usize {
    match &operation.request {
        Some(Request::RequestPut(put)) => put.key.len() + put.value.len(),
        Some(Request::RequestDeleteRange(delete)) => delete.key.len() + delete.range_end.len(),
        _ => 0,
    }
}

/// Operations in order, as many in one transaction as etcd accepts.
pub(crate) fn transactions(operations: Vec<RequestOp>) -> Vec<Vec<RequestOp>> {
    let (mut all, mut last, mut bytes) = (vec![], vec![], 0);
    for operation in operations {
        let more = size(&operation);
        if last.len() == MOST_OPERATIONS || (bytes + more > MOST_BYTES && !last.is_empty()) {
            all.push(std::mem::take(&mut last));
            bytes = 0;
        }
        bytes += more;
        last.push(operation);
    }
    all.push(last);
    all
}

impl Layout {
    /// The keys of the state of this name.
    pub fn new(name: &str) -> Layout {
        Layout { root: format!("p4rack/{name}/") }
    }

    pub(crate) fn candidates(&self) -> Vec<u8> {
        format!("{}leader/", self.root).into_bytes()
    }

    pub(crate) fn candidate(&self, lease: i64) -> Vec<u8> {
        format!("{}leader/{lease:016x}", self.root).into_bytes()
    }

    pub(crate) fn state(&self) -> Vec<u8> {
        self.at("")
    }

    fn at(&self, name: &str) -> Vec<u8> {
        format!("{}state/{name}", self.root).into_bytes()
    }

    pub(crate) fn mark(&self) -> Vec<u8> {
        self.at("mark")
    }

    pub(crate) fn format(&self) -> Vec<u8> {
        self.at("format")
    }

    pub(crate) fn journal(&self) -> Vec<u8> {
        self.at("journal/")
    }

    pub(crate) fn journal_entry(&self, number: usize) -> Vec<u8> {
        self.at(&format!("journal/{number:08x}"))
    }

    /// Number of entries of the journal, if it is whole.
    pub(crate) fn journal_is_whole(&self) -> Vec<u8> {
        self.at("journal/whole")
    }

    fn rows(&self, generation: u64) -> Vec<u8> {
        self.at(&format!("rows/{generation:016x}/"))
    }

    fn row(&self, generation: u64, key: &[u8]) -> Vec<u8> {
        let mut row = self.rows(generation);
        row.extend((key.len() as u32).to_be_bytes());
        row.extend(key);
        row
    }

    fn program(&self, generation: u64) -> Vec<u8> {
        self.at(&format!("program/{generation:016x}/"))
    }

    /// The operations that do a batch. `generation` is the present one, or a new one if the batch has a program. `long` has the rows that may have
    /// several pieces.
    pub(crate) fn operations(
        &self,
        batch: &Batch,
        generation: u64,
        long: &BTreeSet<Vec<u8>>,
    ) -> Vec<RequestOp> {
        let mut operations = vec![];
        if let Some(program) = &batch.program {
            operations.push(delete(self.rows(0), self.rows(generation)));
            operations.push(delete(self.program(0), self.program(generation)));
            operations.push(put(self.format(), FORMAT.as_bytes().to_vec()));
            operations.push(put(self.at("generation"), generation.to_string().into_bytes()));
            operations.extend(pieces(&self.program(generation), &to_binary(program)));
        }
        for (key, value) in &batch.rows {
            let row = self.row(generation, key);
            let count = value.as_ref().map_or(0, |value| piece_count(value));
            operations.extend(value.iter().flat_map(|value| pieces(&row, value)));
            if count == 0 || long.contains(key) {
                operations.push(delete(piece(&row, count), piece(&row, u32::MAX as usize)));
            }
        }
        operations
    }

    /// Reads the pairs under [`Layout::state`], which are in the order of their keys.
    pub(crate) fn read(&self, pairs: &[KeyValue]) -> Result<Found, EtcdError> {
        let unreadable =
            |name: &str| EtcdError::Unreadable(format!("`{name}` is damaged, and stays as it is"));
        let text = |name: &str| {
            let pair = pairs.iter().find(|pair| pair.key == self.at(name));
            pair.map(|pair| String::from_utf8_lossy(&pair.value).into_owned())
        };
        let generation = text("generation").map(|text| text.parse().map_err(|_| unreadable("generation")));
        let generation = generation.transpose()?.unwrap_or(0);
        let mut kept = Kept { format: text("format").unwrap_or_default(), ..Kept::default() };
        let mut long = BTreeSet::new();
        let (rows, program) = (self.rows(generation), self.program(generation));
        for pair in pairs {
            if pair.key.starts_with(&program) {
                kept.program.extend(&pair.value);
            } else if let Some(rest) = pair.key.strip_prefix(rows.as_slice()) {
                let length = rest.first_chunk().map(|length| u32::from_be_bytes(*length) as usize);
                let end = length.and_then(|length| length.checked_add(4));
                let key = end.and_then(|end| rest.get(4..end)).ok_or_else(|| unreadable("rows"))?;
                if let Some(first) = kept.rows.get_mut(key) {
                    first.extend(&pair.value);
                    long.insert(key.to_vec());
                } else {
                    kept.rows.insert(key.to_vec(), pair.value.clone());
                }
            }
        }
        Ok(Found { kept, generation, long })
    }
}

/// True if a value has several pieces.
pub(crate) fn is_long(value: &[u8]) -> bool {
    piece_count(value) > 1
}

fn piece_count(value: &[u8]) -> usize {
    value.len().div_ceil(PIECE).max(1)
}

fn piece(key: &[u8], number: usize) -> Vec<u8> {
    let mut key = key.to_vec();
    key.extend((number as u32).to_be_bytes());
    key
}

fn pieces(key: &[u8], value: &[u8]) -> Vec<RequestOp> {
    let value_of = |number: usize| {
        let from = number * PIECE;
        value[from..value.len().min(from + PIECE)].to_vec()
    };
    (0..piece_count(value)).map(|number| put(piece(key, number), value_of(number))).collect()
}
