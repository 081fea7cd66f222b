//! `packet_in` and `packet_out`: core.p4's externs that the IR has statements and expressions for.

use ir::{ExprKind, StmtKind, VarId};
use p4_check::typed::{self, Arg, ArgValue, Expr, Type};

use crate::stmt::Body;

impl Body<'_, '_> {
    /// The parameter, if `object` is a packet.
    pub(crate) fn packet_object(&self, object: &Expr) -> Option<VarId> {
        let Type::Extern(id, _) = &object.ty else { return None };
        let typed::ExprKind::Var(var) = &object.kind else { return None };
        let is_packet = matches!(self.el.typed.externs[*id].name.text.as_str(), "packet_in" | "packet_out");
        is_packet.then(|| self.env.vars.get(var).copied())?
    }

    /// A method of a packet called as a statement. The result of `lookahead` may go unused, its error not.
    pub(crate) fn packet_statement(
        &mut self,
        object: &Expr,
        method: typed::FunctionId,
        call: &typed::Call,
    ) -> Option<StmtKind> {
        let packet = self.packet_object(object)?;
        let typed = self.el.typed;
        match typed.functions[method].name.text.as_str() {
            "extract" => {
                let header = self.extracted(call)?;
                let varbit_bits = call.args.get(1).and_then(Arg::expr).map(|e| self.expr(e));
                Some(StmtKind::Extract { packet, header, varbit_bits })
            }
            "advance" => {
                let bits = self.expr(call.args.first()?.expr()?);
                Some(StmtKind::Advance(packet, bits))
            }
            "emit" => {
                let value = self.expr(call.args.first()?.expr()?);
                Some(StmtKind::Emit(packet, value))
            }
            "lookahead" => {
                let ty = self.result_type(call);
                let init = ir::Expr { kind: ExprKind::Lookahead(packet), ty: ty.clone(), span: call.span };
                self.temporary("unused", ty, Some(init), call.span);
                None
            }
            "length" => None,
            name => {
                self.el.refuse(&format!("the packet method `{name}`"), call.span);
                None
            }
        }
    }

    /// A method of a packet that gives a value.
    pub(crate) fn packet_expression(
        &mut self,
        object: &Expr,
        method: typed::FunctionId,
        call: &typed::Call,
    ) -> Option<ExprKind> {
        let packet = self.packet_object(object)?;
        let typed = self.el.typed;
        match typed.functions[method].name.text.as_str() {
            "lookahead" => Some(ExprKind::Lookahead(packet)),
            "length" => Some(ExprKind::PacketLength(packet)),
            name => {
                self.el.refuse(&format!("the packet method `{name}`"), call.span);
                None
            }
        }
    }

    fn result_type(&mut self, call: &typed::Call) -> ir::Type {
        let ty = self.env.close(&call.returns);
        self.el.ty(&ty)
    }

    /// Target of an extraction: a header of the source, or a temporary one for `extract<H>(_)`.
    fn extracted(&mut self, call: &typed::Call) -> Option<ir::Expr> {
        let arg = call.args.first()?;
        if !matches!(arg.value, ArgValue::DontCare) {
            return Some(self.place(arg.expr()?));
        }
        let ty = self.env.close(call.type_args.first()?);
        let ty = self.el.ty(&ty);
        let var = self.temporary("skipped", ty.clone(), None, call.span);
        Some(ir::Expr { kind: ExprKind::Var(var), ty, span: call.span })
    }
}
