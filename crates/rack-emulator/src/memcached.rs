//! A client of memcached and a store, over UDP in the text protocol (`protocol.txt` of memcached).
//!
//! The store has every key from the start, and all that is ever written under a key is the value that is there already: whatever
//! order requests come in, one answer is right. So neither end remembers anything, and what comes is compared byte for byte.

use rack_model::workload::Verb;

/// The store's port.
pub(crate) const PORT: u16 = 11211;

/// Bytes of memcached's header: request id, sequence number, datagrams, reserved; 16 bits each.
const HEADER: usize = 8;

/// A request: the payload of one datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub id: u16,
    pub verb: Verb,
    pub key: u32,
    /// Bytes of a value.
    pub size: u32,
}

impl Request {
    /// As a client writes it.
    pub fn bytes(self) -> Vec<u8> {
        let mut bytes = header(self.id);
        match self.verb {
            Verb::Get => bytes.extend(format!("get {:016}\r\n", self.key).bytes()),
            Verb::Set => {
                bytes.extend(format!("set {:016} 0 0 {}\r\n", self.key, self.size).bytes());
                bytes.extend(value(self.key, self.size));
                bytes.extend(b"\r\n");
            }
        }
        bytes
    }

    /// The request that a store has received; none if it is none of a client of ours.
    pub fn read(bytes: &[u8], verb: Verb, size: u32) -> Option<Request> {
        let id = id(bytes)?;
        let key = std::str::from_utf8(bytes.get(HEADER + 4..HEADER + 20)?).ok()?.parse().ok()?;
        let request = Request { id, verb, key, size };
        (request.bytes() == bytes).then_some(request)
    }

    /// The one right answer.
    pub fn answer(self) -> Vec<u8> {
        let mut bytes = header(self.id);
        match self.verb {
            Verb::Get => {
                bytes.extend(format!("VALUE {:016} 0 {}\r\n", self.key, self.size).bytes());
                bytes.extend(value(self.key, self.size));
                bytes.extend(b"\r\nEND\r\n");
            }
            Verb::Set => bytes.extend(b"STORED\r\n"),
        }
        bytes
    }
}

/// The id of a request or an answer.
pub(crate) fn id(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk::<2>().map(|id| u16::from_be_bytes(*id))
}

/// Of a message in one datagram.
fn header(id: u16) -> Vec<u8> {
    [&id.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0]].concat()
}

/// Letters, other ones under each key.
fn value(key: u32, size: u32) -> impl Iterator<Item = u8> {
    (0..size).map(move |at| b'a' + (key.wrapping_mul(7).wrapping_add(at) % 26) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_are_memcached_s() {
        let get = Request { id: 258, verb: Verb::Get, key: 7, size: 3 };
        assert_eq!(get.bytes(), b"\x01\x02\0\0\0\x01\0\0get 0000000000000007\r\n");
        assert_eq!(get.answer(), b"\x01\x02\0\0\0\x01\0\0VALUE 0000000000000007 0 3\r\nxyz\r\nEND\r\n");
        let set = Request { verb: Verb::Set, ..get };
        assert_eq!(set.bytes(), b"\x01\x02\0\0\0\x01\0\0set 0000000000000007 0 0 3\r\nxyz\r\n");
        assert_eq!(set.answer(), b"\x01\x02\0\0\0\x01\0\0STORED\r\n");
    }

    #[test]
    fn what_is_not_quite_a_request_is_none() {
        let set = Request { id: 1, verb: Verb::Set, key: 12, size: 5 };
        let bytes = set.bytes();
        assert_eq!(Request::read(&bytes, Verb::Set, 5), Some(set));
        assert_eq!(Request::read(&bytes, Verb::Get, 5), None);
        for at in 2..bytes.len() {
            assert_eq!(Request::read(&bytes[..at], Verb::Set, 5), None);
            let mut other = bytes.clone();
            other[at] ^= 0x80;
            assert_eq!(Request::read(&other, Verb::Set, 5), None, "byte {at}");
        }
    }
}
