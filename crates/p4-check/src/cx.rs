//! The checker's state and the helpers that every rule uses.

use std::cell::RefCell;

use base_diag::{Code, Diagnostic, Diagnostics, Span};
use p4_syntax::ast;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::codes;
use crate::scope::{Def, Scopes};
use crate::typed::{EnumId, ExternId, FunctionId, Name, Program, StructId, TableId, Type};
use crate::types::facts::Facts;
use crate::types::infer::InferTable;

/// The context of a statement or expression: some calls are allowed only in some contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    TopLevel,
    /// Declarations of a parser, and its states.
    ParserLocals,
    ParserState,
    /// Declarations of a control, and its `apply`.
    ControlLocals,
    ControlApply,
    TableKey,
    TableProperty,
    Action,
    Function,
    /// The body of a method in an instance's initializer.
    Method,
}

/// The owner of a field or member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Owner {
    Struct(StructId),
    Enum(EnumId),
    Error,
}

/// After so many errors no nearest names are looked for.
const MAX_SUGGESTIONS: usize = 100;

/// The state of one check.
pub(crate) struct Checker {
    pub(crate) program: Program,
    pub(crate) diags: Diagnostics,
    pub(crate) scopes: Scopes,
    pub(crate) infer: InferTable,
    /// The places of fields and members, by their names.
    pub(crate) members: FxHashMap<(Owner, SmolStr), u32>,
    /// Words of text with syntax errors: any of them may be a member of `error`.
    pub(crate) unread: FxHashSet<SmolStr>,
    /// Bits of the long values made so far.
    pub(crate) long_bits: u64,
    /// Cached properties of types.
    pub(crate) facts: RefCell<FxHashMap<Type, Facts>>,
    pub(crate) place: Place,
    /// The return type of the function or method being checked; `None` where `return` takes no value.
    pub(crate) returns: Option<Type>,
    /// Number of enclosing loops.
    pub(crate) loops: u32,
    /// The extern that `this` is, in an instance's initializer.
    pub(crate) this: Option<Type>,
    /// The control being checked, and the table whose properties are.
    pub(crate) control: Option<crate::typed::ControlId>,
    pub(crate) table: Option<TableId>,
    /// Instances that direct invocations made in the current control or parser.
    pub(crate) direct: Vec<crate::typed::InstanceId>,
}

impl Checker {
    pub(crate) fn new() -> Checker {
        Checker {
            program: Program::default(),
            diags: Diagnostics::new(),
            scopes: Scopes::new(),
            infer: InferTable::default(),
            members: FxHashMap::default(),
            unread: FxHashSet::default(),
            long_bits: 0,
            facts: RefCell::default(),
            place: Place::TopLevel,
            returns: None,
            loops: 0,
            this: None,
            control: None,
            table: None,
            direct: vec![],
        }
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.diags.push(diagnostic);
    }

    /// Reports an error with one label.
    pub(crate) fn error(
        &mut self,
        code: Code,
        span: Span,
        title: impl Into<String>,
        label: impl Into<String>,
    ) {
        self.report(Diagnostic::error(code, title).at(span, label));
    }

    /// Binds a name in the innermost scope; a second binding in the same scope is an error.
    pub(crate) fn bind(&mut self, name: &ast::Name, def: Def) {
        if name.text.is_empty() {
            return;
        }
        if let Some((old, true)) = self.scopes.bind(&name.text, def, name.span) {
            self.duplicate(&name.text, name.span, old.span);
        }
    }

    /// Binds the name of a local; warns if it hides a variable, constant, instance, action or table.
    pub(crate) fn bind_local(&mut self, name: &ast::Name, def: Def) {
        let hides = |d: &Def| {
            matches!(d, Def::Var(_) | Def::Const(_) | Def::Instance(_) | Def::Action(_) | Def::Table(_))
        };
        let hidden = self.scopes.lookup(&name.text).filter(|b| hides(&b.def)).map(|b| b.span);
        if let Some(before) = hidden
            && self.scopes.lookup_here(&name.text).is_none()
            && !before.is_none()
        {
            self.report(
                Diagnostic::warning(
                    codes::SHADOW,
                    "shadow",
                    format!("`{}` hides another declaration", name.text),
                )
                .at(name.span, "this one")
                .at(before, "is hidden by it"),
            );
        }
        self.bind(name, def);
    }

    pub(crate) fn duplicate(&mut self, name: &str, span: Span, before: Span) {
        let mut diagnostic = Diagnostic::error(codes::DUPLICATE, format!("`{name}` is declared twice"))
            .at(span, "declared again here");
        if !before.is_none() {
            diagnostic = diagnostic.at(before, "first declared here");
        }
        self.report(diagnostic);
    }

    /// The meaning of `path`. An unknown name is reported, unless the parser invented it.
    pub(crate) fn lookup(&mut self, path: &ast::Path, wanted: &str, fits: impl Fn(&Def) -> bool) -> Def {
        let name = &path.name.text;
        let found = if path.absolute { self.scopes.lookup_global(name) } else { self.scopes.lookup(name) };
        match found {
            Some(binding) => binding.def.clone(),
            None if name.is_empty() => Def::Error,
            None => {
                let many = self.diags.error_count() > MAX_SUGGESTIONS;
                let near = if many { None } else { self.scopes.nearest(name, fits) };
                let mut diagnostic =
                    Diagnostic::error(codes::UNKNOWN_NAME, format!("unknown {wanted} `{name}`"))
                        .at(path.span, "not declared before this use");
                if let Some(near) = near {
                    diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                }
                self.report(diagnostic);
                Def::Error
            }
        }
    }

    /// The parameters and the name of a function, for messages: `f(in bit<8> a)`.
    pub(crate) fn signature(&self, id: FunctionId) -> String {
        let function = &self.program.functions[id];
        let params: Vec<String> = function.params.iter().map(|&p| self.show_param(p)).collect();
        format!("{}({})", function.name.text, params.join(", "))
    }

    /// The methods of an extern with this name.
    pub(crate) fn methods_named(&self, id: ExternId, name: &str) -> Vec<FunctionId> {
        let methods = &self.program.externs[id].methods;
        methods.iter().copied().filter(|&m| self.program.functions[m].name.text == name).collect()
    }
}

/// A name of the source.
pub(crate) fn name(name: &ast::Name) -> Name {
    Name { text: name.text.clone(), span: name.span }
}

/// `1 argument`, `2 arguments`.
pub(crate) fn count(n: usize, noun: &str) -> SmolStr {
    if n == 1 { smol_str::format_smolstr!("1 {noun}") } else { smol_str::format_smolstr!("{n} {noun}s") }
}
