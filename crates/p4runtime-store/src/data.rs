//! Values of P4 types (P4Runtime 1.5, section 8.4), checked against their types and in canonical form.

use crate::catalog::Catalog;
use crate::fault::{Result, Within, fault, not_supported};
use crate::number;
use p4runtime_proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use p4runtime_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use p4runtime_proto::p4::config::v1::{P4BitstringLikeTypeSpec, P4DataTypeSpec, p4_new_type_spec};
use p4runtime_proto::p4::v1::{P4Data, P4Header, P4StructLike, p4_data::Data};

/// Types inside of types are followed so far.
pub(crate) const DEEPEST: usize = 64;

/// The value with the shortest bytes, if it is of the type.
pub(crate) fn canonical(catalog: &Catalog, spec: Option<&P4DataTypeSpec>, given: &P4Data) -> Result<P4Data> {
    of(catalog, spec, given, DEEPEST)
}

fn of(catalog: &Catalog, spec: Option<&P4DataTypeSpec>, given: &P4Data, deep: usize) -> Result<P4Data> {
    let Some(spec) = spec.and_then(|spec| spec.type_spec.as_ref()) else {
        return not_supported("values of a type that P4Info does not say");
    };
    let Some(data) = &given.data else {
        return fault("a value is missing", "nothing says what it is");
    };
    if deep == 0 {
        return not_supported("types nested so deeply");
    }
    let types = catalog.info().type_info.as_ref();
    let data = match (spec, data) {
        (TypeSpec::Bitstring(spec), Data::Bitstring(bytes)) => {
            Data::Bitstring(bits(spec, bytes).within("bitstring")?)
        }
        (TypeSpec::Bool(_), Data::Bool(value)) => Data::Bool(*value),
        (TypeSpec::Tuple(tuple), Data::Tuple(value)) => {
            Data::Tuple(members(catalog, tuple.members.iter(), value, deep).within("tuple")?)
        }
        (TypeSpec::Struct(name), Data::Struct(value)) => {
            let Some(spec) = types.and_then(|types| types.structs.get(&name.name)) else {
                return not_described(&name.name);
            };
            let specs = spec.members.iter().filter_map(|member| member.type_spec.as_ref());
            Data::Struct(members(catalog, specs, value, deep).within("struct")?)
        }
        (TypeSpec::Header(name), Data::Header(value)) => {
            let Some(spec) = types.and_then(|types| types.headers.get(&name.name)) else {
                return not_described(&name.name);
            };
            let specs: Vec<_> = spec.members.iter().filter_map(|member| member.type_spec.as_ref()).collect();
            Data::Header(header(&specs, value).within("header")?)
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
        (TypeSpec::Enum(name), Data::Enum(value)) => {
            let spec = types.and_then(|types| types.enums.get(&name.name));
            let mut members = spec.into_iter().flat_map(|spec| &spec.members);
            if !members.any(|member| member.name == *value) {
                return fault(
                    format!("there is no `{value}`"),
                    format!("`{}` has no such member", name.name),
                );
            }
            Data::Enum(value.clone())
        }
        (TypeSpec::Error(_), Data::Error(value)) => {
            let mut errors =
                types.and_then(|types| types.error.as_ref()).into_iter().flat_map(|e| &e.members);
            if !errors.any(|error| error == value) {
                return fault(format!("there is no `{value}`"), "no error has this name");
            }
            Data::Error(value.clone())
        }
        (TypeSpec::SerializableEnum(name), Data::EnumValue(bytes)) => {
            let spec = types.and_then(|types| types.serializable_enums.get(&name.name));
            let width = spec.and_then(|spec| spec.underlying_type.as_ref()).map_or(0, |bit| bit.bitwidth);
            Data::EnumValue(number::encode(&number::unsigned(bytes, width)?))
        }
        (TypeSpec::HeaderUnion(_) | TypeSpec::HeaderStack(_) | TypeSpec::HeaderUnionStack(_), _) => {
            return not_supported("values that are unions or stacks");
        }
        (spec, _) => {
            return fault("a value of another type", format!("it wants {}", form(spec)));
        }
    };
    Ok(P4Data { data: Some(data) })
}

fn not_described<T>(name: &str) -> Result<T> {
    fault(format!("the type `{name}` is not described"), "the program's P4Info does not have it")
}

fn form(spec: &TypeSpec) -> &'static str {
    match spec {
        TypeSpec::Bitstring(_) => "bits: `bitstring`",
        TypeSpec::Bool(_) => "a truth value: `bool`",
        TypeSpec::Tuple(_) => "a `tuple`",
        TypeSpec::Struct(_) => "a `struct`",
        TypeSpec::Header(_) => "a `header`",
        TypeSpec::Enum(_) => "the name of a member: `enum`",
        TypeSpec::Error(_) => "the name of an error: `error`",
        TypeSpec::SerializableEnum(_) => "bits: `enum_value`",
        _ => "something else",
    }
}

