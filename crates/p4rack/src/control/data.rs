//! Values of the interpreter and `P4Data`, by the types that P4Info describes.

use base_bits::Bits;
use base_bits::num_bigint::{BigInt, BigUint};
use ir_interp::{Digest, Header, Value};
use p4runtime_proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use p4runtime_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use p4runtime_proto::p4::config::v1::{
    P4BitstringLikeTypeSpec, P4DataTypeSpec, P4Info, p4_new_type_spec::Representation,
};
use p4runtime_proto::p4::v1::{P4Data, P4Header, P4StructLike, p4_data::Data};
use p4runtime_store::{Described, Result, fault, not_supported};

/// A value as a message, in canonical form.
pub(super) fn message(info: &P4Info, spec: Option<&P4DataTypeSpec>, value: &Value) -> Result<P4Data> {
    match encode(info, spec, value) {
        Some(data) => Ok(P4Data { data: Some(data) }),
        None => not_supported("values of this type"),
    }
}

/// A message as a value of the same shape as `like`.
pub(super) fn value(
    info: &P4Info,
    spec: Option<&P4DataTypeSpec>,
    data: &P4Data,
    like: &Value,
) -> Result<Value> {
    match data.data.as_ref().and_then(|data| decode(info, spec, data, like)) {
        Some(value) => Ok(value),
        None => fault("a value of another type", "the register holds something else"),
    }
}

/// A digest by its id: by its name, or where it has none by the first type that it fits.
pub(super) fn digest(info: &P4Info, sent: &Digest) -> Option<(u32, P4Data)> {
    let fitting = |digest: &&p4runtime_proto::p4::config::v1::Digest| {
        encode(info, digest.type_spec.as_ref(), &sent.data).is_some()
    };
    let named = info.digests.iter().find(|digest| digest.name() == sent.name.as_str());
    let digest = named.or_else(|| info.digests.iter().find(fitting))?;
    let data = encode(info, digest.type_spec.as_ref(), &sent.data)?;
    Some((digest.id(), P4Data { data: Some(data) }))
}

/// What a type stands for.
fn kind<'i>(info: &'i P4Info, spec: Option<&'i P4DataTypeSpec>) -> Option<&'i TypeSpec> {
    let mut spec = spec?.type_spec.as_ref()?;
    // A chain of new types is as long as there are new types.
    let types = info.type_info.as_ref();
    for _ in 0..types.map_or(1, |types| types.new_types.len() + 1) {
        let TypeSpec::NewType(name) = spec else { return Some(spec) };
        match types?.new_types.get(&name.name)?.representation.as_ref()? {
            Representation::OriginalType(original) => spec = original.type_spec.as_ref()?,
            Representation::TranslatedType(_) => return None,
        }
    }
    None
}

fn encode(info: &P4Info, spec: Option<&P4DataTypeSpec>, value: &Value) -> Option<Data> {
    let types = info.type_info.as_ref();
    Some(match (kind(info, spec)?, value) {
        (TypeSpec::Bitstring(spec), Value::Bits(bits)) => Data::Bitstring(bytes(spec, bits)),
        (TypeSpec::Bool(_), Value::Bool(value)) => Data::Bool(*value),
        (TypeSpec::Tuple(tuple), Value::Struct(values)) => {
            Data::Tuple(members(info, tuple.members.iter().map(Some), values)?)
        }
        (TypeSpec::Struct(name), Value::Struct(values)) => {
            let spec = types?.structs.get(&name.name)?;
            Data::Struct(members(info, spec.members.iter().map(|m| m.type_spec.as_ref()), values)?)
        }
        (TypeSpec::Header(name), Value::Header(header)) => {
            let spec = types?.headers.get(&name.name)?;
            let fields = spec.members.iter().zip(&header.fields);
            let bits = fields.map(|(field, value)| match value {
                Value::Bits(bits) => Some(bytes(field.type_spec.as_ref()?, bits)),
                _ => None,
            });
            let bitstrings = if header.valid { bits.collect::<Option<_>>()? } else { vec![] };
            Data::Header(P4Header { is_valid: header.valid, bitstrings })
        }
        (TypeSpec::Enum(name), Value::Enum(index)) => {
            Data::Enum(types?.enums.get(&name.name)?.members.get(*index as usize)?.name.clone())
        }
        (TypeSpec::Error(_), Value::Error(error)) => {
            Data::Error(types?.error.as_ref()?.members.get(error.index())?.clone())
        }
        (TypeSpec::SerializableEnum(_), Value::Bits(bits)) => Data::EnumValue(bits.to_canonical_bytes()),
        _ => return None,
    })
}

