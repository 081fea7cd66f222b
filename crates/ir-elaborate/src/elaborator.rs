//! The state of one elaboration.

use base_diag::{Diagnostic, Severity, Span};
use ir::{ErrorId, ExternFunctionId, ExternId, FunctionId, TypeId};
use p4_arch::{Architecture, Declared, TableUse};
use p4_check::typed;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::env::Env;
use crate::names::Unique;
use crate::refuse;
use crate::value::Object;

/// Maximum nesting of calls or instances.
const MAX_DEPTH: usize = 100;

/// Functions and block instances of one program: an instance in each of two instances, and so on, would be 2^n.
const MAX_MADE: usize = 1 << 13;

/// The errors of core.p4.
const CORE_ERRORS: [&str; 7] = [
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

/// The kind of extern instances among control-plane names.
pub(crate) const INSTANCE: &str = "extern instance";

/// A declared type with its arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum TypeKey {
    Struct(typed::StructId, Vec<ir::Type>),
    Enum(typed::EnumId),
    New(typed::NewTypeId),
}

/// The state of one elaboration.
pub(crate) struct Elaborator<'p> {
    /// The program that is elaborated.
    pub(crate) typed: &'p typed::Program,
    /// The result so far.
    pub(crate) out: ir::Program,
    /// Diagnostics so far.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The facts of the architecture, where they are known.
    pub(crate) arch: Option<&'static Architecture>,
    /// Names that the architecture's file declares.
    pub(crate) declared: Declared,
    pub(crate) error_ids: FxHashMap<typed::ConstantId, ErrorId>,
    pub(crate) type_ids: FxHashMap<TypeKey, TypeId>,
    pub(crate) type_names: Unique,
    pub(crate) extern_ids: FxHashMap<typed::ExternId, ExternId>,
    pub(crate) extern_function_ids: FxHashMap<typed::FunctionId, ExternFunctionId>,
    /// `None` while the function is being elaborated.
    pub(crate) function_ids: FxHashMap<(typed::FunctionId, Vec<ir::Type>), FunctionId>,
    pub(crate) function_names: Unique,
    /// Names of controls and parsers.
    pub(crate) block_names: Unique,
    /// Top-level instances.
    pub(crate) globals: FxHashMap<typed::InstanceId, Object>,
    /// Blocks of packages, by the prefix of their members' control-plane names.
    pub(crate) prefixes: FxHashSet<SmolStr>,
    /// Functions and instances being made.
    depth: usize,
    /// Functions and instances made so far.
    made: usize,
    /// Control-plane names given, by kind of thing, with their places.
    control_plane: FxHashMap<(&'static str, SmolStr), Span>,
    /// Values that implementations of an instance's methods read from the block around it, as its expressions.
    pub(crate) captured: FxHashMap<ir::InstanceId, Vec<ir::Expr>>,
    /// Direct objects, each with the table it belongs to.
    pub(crate) direct_owners: FxHashMap<ir::InstanceId, SmolStr>,
    /// Extern instances with the name of an earlier one: whether a direct object has a table is known in the end.
    clashes: Vec<ir::InstanceId>,
    reported: FxHashSet<(base_diag::Code, Span)>,
}

