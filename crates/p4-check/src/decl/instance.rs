//! Instances: of externs, parsers, controls, packages, and arrays of externs (P4-16 §11.3).

use std::sync::Arc;

use base_diag::Diagnostic;
use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, Place, name};
use crate::scope::Def;
use crate::typed::{
    Construct, Constructed, ExternId, FunctionId, FunctionOwner, Implementation, Instance, InstanceId,
    Substitution, Type,
};

impl Checker {
    /// An instance of the program, a parser or a control.
    pub(crate) fn instance(&mut self, d: &ast::InstanceDecl) -> Option<InstanceId> {
        let id = self.try_instance(d);
        match id {
            Some(id) => self.bind_local(&d.name, Def::Instance(id)),
            None => self.bind(&d.name, Def::Error),
        }
        id
    }

    fn try_instance(&mut self, d: &ast::InstanceDecl) -> Option<InstanceId> {
        let annotations = self.annotations(&d.annotations);
        let (element, size) = match &d.ty.kind {
            ast::TypeKind::Array { element, size } => (&**element, Some(size)),
            _ => (&d.ty, None),
        };
        let (construct, mut ty) = self.construction(element, &d.args, None, d.span)?;
        self.check_instance_place(&construct, &ty, d)?;
        if let Some(size) = size {
            let n = self.const_int(size, "the size of an array")?;
            let n = u32::try_from(&n).ok().filter(|n| *n <= crate::types::resolve::MAX_ARRAY);
            let Some(n) = n else {
                self.error(codes::BAD_WIDTH, size.span, "bad array size", "");
                return None;
            };
            if !matches!(construct.of, Constructed::Extern(..)) {
                self.error(
                    codes::BAD_CONSTRUCTION,
                    d.span,
                    "only externs can be instantiated as an array",
                    "",
                );
                return None;
            }
            ty = Type::Array(Arc::new(ty), n);
        }
        let of = construct.of;
        let id = self.program.instances.push(Instance {
            name: name(&d.name),
            ty,
            construct,
            direct: false,
            implementations: vec![],
            inner: vec![],
            annotations,
            span: d.span,
        });
        self.instance_body(d, id, of);
        Some(id)
    }

    /// Parsers live in parsers, controls in controls, packages at the top level; externs anywhere.
    fn check_instance_place(
        &mut self,
        construct: &Construct,
        ty: &Type,
        d: &ast::InstanceDecl,
    ) -> Option<()> {
        let (fits, why) = match (construct.of, self.place) {
            (Constructed::Extern(..), _) => (true, ""),
            (Constructed::Package(_), Place::TopLevel) => (true, ""),
            (Constructed::Package(_), _) => (false, "packages are instantiated at the top level"),
            (Constructed::Parser(_), Place::ParserLocals) => (true, ""),
            (Constructed::Parser(_), _) => (false, "parsers are instantiated in parsers, or as arguments"),
            (Constructed::Control(_), Place::ControlLocals) => (true, ""),
            (Constructed::Control(_), _) => (false, "controls are instantiated in controls, or as arguments"),
        };
        if !fits {
            let what = self.program.describe_type(ty);
            self.error(codes::BAD_CONSTRUCTION, d.name.span, format!("{what} instantiated here"), why);
        }
        fits.then_some(())
    }

