//! Ids and the arenas they index: one arena per kind of declaration, owned by [`Program`](super::Program).

use base_ids::ids;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

ids! {
    /// In [`Program::actions`](super::Program::actions).
    ActionId;
    /// In [`Program::consts`](super::Program::consts).
    ConstId;
    /// In [`Program::errors`](super::Program::errors) or [`Program::match_kinds`](super::Program::match_kinds).
    ConstantId;
    /// In [`Program::controls`](super::Program::controls).
    ControlId;
    /// In [`Program::control_types`](super::Program::control_types).
    ControlTypeId;
    /// In [`Program::enums`](super::Program::enums).
    EnumId;
    /// In [`Program::externs`](super::Program::externs).
    ExternId;
    /// In [`Program::functions`](super::Program::functions).
    FunctionId;
    /// In [`Program::instances`](super::Program::instances).
    InstanceId;
    /// In [`Program::new_types`](super::Program::new_types).
    NewTypeId;
    /// In [`Program::packages`](super::Program::packages).
    PackageId;
    /// In [`Program::parsers`](super::Program::parsers).
    ParserId;
    /// In [`Program::parser_types`](super::Program::parser_types).
    ParserTypeId;
    /// In [`Program::structs`](super::Program::structs).
    StructId;
    /// In [`Program::tables`](super::Program::tables).
    TableId;
    /// In [`Program::type_vars`](super::Program::type_vars).
    TypeVarId;
    /// In [`Program::typedefs`](super::Program::typedefs).
    TypedefId;
    /// In [`Program::value_sets`](super::Program::value_sets).
    ValueSetId;
    /// In [`Program::vars`](super::Program::vars).
    VarId;
}

/// All the `T` of a program, in the order they were declared. Ids are dense and start at 0.
#[derive(Clone, Debug)]
pub struct Arena<I, T> {
    items: Vec<T>,
    ids: PhantomData<fn() -> I>,
}

impl<I, T> Default for Arena<I, T> {
    fn default() -> Arena<I, T> {
        Arena { items: Vec::new(), ids: PhantomData }
    }
}

impl<I: From<usize>, T> Arena<I, T> {
    /// Adds one and names it.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from(self.items.len() - 1)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All with their ids, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(i, item)| (I::from(i), item))
    }
}

impl<I: Into<usize>, T> Index<I> for Arena<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.into()]
    }
}

impl<I: Into<usize>, T> IndexMut<I> for Arena<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.into()]
    }
}
