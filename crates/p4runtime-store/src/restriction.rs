//! `@entry_restriction` and `@action_restriction`: constraints on entries and action data, in the language of
//! p4-constraints (<https://github.com/p4lang/p4-constraints>).
//!
//! ```text
//! @entry_restriction("
//!     // An address is matched only where the packet is IPv4.
//!     dst::mask != 0 -> ether_type == 0x0800;
//!     vrf::mask == 0 || vrf::mask == -1;
//!     ::priority < 1000
//! ")
//! ```
//!
//! A number without a width takes the width of the value it is compared with, modulo 2^width. A field that is ternary,
//! lpm, range or optional equals a number if it matches that number alone.

mod lex;
mod parse;

use crate::catalog::Described;
use crate::fault::{Result, Within, fault};
use crate::matches;
use base_bits::Bits;
use base_bits::num_bigint::BigInt;
use control_writes::Match;
use p4runtime_proto::p4::config::v1::match_field::MatchType;
use p4runtime_proto::p4::config::v1::{Action, P4Info, Table};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Conditions that must all hold, each with its text.
#[derive(Clone, Debug)]
pub(crate) struct Restriction(Vec<(String, Expr)>);

/// The restrictions of tables and actions, by ids.
#[derive(Clone, Default, Debug)]
pub(crate) struct Restrictions {
    tables: BTreeMap<u32, Restriction>,
    actions: BTreeMap<u32, Restriction>,
    /// Why some cannot be read.
    pub(crate) unread: Vec<String>,
}

impl Restrictions {
    pub(crate) fn new(info: &P4Info) -> Restrictions {
        let mut all = Restrictions::default();
        for table in &info.tables {
            let read = Restriction::of_table(table).and_then(|read| all.read(read));
            all.tables.extend(read.map(|read| (table.id(), read)));
        }
        for action in &info.actions {
            let read = Restriction::of_action(action).and_then(|read| all.read(read));
            all.actions.extend(read.map(|read| (action.id(), read)));
        }
        all
    }

    fn read(&mut self, read: std::result::Result<Restriction, String>) -> Option<Restriction> {
        read.map_err(|why| self.unread.push(why)).ok()
    }

    /// Restriction of a table's entries.
    pub(crate) fn table(&self, id: u32) -> Option<&Restriction> {
        self.tables.get(&id)
    }

    /// Restriction of an action's data.
    pub(crate) fn action(&self, id: u32) -> Option<&Restriction> {
        self.actions.get(&id)
    }
}

/// Types of values; numbers have no width until they are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
    Bool,
    Int,
    Bits(u32),
    /// Match of an entry on a field of this kind and width.
    Field(MatchType, u32),
}

/// Required order of the compared values.
type Wanted = fn(Ordering) -> bool;

#[derive(Clone, Debug)]
enum Expr {
    Bool(bool),
    Int(BigInt),
    /// A field or parameter, by its place.
    Name(usize),
    /// Part 0 or 1 of a field's match.
    Part(usize, usize),
    Priority,
    Not(Box<Expr>),
    Negate(Box<Expr>),
    /// A number as something of this kind.
    As(Type, Box<Expr>),
    Compare(Wanted, Box<[Expr; 2]>),
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
}

/// A value: two numbers for a field's match, else one.
type Value = [BigInt; 2];

/// Names that a constraint may use.
struct Scope {
    names: Vec<(String, Type)>,
    has_priority: bool,
}

/// Values that a constraint is evaluated on: of fields or parameters, and the priority.
struct Subject {
    values: Vec<Value>,
    priority: i64,
}

impl Restriction {
    /// A table's, if it has one; why it cannot be read.
    fn of_table(table: &Table) -> Option<std::result::Result<Restriction, String>> {
        let field = |field: &p4runtime_proto::p4::config::v1::MatchField| {
            let bits = u32::try_from(field.bitwidth).unwrap_or(0);
            let kind = match matches::kind(field) {
                MatchType::Exact => Type::Bits(bits),
                kind => Type::Field(kind, bits),
            };
            (field.name.clone(), kind)
        };
        let names = table.match_fields.iter().map(field).collect();
        of(table, "@entry_restriction", &Scope { names, has_priority: true })
    }