impl<'p> Elaborator<'p> {
    pub(crate) fn new(typed: &'p typed::Program) -> Elaborator<'p> {
        Elaborator {
            typed,
            out: ir::Program {
                arch: ir::Arch::Other(SmolStr::default()),
                types: vec![],
                errors: vec![],
                externs: vec![],
                extern_functions: vec![],
                instances: vec![],
                functions: vec![],
                parsers: vec![],
                controls: vec![],
                stages: vec![],
                main: ir::Package { name: SmolStr::default(), args: vec![] },
                annotations: vec![],
            },
            diagnostics: vec![],
            arch: None,
            declared: Declared::default(),
            error_ids: FxHashMap::default(),
            type_ids: FxHashMap::default(),
            type_names: Unique::default(),
            extern_ids: FxHashMap::default(),
            extern_function_ids: FxHashMap::default(),
            function_ids: FxHashMap::default(),
            function_names: Unique::default(),
            block_names: Unique::default(),
            globals: FxHashMap::default(),
            prefixes: FxHashSet::default(),
            depth: 0,
            made: 0,
            control_plane: FxHashMap::default(),
            captured: FxHashMap::default(),
            direct_owners: FxHashMap::default(),
            clashes: vec![],
            reported: FxHashSet::default(),
        }
    }

    /// Elaborates the whole program.
    pub(crate) fn run(mut self) -> (Option<ir::Program>, Vec<Diagnostic>) {
        self.number_errors();
        self.find_architecture();
        self.declared_types();
        self.global_objects();
        self.bind_stages();
        self.own_registers();
        self.settle_clashes();
        let refused = self.diagnostics.iter().any(|d| d.severity == Severity::Error);
        ((!refused).then_some(self.out), self.diagnostics)
    }

    /// Numbers the errors, core.p4's first: a program may declare its own before it includes core.p4.
    fn number_errors(&mut self) {
        let typed = self.typed;
        let is_core = |name: &str| CORE_ERRORS.contains(&name);
        let all = typed.errors.iter().map(|(id, e)| (id, &e.name.text));
        let (core, own): (Vec<_>, Vec<_>) = all.partition(|(_, name)| is_core(name));
        for (id, name) in core.into_iter().chain(own) {
            self.error_ids.insert(id, ErrorId::from(self.out.errors.len()));
            self.out.errors.push(name.clone());
        }
    }

    /// Adds a diagnostic, once for each code and place.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        if diagnostic.span().is_none() || self.reported.insert((diagnostic.code, diagnostic.span())) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports that `what` is not supported.
    pub(crate) fn refuse(&mut self, what: &str, span: Span) {
        self.report(refuse::not_supported(what, span));
    }

    /// Runs `make` one level deeper, or says that this is too deep and gives `None`.
    pub(crate) fn deeper<T>(&mut self, span: Span, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth == MAX_DEPTH {
            self.report(refuse::too_deep(MAX_DEPTH, span));
            return None;
        }
        if self.made == MAX_MADE {
            self.report(refuse::too_many(MAX_MADE, span));
            return None;
        }
        self.made += 1;
        self.depth += 1;
        let made = make(self);
        self.depth -= 1;
        Some(made)
    }

    /// Claims a control-plane name, and reports a duplicate of the same kind. A `@hidden` object gives way.
    pub(crate) fn claim_control_plane_name(
        &mut self,
        kind: &'static str,
        name: SmolStr,
        annotations: &typed::Annotations,
        span: Span,
    ) -> SmolStr {
        match self.control_plane.get(&(kind, name.clone())) {
            None => {}
            Some(_) if annotations.has("hidden") => {
                let name = self.free_control_plane_name(kind, name);
                self.control_plane.insert((kind, name.clone()), span);
                return name;
            }
            Some(first) => {
                let first = *first;
                self.report(refuse::duplicate_name(kind, &name, first, span));
            }
        }
        self.control_plane.insert((kind, name.clone()), span);
        name
    }

    /// The control-plane name of the extern instance that is made next. If another has it, one of the two may be a
    /// direct object without a table: [`Elaborator::settle_clashes`] decides.
    pub(crate) fn claim_instance_name(
        &mut self,
        name: SmolStr,
        annotations: &typed::Annotations,
        span: Span,
    ) -> SmolStr {
        if self.control_plane.contains_key(&(INSTANCE, name.clone())) && !annotations.has("hidden") {
            self.clashes.push(ir::InstanceId::from(self.out.instances.len()));
            return name;
        }
        self.claim_control_plane_name(INSTANCE, name, annotations, span)
    }

    /// Two extern instances of one name are an error, unless one is a direct object that no table has: control planes
    /// reach direct objects through tables, so nothing has the name of that one, and it gets another.
    fn settle_clashes(&mut self) {
        for clash in std::mem::take(&mut self.clashes) {
            let name = self.out.instance(clash).control_plane_name.clone();
            let ids = (0..self.out.instances.len()).map(ir::InstanceId::from);
            let same: Vec<_> = ids.filter(|id| self.out.instance(*id).control_plane_name == name).collect();
            let Some(owner) = same.iter().find(|id| !self.is_idle(**id)).or(same.first()) else { continue };
            for id in same.iter().filter(|id| *id != owner) {
                let [first, second] = [owner.min(id), owner.max(id)].map(|id| self.out.instance(*id).span);
                if !self.is_idle(*id) {
                    self.report(refuse::duplicate_name(INSTANCE, &name, first, second));
                    continue;
                }
                self.report(refuse::idle_direct_object(&name, self.out.instance(*id).span));
                let free = self.free_control_plane_name(INSTANCE, name.clone());
                self.control_plane.insert((INSTANCE, free.clone()), second);
                if let Some(instance) = self.out.instances.get_mut(id.index()) {
                    instance.control_plane_name = free;
                }
            }
        }
    }

    /// Whether this is a direct object that belongs to no table.
    fn is_idle(&self, id: ir::InstanceId) -> bool {
        let object = &self.out.extern_object(self.out.instance(id).object).name;
        let facts = self.arch.and_then(|arch| arch.object(object));
        facts.is_some_and(|facts| matches!(facts.table, TableUse::Direct(_)))
            && !self.direct_owners.contains_key(&id)
    }

    /// `name`, with a number after it if another thing of its kind has it.
    pub(crate) fn free_control_plane_name(&self, kind: &'static str, name: SmolStr) -> SmolStr {
        let numbered = (2u32..).map(|n| SmolStr::from(format!("{name}_{n}")));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        names.find(|name| !self.control_plane.contains_key(&(kind, name.clone()))).unwrap_or(name)
    }

    /// The instances of extern objects at the top level, in order: each is state that a control plane can see.
    fn global_objects(&mut self) {
        let typed = self.typed;
        for decl in &typed.decls {
            let typed::Decl::Instance(id) = *decl else { continue };
            if matches!(typed.instances[id].construct.of, typed::Constructed::Extern(..)) {
                self.global(id);
            }
        }
    }

    /// A top-level instance, made when first used.
    pub(crate) fn global(&mut self, id: typed::InstanceId) -> Object {
        if let Some(object) = self.globals.get(&id) {
            return object.clone();
        }
        let mut env = Env::default();
        let object = self.instance(&mut env, id, true);
        self.globals.insert(id, object.clone());
        object
    }
}
