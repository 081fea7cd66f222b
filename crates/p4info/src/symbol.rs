//! Ids and aliases (P4Runtime 1.5, sections 6.3 and 6.4).
//!
//! An id is a byte for the kind of thing and 24 bits: those of `@id`, else a hash of the name. Names whose hashes
//! are equal take the next free number, in alphabetical order.

use base_diag::{Diagnostic, Span, codes::elaborate as codes};
use ir::{Annotations, Name};
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of things that have ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Action,
    Table,
    ValueSet,
    ControllerHeader,
    ActionProfile,
    Counter,
    DirectCounter,
    Meter,
    DirectMeter,
    Register,
    Digest,
    /// Instances of an extern type that the specification does not know, by the type's id.
    Extern(u8),
}

impl Kind {
    /// The byte that the specification gives it, or the id of the extern type.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Kind::Action => 0x01,
            Kind::Table => 0x02,
            Kind::ValueSet => 0x03,
            Kind::ControllerHeader => 0x04,
            Kind::ActionProfile => 0x11,
            Kind::Counter => 0x12,
            Kind::DirectCounter => 0x13,
            Kind::Meter => 0x14,
            Kind::DirectMeter => 0x15,
            Kind::Register => 0x16,
            Kind::Digest => 0x17,
            Kind::Extern(id) => id,
        }
    }

    /// Instances of the extern type of this name. Ids of extern types are 0x81 to 0xfe; two types may have one id, since instances have
    /// ids of their own.
    pub(crate) fn of_extern(name: &str) -> Kind {
        const FIRST: u32 = 0x81;
        const LAST: u32 = 0xfe;
        Kind::Extern((FIRST + hash(name.as_bytes()) % (LAST - FIRST + 1)) as u8)
    }
}

/// All objects with an id.
#[derive(Default)]
pub(crate) struct Symbols {
    ids: BTreeMap<(Kind, Name), Option<u32>>,
    taken: BTreeSet<u32>,
    /// Number of names that end with this suffix.
    suffixes: BTreeMap<String, u32>,
    names: BTreeSet<Name>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Symbols {
    /// Notes a thing. Naming one twice changes nothing.
    pub(crate) fn add(&mut self, kind: Kind, name: &Name, annotations: &Annotations, span: Span) {
        if self.ids.contains_key(&(kind, name.clone())) {
            return;
        }
        let id = self.wanted(kind, annotations, span);
        self.ids.insert((kind, name.clone()), id);
        if self.names.insert(name.clone()) {
            for suffix in suffixes(name) {
                *self.suffixes.entry(suffix.to_string()).or_insert(0) += 1;
            }
        }
    }

    /// Id given by `@id`.
    fn wanted(&mut self, kind: Kind, annotations: &Annotations, span: Span) -> Option<u32> {
        let id = explicit_id(annotations)?;
        let byte = u32::from(kind.byte());
        let prefix = byte << 24;
        let whole = u32::try_from(id).ok().filter(|id| id >> 24 == 0 || id >> 24 == byte);
        let Some(whole) = whole else {
            let note = format!("ids of this kind are {:#x} to {:#x}", prefix, prefix | 0xff_ffff);
            let wrong = Diagnostic::error(codes::P4RUNTIME_ID, format!("{id:#x} cannot be the id here"));
            self.diagnostics.push(wrong.at(span, "it has the upper byte of another kind").note(note));
            return None;
        };
        let whole = whole | prefix;
        if !self.taken.insert(whole) {
            let wrong = Diagnostic::error(codes::P4RUNTIME_ID, format!("the id {whole:#x} is taken"));
            self.diagnostics.push(wrong.at(span, "something before it has this `@id`"));
            return None;
        }
        Some(whole)
    }

    /// Assigns an id to every object without one. To be called once, after all objects are noted.
    pub(crate) fn number(&mut self) {
        for ((kind, name), id) in &mut self.ids {
            let prefix = u32::from(kind.byte()) << 24;
            let hash = hash(name.as_bytes());
            let mut numbers = (0..=0xff_ffffu32).map(|n| prefix | (hash.wrapping_add(n) & 0xff_ffff));
            if id.is_none() {
                *id = numbers.find(|n| self.taken.insert(*n));
            }
        }
    }

    /// The id of a thing that was noted; 0, which nothing has, for any other.
    pub(crate) fn id(&self, kind: Kind, name: &Name) -> u32 {
        self.ids.get(&(kind, name.clone())).copied().flatten().unwrap_or(0)
    }

    /// The shortest suffix of whole components that no other name has.
    pub(crate) fn alias(&self, name: &Name) -> String {
        let unique = |suffix: &&str| self.suffixes.get(*suffix).is_none_or(|count| *count < 2);
        suffixes(name).find(unique).unwrap_or(name).to_string()
    }
}

/// `c`, `b.c`, `a.b.c`
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    let dots = name.rmatch_indices('.').map(|(at, _)| at + 1);
    dots.chain([0]).map(|at| name.get(at..).unwrap_or(name))
}

/// The number in `@id(...)`.
pub(crate) fn explicit_id(annotations: &Annotations) -> Option<u64> {
    let id = annotations.iter().find(|a| a.name == "id")?;
    match id.body.values() {
        [ir::AnnotationValue::Int(value)] => u64::try_from(value).ok(),
        _ => None,
    }
}

/// Jenkins' one-at-a-time hash.
fn hash(bytes: &[u8]) -> u32 {
    let mut hash = 0u32;
    for byte in bytes {
        hash = hash.wrapping_add(u32::from(*byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(names: &[&str]) -> Symbols {
        let mut symbols = Symbols::default();
        for name in names {
            symbols.add(Kind::Action, &(*name).into(), &vec![], Span::NONE);
        }
        symbols.number();
        symbols
    }

    #[test]
    fn a_name_gives_the_id() {
        assert_eq!(symbols(&["NoAction"]).id(Kind::Action, &"NoAction".into()), 21257015);
    }

    /// The hashes of these two have the same lower 24 bits; the first in the alphabet keeps them.
    #[test]
    fn a_taken_id_gives_way_to_the_next() {
        let (first, second) = collision();
        let both = symbols(&[&second, &first]);
        let alone = symbols(&[&first]).id(Kind::Action, &first.as_str().into());
        assert_eq!(both.id(Kind::Action, &first.as_str().into()), alone);
        let next = 0x0100_0000 | ((alone + 1) & 0xff_ffff);
        assert_eq!(both.id(Kind::Action, &second.as_str().into()), next);
    }

    fn collision() -> (String, String) {
        let mut seen = BTreeMap::new();
        for n in 0.. {
            let name = format!("a{n:06}");
            if let Some(first) = seen.insert(hash(name.as_bytes()) & 0xff_ffff, name.clone()) {
                return (first, name);
            }
        }
        unreachable!("24 bits are soon used up")
    }

    #[test]
    fn aliases_are_the_shortest_unique_suffixes() {
        let symbols = symbols(&["a.b.c", "b.c", "a.d.c", "x.y"]);
        let alias = |name: &str| symbols.alias(&name.into());
        assert_eq!(["a.b.c", "b.c", "a.d.c", "x.y"].map(alias), ["a.b.c", "b.c", "d.c", "y"]);
    }
}
