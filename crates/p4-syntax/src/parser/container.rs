//! Parsers, controls, packages and externs.

use base_diag::{Span, codes::syntax};

use super::Parser;
use super::decl::VariableOrInstance;
use super::names::Sort;
use super::stmt::Place;
use crate::ast::{
    Annotation, Block, ControlDecl, ControlType, Decl, ExternDecl, ExternForward, ExternFunction, Local,
    Method, Name, PackageDecl, ParserDecl, ParserType, SelectCase, SelectExpr, State, Transition,
    ValueSetDecl,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `parser P(...);` or `parser P(...)(...) { ... }`, at the keyword.
    pub(super) fn parser_decl(&mut self, annotations: Vec<Annotation>, start: Span) -> Option<Decl> {
        self.bump();
        let name = self.type_name();
        let scope = self.names.open();
        let type_params = self.type_params();
        let params = self.params();
        let decl = if self.eat(TokenKind::Semicolon) {
            Decl::ParserType(ParserType { annotations, name, type_params, params, span: self.since(start) })
        } else {
            let constructor_params = self.constructor_params();
            let (locals, states) = self.parser_body(name.span);
            let span = self.since(start);
            let d = ParserDecl {
                annotations,
                name,
                type_params,
                params,
                constructor_params,
                locals,
                states,
                span,
            };
            Decl::Parser(d)
        };
        self.names.close(scope);
        Some(decl)
    }

    /// A name that is a type from here on.
    fn type_name(&mut self) -> Name {
        let name = self.name();
        self.names.declare(&name.text, Sort::Type);
        name
    }

    fn constructor_params(&mut self) -> Vec<crate::ast::Param> {
        if self.at(TokenKind::LParen) { self.params() } else { vec![] }
    }

    fn parser_body(&mut self, name: Span) -> (Vec<Local>, Vec<State>) {
        enum Member {
            Local(Local),
            State(State),
        }
        let first = self.pos;
        let members = self.members(|p| {
            let start = p.span();
            let annotations = p.annotations();
            if p.at(TokenKind::State) && Self::is_name(p.peek(1)) && p.peek(2) == TokenKind::LBrace {
                return Some(Member::State(p.state(annotations, start)));
            }
            p.parser_local(annotations, start).map(Member::Local)
        });
        let mut locals = vec![];
        let mut states: Vec<State> = vec![];
        for member in members {
            match member {
                Member::State(state) => states.push(state),
                Member::Local(local) => {
                    if let Some(state) = states.first() {
                        let why = format!("declarations come before the first state, `{}`", state.name.text);
                        self.misplaced("a declaration", local.name().span, &why);
                    }
                    locals.push(local);
                }
            }
        }
        if states.is_empty() && self.pos > first {
            self.error(
                syntax::UNEXPECTED,
                "a parser without states",
                name,
                "it needs at least `state start`",
            );
        }
        (locals, states)
    }

    fn parser_local(&mut self, annotations: Vec<Annotation>, start: Span) -> Option<Local> {
        match self.kind() {
            TokenKind::ValueSet => Some(Local::ValueSet(self.value_set(annotations, start))),
            TokenKind::Table | TokenKind::Action => {
                let what = format!("`{}`", self.text());
                self.misplaced(&what, start, "a parser has only constants, variables, instances and states");
                None
            }
            _ => self.local(annotations, start, "a declaration or a state"),
        }
    }

    /// A constant, variable or instance.
    fn local(&mut self, annotations: Vec<Annotation>, start: Span, wanted: &str) -> Option<Local> {
        if self.at(TokenKind::Const) {
            return Some(Local::Const(self.const_decl(annotations, start)));
        }
        let kind = self.kind();
        if !Self::is_base_type(kind) && !Self::is_name(kind) && kind != TokenKind::Dot {
            self.unexpected(wanted);
            return None;
        }
        match self.variable_or_instance(annotations, start) {
            VariableOrInstance::Variable(v) => Some(Local::Var(v)),
            VariableOrInstance::Instance(i) => Some(Local::Instance(i)),
        }
    }

    fn value_set(&mut self, annotations: Vec<Annotation>, start: Span) -> ValueSetDecl {
        self.bump();
        let open = self.span();
        self.expect(TokenKind::Lt);
        let element = self.ty();
        self.expect_close(TokenKind::Gt, open);
        let open = self.span();
        self.expect(TokenKind::LParen);
        let size = self.in_brackets(Self::expr);
        self.expect_close(TokenKind::RParen, open);
        let name = self.name();
        self.end_statement();
        self.names.declare(&name.text, Sort::Value);
        ValueSetDecl { annotations, element, size, name, span: self.since(start) }
    }

    fn state(&mut self, annotations: Vec<Annotation>, start: Span) -> State {
        self.bump();
        let name = self.name();
        let open = self.bump().span;
        let scope = self.names.open();
        let mut stmts = vec![];
        while !self.ends_state() {
            let before = self.pos;
            stmts.extend(self.stmt(Place::State));
            if self.pos == before {
                self.bump();
            }
        }
        let transition = if self.eat(TokenKind::Transition) { self.transition() } else { None };
        self.names.close(scope);
        if !self.eat(TokenKind::RBrace) {
            self.after_transition(transition.is_some(), open);
        }
        State { annotations, name, stmts, transition, span: self.since(start) }
    }

    fn ends_state(&self) -> bool {
        let next_state =
            self.at(TokenKind::State) && Self::is_name(self.peek(1)) && self.peek(2) == TokenKind::LBrace;
        next_state
            || matches!(self.kind(), TokenKind::RBrace | TokenKind::Eof | TokenKind::Transition)
            || self.begins_declaration()
    }

    /// Nothing may stand between a transition and the end of its state.
    fn after_transition(&mut self, seen: bool, open: Span) {
        if seen && !self.ends_state() {
            let label = "nothing may follow the transition";
            self.error(syntax::UNEXPECTED, "expected `}` after the transition", self.span(), label);
            while !self.ends_state() || self.at(TokenKind::Transition) {
                self.bump();
                self.skip_statement();
            }
        }
        self.expect_close(TokenKind::RBrace, open);
    }

    fn transition(&mut self) -> Option<Transition> {
        if self.at(TokenKind::Select) {
            return Some(Transition::Select(self.select()));
        }
        let name = self.name();
        self.end_statement();
        Some(Transition::Direct(name))
    }

    fn select(&mut self) -> SelectExpr {
        let start = self.bump().span;
        let open = self.span();
        self.expect(TokenKind::LParen);
        let mut keys = vec![];
        self.in_brackets(|p| {
            while !matches!(p.kind(), TokenKind::RParen | TokenKind::Eof) {
                keys.push(p.expr());
                if !p.eat(TokenKind::Comma) {
                    break;
                }
            }
        });
        self.expect_close(TokenKind::RParen, open);
        let cases = self.members(Self::select_case);
        SelectExpr { keys, cases, span: self.since(start) }
    }

    fn select_case(&mut self) -> Option<SelectCase> {
        let start = self.span();
        let keyset = self.keyset();
        if !self.expect(TokenKind::Colon) {
            return None;
        }
        let state = self.name();
        self.end_statement();
        Some(SelectCase { keyset, state, span: self.since(start) })
    }

    /// `control C(...);` or `control C(...)(...) { ... apply { ... } }`, at the keyword.
    pub(super) fn control_decl(&mut self, annotations: Vec<Annotation>, start: Span) -> Option<Decl> {
        self.bump();
        let name = self.type_name();
        let scope = self.names.open();
        let type_params = self.type_params();
        let params = self.params();
        let decl = if self.eat(TokenKind::Semicolon) {
            Decl::ControlType(ControlType { annotations, name, type_params, params, span: self.since(start) })
        } else {
            let constructor_params = self.constructor_params();
            let (locals, apply) = self.control_body();
            let span = self.since(start);
            let d = ControlDecl {
                annotations,
                name,
                type_params,
                params,
                constructor_params,
                locals,
                apply,
                span,
            };
            Decl::Control(d)
        };
        self.names.close(scope);
        Some(decl)
    }

    fn control_body(&mut self) -> (Vec<Local>, Block) {
        let open = self.span();
        let mut locals = vec![];
        if !self.expect(TokenKind::LBrace) {
            return (locals, self.no_apply());
        }
        while !self.ends_control_locals() {
            let before = self.pos;
            let start = self.span();
            let annotations = self.annotations();
            let local = match self.kind() {
                TokenKind::Action => Some(Local::Action(self.action(annotations, start))),
                TokenKind::Table => Some(Local::Table(self.table(annotations, start))),
                _ => self.local(annotations, start, "a declaration or `apply`"),
            };
            // Each round takes a token, so that the loop ends.
            if self.pos == before {
                self.bump();
            }
            if local.is_none() {
                self.skip_statement();
            }
            locals.extend(local);
        }
        let apply = if self.eat(TokenKind::Apply) {
            let start = self.span();
            let annotations = self.annotations();
            self.block(annotations, start, Place::Body)
        } else {
            self.unexpected("`apply`");
            self.no_apply()
        };
        self.expect_close(TokenKind::RBrace, open);
        (locals, apply)
    }

    fn ends_control_locals(&self) -> bool {
        let apply = self.at(TokenKind::Apply) && matches!(self.peek(1), TokenKind::LBrace | TokenKind::At);
        apply || matches!(self.kind(), TokenKind::RBrace | TokenKind::Eof) || self.begins_declaration()
    }

    fn no_apply(&self) -> Block {
        let span = self.span();
        let span = Span { hi: span.lo, ..span };
        Block { annotations: vec![], stmts: vec![], span, close: span }
    }

    /// `package K<T>(...);`, at the keyword.
    pub(super) fn package(&mut self, annotations: Vec<Annotation>, start: Span) -> PackageDecl {
        self.bump();
        let name = self.type_name();
        let scope = self.names.open();
        let type_params = self.type_params();
        let params = self.params();
        self.names.close(scope);
        self.end_statement();
        PackageDecl { annotations, name, type_params, params, span: self.since(start) }
    }

    /// `extern E { ... }`, `extern E;` or `extern T f(...);`, at the keyword.
    pub(super) fn extern_decl(&mut self, annotations: Vec<Annotation>, start: Span) -> Option<Decl> {
        self.bump();
        let after_name = match self.peek(1) {
            TokenKind::Lt => self.scan_type_args(self.pos + 1).map(|end| self.token_at(end).kind),
            other => Some(other),
        };
        let object = Self::is_name(self.kind())
            && matches!(after_name, Some(TokenKind::LBrace | TokenKind::Semicolon));
        if !object {
            return Some(Decl::ExternFunction(self.extern_function(annotations, start)));
        }
        let name = self.type_name();
        if self.eat(TokenKind::Semicolon) {
            return Some(Decl::ExternForward(ExternForward { annotations, name, span: self.since(start) }));
        }
        let scope = self.names.open();
        let type_params = self.type_params();
        let methods = self.members(|p| p.method(&name));
        self.names.close(scope);
        Some(Decl::Extern(ExternDecl { annotations, name, type_params, methods, span: self.since(start) }))
    }

    fn extern_function(&mut self, annotations: Vec<Annotation>, start: Span) -> ExternFunction {
        let return_type = self.return_type();
        let name = self.name();
        self.names.declare(&name.text, Sort::Value);
        let scope = self.names.open();
        let type_params = self.type_params();
        let params = self.params();
        self.names.close(scope);
        self.end_statement();
        let span = self.since(start);
        ExternFunction { annotations, return_type, name, type_params, params, span }
    }

    fn method(&mut self, extern_name: &Name) -> Option<Method> {
        let start = self.span();
        let annotations = self.annotations();
        let is_abstract = self.eat(TokenKind::Abstract);
        let constructor = Self::is_name(self.kind()) && self.peek(1) == TokenKind::LParen;
        if constructor && self.text() != extern_name.text {
            let title = format!("method `{}` has no return type", self.text());
            let label = format!("only the constructor, `{}`, has none", extern_name.text);
            self.error(syntax::UNEXPECTED, title, self.span(), label);
            return None;
        }
        let return_type = (!constructor).then(|| self.return_type());
        let name = self.name();
        let scope = self.names.open();
        let type_params = self.type_params();
        let params = self.params();
        self.names.close(scope);
        self.end_statement();
        let span = self.since(start);
        Some(Method { annotations, is_abstract, return_type, name, type_params, params, span })
    }
}
