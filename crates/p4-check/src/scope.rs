//! Names in scope: one namespace for types, values, functions and objects (P4-16 §6.8).
//!
//! A name is bound where its declaration stands and hides outer bindings until its scope ends. Global names are
//! also found by `.name`.

use base_diag::Span;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::typed::{
    ActionId, ConstId, ConstantId, ControlId, ControlTypeId, EnumId, ExternId, FunctionId, InstanceId,
    NewTypeId, PackageId, ParserId, ParserTypeId, StructId, TableId, Type, TypeVarId, ValueSetId, VarId,
};

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(crate) enum Def {
    /// The declaration is wrong, which has been reported.
    Error,
    Struct(StructId),
    Enum(EnumId),
    NewType(NewTypeId),
    Typedef(Type),
    TypeVar(TypeVarId),
    Extern(ExternId),
    ParserType(ParserTypeId),
    ControlType(ControlTypeId),
    Package(PackageId),
    Parser(ParserId),
    Control(ControlId),
    /// Controls, parsers or packages of one name, distinguished by their constructor parameters.
    Overloaded(Vec<Def>),
    EnumMember(EnumId, u32),
    /// Functions and extern functions of one name, distinguished by their parameters.
    Functions(Vec<FunctionId>),
    Action(ActionId),
    Table(TableId),
    Var(VarId),
    Const(ConstId),
    Instance(InstanceId),
    ValueSet(ValueSetId),
    MatchKind(ConstantId),
    /// A parser state: only `transition` can use it.
    State,
}

impl Def {
    /// The kind of thing, for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Def::Error => "name",
            Def::Struct(_) => "struct type",
            Def::Enum(_) => "enum type",
            Def::NewType(_) | Def::Typedef(_) => "type",
            Def::TypeVar(_) => "type variable",
            Def::Extern(_) => "extern type",
            Def::ParserType(_) => "parser type",
            Def::ControlType(_) => "control type",
            Def::Package(_) => "package type",
            Def::Parser(_) => "parser",
            Def::Control(_) => "control",
            Def::Overloaded(defs) => defs.first().map_or("name", Def::noun),
            Def::EnumMember(..) => "enum member",
            Def::Functions(_) => "function",
            Def::Action(_) => "action",
            Def::Table(_) => "table",
            Def::Var(_) => "variable",
            Def::Const(_) => "constant",
            Def::Instance(_) => "instance",
            Def::ValueSet(_) => "value set",
            Def::MatchKind(_) => "match kind",
            Def::State => "parser state",
        }
    }

    /// As [`Def::noun`], with its article.
    pub(crate) fn a_noun(&self) -> String {
        let noun = self.noun();
        let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {noun}")
    }

    /// True for declarations that can be used as a type.
    pub(crate) fn is_type(&self) -> bool {
        matches!(
            self,
            Def::Struct(_)
                | Def::Enum(_)
                | Def::NewType(_)
                | Def::Typedef(_)
                | Def::TypeVar(_)
                | Def::Extern(_)
                | Def::ParserType(_)
                | Def::ControlType(_)
                | Def::Package(_)
                | Def::Parser(_)
                | Def::Control(_)
                | Def::Overloaded(_)
        )
    }
}

/// A binding.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) def: Def,
    /// Position of the declaration.
    pub(crate) span: Span,
    depth: u32,
}

/// The names in scope at one point of the program.
#[derive(Default)]
pub(crate) struct Scopes {
    names: FxHashMap<SmolStr, Vec<Binding>>,
    /// The names bound in each open scope, outermost first.
    open: Vec<Vec<SmolStr>>,
}

impl Scopes {
    pub(crate) fn new() -> Scopes {
        Scopes { names: FxHashMap::default(), open: vec![vec![]] }
    }

    pub(crate) fn enter(&mut self) {
        self.open.push(vec![]);
    }

    pub(crate) fn leave(&mut self) {
        for name in self.open.pop().unwrap_or_default() {
            if let Some(bindings) = self.names.get_mut(&name) {
                bindings.pop();
            }
        }
    }

    /// Binds `name` in the innermost scope. The binding it replaces or hides is returned with `true` if it stands in
    /// the same scope; then nothing is bound. A name that is merely distrusted is not bound yet.
    pub(crate) fn bind(&mut self, name: &SmolStr, def: Def, span: Span) -> Option<(Binding, bool)> {
        let depth = self.open.len() as u32;
        let bindings = self.names.entry(name.clone()).or_default();
        let before = bindings.last().cloned();
        if let Some(old) = bindings.last_mut().filter(|old| old.depth == depth) {
            if matches!(old.def, Def::Error) && old.span.is_none() {
                *old = Binding { def, span, depth };
                return None;
            }
            return Some((old.clone(), true));
        }
        bindings.push(Binding { def, span, depth });
        if let Some(scope) = self.open.last_mut() {
            scope.push(name.clone());
        }
        before.map(|b| (b, false))
    }

    /// Replaces the innermost binding of `name`.
    pub(crate) fn rebind(&mut self, name: &str, def: Def) {
        if let Some(binding) = self.names.get_mut(name).and_then(|b| b.last_mut()) {
            binding.def = def;
        }
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<&Binding> {
        self.names.get(name).and_then(|b| b.last())
    }

    /// Looks up `name` at the top level only.
    pub(crate) fn lookup_global(&self, name: &str) -> Option<&Binding> {
        self.names.get(name).and_then(|b| b.first()).filter(|b| b.depth == 1)
    }

    /// The binding of `name` in the innermost scope.
    pub(crate) fn lookup_here(&self, name: &str) -> Option<&Binding> {
        let depth = self.open.len() as u32;
        self.lookup(name).filter(|b| b.depth == depth)
    }

    /// The name in scope that is most like `name`, among those that `fits` accepts.
    pub(crate) fn nearest(&self, name: &str, fits: impl Fn(&Def) -> bool) -> Option<SmolStr> {
        let mut candidates: Vec<&str> = self
            .names
            .iter()
            .filter(|(_, b)| b.last().is_some_and(|b| fits(&b.def)))
            .map(|(n, _)| n.as_str())
            .collect();
        candidates.sort_unstable();
        base_diag::did_you_mean(name, candidates).map(SmolStr::from)
    }
}
