//! Matches and action data, with the widths of keys and parameters.

use crate::{refuse, unknown, wrong};
use base_bits::Bits;
use base_bits::num_bigint::BigUint;
use base_diag::{Diagnostic, Span};
use control_writes::Match;
use dataplane_api::EntryError;
use device::{ActionSpec, KeySpec, TableSpec};
use ir::MatchKind;
use p4_entries::{Args, Keys, Named, Value};

/// The data of an action, and the priority if it stood with it.
pub(crate) type Data = (Vec<Bits>, Option<i64>);

/// The action's data in the order of its parameters.
pub(crate) fn data(
    table: &TableSpec,
    spec: &ActionSpec,
    action: &Named,
    args: &Args,
) -> Result<Data, Box<Diagnostic>> {
    let params = &spec.params;
    let fitted = |(name, width): &(ir::Name, u32), arg: &Value<BigUint>| {
        if arg.value.bits() > u64::from(*width) {
            return Err(wrong(arg.span, format!("`{name}` has {width} bits: this does not fit")));
        }
        Ok(Bits::from_biguint(*width, arg.value.clone()))
    };
    let names = || params.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    let (given, priority) = match args {
        Args::Named(given) => {
            let names = names();
            if let Some((name, _)) = given.iter().find(|(n, _)| !names.contains(&n.text.as_str())) {
                return Err(unknown("parameter", name, &names));
            }
            let data = params.iter().map(|param| {
                let found = given.iter().find(|(name, _)| name.text == param.0.as_str());
                let (_, arg) = found
                    .ok_or_else(|| wrong(action.span, format!("a value for `{}` is missing", param.0)))?;
                fitted(param, arg)
            });
            return Ok((data.collect::<Result<_, _>>()?, None));
        }
        Args::InOrder(given) => (given.as_slice(), None),
        Args::AndPriority(given) => {
            let ranked = table.has_priorities;
            match given.split_last() {
                // BMv2 requires a priority for such tables. There, the smallest number wins; here, the largest.
                _ if ranked && given.len() == params.len() => return Err(no_priority(action.span)),
                Some((last, rest)) if ranked && given.len() == params.len() + 1 => {
                    let least = i64::try_from(&last.value);
                    let least = least.map_err(|_| wrong(last.span, "this priority is too large"))?;
                    (rest, Some(-least))
                }
                _ => (given.as_slice(), None),
            }
        }
    };
    if given.len() != params.len() {
        let message = format!("`{}` takes {} values, not {}", action.text, params.len(), given.len());
        let help = (!params.is_empty()).then(|| format!("in order: {}", names().join(", ")));
        return Err(refuse(action.span, EntryError { message, help }));
    }
    let data = params.iter().zip(given).map(|(param, arg)| fitted(param, arg));
    Ok((data.collect::<Result<_, _>>()?, priority))
}

/// One match for each key of the table.
pub(crate) fn matches(specs: &[KeySpec], keys: &Keys, span: Span) -> Result<Vec<Match>, Box<Diagnostic>> {
    match keys {
        Keys::InOrder(given) | Keys::AsInBmv2(given) => {
            if given.len() != specs.len() {
                let names: Vec<&str> = specs.iter().map(|s| s.name.as_str()).collect();
                let message = format!("the table has {} keys, not {}", specs.len(), given.len());
                let help = (!names.is_empty()).then(|| format!("in order: {}", names.join(", ")));
                return Err(refuse(span, EntryError { message, help }));
            }
            if let Keys::AsInBmv2(_) = keys {
                specs.iter().zip(given).try_for_each(|(spec, value)| has_form(spec, value))?;
            }
            specs.iter().zip(given).map(|(spec, value)| key(spec, value)).collect()
        }
        Keys::Named(given) => {
            let mut wanted = vec![None; specs.len()];
            for (name, value) in given {
                let tail = format!(".{}", name.text);
                let exact = specs.iter().position(|s| s.name == name.text);
                let at = exact.or_else(|| specs.iter().position(|s| s.name.ends_with(&tail)));
                let (Some(spec), Some(slot)) =
                    (at.and_then(|at| specs.get(at)), at.and_then(|at| wanted.get_mut(at)))
                else {
                    let known: Vec<&str> = specs.iter().map(|s| s.name.as_str()).collect();
                    return Err(unknown("key", name, &known));
                };
                if slot.is_some() {
                    return Err(wrong(name.span, "this key is given already"));
                }
                *slot = Some(key(spec, value)?);
            }
            Ok(specs.iter().zip(wanted).map(|(spec, wanted)| wanted.unwrap_or_else(|| open(spec))).collect())
        }
    }
}

/// Match of an omitted key.
pub(crate) fn open(spec: &KeySpec) -> Match {
    match spec.kind {
        MatchKind::Exact => Match::Exact(Bits::zero(spec.width)),
        _ => Match::Any,
    }
}

