//! Reads who sends a request without decoding the rest of it.

use p4runtime_proto::p4::v1::Uint128;
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tonic::Status;

/// The fields that `Write` and `SetForwardingPipelineConfig` have in common.
#[derive(Default, PartialEq, Debug)]
pub(crate) struct Head {
    pub(crate) device_id: u64,
    pub(crate) election_id: Option<Uint128>,
    pub(crate) role: String,
}

/// Reads the head of an encoded request, whose field `role` has this number. As protobuf requires, the last of several values
/// counts, and submessages are merged.
pub(crate) fn read_head(bytes: &[u8], role: u32) -> Result<Head, Status> {
    try_read(bytes, role).map_err(undecodable)
}

/// Reads the device id of an encoded request: its first field. The last of several values counts.
pub(crate) fn read_device_id(mut bytes: &[u8]) -> Result<u64, Status> {
    let mut read = || {
        let mut device_id = 0;
        while !bytes.is_empty() {
            match decode_key(&mut bytes)? {
                (1, WireType::Varint) => device_id = decode_varint(&mut bytes)?,
                (number, wire) => skip_field(wire, number, &mut bytes, DecodeContext::default())?,
            }
        }
        Ok(device_id)
    };
    read().map_err(undecodable)
}

fn undecodable(error: prost::DecodeError) -> Status {
    Status::internal(format!("the message cannot be decoded: {error}"))
}

fn try_read(mut bytes: &[u8], role: u32) -> Result<Head, prost::DecodeError> {
    let mut head = Head::default();
    while !bytes.is_empty() {
        let (number, wire) = decode_key(&mut bytes)?;
        match (number, wire) {
            (1, WireType::Varint) => head.device_id = decode_varint(&mut bytes)?,
            (3, WireType::LengthDelimited) => {
                let id = head.election_id.get_or_insert_default();
                id.merge(inside(&mut bytes)?)?;
            }
            (number, WireType::LengthDelimited) if number == role => {
                head.role = String::decode_text(inside(&mut bytes)?)?;
            }
            _ => skip_field(wire, number, &mut bytes, DecodeContext::default())?,
        }
    }
    Ok(head)
}

/// The bytes of a field, with their length before them.
fn inside<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], prost::DecodeError> {
    let length = usize::try_from(decode_varint(bytes)?).unwrap_or(usize::MAX);
    match bytes.split_at_checked(length) {
        Some((inside, rest)) => {
            *bytes = rest;
            Ok(inside)
        }
        None => Err(broken()),
    }
}

fn broken() -> prost::DecodeError {
    // prost's error for the same bytes.
    Uint128::decode(&[0xff][..]).err().unwrap_or_else(|| prost::DecodeError::new_unexpected_type_url("", ""))
}

trait DecodeText: Sized {
    fn decode_text(bytes: &[u8]) -> Result<Self, prost::DecodeError>;
}

impl DecodeText for String {
    fn decode_text(bytes: &[u8]) -> Result<String, prost::DecodeError> {
        std::str::from_utf8(bytes).map(str::to_string).map_err(|_| broken())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::p4::v1::{Update, WriteRequest};

    #[test]
    fn the_head_is_that_of_the_message() {
        let request = WriteRequest {
            device_id: 7,
            role: "r".to_string(),
            election_id: Some(Uint128 { high: 1, low: 2 }),
            updates: vec![Update::default(); 5],
            ..WriteRequest::default()
        };
        let head = read_head(&request.encode_to_vec(), 6).unwrap();
        let expected = Head { device_id: 7, election_id: request.election_id, role: "r".to_string() };
        assert_eq!(head, expected);
        assert_eq!(read_device_id(&request.encode_to_vec()).unwrap(), 7);
        // Later fields count, too, as they do when the message is decoded.
        let later =
            WriteRequest { election_id: Some(Uint128 { high: 0, low: 9 }), ..WriteRequest::default() };
        let both = [request.encode_to_vec(), later.encode_to_vec()].concat();
        let decoded = WriteRequest::decode(both.as_slice()).unwrap();
        assert_eq!(read_head(&both, 6).unwrap().election_id, decoded.election_id);
        for end in 0..both.len() {
            let _ = read_head(&both[..end], 6);
            let whole = WriteRequest::decode(&both[..end]).map(|request| request.device_id);
            assert!(whole.is_err() || read_device_id(&both[..end]).ok() == whole.ok());
        }
    }
}