fn bytes(spec: &P4BitstringLikeTypeSpec, bits: &Bits) -> Vec<u8> {
    match &spec.type_spec {
        Some(Bitstring::Int(_)) => bits.to_bigint_signed().to_signed_bytes_be(),
        _ => bits.to_canonical_bytes(),
    }
}

fn members<'s>(
    info: &P4Info,
    specs: impl ExactSizeIterator<Item = Option<&'s P4DataTypeSpec>>,
    values: &[Value],
) -> Option<P4StructLike> {
    if specs.len() != values.len() {
        return None;
    }
    let one = |(spec, value)| Some(P4Data { data: Some(encode(info, spec, value)?) });
    Some(P4StructLike { members: specs.zip(values).map(one).collect::<Option<_>>()? })
}

fn decode(info: &P4Info, spec: Option<&P4DataTypeSpec>, data: &Data, like: &Value) -> Option<Value> {
    let types = info.type_info.as_ref();
    Some(match (kind(info, spec)?, data, like) {
        (TypeSpec::Bitstring(spec), Data::Bitstring(bytes), Value::Bits(like)) => {
            Value::Bits(number(spec, bytes, like.width()))
        }
        (TypeSpec::Bool(_), Data::Bool(value), Value::Bool(_)) => Value::Bool(*value),
        (TypeSpec::Tuple(tuple), Data::Tuple(given), Value::Struct(like)) => {
            Value::Struct(values(info, tuple.members.iter().map(Some), given, like)?)
        }
        (TypeSpec::Struct(name), Data::Struct(given), Value::Struct(like)) => {
            let spec = types?.structs.get(&name.name)?;
            Value::Struct(values(info, spec.members.iter().map(|m| m.type_spec.as_ref()), given, like)?)
        }
        (TypeSpec::Header(name), Data::Header(given), Value::Header(like)) => {
            let spec = types?.headers.get(&name.name)?;
            let mut fields = like.fields.clone();
            for ((field, bytes), slot) in spec.members.iter().zip(&given.bitstrings).zip(&mut fields) {
                let Value::Bits(old) = slot else { return None };
                *slot = Value::Bits(number(field.type_spec.as_ref()?, bytes, old.width()));
            }
            Value::Header(Header { valid: given.is_valid, fields })
        }
        (TypeSpec::Enum(name), Data::Enum(member), Value::Enum(_)) => {
            let members = &types?.enums.get(&name.name)?.members;
            Value::Enum(u32::try_from(members.iter().position(|m| m.name == *member)?).ok()?)
        }
        (TypeSpec::Error(_), Data::Error(error), Value::Error(_)) => {
            let position = types?.error.as_ref()?.members.iter().position(|e| e == error)?;
            Value::Error(ir::ErrorId(u32::try_from(position).ok()?))
        }
        (TypeSpec::SerializableEnum(_), Data::EnumValue(bytes), Value::Bits(like)) => {
            Value::Bits(Bits::from_biguint(like.width(), BigUint::from_bytes_be(bytes)))
        }
        _ => return None,
    })
}

fn number(spec: &P4BitstringLikeTypeSpec, bytes: &[u8], width: u32) -> Bits {
    match &spec.type_spec {
        Some(Bitstring::Int(_)) => Bits::from_bigint(width, &BigInt::from_signed_bytes_be(bytes)),
        _ => Bits::from_biguint(width, BigUint::from_bytes_be(bytes)),
    }
}

fn values<'s>(
    info: &P4Info,
    specs: impl ExactSizeIterator<Item = Option<&'s P4DataTypeSpec>>,
    given: &P4StructLike,
    like: &[Value],
) -> Option<Vec<Value>> {
    if specs.len() != like.len() || given.members.len() != like.len() {
        return None;
    }
    let one = |((spec, data), like): ((_, &P4Data), _)| decode(info, spec, data.data.as_ref()?, like);
    specs.zip(&given.members).zip(like).map(one).collect()
}