/// Refuses forms that `simple_switch_CLI` refuses: it accepts one form for each kind of key.
fn has_form(spec: &KeySpec, value: &Value<p4_entries::Match>) -> Result<(), Box<Diagnostic>> {
    use p4_entries::Match;
    let (form, example) = match (&spec.kind, &value.value) {
        (MatchKind::Lpm, Match::Prefix(..))
        | (MatchKind::Ternary | MatchKind::Optional, Match::Mask(..))
        | (MatchKind::Range, Match::Range(..)) => return Ok(()),
        (MatchKind::Lpm, _) => ("a prefix length", "10.0.0.0/8"),
        (MatchKind::Ternary | MatchKind::Optional, _) => ("a mask", "0x0a&&&0xff"),
        (MatchKind::Range, _) => ("an end", "1->5"),
        _ => return Ok(()),
    };
    let message = format!("`{}` wants {form} here", spec.name);
    Err(refuse(value.span, EntryError { message, help: Some(format!("for example: `{example}`")) }))
}

/// A priority is missing.
pub(crate) fn no_priority(span: Span) -> Box<Diagnostic> {
    let message = "a priority is missing at the end: the table has ternary, optional or range keys";
    let help = Some("the smallest number wins".to_string());
    refuse(span, EntryError { message: message.to_string(), help })
}

/// A match of two numbers in the form of the key's kind.
fn paired(spec: &KeySpec, value: &Value<p4_entries::Match>) -> Result<p4_entries::Match, Box<Diagnostic>> {
    use p4_entries::Match as Given;
    let Given::Pair(one, other) = &value.value else { return Ok(value.value.clone()) };
    let (one, other) = (one.clone(), other.clone());
    Ok(match &spec.kind {
        MatchKind::Lpm => match u32::try_from(&other) {
            Ok(length) => Given::Prefix(one, length),
            Err(_) => return Err(wrong(value.span, "this prefix length is too large")),
        },
        MatchKind::Ternary => Given::Mask(one, other),
        MatchKind::Range => Given::Range(one, other),
        _ => {
            return Err(wrong(value.span, format!("`{}` wants one number", spec.name)));
        }
    })
}

fn key(spec: &KeySpec, value: &Value<p4_entries::Match>) -> Result<Match, Box<Diagnostic>> {
    use p4_entries::Match as Given;
    let given = paired(spec, value)?;
    let fits = |number: &BigUint| match number.bits() > u64::from(spec.width) {
        true => Err(wrong(value.span, format!("`{}` has {} bits: this does not fit", spec.name, spec.width))),
        false => Ok(()),
    };
    match &given {
        Given::Exact(number) | Given::Prefix(number, _) => fits(number)?,
        Given::Mask(number, mask) | Given::Pair(number, mask) => fits(number).and(fits(mask))?,
        Given::Range(lo, hi) => fits(lo).and(fits(hi))?,
        Given::Any => {}
    }
    let bits = |n: &BigUint| Bits::from_biguint(spec.width, n.clone());
    let refused = |what: &str| {
        let kind = format!("{:?}", spec.kind).to_lowercase();
        Err(wrong(value.span, format!("`{}` is an {kind} key: it cannot match {what}", spec.name)))
    };
    Ok(match (&given, &spec.kind) {
        (Given::Exact(n), _) => Match::Exact(bits(n)),
        (Given::Prefix(..), MatchKind::Exact | MatchKind::Range | MatchKind::Optional) => {
            return refused("a prefix");
        }
        (Given::Prefix(_, length), _) if *length > spec.width => {
            let label = format!("`{}` has {} bits: a prefix is no longer", spec.name, spec.width);
            return Err(wrong(value.span, label));
        }
        (Given::Prefix(n, length), _) => Match::Lpm { value: bits(n), prefix_len: *length },
        (Given::Mask(..), MatchKind::Exact | MatchKind::Range | MatchKind::Optional) => {
            return refused("a mask");
        }
        (Given::Mask(n, mask), _) => Match::Ternary { value: bits(n), mask: bits(mask) },
        (Given::Range(lo, hi), MatchKind::Range) => Match::Range { lo: bits(lo), hi: bits(hi) },
        (Given::Range(..), _) => return refused("a range"),
        (Given::Any, MatchKind::Exact) => return refused("anything"),
        (Given::Any, _) => Match::Any,
        (Given::Pair(..), _) => return refused("two numbers"),
    })
}

/// A match whose width nobody knows here.
pub(crate) fn plain(wanted: &p4_entries::Match) -> Match {
    use p4_entries::Match as Given;
    let bits =
        |n: &BigUint| Bits::from_biguint(u32::try_from(n.bits()).unwrap_or(u32::MAX).max(1), n.clone());
    match wanted {
        Given::Exact(n) => Match::Exact(bits(n)),
        Given::Prefix(n, length) => Match::Lpm { value: bits(n), prefix_len: *length },
        Given::Mask(n, mask) | Given::Pair(n, mask) => Match::Ternary { value: bits(n), mask: bits(mask) },
        Given::Range(lo, hi) => Match::Range { lo: bits(lo), hi: bits(hi) },
        Given::Any => Match::Any,
    }
}
