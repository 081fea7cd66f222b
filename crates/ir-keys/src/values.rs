//! Places and values, and the inputs on which they depend.

use crate::input::{Input, Inputs};
use crate::known::{Origin, Path, Root, leaves};
use crate::walk::Walk;
use ir::{Expr, ExprKind, Type, Var, VarId};

impl Walk<'_> {
    pub(crate) fn var(&self, var: VarId) -> Path {
        let own = || Path { root: Root::Local(self.frame.call, var.0), fields: vec![] };
        self.frame.places.get(&var).cloned().unwrap_or_else(own)
    }

    /// The result of the running function.
    pub(crate) fn result(&self) -> Path {
        Path { root: Root::Local(self.frame.call, u32::MAX), fields: vec![] }
    }

    /// A place as a whole; `None` for slices and elements, which are parts of leaves.
    pub(crate) fn place(&self, e: &Expr) -> Option<Path> {
        match &e.kind {
            ExprKind::Var(var) => Some(self.var(*var)),
            ExprKind::Field(base, at) => Some(self.place(base)?.field(*at)),
            _ => None,
        }
    }

    /// The place that a part belongs to. Elements of a stack are one place.
    pub(crate) fn around(&self, e: &Expr) -> Option<(Path, Type)> {
        match &e.kind {
            ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => self.around(base),
            ExprKind::Index(base, _) | ExprKind::Next(base) | ExprKind::Last(base) => {
                Some((self.around(base)?.0, e.ty.clone()))
            }
            ExprKind::Field(base, at) => Some((self.around(base)?.0.field(*at), e.ty.clone())),
            ExprKind::Var(var) => Some((self.var(*var), e.ty.clone())),
            _ => None,
        }
    }

    /// Inputs of the indices in a place, which decide the part that is meant.
    pub(crate) fn indices(&mut self, e: &Expr, vars: &[Var]) -> Inputs {
        match &e.kind {
            ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
                &self.indices(base, vars) | &self.inputs(index, vars)
            }
            ExprKind::Field(base, _) | ExprKind::Slice { base, .. } => self.indices(base, vars),
            _ => Inputs::new(),
        }
    }

    /// A place gets more inputs, besides those it has.
    pub(crate) fn add(&mut self, place: &Expr, inputs: &Inputs) {
        let Some((path, ty)) = self.around(place) else { return };
        for (leaf, _) in leaves(self.program, &path, &ty) {
            let known = self.leaf(&leaf).inputs;
            self.set(leaf, Origin::of(&known | inputs));
        }
    }

    pub(crate) fn assign(&mut self, to: &Path, ty: &Type, value: &Expr, vars: &[Var]) {
        let leaves_to = leaves(self.program, to, ty);
        if let Some(from) = self.place(value)
            && value.ty == *ty
        {
            let copied: Vec<Origin> =
                leaves(self.program, &from, ty).iter().map(|(leaf, _)| self.leaf(leaf)).collect();
            for ((leaf, _), origin) in leaves_to.into_iter().zip(copied) {
                self.set(leaf, origin);
            }
            return;
        }
        if let ExprKind::Aggregate(parts) = &value.kind
            && !matches!(ty, Type::Stack(..))
        {
            // All parts are read before the first one is written.
            let temporary =
                Path { root: Root::Local(self.frame.call, u32::MAX - 1), fields: to.fields.clone() };
            let temporary = if to.root == temporary.root { to.clone() } else { temporary };
            for (at, part) in parts.iter().enumerate() {
                self.assign(&temporary.field(at as u32), &part.ty, part, vars);
            }
            if temporary != *to {
                let made = leaves(self.program, &temporary, ty);
                for ((leaf, _), (from, _)) in leaves_to.into_iter().zip(made) {
                    let origin = self.known.get(&from).cloned().unwrap_or_default();
                    self.set(leaf, origin);
                }
                self.known.forget(&temporary);
            }
            return;
        }
        let inputs = self.inputs(value, vars);
        for (leaf, _) in leaves_to {
            self.set(leaf, Origin::of(inputs.clone()));
        }
    }

    /// A key, with the input that it is a copy of.
    pub(crate) fn origin(&mut self, e: &Expr, vars: &[Var]) -> Origin {
        match self.place(e) {
            Some(path) if leaves(self.program, &path, &e.ty).len() == 1 => self.leaf(&path),
            _ => Origin::of(self.inputs(e, vars)),
        }
    }

    /// Inputs of a value. Calls and tables in it run.
    pub(crate) fn inputs(&mut self, e: &Expr, vars: &[Var]) -> Inputs {
        if let Some((path, ty)) = self.around(e) {
            let mut inputs = self.indices(e, vars);
            let leaves = leaves(self.program, &path, &ty);
            inputs.extend(leaves.iter().flat_map(|(leaf, _)| self.leaf(leaf).inputs));
            return inputs;
        }
        match &e.kind {
            ExprKind::Lookahead(_) => Inputs::from([Input::Payload("packet.lookahead()".into())]),
            ExprKind::PacketLength(_) => Inputs::from([Input::Environment("packet_length".into())]),
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                self.table(*table);
                let name = self.table_of(*table).map(|(_, table)| table.control_plane_name.clone());
                name.map(Input::Entry).into_iter().collect()
            }
            ExprKind::Call(call) => self.call(call, vars),
            _ => {
                let mut parts: Vec<&Expr> = vec![];
                ir::visit::parts(e, &mut |part| parts.push(part));
                // Whether a header is there is the parser's choice, which depends on no value of its fields.
                let is_valid = matches!(e.kind, ExprKind::IsValid(_));
                let inputs: Vec<Inputs> = parts.into_iter().map(|part| self.inputs(part, vars)).collect();
                if is_valid { Inputs::new() } else { inputs.into_iter().flatten().collect() }
            }
        }
    }
}