    /// An action's, if it has one; why it cannot be read.
    fn of_action(action: &Action) -> Option<std::result::Result<Restriction, String>> {
        let param = |param: &p4runtime_proto::p4::config::v1::action::Param| {
            (param.name.clone(), Type::Bits(u32::try_from(param.bitwidth).unwrap_or(0)))
        };
        let names = action.params.iter().map(param).collect();
        of(action, "@action_restriction", &Scope { names, has_priority: false })
    }

    /// Whether an entry may be.
    pub(crate) fn allows_entry(&self, table: &Table, wanted: &[Match], priority: i64) -> Result<()> {
        let values = table.match_fields.iter().zip(wanted).map(|(field, one)| {
            let bits = u32::try_from(field.bitwidth).unwrap_or(0);
            match one {
                Match::Any if matches::kind(field) == MatchType::Range => [BigInt::ZERO, ones(bits)],
                Match::Any => [BigInt::ZERO, BigInt::ZERO],
                Match::Exact(value) if matches::kind(field) == MatchType::Optional => {
                    [number(value), ones(bits)]
                }
                Match::Exact(value) => [number(value), BigInt::ZERO],
                Match::Lpm { value, prefix_len } => [number(value), BigInt::from(*prefix_len)],
                Match::Ternary { value, mask } => [number(value), number(mask)],
                Match::Range { lo, hi } => [number(lo), number(hi)],
            }
        });
        let subject = Subject { values: values.collect(), priority };
        self.allows(&subject, "the table does not allow this entry", "@entry_restriction")
    }

    /// Whether an action may have this data.
    pub(crate) fn allows_action(&self, args: &[Bits]) -> Result<()> {
        let values = args.iter().map(|value| [number(value), BigInt::ZERO]).collect();
        let subject = Subject { values, priority: 0 };
        self.allows(&subject, "the action does not allow this data", "@action_restriction")
    }

    fn allows(&self, subject: &Subject, title: &str, annotation: &str) -> Result<()> {
        match self.0.iter().find(|(_, condition)| !condition.holds(subject)) {
            Some((text, _)) => fault(title, format!("{annotation} requires: {text}"))
                .help(|| Some("satisfy the restriction, or change the program".into())),
            None => Ok(()),
        }
    }
}

