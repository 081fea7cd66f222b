//! Entries in few words.

use base_bits::num_bigint::BigUint;
use base_diag::Span;
use p4_entries::{Args, Keys, Match, Named, Run, Statement, Value};

fn named(text: &str) -> Named {
    Named { text: text.to_string(), span: Span::NONE }
}

fn value<T>(value: T) -> Value<T> {
    Value { value, span: Span::NONE }
}

/// Exactly this.
pub fn is(number: impl Into<u128>) -> Match {
    Match::Exact(BigUint::from(number.into()))
}

/// Match of the first `length` bits of `number`.
pub fn begins(number: impl Into<u128>, length: u32) -> Match {
    Match::Prefix(BigUint::from(number.into()), length)
}

/// Match of `number` under `mask`.
pub fn like(number: impl Into<u128>, mask: impl Into<u128>) -> Match {
    let (number, mask) = (number.into(), mask.into());
    Match::Mask(BigUint::from(number & mask), BigUint::from(mask))
}

/// Anything.
pub fn any() -> Match {
    Match::Any
}

/// An entry.
pub fn entry(table: &str, keys: Vec<Match>, action: &str, args: &[u64]) -> Statement {
    make(table, keys, action, args, None)
}

/// An entry of a table with priorities: the greater wins.
pub fn ranked(table: &str, priority: i64, keys: Vec<Match>, action: &str, args: &[u64]) -> Statement {
    make(table, keys, action, args, Some(priority))
}

fn make(table: &str, keys: Vec<Match>, action: &str, args: &[u64], priority: Option<i64>) -> Statement {
    let args = args.iter().map(|arg| value(BigUint::from(*arg))).collect();
    Statement::Entry {
        table: named(table),
        keys: Keys::InOrder(keys.into_iter().map(value).collect()),
        run: Run::Action(named(action), Args::InOrder(args)),
        priority,
        idle_timeout: None,
        rates: None,
        span: Span::NONE,
    }
}
