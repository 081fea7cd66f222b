//! Parsers, controls, packages and their types (P4-16 §7.2.10 to §7.2.12, §13, §14).

use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, Place, name};
use crate::decl::ParamOf;
use crate::scope::Def;
use crate::typed::{
    Block, Control, ControlId, ControlType, ControlTypeId, Local, Package, PackageId, Parser, ParserId,
    ParserType, ParserTypeId, Stmt, StmtKind, Type, ValueSet, ValueSetId, VarId,
};

impl Checker {
    pub(crate) fn parser_type(&mut self, d: &ast::ParserType) -> ParserTypeId {
        let annotations = self.annotations(&d.annotations);
        self.scopes.enter();
        let type_params = self.type_params(&d.type_params);
        let params = self.params(&d.params, ParamOf::ApplyType);
        self.scopes.leave();
        let declared = ParserType { name: name(&d.name), type_params, params, annotations, span: d.span };
        let id = self.program.parser_types.push(declared);
        self.bind(&d.name, Def::ParserType(id));
        id
    }

    pub(crate) fn control_type(&mut self, d: &ast::ControlType) -> ControlTypeId {
        let annotations = self.annotations(&d.annotations);
        self.scopes.enter();
        let type_params = self.type_params(&d.type_params);
        let params = self.params(&d.params, ParamOf::ApplyType);
        self.scopes.leave();
        let declared = ControlType { name: name(&d.name), type_params, params, annotations, span: d.span };
        let id = self.program.control_types.push(declared);
        self.bind(&d.name, Def::ControlType(id));
        id
    }

    pub(crate) fn package(&mut self, d: &ast::PackageDecl) -> PackageId {
        let annotations = self.annotations(&d.annotations);
        self.scopes.enter();
        let type_params = self.type_params(&d.type_params);
        let params = self.params(&d.params, ParamOf::Package);
        self.scopes.leave();
        let declared = Package { name: name(&d.name), type_params, params, annotations, span: d.span };
        let id = self.program.packages.push(declared);
        self.bind_block(&d.name, Def::Package(id));
        id
    }

    /// Binds a parser, control or package. Two of one name must differ in their constructor parameters.
    fn bind_block(&mut self, name: &ast::Name, def: Def) {
        let before = self.scopes.lookup_here(&name.text).map(|b| b.def.clone());
        let mut defs = match before {
            Some(Def::Overloaded(defs)) => defs,
            Some(before @ (Def::Parser(_) | Def::Control(_) | Def::Package(_))) => vec![before],
            _ => return self.bind(name, def),
        };
        let same_kind = defs.iter().all(|d| std::mem::discriminant(d) == std::mem::discriminant(&def));
        let names = self.constructor_names(&def);
        if !same_kind || defs.iter().any(|d| self.constructor_names(d) == names) {
            return self.bind(name, def);
        }
        defs.push(def);
        self.scopes.rebind(&name.text, Def::Overloaded(defs));
    }

