//! The metadata of ports on TNA and T2NA: a register with a cell for each port, which control planes write and no
//! statement reads. The switch puts the cell of the port before each frame.

use ir::{Arch, Callee, Const, Expr, ExprKind, Instance, Owner, ParserId, StageKind, StmtKind, Type};
use p4_arch::tna;

use crate::elaborator::Elaborator;

impl Elaborator<'_> {
    /// Adds the register. Its cells have the type that the ingress parser unpacks; bits, if it unpacks none.
    pub(crate) fn port_metadata(&mut self) {
        let generation = match self.out.arch {
            Arch::Tna(generation) => generation,
            Arch::T2na => 2,
            _ => return,
        };
        let Some(StageKind::Parse(parser)) = self.out.stages.first().map(|stage| &stage.kind) else { return };
        let parser = *parser;
        let register = self.typed.externs.iter().find(|(_, object)| object.name.text == "Register");
        let Some((register, _)) = register else { return };
        let object = self.extern_object(register);
        let cell = self.unpacked(parser).unwrap_or(Type::Bit(tna::port_metadata_bits(generation)));
        let made = ir::InstanceId::from(self.out.instances.len());
        let block = &mut self.out.parsers[parser.index()];
        let size = Expr {
            ty: Type::Bit(32),
            kind: ExprKind::Const(Const::Bits(base_bits::Bits::new(32, tna::PORTS.into()))),
            span: block.span,
        };
        let control_plane_name = match block.control_plane_name.as_str() {
            "" => tna::PORT_METADATA.into(),
            prefix => format!("{prefix}.{}", tna::PORT_METADATA).into(),
        };
        block.instances.push(made);
        self.out.instances.push(Instance {
            name: tna::PORT_METADATA.into(),
            control_plane_name,
            object,
            type_args: vec![cell, Type::Bit(tna::PORT_BITS)],
            args: vec![size],
            owner: Owner::Parser(parser),
            methods: vec![],
            annotations: vec![],
            span: block.span,
        });
    }

    /// The type argument of the first call of `port_metadata_unpack` in a parser, if its cells can have this type.
    fn unpacked(&self, parser: ParserId) -> Option<Type> {
        let mut found = None;
        let mut note = |call: &ir::Call| {
            let Callee::ExternFunction(id) = call.callee else { return };
            let is_unpack = self.out.extern_functions[id.index()].name == "port_metadata_unpack";
            if let (true, None, [ty]) = (is_unpack, &found, call.type_args.as_slice()) {
                found = Some(ty.clone());
            }
        };
        for state in &self.out.parsers[parser.index()].states {
            for stmt in &state.stmts {
                if let StmtKind::Call(call) = &stmt.kind {
                    note(call);
                }
                ir::visit::exprs(stmt, &mut |expr| {
                    ir::visit::subexprs(expr, &mut |expr| {
                        if let ExprKind::Call(call) = &expr.kind {
                            note(call);
                        }
                    });
                });
            }
        }
        found.filter(|ty| self.out.bits(ty).is_some_and(|bits| bits > 0))
    }
}
