//! Values that are worked out of inputs: choices between two, and hashes.

use crate::input::Input;
use ir::Name;
use std::collections::BTreeSet;

/// A value that is worked out of inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Choice(Choice),
    Hash(Hash),
}

/// One of two inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The condition.
    pub test: Test,
    /// The input if it holds.
    pub yes: Input,
    /// The input if it does not.
    pub no: Input,
}

/// A condition on inputs, which are unsigned numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Test {
    /// Always or never.
    Const(bool),
    /// The first is less.
    Less(Input, Input),
    /// Both are equal.
    Equal(Input, Input),
    /// Both hold.
    And(Box<Test>, Box<Test>),
    /// One holds.
    Or(Box<Test>, Box<Test>),
}

/// `base + ALGORITHM(parts) % max`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hash {
    /// Member of v1model's `HashAlgorithm`.
    pub algorithm: Name,
    /// The least number.
    pub base: u64,
    /// The number of numbers.
    pub max: u64,
    /// The data, in order.
    pub parts: Vec<Part>,
}

/// A part of the data of a hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The value.
    pub value: Hashed,
    /// A field of a header is left out if the header is invalid.
    pub is_of_header: bool,
}

/// A value that is hashed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hashed {
    /// An input.
    Input(Input),
    /// One of two.
    Choice(Choice),
}

impl Hash {
    /// All inputs.
    pub fn inputs(&self) -> BTreeSet<Input> {
        let mut inputs = BTreeSet::new();
        for part in &self.parts {
            match &part.value {
                Hashed::Input(input) => drop(inputs.insert(input.clone())),
                Hashed::Choice(Choice { test, yes, no }) => {
                    inputs.extend([yes.clone(), no.clone()]);
                    test.inputs(&mut inputs);
                }
            }
        }
        inputs
    }
}

impl Test {
    fn inputs(&self, out: &mut BTreeSet<Input>) {
        match self {
            Test::Const(_) => {}
            Test::Less(a, b) | Test::Equal(a, b) => out.extend([a.clone(), b.clone()]),
            Test::And(a, b) | Test::Or(a, b) => {
                a.inputs(out);
                b.inputs(out);
            }
        }
    }
}
