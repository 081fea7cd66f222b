//! `add` and `setdefault`: from STF's names and numbers to those of the device.

use crate::names::{refused, unknown};
use crate::switch::Switch;
use crate::table::{KeyMatch, KeySpec};
use base_bits::Bits;
use dataplane_api::EntryError;
use ir::MatchKind;
use p4_stf::{ActionCall, KeyValue, MatchValue, Number};

/// Adds an entry and gives its handle.
pub(super) fn add(
    switch: &mut Switch,
    table: &str,
    priority: Option<u32>,
    keys: &[KeyValue],
    action: &ActionCall,
) -> Result<u64, EntryError> {
    let specs = switch.table_keys(table)?;
    let mut wanted: Vec<Option<KeyMatch>> = vec![None; specs.len()];
    for key in keys {
        let at = key_index(specs, &key.key.text)?;
        wanted[at] = Some(key_match(&specs[at], &key.value)?);
    }
    let all = specs.iter().zip(wanted).map(|(spec, wanted)| match (wanted, &spec.kind) {
        (Some(wanted), _) => wanted,
        (None, MatchKind::Exact) => KeyMatch::Exact(Bits::zero(spec.width)),
        (None, _) => KeyMatch::Any,
    });
    let all: Vec<KeyMatch> = all.collect();
    let args = action_args(switch, table, action)?;
    switch.table_add(table, &all, &action.name.text, &args, priority.map(i64::from))
}

/// Replaces a default action.
pub(super) fn set_default(switch: &mut Switch, table: &str, action: &ActionCall) -> Result<(), EntryError> {
    let args = action_args(switch, table, action)?;
    switch.table_set_default(table, &action.name.text, &args)
}

/// Which key is meant: by its name, its name without `$` or `.$valid$` at the end, or the end of its name.
fn key_index(specs: &[KeySpec], name: &str) -> Result<usize, EntryError> {
    let name = &with_index(name);
    let position = |wanted: &str| specs.iter().position(|s| s.name == wanted);
    let valid = name.strip_suffix(".valid").map(|head| format!("{head}.$valid$"));
    let found = position(name)
        .or_else(|| position(&format!("{name}$")))
        .or_else(|| position(&format!("{name}.$valid$")))
        .or_else(|| valid.as_deref().and_then(position))
        .or_else(|| {
            let ends = |s: &KeySpec| {
                s.name.ends_with(&format!(".{name}"))
                    || s.name.ends_with(&format!(".{name}$"))
                    || (name == "valid" && s.name.ends_with("$valid$"))
            };
            specs.iter().position(ends)
        });
    found.ok_or_else(|| unknown("key", name, specs.iter().map(|s| s.name.as_str())))
}

/// `hdr$0.f` is how some tests write `hdr[0].f`.
fn with_index(name: &str) -> String {
    let Some((head, tail)) = name.split_once('$') else { return name.to_string() };
    let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    if digits == 0 {
        return name.to_string();
    }
    format!("{head}[{}]{}", &tail[..digits], &tail[digits..])
}

fn key_match(spec: &KeySpec, value: &MatchValue) -> Result<KeyMatch, EntryError> {
    let bits = |number: &Number| {
        number.bits(spec.width).ok_or_else(|| {
            refused(format!("this value does not fit into the {} bits of `{}`", spec.width, spec.name))
        })
    };
    let number = match value {
        MatchValue::Prefix(number, length) => {
            return Ok(KeyMatch::Lpm { value: bits(number)?, prefix_len: *length });
        }
        MatchValue::Number(number) => number,
    };
    let value = bits(number)?;
    match spec.kind {
        MatchKind::Ternary => Ok(match number.mask() {
            Some(mask) => KeyMatch::Ternary { value, mask: Bits::from_biguint(spec.width, mask) },
            None => KeyMatch::Exact(value),
        }),
        MatchKind::Lpm => match (number.base.bits_per_digit(), number.prefix_len()) {
            (None, _) => Ok(KeyMatch::Exact(value)),
            (_, Some(length)) => Ok(KeyMatch::Lpm { value, prefix_len: length.min(spec.width) }),
            (_, None) => {
                Err(refused(format!("`{}` is an lpm key: only trailing digits may be open", spec.name)))
            }
        },
        _ if number.has_wildcards() => Err(refused(format!("`{}` has no open digits", spec.name))),
        _ => Ok(KeyMatch::Exact(value)),
    }
}

/// The arguments in the order of the action's parameters.
fn action_args(switch: &Switch, table: &str, action: &ActionCall) -> Result<Vec<Bits>, EntryError> {
    let params = switch.action_params(table, &action.name.text)?;
    for (name, _) in &action.args {
        if !params.iter().any(|(param, _)| *param == name.text) {
            return Err(unknown("parameter", &name.text, params.iter().map(|(n, _)| n.as_str())));
        }
    }
    let arg = |(name, width): &(String, u32)| {
        let given = action.args.iter().find(|(n, _)| n.text == *name);
        let (_, number) =
            given.ok_or_else(|| refused(format!("a value for the parameter `{name}` is missing")))?;
        number
            .bits(*width)
            .ok_or_else(|| refused(format!("the value of `{name}` does not fit into {width} bits")))
    };
    params.iter().map(arg).collect()
}
