//! The names of a program's tables, actions and objects, with the properties that calls need.

use p4runtime_proto::p4::config::v1::{
    Action, ActionProfile, Counter, Digest, DirectCounter, DirectMeter, MatchField, Meter, P4Info, Preamble,
    Register, Table, ValueSet, match_field, p4_bitstring_like_type_spec, p4_data_type_spec,
};

/// The kinds of keys that BMv2's clients know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyKind {
    /// Also keys of kind `optional` in tables without priorities.
    Exact = 0,
    Lpm = 1,
    /// Also `optional`: all bits or none.
    Ternary = 2,
    Range = 4,
}

impl KeyKind {
    /// As JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            KeyKind::Exact => "exact",
            KeyKind::Lpm => "lpm",
            KeyKind::Ternary => "ternary",
            KeyKind::Range => "range",
        }
    }
}

/// The kind of a key.
pub fn key_kind(field: &MatchField) -> KeyKind {
    use match_field::{Match, MatchType};
    match field.r#match {
        Some(Match::MatchType(kind)) => match MatchType::try_from(kind) {
            Ok(MatchType::Lpm) => KeyKind::Lpm,
            Ok(MatchType::Ternary | MatchType::Optional) => KeyKind::Ternary,
            Ok(MatchType::Range) => KeyKind::Range,
            _ => KeyKind::Exact,
        },
        _ => KeyKind::Exact,
    }
}

/// True for a key that matches all or one value.
pub fn is_optional(field: &MatchField) -> bool {
    use match_field::{Match, MatchType};
    field.r#match == Some(Match::MatchType(MatchType::Optional as i32))
}

/// The kind that a table has for BMv2: that of its most general key.
pub fn table_kind(table: &Table) -> KeyKind {
    table.match_fields.iter().map(key_kind).max().unwrap_or(KeyKind::Exact)
}

/// True if entries have priorities.
pub fn has_priorities(table: &Table) -> bool {
    table_kind(table) >= KeyKind::Ternary
}

/// The width of a register's cells; `None` if they are structs.
pub fn register_bits(register: &Register) -> Option<i32> {
    use p4_bitstring_like_type_spec::TypeSpec as Bits;
    use p4_data_type_spec::TypeSpec;
    match register.type_spec.as_ref()?.type_spec.as_ref()? {
        TypeSpec::Bitstring(bits) => match bits.type_spec.as_ref()? {
            Bits::Bit(bit) => Some(bit.bitwidth),
            Bits::Int(int) => Some(int.bitwidth),
            Bits::Varbit(varbit) => Some(varbit.max_bitwidth),
        },
        TypeSpec::Bool(_) => Some(1),
        _ => None,
    }
}

/// Something with a name.
pub trait Named {
    /// Id and names.
    fn preamble(&self) -> Option<&Preamble>;

    /// Id.
    fn id(&self) -> u32 {
        self.preamble().map_or(0, |preamble| preamble.id)
    }

    /// Full name.
    fn name(&self) -> &str {
        self.preamble().map_or("", |preamble| &preamble.name)
    }
}

macro_rules! named {
    ($($kind:ty),*) => { $(impl Named for $kind {
        fn preamble(&self) -> Option<&Preamble> {
            self.preamble.as_ref()
        }
    })* };
}
named!(Table, Action, ActionProfile, Counter, Digest, DirectCounter, Meter, DirectMeter, Register, ValueSet);

/// The object with this name, or the only one whose name ends in it after a dot.
pub fn find<'i, T: Named>(all: &'i [T], name: &str) -> Option<&'i T> {
    let exact = all.iter().find(|thing| thing.name() == name);
    let ends = |thing: &&T| thing.name().strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    exact.or_else(|| {
        let mut ending = all.iter().filter(ends);
        ending.next().filter(|_| ending.next().is_none())
    })
}

/// The object with this id.
pub fn by_id<T: Named>(all: &[T], id: u32) -> Option<&T> {
    all.iter().find(|thing| thing.id() == id)
}

/// The actions of a table that entries may have.
pub fn actions<'i>(info: &'i P4Info, table: &'i Table) -> impl Iterator<Item = &'i Action> {
    table.action_refs.iter().filter_map(|of| by_id(&info.actions, of.id))
}
