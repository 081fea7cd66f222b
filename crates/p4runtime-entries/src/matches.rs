//! What an entry wants of each field (P4Runtime 1.5, section 9.1.1).

use crate::catalog::Catalog;
use crate::fault::{Result, Within, fault, listed, not_supported};
use base_bits::num_bigint::BigUint;
use base_diag::Span;
use p4_entries::{Match, Named, Value};
use p4runtime_proto::p4::config::v1::match_field::{Match as Wanted, MatchType};
use p4runtime_proto::p4::config::v1::{MatchField, P4NamedType};
use p4runtime_proto::p4::v1::FieldMatch;
use p4runtime_proto::p4::v1::field_match::FieldMatchType;

/// The number that bytes are; it has to fit.
pub(crate) fn number(
    catalog: &Catalog<'_>,
    bytes: &[u8],
    bits: i32,
    type_name: Option<&P4NamedType>,
) -> Result<BigUint> {
    if catalog.is_string(type_name) {
        return not_supported("values that are strings on the control plane's side");
    }
    if bytes.is_empty() {
        return fault("a value is missing", "no bytes are no number")
            .help(|| Some("zero is \"\\000\"".into()));
    }
    let value = BigUint::from_bytes_be(bytes);
    match u64::try_from(bits) {
        Ok(bits) if value.bits() <= bits => Ok(value),
        _ => fault(
            "this value does not fit",
            format!("{value:#x} takes {} bits, there are {bits}", value.bits()),
        ),
    }
}

/// One match for each field, in the order of P4Info; a field left out may be anything.
pub(crate) fn matches(
    catalog: &Catalog<'_>,
    fields: &[MatchField],
    given: &[FieldMatch],
) -> Result<Vec<Match>> {
    for (index, one) in given.iter().enumerate() {
        if !fields.iter().any(|f| f.id == one.field_id) {
            let known = listed(fields.iter().map(|f| (f.id, f.name.as_str())));
            return fault(format!("there is no field {}", one.field_id), "no field has this id")
                .help(|| known)
                .within("field_id")
                .at("match", index);
        }
        if given.iter().take(index).any(|before| before.field_id == one.field_id) {
            return fault("a field is matched twice", format!("field {} stands before it", one.field_id))
                .within("field_id")
                .at("match", index);
        }
    }
    fields.iter().map(|field| one(catalog, field, given)).collect()
}

/// The matches of a table's fields by name.
pub(crate) fn named(fields: &[MatchField], found: &[Match], span: Span) -> Vec<(Named, Value<Match>)> {
    let name = |field: &MatchField| Named { text: field.name.clone(), span };
    fields.iter().zip(found).map(|(f, m)| (name(f), Value { value: m.clone(), span })).collect()
}

fn one(catalog: &Catalog<'_>, field: &MatchField, given: &[FieldMatch]) -> Result<Match> {
    let kind = match &field.r#match {
        Some(Wanted::MatchType(kind)) => MatchType::try_from(*kind).unwrap_or(MatchType::Unspecified),
        _ => MatchType::Unspecified,
    };
    let found = given.iter().enumerate().find(|(_, m)| m.field_id == field.id);
    match found {
        None if kind == MatchType::Exact => {
            fault("an exact field is left out", format!("{} is missing", shown(field)))
        }
        None => Ok(Match::Any),
        Some((index, found)) => in_kind(catalog, field, kind, found).at("match", index),
    }
    .about(|| shown(field))
}

/// Fields of value sets may have no name.
fn shown(field: &MatchField) -> String {
    if field.name.is_empty() {
        format!("field {}", field.id)
    } else {
        format!("field {} `{}`", field.id, field.name)
    }
}