fn bits(spec: &P4BitstringLikeTypeSpec, bytes: &[u8]) -> Result<Vec<u8>> {
    match &spec.type_spec {
        Some(Bitstring::Bit(bit)) => Ok(number::encode(&number::unsigned(bytes, bit.bitwidth)?)),
        Some(Bitstring::Int(int)) => Ok(number::encode_signed(&number::signed(bytes, int.bitwidth)?)),
        _ => not_supported("values of varbit"),
    }
}

fn members<'s>(
    catalog: &Catalog,
    specs: impl Iterator<Item = &'s P4DataTypeSpec>,
    given: &P4StructLike,
    deep: usize,
) -> Result<P4StructLike> {
    let specs: Vec<_> = specs.collect();
    if specs.len() != given.members.len() {
        let why = format!("the type has {}, not {}", specs.len(), given.members.len());
        return fault("another number of members", why).within("members");
    }
    let one = |(index, (spec, value))| of(catalog, Some(spec), value, deep - 1).at("members", index);
    let members = specs.into_iter().zip(&given.members).enumerate().map(one).collect::<Result<_>>()?;
    Ok(P4StructLike { members })
}

fn header(specs: &[&P4BitstringLikeTypeSpec], given: &P4Header) -> Result<P4Header> {
    if !given.is_valid && given.bitstrings.is_empty() {
        return Ok(given.clone());
    }
    if specs.len() != given.bitstrings.len() {
        let why = format!("the header has {}, not {}", specs.len(), given.bitstrings.len());
        return fault("another number of fields", why).within("bitstrings");
    }
    let one = |(index, (spec, bytes)): (usize, (&&P4BitstringLikeTypeSpec, &Vec<u8>))| {
        bits(spec, bytes).at("bitstrings", index)
    };
    let bitstrings = specs.iter().zip(&given.bitstrings).enumerate().map(one).collect::<Result<_>>()?;
    Ok(P4Header { is_valid: given.is_valid, bitstrings })
}

/// The value that nothing has written yet, of types whose zero P4Info describes.
pub(crate) fn zero(catalog: &Catalog, spec: Option<&P4DataTypeSpec>, deep: usize) -> Option<P4Data> {
    let types = catalog.info().type_info.as_ref();
    let deep = deep.checked_sub(1)?;
    let one = |spec: &P4DataTypeSpec| zero(catalog, Some(spec), deep);
    let data = match spec?.type_spec.as_ref()? {
        TypeSpec::Bitstring(_) => Data::Bitstring(vec![0]),
        TypeSpec::SerializableEnum(_) => Data::EnumValue(vec![0]),
        TypeSpec::Bool(_) => Data::Bool(false),
        TypeSpec::Tuple(tuple) => {
            let members = tuple.members.iter().map(one).collect::<Option<_>>()?;
            Data::Tuple(P4StructLike { members })
        }
        TypeSpec::Struct(name) => {
            let spec = types?.structs.get(&name.name)?;
            let members = spec.members.iter().map(|member| one(member.type_spec.as_ref()?));
            Data::Struct(P4StructLike { members: members.collect::<Option<_>>()? })
        }
        TypeSpec::Enum(name) => Data::Enum(types?.enums.get(&name.name)?.members.first()?.name.clone()),
        TypeSpec::Error(_) => Data::Error(types?.error.as_ref()?.members.first()?.clone()),
        TypeSpec::NewType(name) => match types?.new_types.get(&name.name)?.representation.as_ref()? {
            p4_new_type_spec::Representation::OriginalType(original) => return one(original),
            // Behind the translation there are numbers alone.
            p4_new_type_spec::Representation::TranslatedType(_) => return None,
        },
        _ => return None,
    };
    Some(P4Data { data: Some(data) })
}
