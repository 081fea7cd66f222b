//! Digests as P4Runtime shows them.

use device::Digest;
use ir::Program;
use ir_value::Value;
use p4runtime_proto::p4::config::v1;
use p4runtime_proto::p4::v1::P4Data;
use p4runtime_store::{Catalog, Described};

/// The digest with an id: found by its name or, if it has no name, by the first type that fits.
pub(super) fn digest(catalog: &Catalog, program: &Program, sent: &Digest) -> Option<(u32, P4Data)> {
    let data = sent.data.to_data(program, &sent.ty(program))?;
    let message = |digest: &v1::Digest| catalog.message(digest.type_spec.as_ref(), &data).ok();
    let digests = &catalog.info().digests;
    match digests.iter().find(|digest| digest.name() == sent.name.as_str()) {
        Some(digest) => Some((digest.id(), message(digest)?)),
        None => digests.iter().find_map(|digest| Some((digest.id(), message(digest)?))),
    }
}

/// The fields of a digest as BMv2 sends them: each in whole bytes, one after the other.
pub(super) fn sample(data: &Value) -> Vec<u8> {
    match data {
        Value::Bits(bits) => bits.to_be_bytes(),
        Value::Bool(value) => vec![u8::from(*value)],
        Value::Struct(parts) => parts.iter().flat_map(sample).collect(),
        Value::Header(header) => header.fields.iter().flat_map(sample).collect(),
        _ => vec![],
    }
}