fn in_kind(catalog: &Catalog<'_>, field: &MatchField, kind: MatchType, found: &FieldMatch) -> Result<Match> {
    let number = |bytes: &[u8], name: &'static str| {
        number(catalog, bytes, field.bitwidth, field.type_name.as_ref()).within(name)
    };
    let ones = (BigUint::from(1u8) << u64::try_from(field.bitwidth).unwrap_or(0)) - 1u8;
    match (&found.field_match_type, kind) {
        (Some(FieldMatchType::Exact(m)), MatchType::Exact) => {
            number(&m.value, "value").map(Match::Exact).within("exact")
        }
        (Some(FieldMatchType::Optional(m)), MatchType::Optional) => {
            number(&m.value, "value").map(Match::Exact).within("optional")
        }
        (Some(FieldMatchType::Lpm(m)), MatchType::Lpm) => {
            let value = number(&m.value, "value").within("lpm")?;
            prefix(value, m.prefix_len, field.bitwidth).within("lpm")
        }
        (Some(FieldMatchType::Ternary(m)), MatchType::Ternary) => {
            let value = number(&m.value, "value").within("ternary")?;
            let mask = number(&m.mask, "mask").within("ternary")?;
            masked(value, mask).within("ternary")
        }
        (Some(FieldMatchType::Range(m)), MatchType::Range) => {
            let low = number(&m.low, "low").within("range")?;
            let high = number(&m.high, "high").within("range")?;
            range(low, high, &ones).within("range")
        }
        (Some(FieldMatchType::Other(_)), _) => {
            not_supported("matches of an architecture's own kind").within("other")
        }
        (None, _) => fault("a match says nothing", "it has no value")
            .help(|| Some("leave it out to match anything".into())),
        (Some(other), _) => {
            let why = format!("`{}` is matched {}", field.name, form(kind));
            fault("a match of another kind", why).within(form_of(other))
        }
    }
}

fn form(kind: MatchType) -> &'static str {
    match kind {
        MatchType::Exact => "exact",
        MatchType::Lpm => "lpm",
        MatchType::Ternary => "ternary",
        MatchType::Range => "range",
        MatchType::Optional => "optional",
        MatchType::Unspecified => "in a way of its own",
    }
}

fn form_of(found: &FieldMatchType) -> &'static str {
    match found {
        FieldMatchType::Exact(_) => "exact",
        FieldMatchType::Lpm(_) => "lpm",
        FieldMatchType::Ternary(_) => "ternary",
        FieldMatchType::Range(_) => "range",
        FieldMatchType::Optional(_) => "optional",
        FieldMatchType::Other(_) => "other",
    }
}

const LEAVE_OUT: &str = "leave the whole match out";

fn prefix(value: BigUint, length: i32, bits: i32) -> Result<Match> {
    let (Ok(length), true) = (u32::try_from(length), length <= bits) else {
        return fault("the prefix is too long", format!("the field has {bits} bits")).within("prefix_len");
    };
    if length == 0 {
        return fault("a prefix of no bits matches anything", "this is said by no match")
            .help(|| Some(LEAVE_OUT.into()))
            .within("prefix_len");
    }
    let rest = u64::try_from(bits).unwrap_or(0).saturating_sub(u64::from(length));
    if value.trailing_zeros().is_some_and(|zeros| zeros < rest) {
        return fault("a value has bits behind its prefix", format!("the last {rest} bits have to be zero"))
            .within("value");
    }
    Ok(Match::Prefix(value, length))
}

fn masked(value: BigUint, mask: BigUint) -> Result<Match> {
    if mask.bits() == 0 {
        return fault("a mask of zero matches anything", "this is said by no match")
            .help(|| Some(LEAVE_OUT.into()))
            .within("mask");
    }
    if &value & &mask != value {
        return fault("a value has bits outside of its mask", format!("the mask is {mask:#x}"))
            .within("value");
    }
    Ok(Match::Mask(value, mask))
}

fn range(low: BigUint, high: BigUint, ones: &BigUint) -> Result<Match> {
    if low > high {
        return fault("a range ends before it begins", format!("{low} is more than {high}")).within("low");
    }
    if low.bits() == 0 && high == *ones {
        return fault("a range over everything matches anything", "this is said by no match")
            .help(|| Some(LEAVE_OUT.into()));
    }
    Ok(Match::Range(low, high))
}
