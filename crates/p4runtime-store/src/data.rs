//! Values of P4 types (P4Runtime 1.5, section 8.4): messages, checked against their types, to data and back in canonical form.

use crate::catalog::Catalog;
use crate::fault::{Result, Within, fault, not_supported};
use crate::number;
use base_bits::Bits;
use control_writes::Data;
use p4runtime_proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use p4runtime_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use p4runtime_proto::p4::config::v1::{
    P4BitstringLikeTypeSpec, P4DataTypeSpec, P4TypeInfo, p4_new_type_spec,
};
use p4runtime_proto::p4::v1::{P4Data, P4Header, P4StructLike, p4_data::Data as Message};

/// Types inside of types are followed so far.
const DEEPEST: usize = 64;

impl Catalog {
    /// Initial value of a register's cells.
    pub fn register_zero(&self, id: u32) -> Result<Data> {
        match zero(self, self.register(id)?.type_spec.as_ref(), DEEPEST) {
            Some(zero) => Ok(zero),
            None => not_supported("registers of this type"),
        }
    }

    /// A value of a type that P4Info describes, as a message in canonical form.
    pub fn message(&self, spec: Option<&P4DataTypeSpec>, value: &Data) -> Result<P4Data> {
        encode(self, spec, value)
    }

    /// A message as a value of a type that P4Info describes.
    pub fn data(&self, spec: Option<&P4DataTypeSpec>, message: &P4Data) -> Result<Data> {
        decode(self, spec, message)
    }
}

/// The value that a message says, if it is of the type.
pub(crate) fn decode(catalog: &Catalog, spec: Option<&P4DataTypeSpec>, given: &P4Data) -> Result<Data> {
    of(catalog, spec, given, DEEPEST)
}

fn of(catalog: &Catalog, spec: Option<&P4DataTypeSpec>, given: &P4Data, deep: usize) -> Result<Data> {
    let Some(spec) = spec.and_then(|spec| spec.type_spec.as_ref()) else {
        return not_supported("values of a type that P4Info does not describe");
    };
    let Some(data) = &given.data else {
        return fault("the value is missing", "the field is unset");
    };
    // Types of a pushed P4Info may name one another in a circle.
    if deep == 0 {
        return not_supported("types nested so deeply");
    }
    let types = catalog.info().type_info.as_ref();
    Ok(match (spec, data) {
        (TypeSpec::Bitstring(spec), Message::Bitstring(bytes)) => {
            Data::Bits(bits(spec, bytes).within("bitstring")?)
        }
        (TypeSpec::Bool(_), Message::Bool(value)) => Data::Bool(*value),
        (TypeSpec::Tuple(tuple), Message::Tuple(value)) => {
            Data::Fields(members(catalog, tuple.members.iter(), value, deep).within("tuple")?)
        }
        (TypeSpec::Struct(name), Message::Struct(value)) => {
            let Some(spec) = types.and_then(|types| types.structs.get(&name.name)) else {
                return not_described(&name.name);
            };
            let specs = spec.members.iter().filter_map(|member| member.type_spec.as_ref());
            Data::Fields(members(catalog, specs, value, deep).within("struct")?)
        }
        (TypeSpec::Header(name), Message::Header(value)) => {
            let Some(spec) = types.and_then(|types| types.headers.get(&name.name)) else {
                return not_described(&name.name);
            };
            let specs: Vec<_> = spec.members.iter().filter_map(|member| member.type_spec.as_ref()).collect();
            header(&specs, value).within("header")?
        }
        (TypeSpec::NewType(name), _) => {
            let spec = types.and_then(|types| types.new_types.get(&name.name));
            match spec.and_then(|spec| spec.representation.as_ref()) {
                Some(p4_new_type_spec::Representation::OriginalType(original)) => {
                    return of(catalog, Some(original), given, deep - 1);
                }
                _ => return not_described(&name.name),
            }
        }
        (TypeSpec::Enum(name), Message::Enum(value)) => {
            let spec = types.and_then(|types| types.enums.get(&name.name));
            let mut members = spec.into_iter().flat_map(|spec| &spec.members);
            if !members.any(|member| member.name == *value) {
                return fault(
                    format!("there is no `{value}`"),
                    format!("`{}` has no such member", name.name),
                );
            }
            Data::Member(value.clone())
        }
        (TypeSpec::Error(_), Message::Error(value)) => {
            let mut errors =
                types.and_then(|types| types.error.as_ref()).into_iter().flat_map(|e| &e.members);
            if !errors.any(|error| error == value) {
                return fault(format!("there is no `{value}`"), "no error has this name");
            }
            Data::Member(value.clone())
        }
        (TypeSpec::SerializableEnum(name), Message::EnumValue(bytes)) => {
            let spec = types.and_then(|types| types.serializable_enums.get(&name.name));
            let width = spec.and_then(|spec| spec.underlying_type.as_ref()).map_or(0, |bit| bit.bitwidth);
            Data::Bits(number::unsigned(bytes, width)?)
        }
        (TypeSpec::HeaderUnion(_) | TypeSpec::HeaderStack(_) | TypeSpec::HeaderUnionStack(_), _) => {
            return not_supported("values that are unions or stacks");
        }
        (spec, _) => {
            return fault("the value has the wrong type", format!("expected {}", form(spec)));
        }
    })
}

