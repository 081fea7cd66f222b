//! Registers of TNA and T2NA that control planes write and no statement reads: the metadata of ports, with a cell for each
//! port, which the switch puts before each frame; the settings of `Lpf` and `Wred`; and the packet generator of programs
//! that read the header of its packets.

use base_diag::Span;
use ir::{
    Arch, Callee, Const, Expr, ExprKind, ExternId, Instance, InstanceId, Owner, ParserId, StageKind,
    Transition, Type,
};
use p4_arch::tna;

use crate::elaborator::Elaborator;

impl Elaborator<'_> {
    /// Adds the registers.
    pub(crate) fn own_registers(&mut self) {
        let register = self.typed.externs.iter().find(|(_, object)| object.name.text == "Register");
        let Some((register, _)) = register else { return };
        let generation = match self.out.arch {
            Arch::Tna(generation) => generation,
            Arch::T2na => 2,
            _ => return,
        };
        let object = self.extern_object(register);
        self.port_metadata(object, generation);
        self.generator(object, generation);
        for at in 0..self.out.instances.len() {
            self.settings(object, InstanceId::from(at));
        }
    }

    /// Adds the settings of an `Lpf` or `Wred`: as many cells as it has, one for all entries if it is direct.
    fn settings(&mut self, object: ExternId, filter: InstanceId) {
        let of = self.out.instance(filter);
        let is_wred = match self.out.extern_object(of.object).name.as_str() {
            "Lpf" | "DirectLpf" => false,
            "Wred" | "DirectWred" => true,
            _ => return,
        };
        let is_direct = self.out.extern_object(of.object).name.starts_with("Direct");
        let cells = match of.args.first() {
            Some(size) if !is_direct => size.clone(),
            _ => number(1, of.span),
        };
        let made = InstanceId::from(self.out.instances.len());
        let register = Instance {
            name: "$SETTINGS".into(),
            control_plane_name: tna::settings_of(&of.control_plane_name).into(),
            object,
            type_args: vec![Type::Tuple(tna::settings_bits(is_wred).map(Type::Bit).into()), Type::Bit(32)],
            args: vec![cells],
            owner: of.owner,
            methods: vec![],
            annotations: vec![],
            span: of.span,
        };
        match register.owner {
            Owner::Control(id) => self.out.controls[id.index()].instances.push(made),
            Owner::Parser(id) => self.out.parsers[id.index()].instances.push(made),
            Owner::Program => {}
        }
        self.out.instances.push(register);
    }

    /// Adds the register. Its cells have the type that the ingress parser unpacks; bits, if it unpacks none.
    fn port_metadata(&mut self, object: ExternId, generation: u32) {
        let Some(parser) = self.ingress_parser() else { return };
        let cell = self.unpacked(parser).unwrap_or(Type::Bit(tna::port_metadata_bits(generation)));
        self.parser_register(object, parser, tna::PORT_METADATA, cell, tna::PORTS);
    }

    /// Adds the registers of the packet generator, if a parser reads the header of one of its packets.
    fn generator(&mut self, object: ExternId, generation: u32) {
        let Some(parser) = self.ingress_parser() else { return };
        let mut reads = false;
        let mut look = |expr: &Expr| {
            ir::visit::subexprs(expr, &mut |expr| {
                if let Type::Named(id) = expr.ty {
                    reads |= tna::GENERATED.contains(&self.out.type_decl(id).name.as_str());
                }
            });
        };
        for state in self.out.parsers.iter().flat_map(|parser| &parser.states) {
            state.stmts.iter().for_each(|stmt| ir::visit::exprs(stmt, &mut look));
            if let Transition::Select(select) = &state.transition {
                select.exprs.iter().for_each(&mut look);
            }
        }
        if reads {
            for register in tna::GENERATOR {
                let cell = match register.fields {
                    [bits] => Type::Bit(*bits),
                    fields => Type::Tuple(fields.iter().map(|bits| Type::Bit(*bits)).collect()),
                };
                let cells = register.cells[generation as usize - 1];
                self.parser_register(object, parser, register.name, cell, cells);
            }
        }
    }

    fn ingress_parser(&self) -> Option<ParserId> {
        match self.out.stages.first()?.kind {
            StageKind::Parse(parser) => Some(parser),
            _ => None,
        }
    }

    /// Adds a register to a parser.
    fn parser_register(&mut self, object: ExternId, parser: ParserId, name: &str, cell: Type, cells: u32) {
        let made = InstanceId::from(self.out.instances.len());
        let block = &mut self.out.parsers[parser.index()];
        let size = number(cells, block.span);
        let control_plane_name = match block.control_plane_name.as_str() {
            "" => name.into(),
            prefix => format!("{prefix}.{name}").into(),
        };
        block.instances.push(made);
        self.out.instances.push(Instance {
            name: name.into(),
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
            ir::visit::calls(&state.stmts, &mut note);
        }
        found.filter(|ty| self.out.bits(ty).is_some_and(|bits| bits > 0))
    }
}

fn number(number: u32, span: Span) -> Expr {
    let bits = base_bits::Bits::new(32, number.into());
    Expr { ty: Type::Bit(32), kind: ExprKind::Const(Const::Bits(bits)), span }
}
