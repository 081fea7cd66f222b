//! Match fields of an entry (P4Runtime 1.5, section 9.1.1).

use crate::fault::{Result, Within, fault, listed, not_supported};
use crate::number;
use base_bits::Bits;
use base_bits::num_bigint::BigUint;
use control_writes::Match;
use p4runtime_proto::p4::config::v1::MatchField;
use p4runtime_proto::p4::config::v1::match_field::{Match as Wanted, MatchType};
use p4runtime_proto::p4::v1::FieldMatch;
use p4runtime_proto::p4::v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};

/// One match for each field, in the order of P4Info; a field left out may be anything.
pub(crate) fn decode(fields: &[MatchField], given: &[FieldMatch]) -> Result<Vec<Match>> {
    for (index, one) in given.iter().enumerate() {
        if !fields.iter().any(|f| f.id == one.field_id) {
            let known = listed(fields.iter().map(|f| (f.id, f.name.as_str())));
            return fault(format!("there is no field {}", one.field_id), "no match field has this id")
                .help(|| known)
                .within("field_id")
                .at("match", index);
        }
        if given.iter().take(index).any(|before| before.field_id == one.field_id) {
            return fault("a field is matched twice", format!("field {} appears earlier", one.field_id))
                .within("field_id")
                .at("match", index);
        }
    }
    fields.iter().map(|field| one(field, given)).collect()
}

/// The matches in canonical form, in the order of P4Info; those of anything are left out.
pub(crate) fn encode(fields: &[MatchField], matches: &[Match]) -> Vec<FieldMatch> {
    let encoded = fields.iter().zip(matches).filter_map(|(field, one)| {
        let number = number::encode;
        let found = match one {
            Match::Any => return None,
            // Forms of anything that messages leave out.
            Match::Lpm { prefix_len: 0, .. } => return None,
            Match::Ternary { mask, .. } if mask.is_zero() => return None,
            Match::Range { lo, hi } if is_all(field, lo, hi) => return None,
            Match::Exact(value) if kind(field) == MatchType::Optional => {
                FieldMatchType::Optional(Optional { value: number(value) })
            }
            Match::Exact(value) => FieldMatchType::Exact(Exact { value: number(value) }),
            Match::Lpm { value, prefix_len } => FieldMatchType::Lpm(Lpm {
                value: number(value),
                prefix_len: i32::try_from(*prefix_len).unwrap_or(i32::MAX),
            }),
            Match::Ternary { value, mask } => {
                FieldMatchType::Ternary(Ternary { value: number(value), mask: number(mask) })
            }
            Match::Range { lo, hi } => FieldMatchType::Range(Range { low: number(lo), high: number(hi) }),
        };
        Some(FieldMatch { field_id: field.id, field_match_type: Some(found) })
    });
    encoded.collect()
}

/// True if a range is the whole of its field.
fn is_all(field: &MatchField, lo: &Bits, hi: &Bits) -> bool {
    lo.is_zero() && hi.is_ones() && i64::from(field.bitwidth) == i64::from(hi.width())
}

pub(crate) fn kind(field: &MatchField) -> MatchType {
    match &field.r#match {
        Some(Wanted::MatchType(kind)) => MatchType::try_from(*kind).unwrap_or(MatchType::Unspecified),
        _ => MatchType::Unspecified,
    }
}

fn one(field: &MatchField, given: &[FieldMatch]) -> Result<Match> {
    let kind = kind(field);
    let found = given.iter().enumerate().find(|(_, m)| m.field_id == field.id);
    match found {
        None if kind == MatchType::Exact => {
            fault("an exact match field is missing", format!("{} has no value", shown(field)))
        }
        None => Ok(Match::Any),
        Some((index, found)) => in_kind(field, kind, found).at("match", index),
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

fn in_kind(field: &MatchField, kind: MatchType, found: &FieldMatch) -> Result<Match> {
    let number = |bytes: &[u8], name: &'static str| number::unsigned(bytes, field.bitwidth).within(name);
    match (&found.field_match_type, kind) {
        (Some(FieldMatchType::Exact(m)), MatchType::Exact) => {
            number(&m.value, "value").map(Match::Exact).within("exact")
        }
        (Some(FieldMatchType::Optional(m)), MatchType::Optional) => {
            number(&m.value, "value").map(Match::Exact).within("optional")
        }
        (Some(FieldMatchType::Lpm(m)), MatchType::Lpm) => {
            let value = number(&m.value, "value").within("lpm")?;
            prefix(value, m.prefix_len).within("lpm")
        }
        (Some(FieldMatchType::Ternary(m)), MatchType::Ternary) => {
            let value = number(&m.value, "value").within("ternary")?;
            let mask = number(&m.mask, "mask").within("ternary")?;
            masked(value, mask).within("ternary")
        }
        (Some(FieldMatchType::Range(m)), MatchType::Range) => {
            let low = number(&m.low, "low").within("range")?;
            let high = number(&m.high, "high").within("range")?;
            range(low, high).within("range")
        }
        (Some(FieldMatchType::Other(_)), _) => not_supported("architecture-specific matches").within("other"),
        (None, _) => {
            fault("the match is empty", "it has no value").help(|| Some("omit it to match any value".into()))
        }
        (Some(other), _) => {
            let why = format!("`{}` has match kind {}", field.name, form(kind));
            fault("the match kind is wrong", why).within(form_of(other))
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
        MatchType::Unspecified => "of the architecture",
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

const LEAVE_OUT: &str = "omit the match";

fn prefix(value: Bits, length: i32) -> Result<Match> {
    let bits = value.width();
    let prefix_len = match u32::try_from(length) {
        Ok(length) if length <= bits => length,
        _ => {
            return fault("the prefix is too long", format!("the field has {bits} bits"))
                .within("prefix_len");
        }
    };
    if prefix_len == 0 {
        return fault("the prefix length is 0", "omitted fields match any value")
            .help(|| Some(LEAVE_OUT.into()))
            .within("prefix_len");
    }
    let rest = bits - prefix_len;
    let zeros = value.to_biguint().trailing_zeros();
    if zeros.is_some_and(|zeros| zeros < u64::from(rest)) {
        return fault("the value has bits after its prefix", format!("the last {rest} bits must be zero"))
            .within("value");
    }
    Ok(Match::Lpm { value, prefix_len })
}

fn masked(value: Bits, mask: Bits) -> Result<Match> {
    if mask.is_zero() {
        return fault("the mask is zero", "omitted fields match any value")
            .help(|| Some(LEAVE_OUT.into()))
            .within("mask");
    }
    let (number, ones): (BigUint, BigUint) = (value.to_biguint(), mask.to_biguint());
    if &number & &ones != number {
        return fault("the value has bits outside its mask", format!("the mask is {ones:#x}"))
            .within("value");
    }
    Ok(Match::Ternary { value, mask })
}

fn range(low: Bits, high: Bits) -> Result<Match> {
    if low > high {
        let why = format!("{} is greater than {}", low.to_biguint(), high.to_biguint());
        return fault("the range is empty", why).within("low");
    }
    if low.is_zero() && high.is_ones() {
        return fault("the range covers every value", "omitted fields match any value")
            .help(|| Some(LEAVE_OUT.into()));
    }
    Ok(Match::Range { lo: low, hi: high })
}