fn not_described<T>(name: &str) -> Result<T> {
    fault(format!("the type `{name}` is not described"), "it is missing in the program's P4Info")
}

fn form(spec: &TypeSpec) -> &'static str {
    match spec {
        TypeSpec::Bitstring(_) => "bits: `bitstring`",
        TypeSpec::Bool(_) => "a boolean: `bool`",
        TypeSpec::Tuple(_) => "a `tuple`",
        TypeSpec::Struct(_) => "a `struct`",
        TypeSpec::Header(_) => "a `header`",
        TypeSpec::Enum(_) => "the name of a member: `enum`",
        TypeSpec::Error(_) => "the name of an error: `error`",
        TypeSpec::SerializableEnum(_) => "bits: `enum_value`",
        _ => "another kind of value",
    }
}

fn bits(spec: &P4BitstringLikeTypeSpec, bytes: &[u8]) -> Result<Bits> {
    match &spec.type_spec {
        Some(Bitstring::Bit(bit)) => number::unsigned(bytes, bit.bitwidth),
        Some(Bitstring::Int(int)) => number::signed(bytes, int.bitwidth),
        _ => not_supported("varbit values"),
    }
}

fn members<'s>(
    catalog: &Catalog,
    specs: impl Iterator<Item = &'s P4DataTypeSpec>,
    given: &P4StructLike,
    deep: usize,
) -> Result<Vec<Data>> {
    let specs: Vec<_> = specs.collect();
    if specs.len() != given.members.len() {
        let why = format!("the type has {}, not {}", specs.len(), given.members.len());
        return fault("the number of members is wrong", why).within("members");
    }
    let one = |(index, (spec, value))| of(catalog, Some(spec), value, deep - 1).at("members", index);
    specs.into_iter().zip(&given.members).enumerate().map(one).collect()
}

fn header(specs: &[&P4BitstringLikeTypeSpec], given: &P4Header) -> Result<Data> {
    if !given.is_valid && given.bitstrings.is_empty() {
        return Ok(Data::Header { valid: false, fields: vec![] });
    }
    if specs.len() != given.bitstrings.len() {
        let why = format!("the header has {}, not {}", specs.len(), given.bitstrings.len());
        return fault("the number of fields is wrong", why).within("bitstrings");
    }
    let one = |(index, (spec, bytes)): (usize, (&&P4BitstringLikeTypeSpec, &Vec<u8>))| {
        bits(spec, bytes).at("bitstrings", index)
    };
    let fields = specs.iter().zip(&given.bitstrings).enumerate().map(one).collect::<Result<_>>()?;
    Ok(Data::Header { valid: given.is_valid, fields })
}

/// A value of a type as a message. Fields of an invalid header do not show.
pub(crate) fn encode(catalog: &Catalog, spec: Option<&P4DataTypeSpec>, value: &Data) -> Result<P4Data> {
    let types = catalog.info().type_info.as_ref();
    match message(types, spec, value, DEEPEST) {
        Some(data) => Ok(data),
        None => not_supported("values of this type"),
    }
}

