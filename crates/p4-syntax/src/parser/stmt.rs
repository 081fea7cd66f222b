//! Statements (P4-16 §12).

use base_diag::{Span, codes::syntax};

use super::Parser;
use super::decl::VariableOrInstance;
use super::names::Sort;
use super::recover::A_STATEMENT;
use crate::ast::{
    Annotation, BinaryOp, Block, Expr, ExprKind, ForInit, ForStmt, Stmt, StmtKind, SwitchCase, SwitchLabel,
    Type, TypeKind, VarDecl,
};
use crate::token::TokenKind;

/// The context of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// An action, a function, a control's `apply`.
    Body,
    /// A parser state or a block in one.
    State,
}

impl Parser<'_> {
    /// `blockStatement`; `start` is where its annotations begin.
    pub(super) fn block(&mut self, annotations: Vec<Annotation>, start: Span, place: Place) -> Block {
        let open = self.span();
        let mut stmts = vec![];
        let mut height = 0;
        if self.expect(TokenKind::LBrace) {
            let scope = self.names.open();
            while !self.ends_block() {
                let before = self.pos;
                stmts.extend(self.stmt(place));
                height = height.max(self.height);
                if self.pos == before {
                    self.bump();
                }
            }
            self.names.close(scope);
            self.expect_close(TokenKind::RBrace, open);
        }
        self.raise(height);
        let close = self.pos.checked_sub(1).map_or(open, |last| self.token_at(last).span);
        Block { annotations, stmts, span: self.since(start), close }
    }

    /// A `}` is next, or a token that shows that it is missing.
    fn ends_block(&self) -> bool {
        match self.kind() {
            TokenKind::RBrace | TokenKind::Eof => true,
            TokenKind::Apply => self.peek(1) == TokenKind::LBrace,
            TokenKind::State => Self::is_name(self.peek(1)) && self.peek(2) == TokenKind::LBrace,
            TokenKind::Transition => true,
            _ => self.begins_declaration() && !self.begins_error_variable(),
        }
    }

    /// `error {` begins a declaration, `error e` a variable.
    fn begins_error_variable(&self) -> bool {
        self.at(TokenKind::Error) && self.peek(1) != TokenKind::LBrace
    }

    /// A statement, or none after an error that left nothing of it.
    pub(super) fn stmt(&mut self, place: Place) -> Option<Stmt> {
        self.nested(|p| p.stmt_here(place), |_| None)
    }

    fn stmt_here(&mut self, place: Place) -> Option<Stmt> {
        let start = self.span();
        let annotations = self.annotations();
        self.height = 1;
        let kind = match self.kind() {
            TokenKind::LBrace => StmtKind::Block(self.block(annotations, start, place)),
            TokenKind::For => self.for_stmt(annotations, place),
            TokenKind::Const => StmtKind::Const(self.const_decl(annotations, start)),
            TokenKind::Table | TokenKind::Action => return self.declaration_here(),
            _ if self.begins_variable() => match self.variable_or_instance(annotations, start) {
                VariableOrInstance::Variable(v) => StmtKind::Var(v),
                VariableOrInstance::Instance(i) => StmtKind::Instance(i),
            },
            _ => {
                if let Some(first) = annotations.first() {
                    let span = first.span;
                    self.misplaced(
                        "an annotation",
                        span,
                        "only blocks, loops and declarations take annotations",
                    );
                }
                self.plain(place)?
            }
        };
        Some(Stmt { kind, span: self.since(start) })
    }

    /// A statement that takes no annotations.
    fn plain(&mut self, place: Place) -> Option<StmtKind> {
        let start = self.span();
        let word = self.text();
        let kind = match self.kind() {
            TokenKind::If => return Some(self.if_stmt(place)),
            TokenKind::Semicolon => {
                self.bump();
                return Some(StmtKind::Empty);
            }
            TokenKind::Return => self.return_stmt(),
            TokenKind::Exit => self.simple(StmtKind::Exit),
            TokenKind::Break => self.simple(StmtKind::Break),
            TokenKind::Continue => self.simple(StmtKind::Continue),
            TokenKind::Switch => self.switch(),
            _ => {
                let kind = self.assign_or_call()?;
                self.end_statement();
                return Some(kind);
            }
        };
        self.refuse_in_state(word, start, place);
        Some(kind)
    }

    fn refuse_in_state(&mut self, word: &str, span: Span, place: Place) {
        if place == Place::State {
            self.misplaced(
                &format!("`{word}`"),
                span,
                "a parser state has only assignments, calls, `if` and blocks",
            );
        }
    }

    /// A table or an action among statements: reported and stepped over.
    fn declaration_here(&mut self) -> Option<Stmt> {
        let what = if self.at(TokenKind::Table) { "a table" } else { "an action" };
        let span = self.span();
        self.misplaced(what, span, "declare it in the control, before `apply`");
        self.bump();
        self.skip_statement();
        None
    }

    fn simple(&mut self, kind: StmtKind) -> StmtKind {
        self.bump();
        self.end_statement();
        kind
    }

    /// The `;` of a statement. If it is missing, tokens that do not begin another statement are skipped.
    pub(super) fn end_statement(&mut self) {
        let height = self.height;
        if !self.expect(TokenKind::Semicolon) {
            self.skip_statement();
        }
        self.height = height;
    }

    fn return_stmt(&mut self) -> StmtKind {
        self.bump();
        let value = (!self.at(TokenKind::Semicolon)).then(|| self.expr());
        self.end_statement();
        StmtKind::Return(value)
    }

    /// `if` with all its `else if`, which do not count as nested.
    fn if_stmt(&mut self, place: Place) -> StmtKind {
        let mut arms = vec![];
        let mut height = 0;
        let otherwise = loop {
            let start = self.bump().span;
            let condition = self.condition();
            height = height.max(self.height);
            let then = self.branch(place);
            height = height.max(self.height);
            arms.push((start, condition, then));
            self.raise(height + arms.len() as u32);
            if !self.eat(TokenKind::Else) {
                break None;
            }
            if !self.at(TokenKind::If) {
                let otherwise = self.branch(place);
                height = height.max(self.height);
                break Some(Box::new(otherwise));
            }
        };
        self.raise(height + arms.len() as u32);
        let end = self.pos;
        let mut chain = otherwise;
        let mut kind = StmtKind::Empty;
        while let Some((start, condition, then)) = arms.pop() {
            kind = StmtKind::If { condition, then: Box::new(then), otherwise: chain.take() };
            if !arms.is_empty() {
                let span = start.to(self.token_at(end.saturating_sub(1)).span);
                chain = Some(Box::new(Stmt { kind, span }));
                kind = StmtKind::Empty;
            }
        }
        kind
    }

    /// `( expression )`
    fn condition(&mut self) -> Expr {
        let open = self.span();
        self.expect(TokenKind::LParen);
        let condition = self.in_brackets(Self::expr);
        let height = self.height;
        self.expect_close(TokenKind::RParen, open);
        self.height = height;
        condition
    }

    /// A statement that must be there.
    fn branch(&mut self, place: Place) -> Stmt {
        let start = self.span();
        if self.ends_block() {
            self.unexpected("a statement");
        } else if let Some(stmt) = self.stmt(place) {
            return stmt;
        }
        Stmt { kind: StmtKind::Empty, span: Span { hi: start.lo, ..start } }
    }

    fn switch(&mut self) -> StmtKind {
        self.bump();
        let subject = self.condition();
        let mut height = self.height;
        let open = self.span();
        let mut cases = vec![];
        if self.expect(TokenKind::LBrace) {
            while !self.ends_block() {
                let before = self.pos;
                cases.extend(self.case());
                height = height.max(self.height);
                if self.pos == before {
                    self.bump();
                }
            }
            self.expect_close(TokenKind::RBrace, open);
        }
        self.raise(height);
        StmtKind::Switch { subject, cases }
    }

    fn case(&mut self) -> Option<SwitchCase> {
        let start = self.span();
        let label = if self.eat(TokenKind::Default) {
            SwitchLabel::Default(start)
        } else {
            if self.at(TokenKind::LBrace) {
                self.unexpected("a label");
            }
            SwitchLabel::Value(self.expr())
        };
        let mut height = self.height;
        if !self.expect(TokenKind::Colon) {
            self.skip_statement();
            return None;
        }
        let has_body = matches!(self.kind(), TokenKind::LBrace | TokenKind::At);
        let body = has_body.then(|| {
            let start = self.span();
            let annotations = self.annotations();
            let block = self.block(annotations, start, Place::Body);
            height = height.max(self.height);
            block
        });
        self.height = height;
        Some(SwitchCase { label, body, span: self.since(start) })
    }

    fn for_stmt(&mut self, annotations: Vec<Annotation>, place: Place) -> StmtKind {
        let start = self.span();
        self.refuse_in_state("for", start, place);
        self.bump();
        let open = self.span();
        self.expect(TokenKind::LParen);
        let scope = self.names.open();
        let kind = if self.begins_for_in() {
            self.for_in(annotations, open, place)
        } else {
            self.three_clauses(annotations, open, place)
        };
        self.names.close(scope);
        kind
    }

    /// `T x in`, with annotations before it.
    fn begins_for_in(&self) -> bool {
        if self.at(TokenKind::At) {
            let stop = |k| matches!(k, TokenKind::Semicolon | TokenKind::LBrace | TokenKind::Eof);
            let kinds = (self.pos..).map(|i| self.token_at(i).kind);
            return kinds.take_while(|k| !stop(*k)).any(|k| k == TokenKind::In);
        }
        self.scan_type(self.pos).is_some_and(|end| self.token_at(end + 1).kind == TokenKind::In)
            || self.peek(1) == TokenKind::In
    }

    fn for_in(&mut self, annotations: Vec<Annotation>, open: Span, place: Place) -> StmtKind {
        let start = self.span();
        let own = self.annotations();
        let ty = if self.peek(1) == TokenKind::In {
            let label = "write its type before it: `bit<8> i`";
            self.error(syntax::UNEXPECTED, "a loop variable without type", self.span(), label);
            self.height = 1;
            Type { kind: TypeKind::Missing, span: Span { hi: start.lo, ..start } }
        } else {
            self.ty()
        };
        let mut height = self.height;
        let name = self.name();
        let span = self.since(start);
        self.names.declare(&name.text, Sort::Value);
        let variable = Box::new(VarDecl { annotations: own, ty, name, init: None, span });
        self.expect(TokenKind::In);
        let collection = Box::new(self.in_brackets(Self::keyset_element));
        height = height.max(self.height);
        self.expect_close(TokenKind::RParen, open);
        let body = Box::new(self.branch(place));
        self.raise(height.max(self.height));
        StmtKind::ForIn { annotations, variable, collection, body }
    }

    fn three_clauses(&mut self, annotations: Vec<Annotation>, open: Span, place: Place) -> StmtKind {
        let mut height = 0;
        let mut init = vec![];
        while !matches!(self.kind(), TokenKind::Semicolon | TokenKind::RParen | TokenKind::Eof) {
            init.extend(self.for_init());
            height = height.max(self.height);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::Semicolon);
        let condition = self.expr();
        height = height.max(self.height);
        self.expect(TokenKind::Semicolon);
        let mut update = vec![];
        while !matches!(self.kind(), TokenKind::RParen | TokenKind::Eof) {
            let start = self.span();
            let kind = self.assign_or_call();
            update.extend(kind.map(|kind| Stmt { kind, span: self.since(start) }));
            height = height.max(self.height);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect_close(TokenKind::RParen, open);
        let body = self.branch(place);
        self.raise(height.max(self.height));
        StmtKind::For(Box::new(ForStmt { annotations, init, condition, update, body }))
    }

    fn for_init(&mut self) -> Option<ForInit> {
        let start = self.span();
        let annotations = self.annotations();
        if annotations.is_empty() && !self.begins_variable() {
            let kind = self.assign_or_call()?;
            return Some(ForInit::Stmt(Stmt { kind, span: self.since(start) }));
        }
        let ty = self.ty();
        Some(ForInit::Var(self.variable_rest(annotations, ty, start)))
    }

    /// `lvalue op= value` or `lvalue(args)`, without `;`.
    fn assign_or_call(&mut self) -> Option<StmtKind> {
        let kind = self.kind();
        let other = matches!(kind, TokenKind::This | TokenKind::Dot | TokenKind::LParen);
        let begins = other || Self::is_name(kind) && kind != TokenKind::List;
        if !begins {
            self.unexpected("a statement");
            self.skip_statement();
            return None;
        }
        let target = self.postfix();
        let height = self.height;
        let op_span = self.span();
        if let Some(op) = assignment(self.kind()) {
            self.bump();
            self.check_target(&target);
            let value = self.expr();
            self.raise(height.max(self.height));
            return Some(StmtKind::Assign { target, op, op_span, value });
        }
        if let ExprKind::Call { callee, .. } = &target.kind {
            self.check_target(callee);
            self.raise(height);
            return Some(StmtKind::Call(target));
        }
        self.unexpected(A_STATEMENT);
        self.skip_statement();
        None
    }

    /// Targets and callees consist of names, members, indices and slices only.
    fn check_target(&mut self, target: &Expr) {
        let mut at = target;
        loop {
            at = match &at.kind {
                ExprKind::Member { base, .. }
                | ExprKind::Index { base, .. }
                | ExprKind::Slice { base, .. }
                | ExprKind::PlusSlice { base, .. } => base,
                ExprKind::Path(_) | ExprKind::This | ExprKind::Type(_) | ExprKind::Missing => return,
                _ => break,
            };
        }
        let label = "only names with members, indices and slices are allowed here";
        self.error(syntax::UNEXPECTED, "not the target of an assignment or call", at.span, label);
    }
}

/// The operator of an assignment: none for `=`.
fn assignment(kind: TokenKind) -> Option<Option<BinaryOp>> {
    let op = match kind {
        TokenKind::Assign => return Some(None),
        TokenKind::PlusAssign => BinaryOp::Add,
        TokenKind::MinusAssign => BinaryOp::Sub,
        TokenKind::StarAssign => BinaryOp::Mul,
        TokenKind::SlashAssign => BinaryOp::Div,
        TokenKind::PercentAssign => BinaryOp::Mod,
        TokenKind::AndAssign => BinaryOp::BitAnd,
        TokenKind::OrAssign => BinaryOp::BitOr,
        TokenKind::CaretAssign => BinaryOp::BitXor,
        TokenKind::ShlAssign => BinaryOp::Shl,
        TokenKind::ShrAssign => BinaryOp::Shr,
        TokenKind::PlusSatAssign => BinaryOp::AddSat,
        TokenKind::MinusSatAssign => BinaryOp::SubSat,
        _ => return None,
    };
    Some(Some(op))
}