    /// The initializer block: implementations of abstract methods, and instances for them.
    fn instance_body(&mut self, d: &ast::InstanceDecl, id: InstanceId, of: Constructed) {
        // Only externs have abstract methods. The heads of functions in other bodies are checked all the same, for their own mistakes.
        let Constructed::Extern(owner, _) = of else {
            let before = self.diags.error_count();
            for member in d.body.iter().flatten() {
                if let ast::InstanceMember::Function(f) = member {
                    self.function_head(f, FunctionOwner::Implementation(id));
                }
            }
            if d.body.is_some() && self.diags.error_count() == before {
                self.error(
                    codes::BAD_CONSTRUCTION,
                    d.name.span,
                    "only externs have an initializer block",
                    "",
                );
            }
            return;
        };
        let Some(members) = &d.body else {
            if let Some(missing) = self.abstract_method(owner) {
                self.unimplemented_method(d, &missing);
            }
            return;
        };
        let before = self.diags.error_count();
        let methods = self.program.externs[owner].methods.clone();
        if !methods.iter().any(|&m| self.program.functions[m].is_abstract) {
            for member in members {
                if let ast::InstanceMember::Function(f) = member {
                    self.function_head(f, FunctionOwner::Implementation(id));
                }
            }
            if self.diags.error_count() == before {
                let title = "the extern has no abstract methods to implement";
                self.error(codes::BAD_CONSTRUCTION, d.name.span, title, "leave out the initializer block");
            }
            return;
        }
        let ty = self.program.instances[id].ty.clone();
        self.scopes.enter();
        let outer = self.this.replace(ty.clone());
        for member in members {
            match member {
                ast::InstanceMember::Instance(inner) => {
                    if let Some(inner) = self.instance(inner) {
                        self.program.instances[id].inner.push(inner);
                    }
                }
                ast::InstanceMember::Function(f) => self.implementation(f, id, owner, &ty),
            }
        }
        self.this = outer;
        self.scopes.leave();
        // Methods with mistakes count as missing otherwise, and would be reported twice.
        if self.diags.error_count() > before {
            return;
        }
        let done = &self.program.instances[id].implementations;
        let methods = &self.program.externs[owner].methods;
        let missing = methods
            .iter()
            .find(|&&m| {
                let method = &self.program.functions[m];
                method.is_abstract
                    && !method.annotations.has("optional")
                    && done.iter().all(|i| i.method != m)
            })
            .map(|&m| self.program.functions[m].name.text.clone());
        if let Some(missing) = missing {
            self.unimplemented_method(d, &missing);
        }
    }

    fn unimplemented_method(&mut self, d: &ast::InstanceDecl, missing: &str) {
        let title = format!("abstract method `{missing}` is not implemented");
        self.report(
            Diagnostic::error(codes::BAD_CONSTRUCTION, title)
                .at(d.name.span, "")
                .help(format!("add its body: `{} = {{ ... {missing}(...) {{ ... }} }};`", d.name.text)),
        );
    }

    fn implementation(&mut self, f: &ast::FunctionDecl, id: InstanceId, owner: ExternId, ty: &Type) {
        let function = self.function_head(f, FunctionOwner::Implementation(id));
        let candidates = self.methods_named(owner, &f.name.text);
        let method = candidates.iter().copied().find(|&m| {
            let method = &self.program.functions[m];
            method.is_abstract
                && method.params.len() >= f.params.len()
                && method.params[f.params.len()..].iter().all(|&p| self.may_omit(p))
        });
        let before = self.diags.error_count();
        self.function_body(f, function, Place::Method);
        let sound = self.diags.error_count() == before;
        match method {
            // The mistakes of the function are reported; whether it fits a method is not known.
            None if !sound => {}
            None => {
                let name = self.program.externs[owner].name.text.clone();
                let title = format!("`{name}` has no abstract method `{}`", f.name.text);
                self.error(codes::BAD_CONSTRUCTION, f.name.span, title, "with these parameters");
            }
            Some(method) if sound && self.implements(method, function, owner, ty) => {
                self.program.instances[id].implementations.push(Implementation { method, function });
            }
            Some(_) if !sound => {}
            Some(method) => {
                let (wanted, at) = (self.signature(method), self.program.functions[method].span);
                self.report(
                    Diagnostic::error(
                        codes::MISMATCH,
                        format!("`{}` differs from the method it implements", f.name.text),
                    )
                    .at(f.name.span, "")
                    .at(at, format!("declared as `{wanted}`")),
                );
                // Kept in spite of the mistake, so that the method is not reported as missing, too.
                self.program.instances[id].implementations.push(Implementation { method, function });
            }
        }
    }

    /// True if the function has the method's parameters and result.
    fn implements(&mut self, method: FunctionId, function: FunctionId, owner: ExternId, ty: &Type) -> bool {
        let Type::Extern(_, args) = ty else { return true };
        let substitution = Substitution::new(&self.program.externs[owner].type_params, args);
        let (m, f) = (&self.program.functions[method], &self.program.functions[function]);
        if m.type_params.len() != f.type_params.len() {
            return false;
        }
        let mut substitution = substitution;
        for (&a, &b) in m.type_params.iter().zip(&f.type_params) {
            substitution.insert(a, Type::Var(b));
        }
        let mut pairs = vec![(substitution.apply(&m.returns), f.returns.clone())];
        for (&p, &q) in m.params.iter().zip(&f.params) {
            if self.direction(p) != self.direction(q) {
                return false;
            }
            pairs.push((substitution.apply(&self.program.vars[p].ty), self.program.vars[q].ty.clone()));
        }
        pairs.iter().all(|(a, b)| self.unify(a, b))
    }
}
