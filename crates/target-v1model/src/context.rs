//! The parameters of v1model's blocks in place of those of TNA's.

use crate::pieces::rest_name;
use crate::skeleton::Skeleton;
use crate::usage::Usage;
use crate::values::member;
use base_diag::Diagnostic;
use device::tna::Half;
use ir::{Expr, Program, Type, Var, VarId, build};

/// Shared by the steps of the conversion.
pub(crate) struct Context<'a> {
    /// The original program, with the types and externs of the converted one.
    pub(crate) program: &'a Program,
    pub(crate) skeleton: &'a Skeleton,
    pub(crate) usage: &'a Usage,
    /// The place in the metadata that gets the metadata of a port.
    pub(crate) port_metadata: Option<Expr>,
    pub(crate) found: Vec<Diagnostic>,
}

/// The parameters of a block of v1model.
pub(crate) struct Block {
    pub(crate) packet: Option<Expr>,
    pub(crate) headers: Expr,
    pub(crate) meta: Expr,
    pub(crate) standard: Expr,
}

impl Block {
    /// Parameters of a parser or control.
    pub(crate) fn of(params: &[VarId], vars: &[Var]) -> Block {
        let at = |back: usize| build::var_of(vars, params[params.len() - back]);
        let packet = (params.len() == 4).then(|| at(4));
        Block { packet, headers: at(3), meta: at(2), standard: at(1) }
    }

    /// Parameters of a deparser, which has neither metadata.
    pub(crate) fn of_deparser(params: &[VarId], vars: &[Var]) -> Block {
        let none = build::bool(false);
        let [packet, headers] = [0, 1].map(|at| build::var_of(vars, params[at]));
        Block { packet: Some(packet), headers, meta: none.clone(), standard: none }
    }
}

impl Context<'_> {
    /// The values that a block of a half finds under its parameters.
    pub(crate) fn arguments(&self, block: &Block, half: Half, params: &[VarId], vars: &[Var]) -> Vec<Expr> {
        let name = ["ingress", "egress"][half as usize];
        let types = self.types(half);
        let argument = |param: &VarId| {
            let ty = &vars[param.index()].ty;
            match ty {
                Type::Extern(..) => block.packet.clone(),
                ty if *ty == types.0 && vars_before(params, param, vars, ty) == 0 => {
                    member(self.program, &block.headers, name)
                }
                ty if *ty == types.1 => member(self.program, &block.meta, &format!("{name}_metadata")),
                Type::Named(id) => member(self.program, &block.meta, &self.program.type_decl(*id).name),
                _ => None,
            }
        };
        params.iter().map(|param| argument(param).unwrap_or_else(|| build::bool(false))).collect()
    }

    /// Types of the headers and of the metadata of a half.
    pub(crate) fn types(&self, half: Half) -> (Type, Type) {
        types_of(self.program, self.usage, half as usize)
    }

    /// The intrinsic metadata of that type.
    pub(crate) fn metadata_of(&self, block: &Block, ty: &str) -> Option<Expr> {
        member(self.program, &block.meta, ty)
    }

    /// The headers that go before mirrored packets.
    pub(crate) fn mirrors(&self, headers: &Expr) -> Vec<Expr> {
        let bits = self.usage.mirrored.iter().filter(|bits| **bits > 0);
        bits.filter_map(|bits| member(self.program, headers, &format!("mirror_{bits}"))).collect()
    }

    /// The header for so many bits of metadata that the parser of a half leaves.
    pub(crate) fn rest(&self, headers: &Expr, half: Half, bits: u32) -> Option<Expr> {
        member(self.program, headers, &rest_name(half, bits))
    }

    /// All such headers of a half.
    pub(crate) fn rests(&self, headers: &Expr, half: Half) -> Vec<Expr> {
        let bits = self.usage.rests[half as usize].iter();
        bits.filter_map(|bits| self.rest(headers, half, *bits)).collect()
    }
}

/// Parameters of this type before `param`.
fn vars_before(params: &[VarId], param: &VarId, vars: &[Var], ty: &Type) -> usize {
    params.iter().take_while(|known| *known != param).filter(|known| vars[known.index()].ty == *ty).count()
}

pub(crate) fn types_of(program: &Program, usage: &Usage, half: usize) -> (Type, Type) {
    let control = program.control(usage.controls[half]);
    let ty =
        |at: usize| control.params.get(at).map_or(Type::Void, |param| control.vars[param.index()].ty.clone());
    (ty(0), ty(1))
}
