//! The answer to a read as encoded messages of bounded size. A decoded entity takes ten times the memory of an encoded one.

use p4runtime_proto::p4::v1::{Entity, ReadResponse};
use prost::Message;

/// A message of this size, in bytes, is complete. Allocators return blocks of this size to the system when they are freed.
const PIECE: usize = 256 << 10;

/// Limit on the size of one answer, in bytes.
const MOST: usize = 128 << 20;

/// A sequence of encoded `ReadResponse`s.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Pieces {
    whole: Vec<Vec<u8>>,
    /// The last one, incomplete.
    last: Vec<u8>,
    bytes: usize,
}

impl Pieces {
    /// Size of a complete message, in bytes, but for its last entity.
    pub const SIZE: usize = PIECE;

    /// An empty answer.
    pub fn new() -> Pieces {
        Pieces::default()
    }

    /// Appends an entity. Returns false, and leaves the entity out, if the answer would be too large.
    pub fn push(&mut self, entity: &Entity) -> bool {
        let before = self.last.len();
        if self.bytes + entity.encoded_len() > MOST {
            return false;
        }
        // `entities` is the first and only field of a `ReadResponse`.
        prost::encoding::message::encode(1, entity, &mut self.last);
        self.bytes += self.last.len() - before;
        if self.last.len() >= PIECE {
            self.end_piece();
        }
        true
    }

    fn end_piece(&mut self) {
        self.last.shrink_to_fit();
        self.whole.push(std::mem::take(&mut self.last));
    }

    /// The encoded size, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The encoded responses.
    pub fn into_bytes(mut self) -> Vec<Vec<u8>> {
        if !self.last.is_empty() {
            self.end_piece();
        }
        self.whole
    }

    /// The responses.
    pub fn responses(&self) -> impl Iterator<Item = ReadResponse> {
        let last = Some(&self.last).filter(|last| !last.is_empty());
        self.whole.iter().chain(last).filter_map(|bytes| ReadResponse::decode(bytes.as_slice()).ok())
    }

    /// The entities.
    pub fn entities(&self) -> impl Iterator<Item = Entity> {
        self.responses().flat_map(|response| response.entities)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::from_text;

    #[test]
    fn pieces_are_the_responses() {
        let entity = |index: usize| -> Entity {
            from_text(&format!("counter_entry {{ counter_id: 7 index {{ index: {index} }} }}")).unwrap()
        };
        let mut pieces = Pieces::new();
        assert!((0..50_000).all(|index| pieces.push(&entity(index))));
        assert!(pieces.entities().eq((0..50_000).map(entity)));
        let sizes: Vec<usize> = pieces.responses().map(|response| response.encoded_len()).collect();
        assert!(sizes.len() > 1 && sizes.iter().all(|size| *size < PIECE + 100), "{sizes:?}");
        let sum = pieces.bytes();
        assert_eq!(pieces.into_bytes().iter().map(Vec::len).sum::<usize>(), sum);
    }
}
