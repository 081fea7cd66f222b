//! Statements and blocks.

use super::{Reader, Result, Token};
use crate::text::ops::BINARY_OPS;
use crate::{
    BinaryOp, Block, Expr, ForRange, Stmt, StmtKind, SwitchCase, SwitchLabel, SwitchOn, TableId, VarId,
};
use base_diag::Span;

impl Reader<'_> {
    /// `@annotations { ... }`
    pub(super) fn block(&mut self) -> Result<Block> {
        let annotations = self.annotations()?;
        Ok(Block { annotations, stmts: self.braced_stmts()? })
    }

    pub(super) fn braced_stmts(&mut self) -> Result<Vec<Stmt>> {
        self.nested(|r| {
            let mut stmts = vec![];
            r.expect("{")?;
            while !r.eat("}") {
                stmts.push(r.stmt()?);
            }
            Ok(stmts)
        })
    }

    pub(super) fn stmt(&mut self) -> Result<Stmt> {
        let kind = match self.peek() {
            Token::Sign("{" | "@") => StmtKind::Block(self.block()?),
            Token::Word(word) if word == "if" => self.if_else()?,
            Token::Word(word) if word == "switch" => self.switch()?,
            Token::Word(word) if word == "for" => self.for_loop()?,
            _ => {
                let kind = self.simple()?;
                self.expect(";")?;
                kind
            }
        };
        Ok(Stmt::new(kind))
    }

    fn simple(&mut self) -> Result<StmtKind> {
        let word = match self.peek() {
            Token::Word(word) | Token::Builtin(word) => word.clone(),
            _ => return self.place_stmt(),
        };
        let builtin = matches!(self.peek(), Token::Builtin(_));
        match (builtin, word.as_str()) {
            (false, "var") => self.declare(),
            (false, "apply") => {
                self.advance();
                Ok(StmtKind::Apply(self.table_ref()?))
            }
            (false, "function" | "action" | "control" | "parser" | "extern" | "method" | "param") => {
                Ok(StmtKind::Call(self.call()?.0))
            }
            (false, "break") => self.word_stmt(StmtKind::Break),
            (false, "continue") => self.word_stmt(StmtKind::Continue),
            (false, "exit") => self.word_stmt(StmtKind::Exit),
            (false, "return") => {
                self.advance();
                Ok(StmtKind::Return(if self.sees(";") { None } else { Some(self.expr()?) }))
            }
            (true, "extract") => self.extract(),
            (true, "advance") => {
                let (packet, bits) = self.packet_and_value()?;
                Ok(StmtKind::Advance(packet, bits))
            }
            (true, "emit") => {
                let (packet, value) = self.packet_and_value()?;
                Ok(StmtKind::Emit(packet, value))
            }
            (true, "verify") => {
                self.advance();
                self.expect("(")?;
                let cond = self.expr()?;
                self.expect(",")?;
                let error = self.expr()?;
                self.expect(")")?;
                Ok(StmtKind::Verify(cond, error))
            }
            _ => self.place_stmt(),
        }
    }

    fn word_stmt(&mut self, kind: StmtKind) -> Result<StmtKind> {
        self.advance();
        Ok(kind)
    }

    fn declare(&mut self) -> Result<StmtKind> {
        self.advance();
        let var = self.var_ref()?;
        let value = if self.eat("=") { Some(self.expr()?) } else { None };
        Ok(StmtKind::Declare(var, value))
    }

    fn extract(&mut self) -> Result<StmtKind> {
        self.advance();
        self.expect("(")?;
        let packet = self.var_ref()?;
        self.expect(",")?;
        let header = self.expr()?;
        let varbit_bits = if self.eat(",") { Some(self.expr()?) } else { None };
        self.expect(")")?;
        Ok(StmtKind::Extract { packet, header, varbit_bits })
    }

    fn packet_and_value(&mut self) -> Result<(VarId, Expr)> {
        self.advance();
        self.expect("(")?;
        let packet = self.var_ref()?;
        self.expect(",")?;
        let value = self.expr()?;
        self.expect(")")?;
        Ok((packet, value))
    }

    /// A statement that begins with a place: an assignment or a built-in method.
    fn place_stmt(&mut self) -> Result<StmtKind> {
        let place = self.expr()?;
        if self.eat(".") {
            return self.method_stmt(place);
        }
        if self.eat("=") {
            return Ok(StmtKind::Assign(place, self.expr()?));
        }
        match self.assign_op()? {
            Some(op) => Ok(StmtKind::AssignOp(op, place, self.expr()?)),
            None => self.expected("`=`, an operator with `=`, or a call"),
        }
    }

    fn assign_op(&mut self) -> Result<Option<BinaryOp>> {
        if matches!(self.peek(), Token::Builtin(word) if word.is_empty()) {
            self.advance();
            return match self.binary_op() {
                Some(op) => {
                    self.eat_binary_op(op);
                    Ok(Some(op))
                }
                None => self.expected("an operator"),
            };
        }
        if self.sees(">") && matches!(self.ahead(1), Token::Sign(">=")) {
            self.advance();
            self.advance();
            return Ok(Some(BinaryOp::Shr));
        }
        let Token::Sign(sign) = self.peek() else {
            return Ok(None);
        };
        let symbol = sign.strip_suffix('=');
        let op = BINARY_OPS.iter().find(|op| op.has_assignment() && Some(op.symbol()) == symbol);
        if op.is_some() {
            self.advance();
        }
        Ok(op.copied())
    }

    fn method_stmt(&mut self, place: Expr) -> Result<StmtKind> {
        let word = match self.peek() {
            Token::Builtin(word) => word.clone(),
            _ => return self.expected("a built-in method"),
        };
        let at = self.here();
        self.advance();
        self.expect("(")?;
        let kind = match word.as_str() {
            "setValid" => StmtKind::SetValid(place, true),
            "setInvalid" => StmtKind::SetValid(place, false),
            "push_front" => StmtKind::PushFront(place, self.number()?),
            "pop_front" => StmtKind::PopFront(place, self.number()?),
            _ => return self.error_at(at, format!("no built-in method is named `${word}`")),
        };
        self.expect(")")?;
        Ok(kind)
    }

    fn if_else(&mut self) -> Result<StmtKind> {
        self.nested(|r| {
            r.expect_word("if")?;
            r.expect("(")?;
            let cond = r.expr()?;
            r.expect(")")?;
            let yes = r.block()?;
            let no = match r.eat_word("else") {
                true if r.sees_word("if") => {
                    Block { annotations: vec![], stmts: vec![Stmt::new(r.if_else()?)] }
                }
                true => r.block()?,
                false => Block::default(),
            };
            Ok(StmtKind::If(cond, yes, no))
        })
    }

    fn switch(&mut self) -> Result<StmtKind> {
        self.nested(|r| {
            r.expect_word("switch")?;
            r.expect("(")?;
            let on = if r.eat_word("apply") {
                SwitchOn::ActionRun(r.table_ref()?)
            } else {
                SwitchOn::Value(r.expr()?)
            };
            r.expect(")")?;
            r.expect("{")?;
            let mut cases = vec![];
            while !r.eat("}") {
                r.expect_word("case")?;
                let labels = r.list(":", |r| r.label(&on))?;
                cases.push(SwitchCase { labels, body: r.block()?, span: Span::NONE });
            }
            Ok(StmtKind::Switch(on, cases))
        })
    }

    fn label(&mut self, on: &SwitchOn) -> Result<SwitchLabel> {
        if self.eat_word("default") {
            return Ok(SwitchLabel::Default);
        }
        if !self.eat_word("action") {
            return Ok(SwitchLabel::Value(self.constant()?.0));
        }
        let lists = std::mem::take(&mut self.scope.action_lists);
        let none = super::Names::default();
        let list = match on {
            SwitchOn::ActionRun(table) => lists.get(table.index()),
            SwitchOn::Value(_) => None,
        };
        let label = self.listed_action(list.unwrap_or(&none));
        self.scope.action_lists = lists;
        label.map(SwitchLabel::Action)
    }

    fn for_loop(&mut self) -> Result<StmtKind> {
        self.expect_word("for")?;
        if self.sees("{") {
            let init = self.braced_stmts()?;
            self.expect_word("while")?;
            self.expect("(")?;
            let cond = self.expr()?;
            self.expect(")")?;
            self.expect_word("step")?;
            let update = self.braced_stmts()?;
            self.expect_word("do")?;
            return Ok(StmtKind::For { init, cond, update, body: self.block()? });
        }
        self.expect("(")?;
        let var = self.var_ref()?;
        self.expect_word("in")?;
        let first = self.expr()?;
        let range =
            if self.eat("..") { ForRange::Range(first, self.expr()?) } else { ForRange::Values(first) };
        self.expect(")")?;
        Ok(StmtKind::ForIn { var, range, body: self.block()? })
    }

    pub(super) fn var_ref(&mut self) -> Result<VarId> {
        let name = self.reference()?;
        self.resolve(&self.scope.var_names, "variable", &name)
    }

    pub(super) fn table_ref(&mut self) -> Result<TableId> {
        let name = self.reference()?;
        self.resolve(&self.scope.tables, "table", &name)
    }
}
