//! Packets from and to the controller (P4Runtime 1.5, sections 6.4.6 and 16.1).

use base_bits::num_bigint::BigUint;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::{P4Info, controller_packet_metadata::Metadata};
use p4runtime_proto::p4::v1::{PacketIn, PacketMetadata, PacketOut};
use p4runtime_store::{Result, Within, fault};

/// The headers that packets from and to the controller have in front.
#[derive(Clone, Default, Debug)]
pub(crate) struct PacketIo {
    packet_in: Vec<Field>,
    packet_out: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    id: u32,
    name: String,
    bits: u64,
}

impl PacketIo {
    /// `info` describes all as numbers.
    pub(crate) fn new(info: &P4Info) -> PacketIo {
        let fields = |name: &str| {
            let header = info.controller_packet_metadata.iter();
            let header = header.filter(|h| h.preamble.as_ref().is_some_and(|p| p.name == name));
            let field = |m: &Metadata| Field {
                id: m.id,
                name: m.name.clone(),
                bits: u64::try_from(m.bitwidth).unwrap_or(0),
            };
            header.flat_map(|header| &header.metadata).map(field).collect()
        };
        PacketIo { packet_in: fields("packet_in"), packet_out: fields("packet_out") }
    }

    /// The frame as it comes into the device by the CPU port.
    pub(crate) fn frame(&self, packet: &PacketOut) -> Result<Vec<u8>> {
        let mut header = BigUint::ZERO;
        for field in &self.packet_out {
            let mut given = packet.metadata.iter().filter(|m| m.metadata_id == field.id);
            let value = match (given.next(), given.next()) {
                (Some(one), None) => BigUint::from_bytes_be(&one.value),
                (None, _) => {
                    return fault("packet metadata is missing", format!("{} `{}`", field.id, field.name));
                }
                (Some(_), Some(_)) => {
                    return fault("packet metadata is a duplicate", format!("{} `{}`", field.id, field.name));
                }
            };
            if value.bits() > field.bits {
                let why = format!("`{}` has {} bits, and {value:#x} needs more", field.name, field.bits);
                return fault("packet metadata does not fit", why).code(Code::InvalidArgument);
            }
            header = (header << field.bits) | value;
        }
        let known = |id: u32| self.packet_out.iter().any(|field| field.id == id);
        if let Some(other) = packet.metadata.iter().find(|m| !known(m.metadata_id)) {
            return fault(
                "packet metadata is unknown",
                format!("packet-out has no metadata {}", other.metadata_id),
            );
        }
        let mut frame = header_bytes(&header, &self.packet_out);
        frame.extend_from_slice(&packet.payload);
        Ok(frame)
    }

    /// The message for a frame that left the device by the CPU port. Shorter ones than the header have no metadata.
    pub(crate) fn message(&self, frame: &[u8]) -> PacketIn {
        let bits: u64 = self.packet_in.iter().map(|field| field.bits).sum();
        let bytes = usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX);
        let Some((header, payload)) = frame.split_at_checked(bytes) else {
            return PacketIn { payload: frame.to_vec(), metadata: vec![] };
        };
        let mut rest = BigUint::from_bytes_be(header) >> (bytes as u64 * 8 - bits);
        let mut metadata = vec![];
        for field in self.packet_in.iter().rev() {
            let value = &rest & ((BigUint::from(1u8) << field.bits) - 1u8);
            rest >>= field.bits;
            metadata.push(PacketMetadata { metadata_id: field.id, value: value.to_bytes_be() });
        }
        metadata.reverse();
        PacketIn { payload: payload.to_vec(), metadata }
    }
}

/// The fields one after the other, filled up to whole bytes after them.
fn header_bytes(header: &BigUint, fields: &[Field]) -> Vec<u8> {
    let bits: u64 = fields.iter().map(|field| field.bits).sum();
    let bytes = bits.div_ceil(8);
    let digits = (header << (bytes * 8 - bits)).to_bytes_be();
    let bytes = usize::try_from(bytes).unwrap_or(0);
    let mut out = vec![0; bytes.saturating_sub(digits.len())];
    if bytes > 0 {
        out.extend_from_slice(&digits);
    }
    out
}