fn message(
    types: Option<&P4TypeInfo>,
    spec: Option<&P4DataTypeSpec>,
    value: &Data,
    deep: usize,
) -> Option<P4Data> {
    let deep = deep.checked_sub(1)?;
    let structure = |specs: Vec<Option<&P4DataTypeSpec>>, values: &[Data]| {
        let same = specs.len() == values.len();
        let members = specs.into_iter().zip(values).map(|(spec, value)| message(types, spec, value, deep));
        Some(P4StructLike { members: same.then(|| members.collect::<Option<_>>())?? })
    };
    let data = match (spec?.type_spec.as_ref()?, value) {
        (TypeSpec::NewType(name), _) => match types?.new_types.get(&name.name)?.representation.as_ref()? {
            p4_new_type_spec::Representation::OriginalType(original) => {
                return message(types, Some(original), value, deep);
            }
            // After the translation there are numbers alone.
            p4_new_type_spec::Representation::TranslatedType(_) => return None,
        },
        (TypeSpec::Bitstring(spec), Data::Bits(bits)) => Message::Bitstring(bytes(spec, bits)),
        (TypeSpec::Bool(_), Data::Bool(value)) => Message::Bool(*value),
        (TypeSpec::Tuple(tuple), Data::Fields(values)) => {
            Message::Tuple(structure(tuple.members.iter().map(Some).collect(), values)?)
        }
        (TypeSpec::Struct(name), Data::Fields(values)) => {
            let spec = types?.structs.get(&name.name)?;
            let specs = spec.members.iter().map(|member| member.type_spec.as_ref());
            Message::Struct(structure(specs.collect(), values)?)
        }
        (TypeSpec::Header(name), Data::Header { valid, fields }) => {
            let spec = types?.headers.get(&name.name)?;
            let bits = spec.members.iter().zip(fields);
            let bits = bits.map(|(field, bits)| Some(bytes(field.type_spec.as_ref()?, bits)));
            let bitstrings = if *valid { bits.collect::<Option<_>>()? } else { vec![] };
            Message::Header(P4Header { is_valid: *valid, bitstrings })
        }
        (TypeSpec::Enum(name), Data::Member(member)) => {
            let members = &types?.enums.get(&name.name)?.members;
            Message::Enum(members.iter().find(|known| known.name == *member)?.name.clone())
        }
        (TypeSpec::Error(_), Data::Member(member)) => {
            Message::Error(types?.error.as_ref()?.members.iter().find(|known| *known == member)?.clone())
        }
        (TypeSpec::SerializableEnum(_), Data::Bits(bits)) => Message::EnumValue(number::encode(bits)),
        _ => return None,
    };
    Some(P4Data { data: Some(data) })
}

fn bytes(spec: &P4BitstringLikeTypeSpec, bits: &Bits) -> Vec<u8> {
    match &spec.type_spec {
        Some(Bitstring::Int(_)) => number::encode_signed(bits),
        _ => number::encode(bits),
    }
}

/// The value that nothing has written yet, of types whose zero P4Info describes.
pub(crate) fn zero(catalog: &Catalog, spec: Option<&P4DataTypeSpec>, deep: usize) -> Option<Data> {
    let types = catalog.info().type_info.as_ref();
    let deep = deep.checked_sub(1)?;
    let one = |spec: &P4DataTypeSpec| zero(catalog, Some(spec), deep);
    Some(match spec?.type_spec.as_ref()? {
        TypeSpec::Bitstring(spec) => Data::Bits(match &spec.type_spec {
            Some(Bitstring::Bit(bit)) => Bits::zero(u32::try_from(bit.bitwidth).ok()?),
            Some(Bitstring::Int(int)) => Bits::zero(u32::try_from(int.bitwidth).ok()?),
            _ => Bits::zero(0),
        }),
        TypeSpec::SerializableEnum(name) => {
            let width = types?.serializable_enums.get(&name.name)?.underlying_type.as_ref()?.bitwidth;
            Data::Bits(Bits::zero(u32::try_from(width).ok()?))
        }
        TypeSpec::Bool(_) => Data::Bool(false),
        TypeSpec::Tuple(tuple) => Data::Fields(tuple.members.iter().map(one).collect::<Option<_>>()?),
        TypeSpec::Struct(name) => {
            let spec = types?.structs.get(&name.name)?;
            let members = spec.members.iter().map(|member| one(member.type_spec.as_ref()?));
            Data::Fields(members.collect::<Option<_>>()?)
        }
        TypeSpec::Enum(name) => Data::Member(types?.enums.get(&name.name)?.members.first()?.name.clone()),
        TypeSpec::Error(_) => Data::Member(types?.error.as_ref()?.members.first()?.clone()),
        TypeSpec::NewType(name) => match types?.new_types.get(&name.name)?.representation.as_ref()? {
            p4_new_type_spec::Representation::OriginalType(original) => return one(original),
            p4_new_type_spec::Representation::TranslatedType(_) => return None,
        },
        _ => return None,
    })
}
