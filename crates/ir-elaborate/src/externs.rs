//! Extern objects and functions: their declarations, on first use.

use ir::{
    Direction, ExternFunction, ExternFunctionId, ExternId, ExternMethod, ExternObject, Signature,
    SignatureParam,
};
use p4_check::typed;

use crate::annotation::annotations;
use crate::elaborator::Elaborator;

/// The direction, as the IR names it.
pub(crate) fn direction(from: typed::Direction) -> Direction {
    match from {
        typed::Direction::None => Direction::None,
        typed::Direction::In => Direction::In,
        typed::Direction::Out => Direction::Out,
        typed::Direction::InOut => Direction::InOut,
    }
}

impl Elaborator<'_> {
    /// True if the program includes core.p4, which declares errors.
    fn has_core(&self) -> bool {
        !self.out.errors.is_empty()
    }

    /// The extern object type.
    pub(crate) fn extern_object(&mut self, id: typed::ExternId) -> ExternId {
        if let Some(known) = self.extern_ids.get(&id) {
            return *known;
        }
        self.mentioned_externs(id);
        let decl = &self.typed.externs[id];
        let made = ExternId::from(self.out.externs.len());
        self.extern_ids.insert(id, made);
        self.out.externs.push(ExternObject {
            name: decl.name.text.clone(),
            user: !self.declared.names.contains(decl.name.text.as_str())
                && (!is_core_object(&decl.name.text) || !self.has_core()),
            type_params: self.type_param_names(&decl.type_params),
            constructors: vec![],
            methods: vec![],
            annotations: annotations(&decl.annotations),
            span: decl.span,
        });
        // A signature may name the type it belongs to: only now, when it has its id.
        let constructors = decl.constructors.iter().map(|f| self.signature(*f).params).collect();
        let methods = decl.methods.iter().map(|f| self.extern_method(*f)).collect();
        let object = &mut self.out.externs[made.index()];
        object.constructors = constructors;
        object.methods = methods;
        made
    }

    /// Makes the types in the signatures of `id`: each after those that it needs, as in the source.
    fn mentioned_externs(&mut self, id: typed::ExternId) {
        let typed = self.typed;
        let decl = &typed.externs[id];
        let mut mentioned = vec![];
        for function in decl.constructors.iter().chain(&decl.methods).map(|f| &typed.functions[*f]) {
            let params = function.params.iter().map(|param| &typed.vars[*param].ty);
            for ty in params.chain([&function.returns]) {
                ty.any(&mut |ty| {
                    mentioned.extend(match ty {
                        typed::Type::Extern(other, _) if *other != id => Some(*other),
                        _ => None,
                    });
                    false
                });
            }
        }
        for other in mentioned {
            self.extern_object(other);
        }
    }

    /// The extern function.
    pub(crate) fn extern_function(&mut self, id: typed::FunctionId) -> ExternFunctionId {
        if let Some(known) = self.extern_function_ids.get(&id) {
            return *known;
        }
        let decl = &self.typed.functions[id];
        let function = ExternFunction {
            name: decl.name.text.clone(),
            user: !self.declared.names.contains(decl.name.text.as_str())
                && !matches!(decl.name.text.as_str(), "verify" | "static_assert"),
            signature: self.signature(id),
            annotations: annotations(&decl.annotations),
            span: decl.span,
        };
        let made = ExternFunctionId::from(self.out.extern_functions.len());
        self.out.extern_functions.push(function);
        self.extern_function_ids.insert(id, made);
        made
    }

    fn extern_method(&mut self, id: typed::FunctionId) -> ExternMethod {
        let decl = &self.typed.functions[id];
        ExternMethod {
            name: decl.name.text.clone(),
            signature: self.signature(id),
            is_abstract: decl.is_abstract,
            annotations: annotations(&decl.annotations),
            span: decl.span,
        }
    }

    fn signature(&mut self, id: typed::FunctionId) -> Signature {
        let decl = &self.typed.functions[id];
        Signature {
            type_params: self.type_param_names(&decl.type_params),
            params: decl.params.iter().map(|p| self.signature_param(*p)).collect(),
            returns: self.ty(&decl.returns),
        }
    }

    fn signature_param(&mut self, id: typed::VarId) -> SignatureParam {
        let decl = &self.typed.vars[id];
        let passes = match decl.kind {
            typed::VarKind::Param(d) => direction(d),
            _ => Direction::None,
        };
        SignatureParam {
            name: decl.name.text.clone(),
            direction: passes,
            ty: self.ty(&decl.ty),
            optional: decl.optional,
        }
    }

    fn type_param_names(&self, params: &[typed::TypeVarId]) -> Vec<ir::Name> {
        params.iter().map(|p| self.typed.type_vars[*p].name.text.clone()).collect()
    }
}

fn is_core_object(name: &str) -> bool {
    matches!(name, "packet_in" | "packet_out")
}