    fn constructor_names(&self, def: &Def) -> Vec<&str> {
        let params = match def {
            Def::Parser(id) => &self.program.parsers[*id].constructor_params,
            Def::Control(id) => &self.program.controls[*id].constructor_params,
            Def::Package(id) => &self.program.packages[*id].params,
            _ => return vec![],
        };
        let mut names: Vec<&str> = params.iter().map(|&p| self.program.vars[p].name.text.as_str()).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn parser(&mut self, d: &ast::ParserDecl) -> ParserId {
        let annotations = self.annotations(&d.annotations);
        self.scopes.enter();
        let type_params = self.type_params(&d.type_params);
        let params = self.params(&d.params, ParamOf::Apply);
        let constructor_params = self.params(&d.constructor_params, ParamOf::Constructor);
        let id = self.program.parsers.push(Parser {
            name: name(&d.name),
            type_params,
            params,
            constructor_params,
            locals: vec![],
            states: vec![],
            annotations,
            span: d.span,
        });
        self.scopes.enter();
        let outer = std::mem::take(&mut self.direct);
        self.place = Place::ParserLocals;
        let locals = self.locals(&d.locals);
        self.program.parsers[id].locals = locals;
        self.place = Place::ParserState;
        let states = self.states(d);
        let direct = std::mem::replace(&mut self.direct, outer);
        let parser = &mut self.program.parsers[id];
        parser.states = states;
        parser.locals.splice(0..0, direct.into_iter().map(Local::Instance));
        self.scopes.leave();
        self.scopes.leave();
        self.place = Place::TopLevel;
        self.bind_block(&d.name, Def::Parser(id));
        id
    }

    pub(crate) fn control_decl(&mut self, d: &ast::ControlDecl) -> ControlId {
        let annotations = self.annotations(&d.annotations);
        self.scopes.enter();
        let type_params = self.type_params(&d.type_params);
        let params = self.params(&d.params, ParamOf::Apply);
        let constructor_params = self.params(&d.constructor_params, ParamOf::Constructor);
        self.refuse_parser_params(&constructor_params);
        let id = self.program.controls.push(Control {
            name: name(&d.name),
            type_params,
            params,
            constructor_params,
            locals: vec![],
            body: Block::default(),
            annotations,
            span: d.span,
        });
        self.scopes.enter();
        let outer = std::mem::take(&mut self.direct);
        self.control = Some(id);
        self.place = Place::ControlLocals;
        let locals = self.locals(&d.locals);
        self.program.controls[id].locals = locals;
        self.place = Place::ControlApply;
        let body = self.block(&d.apply);
        self.control = None;
        let direct = std::mem::replace(&mut self.direct, outer);
        let control = &mut self.program.controls[id];
        control.body = body;
        // `C.apply()` makes an instance without a declaration: as if it were declared before the locals.
        control.locals.splice(0..0, direct.into_iter().map(Local::Instance));
        self.scopes.leave();
        self.scopes.leave();
        self.place = Place::TopLevel;
        self.bind_block(&d.name, Def::Control(id));
        id
    }

    /// A control cannot apply a parser, so it cannot be given one.
    fn refuse_parser_params(&mut self, params: &[VarId]) {
        for &p in params {
            let var = &self.program.vars[p];
            if let Type::ParserType(..) = var.ty {
                let title = format!("constructor parameter `{}` is a parser", var.name.text);
                let span = var.name.span;
                self.error(codes::BAD_PARAMETER, span, title, "a control cannot apply a parser");
                self.program.vars[p].ty = Type::Error;
            }
        }
    }

    fn locals(&mut self, locals: &[ast::Local]) -> Vec<Local> {
        let place = self.place;
        let mut out = Vec::with_capacity(locals.len());
        for local in locals {
            self.infer.clear();
            self.place = place;
            let done = match local {
                ast::Local::Const(d) => self.constant(d).map(Local::Const),
                ast::Local::Var(d) => {
                    let (var, init) = self.variable(d);
                    Some(Local::Var(Box::new(Stmt { kind: StmtKind::Var { var, init }, span: d.span })))
                }
                ast::Local::Instance(d) => self.instance(d).map(Local::Instance),
                ast::Local::ValueSet(d) => Some(Local::ValueSet(self.value_set(d))),
                ast::Local::Action(d) => Some(Local::Action(self.action(d))),
                ast::Local::Table(d) => self.table(d).map(Local::Table),
            };
            out.extend(done);
        }
        out
    }

    fn value_set(&mut self, d: &ast::ValueSetDecl) -> ValueSetId {
        let annotations = self.annotations(&d.annotations);
        let mut element = self.resolve_type(&d.element);
        let fits = matches!(
            self.infer.shallow(&element),
            Type::Error
                | Type::Bit(_)
                | Type::Signed(_)
                | Type::Bool
                | Type::Enum(_)
                | Type::ErrorCode
                | Type::NewType(_)
                | Type::Var(_)
                | Type::Tuple(_)
                | Type::Struct(..)
        );
        if !fits {
            let shown = self.show(&element);
            self.error(
                codes::BAD_DECLARATION,
                d.element.span,
                format!("a value set cannot hold `{shown}`"),
                "",
            );
            element = Type::Error;
        }
        let size = self.expr(&d.size, None);
        let number = matches!(self.numeric(&size.ty), Type::Int | Type::Bit(_) | Type::Signed(_));
        if !size.ty.is_error() && (!number || !self.is_known(&size)) {
            let title = "the size of a value set must be a constant";
            self.error(codes::NOT_CONSTANT, d.size.span, title, "");
        }
        let set = ValueSet { name: name(&d.name), element, size, annotations, span: d.span };
        let id = self.program.value_sets.push(set);
        self.bind(&d.name, Def::ValueSet(id));
        id
    }
}
