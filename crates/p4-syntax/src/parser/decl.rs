//! Declarations of constants, variables, instances, types, functions and actions.

use base_diag::{Span, codes::syntax};

use super::Parser;
use super::names::Sort;
use super::stmt::Place;
use crate::ast::{
    ActionDecl, Annotation, ConstDecl, Decl, Direction, EnumDecl, EnumMember, ErrorDecl, Field, FunctionDecl,
    InstanceDecl, InstanceMember, MatchKindDecl, Name, Param, StructDecl, StructKind, Type, TypeKind,
    TypedefDecl, TypedefKind, VarDecl,
};
use crate::token::TokenKind;

/// The kinds of declaration that begin with a type.
pub(super) enum VariableOrInstance {
    Variable(VarDecl),
    Instance(InstanceDecl),
}

impl Parser<'_> {
    /// A top-level declaration, or none after an error that left nothing of it.
    pub(super) fn top_level(&mut self) -> Option<Decl> {
        let start = self.span();
        let annotations = self.annotations();
        let decl = match self.kind() {
            TokenKind::Const => Decl::Const(self.const_decl(annotations, start)),
            TokenKind::Extern => return self.extern_decl(annotations, start),
            TokenKind::Action => Decl::Action(self.action(annotations, start)),
            TokenKind::Parser => return self.parser_decl(annotations, start),
            TokenKind::Control => return self.control_decl(annotations, start),
            TokenKind::Package => Decl::Package(self.package(annotations, start)),
            TokenKind::Struct | TokenKind::Header | TokenKind::HeaderUnion => {
                Decl::Struct(self.struct_decl(annotations, start))
            }
            TokenKind::Enum => Decl::Enum(self.enum_decl(annotations, start)),
            TokenKind::Typedef => Decl::Typedef(self.typedef(annotations, start)),
            TokenKind::Type => Decl::Typedef(self.typedef(annotations, start)),
            TokenKind::Error if self.peek(1) == TokenKind::LBrace => {
                self.no_annotations(&annotations);
                let members = self.name_set();
                Decl::Error(ErrorDecl { members, span: self.since(start) })
            }
            TokenKind::MatchKind if self.peek(1) == TokenKind::LBrace => {
                self.no_annotations(&annotations);
                let members = self.name_set();
                Decl::MatchKind(MatchKindDecl { members, span: self.since(start) })
            }
            TokenKind::Table | TokenKind::Transition => {
                let what = format!("`{}`", self.text());
                self.misplaced(&what, start, "it belongs in a control or a parser");
                self.bump();
                self.skip_declaration();
                return None;
            }
            kind if Self::is_base_type(kind) || Self::is_name(kind) || kind == TokenKind::Dot => {
                return self.typed_decl(annotations, start);
            }
            _ => {
                self.unexpected("a declaration");
                return None;
            }
        };
        Some(decl)
    }

    fn no_annotations(&mut self, annotations: &[Annotation]) {
        if let Some(first) = annotations.first() {
            self.misplaced("an annotation", first.span, "this declaration takes none");
        }
    }

    /// A function or an instance.
    fn typed_decl(&mut self, annotations: Vec<Annotation>, start: Span) -> Option<Decl> {
        let first = self.token(0);
        let word = self.text();
        let ty = self.return_type();
        if self.at(TokenKind::LParen) {
            return Some(Decl::Instance(self.instance_rest(annotations, ty, start)));
        }
        let simple = matches!(&ty.kind, TypeKind::Named(path) if !path.absolute);
        if simple && self.sort_at(self.pos - 1).is_none() && !Self::is_name(self.kind()) {
            self.keyword_slip(word, first.span, "expected a declaration");
            return None;
        }
        let name = self.name();
        match self.kind() {
            TokenKind::LParen | TokenKind::Lt => {
                Some(Decl::Function(self.function_rest(annotations, ty, name, start)))
            }
            TokenKind::Semicolon | TokenKind::Assign | TokenKind::LBracket => {
                self.misplaced(
                    "a variable",
                    name.span,
                    "variables belong in controls, parsers and functions",
                );
                self.names.declare(&name.text, Sort::Value);
                self.skip_declaration();
                None
            }
            TokenKind::LBrace if simple && self.sort_at(self.pos - 2).is_none() => {
                self.keyword_slip(word, first.span, "expected a declaration");
                None
            }
            _ => {
                self.unexpected("`(`");
                None
            }
        }
    }

    /// `const T x = e;`
    pub(super) fn const_decl(&mut self, annotations: Vec<Annotation>, start: Span) -> ConstDecl {
        self.bump();
        let type_start = self.span();
        let ty = self.ty();
        let name = self.name();
        let ty = self.dimensions(ty, type_start);
        self.expect(TokenKind::Assign);
        let value = self.expr();
        self.end_statement();
        self.names.declare(&name.text, Sort::Value);
        ConstDecl { annotations, ty, name, value, span: self.since(start) }
    }

    /// `T x = e;` or `T(args) x = { ... };`
    pub(super) fn variable_or_instance(
        &mut self,
        annotations: Vec<Annotation>,
        start: Span,
    ) -> VariableOrInstance {
        let ty = self.ty();
        if self.at(TokenKind::LParen) {
            return VariableOrInstance::Instance(self.instance_rest(annotations, ty, start));
        }
        let mut variable = self.variable_rest(annotations, ty, start);
        self.end_statement();
        variable.span = self.since(start);
        VariableOrInstance::Variable(variable)
    }

    /// A variable after its type, without `;`.
    pub(super) fn variable_rest(&mut self, annotations: Vec<Annotation>, ty: Type, start: Span) -> VarDecl {
        let mut height = self.height;
        let name = self.name();
        let type_span = ty.span;
        let ty = self.dimensions(ty, type_span);
        height = height.max(self.height);
        let init = self.eat(TokenKind::Assign).then(|| self.expr());
        self.height = height.max(self.height);
        self.names.declare(&name.text, Sort::Value);
        VarDecl { annotations, ty, name, init, span: self.since(start) }
    }

    /// An instance after its type, at `(`.
    pub(super) fn instance_rest(
        &mut self,
        annotations: Vec<Annotation>,
        ty: Type,
        start: Span,
    ) -> InstanceDecl {
        let args = self.args();
        let name = self.name();
        let type_span = ty.span;
        let ty = self.dimensions(ty, type_span);
        let body = self.eat(TokenKind::Assign).then(|| {
            let scope = self.names.open();
            let members = self.members(Self::instance_member);
            self.names.close(scope);
            members
        });
        self.end_statement();
        self.names.declare(&name.text, Sort::Value);
        InstanceDecl { annotations, ty, args, name, body, span: self.since(start) }
    }

    fn instance_member(&mut self) -> Option<InstanceMember> {
        self.nested(Self::instance_member_here, |_| None)
    }

    fn instance_member_here(&mut self) -> Option<InstanceMember> {
        let start = self.span();
        let annotations = self.annotations();
        let ty = self.return_type();
        if self.at(TokenKind::LParen) {
            return Some(InstanceMember::Instance(self.instance_rest(annotations, ty, start)));
        }
        let name = self.name();
        if !matches!(self.kind(), TokenKind::LParen | TokenKind::Lt) {
            self.unexpected("`(`");
            return None;
        }
        Some(InstanceMember::Function(self.function_rest(annotations, ty, name, start)))
    }

    /// A function after its name.
    fn function_rest(
        &mut self,
        annotations: Vec<Annotation>,
        return_type: Type,
        name: Name,
        start: Span,
    ) -> FunctionDecl {
        self.names.declare(&name.text, Sort::Value);
        let scope = self.names.open();
        let type_params = self.type_params();
        let params = self.params();
        let body_start = self.span();
        let body = self.block(vec![], body_start, Place::Body);
        self.names.close(scope);
        FunctionDecl { annotations, return_type, name, type_params, params, body, span: self.since(start) }
    }

    /// `action a(...) { ... }`
    pub(super) fn action(&mut self, annotations: Vec<Annotation>, start: Span) -> ActionDecl {
        self.bump();
        let name = self.name();
        let scope = self.names.open();
        let params = self.params();
        let body_start = self.span();
        let body = self.block(vec![], body_start, Place::Body);
        self.names.close(scope);
        ActionDecl { annotations, name, params, body, span: self.since(start) }
    }

    /// `(parameters)`, declared in the innermost scope.
    pub(super) fn params(&mut self) -> Vec<Param> {
        let open = self.span();
        let mut params = vec![];
        if !self.expect(TokenKind::LParen) {
            return params;
        }
        while !matches!(self.kind(), TokenKind::RParen | TokenKind::Eof) {
            params.push(self.param());
            if !self.eat(TokenKind::Comma) {
                break;
            }
            if self.at(TokenKind::RParen) {
                self.unexpected("a parameter");
            }
        }
        if !self.expect_close(TokenKind::RParen, open) {
            self.skip_to_params_end();
        }
        for param in &params {
            self.names.declare(&param.name.text, Sort::Value);
        }
        params
    }

    fn skip_to_params_end(&mut self) {
        while !matches!(
            self.kind(),
            TokenKind::RParen | TokenKind::LBrace | TokenKind::Semicolon | TokenKind::Eof
        ) {
            self.bump();
        }
        self.eat(TokenKind::RParen);
    }

    fn param(&mut self) -> Param {
        let start = self.span();
        let annotations = self.annotations();
        let direction = match self.kind() {
            TokenKind::In => Direction::In,
            TokenKind::Out => Direction::Out,
            TokenKind::Inout => Direction::InOut,
            _ => Direction::None,
        };
        if direction != Direction::None {
            self.bump();
        }
        let type_start = self.span();
        let ty = self.ty();
        let name = self.name();
        let ty = self.dimensions(ty, type_start);
        let default = self.eat(TokenKind::Assign).then(|| self.expr());
        Param { annotations, direction, ty, name, default, span: self.since(start) }
    }

    fn struct_decl(&mut self, annotations: Vec<Annotation>, start: Span) -> StructDecl {
        let kind = match self.bump().kind {
            TokenKind::Header => StructKind::Header,
            TokenKind::HeaderUnion => StructKind::HeaderUnion,
            _ => StructKind::Struct,
        };
        let name = self.name();
        self.names.declare(&name.text, Sort::Type);
        let scope = self.names.open();
        let type_params = self.type_params();
        let fields = self.members(Self::field);
        self.names.close(scope);
        StructDecl { annotations, kind, name, type_params, fields, span: self.since(start) }
    }

    fn field(&mut self) -> Option<Field> {
        let start = self.span();
        let annotations = self.annotations();
        let type_start = self.span();
        let ty = self.ty();
        if ty.kind == TypeKind::Missing {
            return None;
        }
        let name = self.name();
        let ty = self.dimensions(ty, type_start);
        self.end_statement();
        Some(Field { annotations, ty, name, span: self.since(start) })
    }

    fn enum_decl(&mut self, annotations: Vec<Annotation>, start: Span) -> EnumDecl {
        self.bump();
        let plain = Self::is_name(self.kind()) && self.peek(1) == TokenKind::LBrace;
        let underlying = (!plain).then(|| self.ty());
        let name = self.name();
        self.names.declare(&name.text, Sort::Type);
        let members = self.enum_members(underlying.is_some());
        EnumDecl { annotations, underlying, name, members, span: self.since(start) }
    }

    fn enum_members(&mut self, valued: bool) -> Vec<EnumMember> {
        self.comma_set(|p| {
            let name = p.name();
            let start = name.span;
            let value = if valued {
                p.expect(TokenKind::Assign);
                Some(p.expr())
            } else if p.at(TokenKind::Assign) {
                let label = "give the enum a type: `enum bit<8> E { ... }`";
                p.error(syntax::UNEXPECTED, "a value in an enum without type", p.span(), label);
                p.bump();
                p.expr();
                None
            } else {
                None
            };
            EnumMember { name, value, span: p.since(start) }
        })
    }

    /// `error { A, B }` and `match_kind { a, b }`, at the keyword.
    fn name_set(&mut self) -> Vec<Name> {
        self.bump();
        self.comma_set(Self::name)
    }

    /// `{ a, b }` with at least one member; a trailing comma is allowed.
    fn comma_set<T>(&mut self, member: impl Fn(&mut Self) -> T) -> Vec<T> {
        let open = self.span();
        let mut members = vec![];
        if !self.expect(TokenKind::LBrace) {
            return members;
        }
        loop {
            members.push(member(self));
            if !self.eat(TokenKind::Comma) || matches!(self.kind(), TokenKind::RBrace | TokenKind::Eof) {
                break;
            }
        }
        if !self.expect_close(TokenKind::RBrace, open) {
            self.skip_declaration();
        }
        members
    }

    fn typedef(&mut self, annotations: Vec<Annotation>, start: Span) -> TypedefDecl {
        let kind = match self.bump().kind {
            TokenKind::Typedef => TypedefKind::Alias,
            _ => TypedefKind::New,
        };
        let type_start = self.span();
        let inline = self.inline_type();
        if kind == TypedefKind::New && inline.is_some() {
            self.misplaced("a declaration", type_start, "`type` takes a type that is declared before it");
        }
        let ty = match inline.as_ref().and_then(|d| d.name()) {
            Some(name) => {
                let path = crate::ast::Path { absolute: false, name: name.clone(), span: name.span };
                Type { kind: TypeKind::Named(path), span: name.span }
            }
            None => self.ty(),
        };
        let name = self.name();
        let ty = self.dimensions(ty, type_start);
        self.end_statement();
        self.names.declare(&name.text, Sort::Type);
        TypedefDecl { annotations, kind, inline: inline.map(Box::new), ty, name, span: self.since(start) }
    }

    /// The declaration in `typedef struct S { ... } T;`
    fn inline_type(&mut self) -> Option<Decl> {
        let start = self.span();
        let annotations = self.annotations();
        match self.kind() {
            TokenKind::Struct | TokenKind::Header | TokenKind::HeaderUnion => {
                Some(Decl::Struct(self.struct_decl(annotations, start)))
            }
            TokenKind::Enum => Some(Decl::Enum(self.enum_decl(annotations, start))),
            _ => {
                self.no_annotations(&annotations);
                None
            }
        }
    }
}
