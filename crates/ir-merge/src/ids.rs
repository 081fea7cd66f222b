//! The numbers that an app's declarations get in the merged program.

use ir::{
    Block, Call, Callee, Const, ControlId, ErrorId, Expr, ExprKind, ExternFunctionId, ExternId, FunctionId,
    InstanceId, Keyset, ParserId, Signature, Stmt, StmtKind, SwitchLabel, Table, Transition, Type, TypeId,
    TypeKind, visit,
};

/// New number of each of an app's declarations, by old number.
#[derive(Default)]
pub struct Ids {
    /// Types.
    pub types: Vec<TypeId>,
    /// Errors.
    pub errors: Vec<ErrorId>,
    /// Extern objects.
    pub externs: Vec<ExternId>,
    /// Extern functions.
    pub extern_functions: Vec<ExternFunctionId>,
    /// Added to the old numbers.
    pub functions: u32,
    /// Added to the old numbers.
    pub instances: u32,
    /// Some blocks become part of others and have none.
    pub parsers: Vec<Option<ParserId>>,
    /// See `parsers`.
    pub controls: Vec<Option<ControlId>>,
}

impl Ids {
    /// In a type.
    pub fn ty(&self, ty: &mut Type) {
        match ty {
            Type::Named(id) => *id = self.types.get(id.index()).copied().unwrap_or(*id),
            Type::Stack(elem, _) | Type::List(elem) => self.ty(elem),
            Type::Tuple(parts) => parts.iter_mut().for_each(|part| self.ty(part)),
            Type::Extern(id, args) => {
                *id = self.externs.get(id.index()).copied().unwrap_or(*id);
                args.iter_mut().for_each(|arg| self.ty(arg));
            }
            _ => {}
        }
    }

    /// The types that a declaration is made of.
    pub fn type_kind(&self, kind: &mut TypeKind) {
        match kind {
            TypeKind::Header(fields) | TypeKind::Struct(fields) | TypeKind::Union(fields) => {
                fields.iter_mut().for_each(|field| self.ty(&mut field.ty));
            }
            TypeKind::SerEnum { underlying, .. } | TypeKind::New(underlying) => self.ty(underlying),
            TypeKind::Enum(_) => {}
        }
    }

    /// In a signature.
    pub fn signature(&self, signature: &mut Signature) {
        signature.params.iter_mut().for_each(|param| self.ty(&mut param.ty));
        self.ty(&mut signature.returns);
    }

    /// New number of an instance.
    pub fn instance(&self, id: InstanceId) -> InstanceId {
        InstanceId(id.0 + self.instances)
    }

    fn function(&self, id: FunctionId) -> FunctionId {
        FunctionId(id.0 + self.functions)
    }

    /// In a constant.
    pub fn constant(&self, value: &mut Const) {
        match value {
            Const::Error(id) => *id = self.errors.get(id.index()).copied().unwrap_or(*id),
            Const::Instance(id) => *id = self.instance(*id),
            _ => {}
        }
    }

    /// In an expression.
    pub fn expr(&self, expr: &mut Expr) {
        visit::subexprs_mut(expr, &mut |e| {
            self.ty(&mut e.ty);
            match &mut e.kind {
                ExprKind::Const(value) => self.constant(value),
                ExprKind::Call(call) => self.callee(call),
                _ => {}
            }
        });
    }

    /// All of a call but its arguments.
    fn callee(&self, call: &mut Call) {
        call.type_args.iter_mut().for_each(|ty| self.ty(ty));
        match &mut call.callee {
            Callee::Function(id) => *id = self.function(*id),
            Callee::Control(id) => *id = self.controls.get(id.index()).copied().flatten().unwrap_or(*id),
            Callee::Parser(id) => *id = self.parsers.get(id.index()).copied().flatten().unwrap_or(*id),
            Callee::ExternFunction(id) => {
                *id = self.extern_functions.get(id.index()).copied().unwrap_or(*id);
            }
            Callee::Method(id, _) => *id = self.instance(*id),
            Callee::Action(_) | Callee::ParamMethod(..) => {}
        }
    }

    /// In a block.
    pub fn block(&self, block: &mut Block) {
        self.stmts(&mut block.stmts);
    }

    /// In statements, nested ones included.
    pub fn stmts(&self, stmts: &mut [Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
            visit::blocks_mut(stmt, &mut |block| self.block(block));
        }
    }

    /// Without nested blocks.
    fn stmt(&self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Call(call) => self.callee(call),
            StmtKind::Switch(_, cases) => {
                for label in cases.iter_mut().flat_map(|case| &mut case.labels) {
                    if let SwitchLabel::Value(value) = label {
                        self.constant(value);
                    }
                }
            }
            _ => {}
        }
        visit::exprs_mut(stmt, &mut |e| self.expr(e));
    }

    /// In a keyset.
    pub fn keyset(&self, keyset: &mut Keyset) {
        match keyset {
            Keyset::Value(a) => self.expr(a),
            Keyset::Mask(a, b) | Keyset::Range(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Keyset::DontCare | Keyset::ValueSet(_) => {}
        }
    }

    /// In a transition.
    pub fn transition(&self, transition: &mut Transition) {
        if let Transition::Select(select) = transition {
            select.exprs.iter_mut().for_each(|e| self.expr(e));
            select.cases.iter_mut().flat_map(|case| &mut case.keys).for_each(|key| self.keyset(key));
        }
    }

    /// In a table.
    pub fn table(&self, table: &mut Table) {
        table.keys.iter_mut().for_each(|key| self.expr(&mut key.expr));
        table.actions.iter_mut().flat_map(|run| &mut run.args).for_each(|arg| self.expr(arg));
        table.default_action.args.iter_mut().for_each(|arg| self.expr(arg));
        for entry in &mut table.entries {
            entry.keys.iter_mut().for_each(|key| self.keyset(key));
            entry.args.iter_mut().for_each(|arg| self.expr(arg));
        }
        table.properties.iter_mut().for_each(|(_, value)| self.expr(value));
        let objects = [&mut table.implementation, &mut table.counters, &mut table.meters];
        objects.into_iter().flatten().for_each(|id| *id = self.instance(*id));
    }
}