/// The restriction in the annotations of something.
fn of(thing: &impl Described, name: &str, scope: &Scope) -> Option<std::result::Result<Restriction, String>> {
    let annotations = thing.preamble().map_or(&[][..], |preamble| &preamble.annotations);
    let quoted =
        annotations.iter().find_map(|text| text.trim().strip_prefix(name)?.trim().strip_prefix('('))?;
    let inner =
        quoted.strip_suffix(')').map(str::trim).and_then(|text| text.strip_prefix('"')?.strip_suffix('"'));
    let read = match inner {
        Some(inner) => parse::parse(&unescaped(inner), scope).map(Restriction),
        None => Err("the annotation is not a single string".to_string()),
    };
    Some(read.map_err(|why| format!("{name} of `{}`: {why}", thing.name())))
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

impl Expr {
    /// Value and mask. A single number or a truth value (1 or 0) has 0 as its second part.
    fn value(&self, subject: &Subject) -> Value {
        let one = |number: BigInt| [number, BigInt::ZERO];
        let truth = |value: bool| one(BigInt::from(u8::from(value)));
        let name = |name: &usize| subject.values.get(*name).cloned().unwrap_or_default();
        match self {
            Expr::Bool(value) => truth(*value),
            Expr::Int(number) => one(number.clone()),
            Expr::Name(place) => name(place),
            Expr::Part(place, part) => {
                let [first, second] = name(place);
                one(if *part == 0 { first } else { second })
            }
            Expr::Priority => one(BigInt::from(subject.priority)),
            Expr::Not(inner) => truth(!inner.holds(subject)),
            Expr::Negate(inner) => inner.value(subject).map(|number| -number),
            Expr::As(kind, inner) => converted(*kind, inner.value(subject)),
            Expr::Compare(wanted, both) => {
                let [left, right] = both.each_ref().map(|one| one.value(subject));
                truth(wanted(left.cmp(&right)))
            }
            Expr::And(both) => truth(both.iter().all(|one| one.holds(subject))),
            Expr::Or(both) => truth(both.iter().any(|one| one.holds(subject))),
        }
    }

    fn holds(&self, subject: &Subject) -> bool {
        self.value(subject)[0] != BigInt::ZERO
    }
}

/// A number as something of a kind.
fn converted(kind: Type, [number, _]: Value) -> Value {
    let fitted = |bits: u32| &number & ones(bits);
    match kind {
        Type::Bool | Type::Int => [number, BigInt::ZERO],
        Type::Bits(bits) => [fitted(bits), BigInt::ZERO],
        Type::Field(MatchType::Lpm, bits) => [fitted(bits), BigInt::from(bits)],
        Type::Field(MatchType::Range, bits) => [fitted(bits), fitted(bits)],
        Type::Field(_, bits) => [fitted(bits), ones(bits)],
    }
}

fn number(value: &Bits) -> BigInt {
    BigInt::from(value.to_biguint())
}

fn ones(bits: u32) -> BigInt {
    (BigInt::from(1) << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::{Restriction, Restrictions, Scope, Subject, Type, Value, parse};
    use p4runtime_proto::from_text;
    use p4runtime_proto::p4::config::v1::P4Info;
    use p4runtime_proto::p4::config::v1::match_field::MatchType;

    const FIELDS: [(&str, Type); 4] = [
        ("type", Type::Bits(16)),
        ("dst", Type::Field(MatchType::Lpm, 32)),
        ("hdr.vlan[0].id", Type::Field(MatchType::Ternary, 12)),
        ("port", Type::Field(MatchType::Range, 9)),
    ];

    fn read(text: &str) -> Result<Restriction, String> {
        let names = FIELDS.map(|(name, kind)| (name.to_string(), kind)).to_vec();
        parse::parse(text, &Scope { names, has_priority: true }).map(Restriction)
    }

    /// Type 0x800, 10.0.0.0/8, any VLAN, ports 3 to 5, priority 7.
    fn holds(text: &str) -> bool {
        let of = |a: u32, b: u32| -> Value { [a.into(), b.into()] };
        let values = vec![of(0x800, 0), of(0x0a00_0000, 8), of(0, 0), of(3, 5)];
        let restriction = read(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        restriction.allows(&Subject { values, priority: 7 }, "refused", "@entry_restriction").is_ok()
    }

    #[test]
    fn what_holds() {
        let all = [
            "true",
            "type == 0x0800; dst::prefix_length > 0",
            "type != 0x0800 -> false",
            "dst::prefix_length == 0 || (type == 0x0800 && !(type == 0x86dd))",
            "hdr.vlan[0].id::mask == 0 || hdr.vlan[0].id::mask == -1",
            "port::low >= 3 && port::high <= 0b101",
            "::priority < 1000 // of an entry\n",
            "/* modulo 2^16 */ type == 0x10800",
            "false -> false -> false",
            "dst::value == 0xa000000",
        ];
        for text in all {
            assert!(holds(text), "{text}");
        }
    }

    #[test]
    fn what_does_not() {
        let all = [
            "false",
            "type == 0x86dd",
            "dst == 0x0a000000",
            "hdr.vlan[0].id == 0",
            "port == 4",
            "true; ::priority == 8",
            "(true -> false) || false",
            "-1 == ::priority",
        ];
        for text in all {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read() {
        let all = [
            ("typ == 1", "there is no `typ`"),
            ("type", "found bit<16>, expected a condition"),
            ("type == dst::prefix_length || ", "expected a value at the end"),
            ("dst < 3", "`<` does not apply to lpm<32>"),
            ("type::mask == 0", "bit<16> has no `::mask`"),
            ("type == 1 type == 2", "expected `;` before `type`"),
            ("type == port::low", "bit<16> is compared with bit<9>"),
            ("::age == 1", "there is no `::age`"),
            ("type == 0xzz", "`0xzz` is not a number"),
            ("/* true", "a comment is not closed"),
            ("true == 1", "a number is compared with a boolean"),
            ("§", "`§` has no meaning in a restriction"),
        ];
        for (text, why) in all {
            assert_eq!(read(text).expect_err(text), why, "{text}");
        }
        let info = from_text::<P4Info>(
            r#"tables { preamble { id: 1 name: "I.t" annotations: "@entry_restriction(\"vrf == 1\")" } }
            actions { preamble { id: 2 name: "I.a" annotations: "@action_restriction(1)" } }"#,
        );
        let unread = [
            "@entry_restriction of `I.t`: there is no `vrf`",
            "@action_restriction of `I.a`: the annotation is not a single string",
        ];
        assert_eq!(Restrictions::new(&info.unwrap()).unread, unread);
        let deep = format!("{}true{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(read(&deep).unwrap_err(), "it is nested more than 64 levels deep");
    }
}
