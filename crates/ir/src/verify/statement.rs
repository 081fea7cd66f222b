//! Statements.

use super::Verifier;
use super::scope::Code;
use crate::{
    Block, Direction, Expr, ExprKind, ForRange, Stmt, StmtKind, SwitchCase, SwitchLabel, SwitchOn, TableId,
    Type, VarId, VarKind,
};
use base_diag::Span;

impl<'p> Verifier<'p> {
    pub(super) fn block(&mut self, block: &Block) {
        self.scoped(|v| v.statements(&block.stmts));
    }

    pub(super) fn statements(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|stmt| self.statement(stmt));
    }

    pub(super) fn statement(&mut self, stmt: &Stmt) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Declare(var, value) => {
                if let Some(value) = value {
                    self.expr(value);
                    let ty = self.scope.vars.get(var.index()).map(|var| &var.ty);
                    self.same_type(&value.ty, ty.unwrap_or(&value.ty), span);
                }
                self.declare_local(*var, span);
            }
            StmtKind::Assign(place, value) => {
                self.place(place);
                self.expr(value);
                self.same_type(&value.ty, &place.ty, span);
            }
            StmtKind::AssignOp(op, place, value) => {
                self.place(place);
                self.expr(value);
                let good = op.has_assignment() && self.binary_result(*op, place, value).is_some();
                self.require(good, span, |v| {
                    let (left, right) = (v.show(&place.ty), v.show(&value.ty));
                    format!("no assignment by `{}` of `{left}` and `{right}`", op.symbol())
                });
            }
            StmtKind::Call(call) => self.call(call, span),
            StmtKind::Apply(table) => self.apply(*table, span),
            StmtKind::SetValid(header, _) => {
                self.place(header);
                let good = self.program_has(&header.ty) && self.program.is_header(&header.ty);
                self.require(good, span, |_| {
                    "setValid or setInvalid of a value that is no header".to_string()
                });
            }
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => {
                self.place(stack);
                let good = self.program_has(&stack.ty) && self.is_header_stack(&stack.ty);
                self.require(good, span, |_| "push or pop of a value that is no header stack".to_string());
            }
            StmtKind::Extract { packet, header, varbit_bits } => {
                self.extract(*packet, header, varbit_bits.as_ref(), span);
            }
            StmtKind::Advance(packet, bits) => {
                self.in_parser("advance", span);
                self.packet(*packet, "packet_in", span);
                self.expr(bits);
                self.same_type(&bits.ty, &Type::Bit(32), span);
            }
            StmtKind::Emit(packet, value) => {
                self.packet(*packet, "packet_out", span);
                self.expr(value);
                let good = self.program_has(&value.ty) && self.is_emitted(&value.ty);
                self.require(good, span, |v| format!("emit of `{}`", v.show(&value.ty)));
            }
            StmtKind::Verify(cond, error) => {
                self.in_parser("verify", span);
                self.expr(cond);
                self.expr(error);
                self.same_type(&cond.ty, &Type::Bool, span);
                self.same_type(&error.ty, &Type::Error, span);
            }
            StmtKind::If(cond, yes, no) => {
                self.expr(cond);
                self.same_type(&cond.ty, &Type::Bool, span);
                self.block(yes);
                self.block(no);
            }
            StmtKind::Switch(on, cases) => self.switch(on, cases, span),
            StmtKind::Block(block) => self.block(block),
            StmtKind::For { init, cond, update, body } => self.for_loop(init, cond, update, body, span),
            StmtKind::ForIn { var, range, body } => self.for_in(*var, range, body, span),
            StmtKind::Break | StmtKind::Continue => {
                let open = self.scope.loops > 0;
                self.require(open, span, |_| "break or continue outside of a loop".to_string());
            }
            StmtKind::Exit => {
                let good = matches!(self.scope.code, Code::Control(_) | Code::Action(_));
                self.require(good, span, |_| "exit outside of controls and actions".to_string());
            }
            StmtKind::Return(value) => self.return_stmt(value.as_ref(), span),
        }
    }

    fn return_stmt(&mut self, value: Option<&Expr>, span: Span) {
        let Some(wanted) = self.scope.returns.clone() else {
            return self.error(span, "return in a parser");
        };
        match value {
            Some(value) => {
                self.expr(value);
                self.same_type(&value.ty, &wanted, span);
                self.require(wanted != Type::Void, span, |_| "return of a value".to_string());
            }
            None => self.require(wanted == Type::Void, span, |_| "return without a value".to_string()),
        }
    }

    fn extract(&mut self, packet: VarId, header: &Expr, varbit_bits: Option<&Expr>, span: Span) {
        self.in_parser("extract", span);
        self.packet(packet, "packet_in", span);
        self.place(header);
        if !self.program_has(&header.ty) || !self.program.is_header(&header.ty) {
            return self.error(span, "extract into a value that is no header");
        }
        let fields = self.program.fields(&header.ty);
        let varbits =
            fields.iter().filter(|f| matches!(self.program.representation(&f.ty), Type::Varbit(_))).count();
        self.require(varbits == usize::from(varbit_bits.is_some()), span, |v| {
            format!("extract of `{}` with {varbits} varbit fields", v.show(&header.ty))
        });
        if let Some(bits) = varbit_bits {
            self.expr(bits);
            self.same_type(&bits.ty, &Type::Bit(32), span);
        }
    }

    fn in_parser(&mut self, what: &str, span: Span) {
        let good = matches!(self.scope.code, Code::Parser(_));
        self.require(good, span, |_| format!("{what} outside of a parser"));
    }

    /// A parameter that is the packet.
    pub(super) fn packet(&mut self, var: VarId, name: &str, span: Span) {
        let ty = self.scope.vars.get(var.index()).map(|var| &var.ty);
        let is_packet = match ty {
            Some(Type::Extern(id, _)) => self.program.externs.get(id.index()).is_some_and(|e| e.name == name),
            _ => false,
        };
        let good = is_packet && self.scope.is_visible(var);
        self.require(good, span, |_| format!("variable {} is no `{name}`", var.index()));
    }

    fn is_emitted(&self, ty: &Type) -> bool {
        match ty {
            Type::Stack(elem, _) => self.is_emitted(elem),
            Type::Tuple(types) => types.iter().all(|ty| self.is_emitted(ty)),
            Type::Named(id) => match &self.program.type_decl(*id).kind {
                crate::TypeKind::Struct(fields) => fields.iter().all(|field| self.is_emitted(&field.ty)),
                _ => self.is_header_or_union(ty),
            },
            _ => false,
        }
    }

    /// A table that is applied here.
    pub(super) fn apply(&mut self, table: TableId, span: Span) {
        let exists = table.index() < self.scope.tables.len();
        self.require(exists, span, |_| format!("table {} does not exist", table.index()));
        let good = matches!(self.scope.code, Code::Control(_));
        self.require(good, span, |_| "a table is applied outside of a control's body".to_string());
    }

    fn switch(&mut self, on: &SwitchOn, cases: &[SwitchCase], span: Span) {
        match on {
            SwitchOn::ActionRun(table) => self.apply(*table, span),
            SwitchOn::Value(value) => self.expr(value),
        }
        let mut seen: Vec<&SwitchLabel> = vec![];
        let mut closed = false;
        for case in cases {
            self.require(!case.labels.is_empty(), case.span, |_| "a case has no label".to_string());
            for label in &case.labels {
                self.require(!closed, case.span, |_| "a label follows `default`".to_string());
                let new = !seen.contains(&label);
                self.require(new, case.span, |_| "a label occurs twice".to_string());
                seen.push(label);
                closed |= *label == SwitchLabel::Default;
                self.label(on, label, case.span);
            }
            self.block(&case.body);
        }
    }

    fn label(&mut self, on: &SwitchOn, label: &SwitchLabel, span: Span) {
        let fits = match (label, on) {
            (SwitchLabel::Default, _) => true,
            (SwitchLabel::Action(index), SwitchOn::ActionRun(table)) => {
                let table = self.scope.tables.get(table.index());
                table.is_some_and(|table| (*index as usize) < table.actions.len())
            }
            (SwitchLabel::Value(value), SwitchOn::Value(on)) => {
                self.program_has(&on.ty) && self.is_const_of(value, &on.ty)
            }
            _ => false,
        };
        self.require(fits, span, |_| "a label does not fit the value of the switch".to_string());
    }

    fn for_loop(&mut self, init: &[Stmt], cond: &Expr, update: &[Stmt], body: &Block, span: Span) {
        self.scoped(|v| {
            for stmt in init {
                let good = matches!(stmt.kind, StmtKind::Declare(..)) || is_step(stmt);
                v.require(good, stmt.span, |_| "the start of a loop may only declare and assign".to_string());
                v.statement(stmt);
            }
            v.expr(cond);
            v.same_type(&cond.ty, &Type::Bool, span);
            for stmt in update {
                v.require(is_step(stmt), stmt.span, |_| "the step of a loop may only assign".to_string());
                v.statement(stmt);
            }
            v.loop_body(body);
        });
    }

    fn for_in(&mut self, var: VarId, range: &ForRange, body: &Block, span: Span) {
        let elem = match range {
            ForRange::Range(low, high) => {
                self.expr(low);
                self.expr(high);
                self.same_type(&high.ty, &low.ty, span);
                Some(low.ty.clone())
            }
            ForRange::Values(values) => {
                self.expr(values);
                match &values.ty {
                    Type::Stack(elem, _) => Some(elem.as_ref().clone()),
                    Type::Tuple(types) if types.windows(2).all(|w| w[0] == w[1]) => types.first().cloned(),
                    _ => {
                        self.error(span, "a loop goes over a value that is no list");
                        None
                    }
                }
            }
        };
        self.scoped(|v| {
            v.declare_local(var, span);
            if let (Some(elem), Some(var)) = (elem, v.scope.vars.get(var.index())) {
                v.same_type(&elem, &var.ty, span);
            }
            v.loop_body(body);
        });
    }

    fn loop_body(&mut self, body: &Block) {
        self.scope.loops += 1;
        self.block(body);
        self.scope.loops -= 1;
    }

    /// An expression that may be assigned to.
    pub(super) fn place(&mut self, place: &Expr) {
        self.expr(place);
        let good = self.is_place(place);
        self.require(good, place.span, |v| format!("`{}` is no place to write to", v.show_expr(place)));
    }

    fn is_place(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Var(id) => self.scope.vars.get(id.index()).is_some_and(|var| {
                let written = matches!(
                    var.kind,
                    VarKind::Local | VarKind::Param(Direction::Out) | VarKind::Param(Direction::InOut)
                );
                written && !matches!(var.ty, Type::Extern(..))
            }),
            ExprKind::Field(base, _) => self.is_place(base),
            ExprKind::Index(base, _) | ExprKind::Next(base) | ExprKind::Last(base) => self.is_place(base),
            ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => self.is_place(base),
            _ => false,
        }
    }

    pub(super) fn same_type(&mut self, found: &Type, wanted: &Type, span: Span) {
        self.require(found == wanted, span, |v| {
            format!("a value of `{}` where `{}` is wanted", v.show(found), v.show(wanted))
        });
    }

    /// True if a type from a body may be looked up.
    pub(super) fn program_has(&self, ty: &Type) -> bool {
        self.exists(ty)
    }
}

/// A statement that the head of a loop may have after its start.
fn is_step(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Assign(..) | StmtKind::AssignOp(..) | StmtKind::Call(_))
}
