//! `add` and `setdefault`: from STF's names and numbers to those of the device.

use crate::resolver::Resolver;
use crate::values::open;
use crate::{Write, refused};
use base_bits::Bits;
use control_writes::{ActionCall, Entry, Match, Run};
use dataplane_api::EntryError;
use device::{KeySpec, TableSpec, unknown};
use ir::{MatchKind, Name};
use p4_stf::{KeyValue, MatchValue, Named, Number};

impl Resolver {
    /// Adds an entry; `named` is the name that the test gives it.
    pub(super) fn stf_add(
        &mut self,
        table: &str,
        priority: Option<u32>,
        keys: &[KeyValue],
        action: &p4_stf::ActionCall,
        named: Option<&Named>,
    ) -> Result<Vec<Write>, EntryError> {
        let at = self.specs.table(table)?;
        let spec = &self.specs.tables[at];
        let mut wanted: Vec<Option<Match>> = vec![None; spec.keys.len()];
        for key in keys {
            let at = key_index(&spec.keys, &key.key.text)?;
            wanted[at] = Some(key_match(&spec.keys[at], &key.value)?);
        }
        let all = spec.keys.iter().zip(wanted).map(|(key, wanted)| wanted.unwrap_or_else(|| open(key)));
        let all: Vec<Match> = all.collect();
        let call = action_call(spec, action)?;
        if spec.profile.is_some() {
            return Err(refused(format!("the entries of `{}` name members or groups", spec.name)));
        }
        let key = spec.key(&all, priority.map(i64::from))?;
        let handle = self.tables[at].next_handle;
        let writes = self.add(at, key, Entry::new(Run::Action(call)))?;
        if let Some(name) = named {
            self.named.insert(name.text.clone(), handle);
        }
        Ok(writes)
    }

    /// Replaces a default action.
    pub(super) fn stf_default(
        &mut self,
        table: &str,
        action: &p4_stf::ActionCall,
    ) -> Result<Vec<Write>, EntryError> {
        let spec = &self.specs.tables[self.specs.table(table)?];
        Ok(vec![self.set_default(spec.name.clone(), action_call(spec, action)?, None)])
    }

    /// The handle of the entry that a test gave this name.
    pub(super) fn named_entry(&self, name: &str) -> Result<u64, EntryError> {
        let known = || self.named.keys().map(String::as_str);
        self.named.get(name).copied().ok_or_else(|| unknown("named entry", name, known()))
    }
}

/// Index of a key by its name, by its name without a final `$` or `.$valid$`, or by the end of its name.
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

fn key_match(spec: &KeySpec, value: &MatchValue) -> Result<Match, EntryError> {
    let bits = |number: &Number| {
        number.bits(spec.width).ok_or_else(|| {
            refused(format!("this value does not fit into the {} bits of `{}`", spec.width, spec.name))
        })
    };
    let number = match value {
        MatchValue::Prefix(number, length) => {
            return Ok(Match::Lpm { value: bits(number)?, prefix_len: *length });
        }
        MatchValue::Number(number) => number,
    };
    let value = bits(number)?;
    match spec.kind {
        MatchKind::Ternary => Ok(match number.mask() {
            Some(mask) => Match::Ternary { value, mask: Bits::from_biguint(spec.width, mask) },
            None => Match::Exact(value),
        }),
        MatchKind::Lpm => match (number.base.bits_per_digit(), number.prefix_len()) {
            (None, _) => Ok(Match::Exact(value)),
            (_, Some(length)) => Ok(Match::Lpm { value, prefix_len: length.min(spec.width) }),
            (_, None) => {
                Err(refused(format!("`{}` is an lpm key: only trailing digits may be open", spec.name)))
            }
        },
        _ if number.has_wildcards() => Err(refused(format!("`{}` has no open digits", spec.name))),
        _ => Ok(Match::Exact(value)),
    }
}

/// The action with its arguments in the order of its parameters.
fn action_call(table: &TableSpec, action: &p4_stf::ActionCall) -> Result<ActionCall<Name>, EntryError> {
    let spec = table.action(&action.name.text)?;
    for (name, _) in &action.args {
        if !spec.params.iter().any(|(param, _)| *param == name.text) {
            return Err(unknown("parameter", &name.text, spec.params.iter().map(|(n, _)| n.as_str())));
        }
    }
    let arg = |(name, width): &(Name, u32)| {
        let given = action.args.iter().find(|(n, _)| *name == n.text);
        let (_, number) =
            given.ok_or_else(|| refused(format!("a value for the parameter `{name}` is missing")))?;
        number
            .bits(*width)
            .ok_or_else(|| refused(format!("the value of `{name}` does not fit into {width} bits")))
    };
    let args = spec.params.iter().map(arg).collect::<Result<_, _>>()?;
    Ok(ActionCall { action: spec.name.clone(), args })
}
