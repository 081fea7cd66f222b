//! `expand-register-actions`: the action of a register becomes a read, a call of its function, and a write.
//!
//! Before: `x = add.execute(i, hdr.h.a);` with `apply = f` and the register `r`
//! After:  `index = i; cell = r.read(index); f(cell, rv, hdr.h.a); r.write(index, cell); x = rv;`
//!
//! Requires `hoist-effects`. Ensures: no call of `execute` of a register action whose register and function are known, and
//! none of `predicate`, which becomes `1 << combination`.
//! Why: the function's body is code like any other. TNA reads a cell out of range as zero and does not write it, so that
//! the three steps mean the same. `execute_log` stays: its index is state of the action.

use crate::Changed;
use crate::units::each_unit;
use crate::walk::{call_of, value_of_mut};
use base_diag::Span;
use ir::build;
use ir::{
    Arch, BinaryOp, Call, Callee, Const, Direction, Expr, ExprKind, FunctionId, InstanceId, Program, Stmt,
    StmtKind, Type, Var, VarId, visit,
};

/// See the head of this file.
pub fn expand_register_actions(program: &mut Program) -> Changed {
    if !matches!(program.arch, Arch::Tna(_) | Arch::T2na) {
        return Changed(false);
    }
    let mut changed = false;
    // Units are out while they change, and functions are looked up.
    let functions: Vec<(Vec<VarId>, Vec<Var>)> =
        program.functions.iter().map(|function| (function.params.clone(), function.vars.clone())).collect();
    each_unit(program, &mut |program, unit| {
        let (vars, lists) = unit.lists_mut();
        for list in lists {
            changed |= Expand { program, functions: &functions, vars }.list(list);
        }
    });
    Changed(changed)
}

struct Expand<'p> {
    program: &'p Program,
    functions: &'p [(Vec<VarId>, Vec<Var>)],
    vars: &'p mut Vec<Var>,
}

/// An `execute` with everything that it needs.
struct Execution {
    register: InstanceId,
    cell: Type,
    /// The register's; none for registers of entries.
    index: Option<Type>,
    result: Type,
    function: FunctionId,
    /// Parameters of `apply`, as the architecture declares it.
    declared: usize,
    /// Parameters of `execute`, those before the captured values.
    own: usize,
    is_direct: bool,
    /// The register's methods.
    read: u32,
    write: u32,
}

impl Expand<'_> {
    fn list(&mut self, stmts: &mut Vec<Stmt>) -> bool {
        let mut changed = false;
        for mut stmt in std::mem::take(stmts) {
            visit::blocks_mut(&mut stmt, &mut |inner| changed |= self.list(&mut inner.stmts));
            let call = call_of(&stmt).cloned();
            let execution = |call: Call| Some((execution(self.program, &call)?, call));
            if let (Some(value), Some(call)) = (value_of_mut(&mut stmt), &call)
                && let Some(number) = predicate(self.program, call, &value.ty)
            {
                *value = number;
                changed = true;
                stmts.push(stmt);
                continue;
            }
            match call.and_then(execution) {
                Some((execution, call)) => {
                    changed = true;
                    self.expand(&execution, call, stmt, stmts);
                }
                None => stmts.push(stmt),
            }
        }
        changed
    }

    fn expand(&mut self, execution: &Execution, call: Call, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let span = stmt.span;
        let (own, captured) = call.args.split_at(execution.own.min(call.args.len()));
        let index: Vec<Option<Expr>> = match own.first() {
            Some(Some(index)) if !execution.is_direct => {
                let ty = execution.index.clone().unwrap_or_else(|| index.ty.clone());
                let index =
                    if ty == index.ty { index.clone() } else { build::cast(index.clone(), ty.clone()) };
                vec![Some(self.keep("index", ty, Some(index), span, out))]
            }
            _ => vec![],
        };
        let call_register = |method: u32, args: Vec<Option<Expr>>| {
            let callee = Callee::Method(execution.register, method);
            Call { callee, type_args: vec![], args, span }
        };
        // The captured values are those before the action, whatever it does.
        let captured: Vec<Option<Expr>> = captured
            .iter()
            .map(|value| {
                let value = value.as_ref()?;
                Some(match value.kind {
                    ExprKind::Const(_) => value.clone(),
                    _ => self.keep("captured", value.ty.clone(), Some(value.clone()), span, out),
                })
            })
            .collect();
        let read = ExprKind::Call(Box::new(call_register(execution.read, index.clone())));
        let read = build::expr(read, execution.cell.clone()).at(span);
        let cell = self.keep("cell", execution.cell.clone(), Some(read), span, out);
        // The results: the first is that of `execute`, the others are for its `out` arguments.
        let (params, vars) = &self.functions[execution.function.index()];
        let declared = execution.declared.min(params.len());
        let types: Vec<Type> = params[..declared]
            .iter()
            .skip(1)
            .filter_map(|param| Some(vars.get(param.index())?.ty.clone()))
            .collect();
        let results: Vec<Expr> =
            types.into_iter().map(|ty| self.keep("result", ty, None, span, out)).collect();
        let args = [cell.clone()].into_iter().chain(results.iter().cloned()).map(Some).chain(captured);
        let callee = Callee::Function(execution.function);
        let apply = Call { callee, type_args: vec![], args: args.collect(), span };
        out.push(build::stmt(StmtKind::Call(apply)).at(span));
        let write = call_register(execution.write, index.into_iter().chain([Some(cell)]).collect());
        out.push(build::stmt(StmtKind::Call(write)).at(span));
        let mut results = results.into_iter();
        let result = results.next();
        let directions = self.directions(&call, execution.own);
        for (to, _) in call.args.iter().zip(directions).filter(|(_, direction)| *direction == Direction::Out)
        {
            let value = results.next();
            if let Some(to) = to {
                let value = value.unwrap_or_else(|| self.keep("result", to.ty.clone(), None, span, out));
                out.push(build::assign(to.clone(), value).at(span));
            }
        }
        if let StmtKind::Declare(_, Some(value)) | StmtKind::Assign(_, value) = &mut stmt.kind {
            *value = result.unwrap_or_else(|| self.keep("result", execution.result.clone(), None, span, out));
            out.push(stmt);
        }
    }

    fn directions(&self, call: &Call, own: usize) -> Vec<Direction> {
        let Callee::Method(id, method) = call.callee else { return vec![] };
        let object = self.program.extern_object(self.program.instance(id).object);
        let params = object.methods.get(method as usize).map(|method| &method.signature.params);
        params.into_iter().flatten().take(own).map(|param| param.direction).collect()
    }

    /// A new variable with this value, or zero.
    fn keep(&mut self, name: &str, ty: Type, value: Option<Expr>, span: Span, out: &mut Vec<Stmt>) -> Expr {
        let var = build::local(self.vars, name, ty, span);
        out.push(build::declare(var, value).at(span));
        build::var_of(self.vars, var).at(span)
    }
}

/// One bit for each combination of the comparisons: that of the one that holds is set. `None` for other calls.
fn predicate(program: &Program, call: &Call, ty: &Type) -> Option<Expr> {
    let Callee::Method(id, method) = call.callee else { return None };
    let object = program.extern_object(program.instances.get(id.index())?.object);
    let method = object.methods.get(method as usize)?;
    let (Type::Bit(_) | Type::Int(_)) = program.representation(ty) else { return None };
    if !object.name.contains("RegisterAction") || method.name != "predicate" {
        return None;
    }
    let comparisons = call.args.iter().take(method.signature.params.len()).enumerate();
    let mut combination = build::bits(8, 0);
    for (at, holds) in comparisons.filter_map(|(at, holds)| Some((at, holds.as_ref()?))) {
        let bit = build::cast(build::cast(holds.clone(), Type::Bit(1)), Type::Bit(8));
        let bit = build::binary(BinaryOp::Shl, bit, build::bits(8, at as u64), Type::Bit(8));
        combination = build::binary(BinaryOp::BitOr, combination, bit, Type::Bit(8));
    }
    // At most four comparisons, 16 combinations.
    let number = build::binary(BinaryOp::Shl, build::bits(16, 1), combination, Type::Bit(16));
    let number = match program.representation(ty) {
        Type::Bit(16) => number,
        Type::Int(width) => build::cast(build::cast(number, Type::Bit(*width)), ty.clone()),
        ty => build::cast(number, ty.clone()),
    };
    Some(number.at(call.span))
}

/// The parts of an execution; `None` if its register, function or index is not known, or the index has more bits than the register's.
fn execution(program: &Program, call: &Call) -> Option<Execution> {
    let Callee::Method(id, method) = call.callee else { return None };
    let declared = program.instances.get(id.index())?;
    let object = program.extern_object(declared.object);
    let is_direct = object.name.starts_with("DirectRegisterAction");
    if !is_direct && !object.name.starts_with("RegisterAction") {
        return None;
    }
    let method = object.methods.get(method as usize).filter(|method| method.name == "execute")?;
    if !is_direct && !matches!(call.args.first(), Some(Some(_))) {
        return None;
    }
    let is_apply = |at: u32| object.methods.get(at as usize).filter(|method| method.name == "apply");
    let (apply, function) =
        declared.methods.iter().find_map(|(at, function)| Some((is_apply(*at)?, *function)))?;
    let Some(ExprKind::Const(Const::Instance(register))) = declared.args.first().map(|arg| &arg.kind) else {
        return None;
    };
    let of = program.instances.get(register.index())?;
    let index = of.type_args.get(1).filter(|_| !is_direct);
    if let (Some(ty), Some(Some(given))) = (index, call.args.first())
        && *ty != given.ty
    {
        // A cast to fewer bits would make another index of one that is out of range: such calls stay.
        let widths = [ty, &given.ty].map(|ty| match program.representation(ty) {
            Type::Bit(width) => Some(*width),
            _ => None,
        });
        let [Some(own), Some(given)] = widths else { return None };
        if own < given {
            return None;
        }
    }
    let methods = &program.extern_object(of.object).methods;
    let named = |name: &str| Some(methods.iter().position(|method| method.name == name)? as u32);
    Some(Execution {
        register: *register,
        cell: of.type_args.first()?.clone(),
        index: index.cloned(),
        result: declared.type_args.get(if is_direct { 1 } else { 2 })?.clone(),
        function,
        declared: apply.signature.params.len(),
        own: method.signature.params.len(),
        is_direct,
        read: named("read")?,
        write: named("write")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    /// A register of bytes with the action `f`, and a control with this body.
    fn with_action(body: &str) -> String {
        let objects = "extern Register<T, I> { new(in bit<32> size); method read(in 'I index) -> 'T; method write(in 'I index, in 'T value) -> 'T; }
            extern RegisterAction<T, I, U> {
                new(extern Register<bit<8>, bit<8>> reg);
                method execute(in 'I index) -> 'U; method execute_log() -> 'U;
                abstract method apply(inout 'T value, optional out 'U rv) -> void;
                method predicate(optional in bool cmplo, optional in bool cmphi) -> 'U;
            }
            instance r: Register<bit<8>, bit<8>>(32w4) \"r\" in control C;
            instance add: RegisterAction<bit<8>, bit<8>, bit<8>>(($instance(r) : extern Register<bit<8>, bit<8>>)) \"add\" in control C { apply = f; }
            function f(value, rv, more) -> void {
                vars { inout bit<8> value; out bit<8> rv; in bit<8> more; }
                body { rv = value; value = value + more; }
            }
            ";
        objects.to_string() + &control("", "instances r, add;", body)
    }

    fn body_after(body: &str) -> String {
        let text = after(&with_action(body), expand_register_actions);
        text[text.find("apply {").unwrap_or(0)..].to_string()
    }

    #[test]
    fn an_execution_reads_computes_and_writes() {
        expect![[r#"
            apply {
                var index = x;
                var captured = hdr.h.a;
                var cell = method r.read(index);
                var result;
                function f(cell, result, captured);
                method r.write(index, cell);
                x = result;
              }
            }
        "#]]
        .assert_eq(&body_after("x = method add.execute(x, hdr.h.a);"));
    }

    /// The body after the pass, where indices of the register have a type of their own.
    fn body_with_index(register: &str) -> String {
        let text = with_action("x = method add.execute(x, 8w1);")
            .replace("Register<bit<8>, bit<8>>", &format!("Register<bit<8>, {register}>"));
        let text = after(&text, expand_register_actions);
        text[text.find("apply {").unwrap_or(0)..].to_string()
    }

    #[test]
    fn an_index_is_extended_to_that_of_the_register() {
        expect![[r#"
            apply {
                var index = $cast<bit<32>>(x);
                var cell = method r.read(index);
                var result;
                function f(cell, result, 8w0x1);
                method r.write(index, cell);
                x = result;
              }
            }
        "#]]
        .assert_eq(&body_with_index("bit<32>"));
    }

    #[test]
    fn an_index_of_more_bits_stays() {
        expect![[r#"
            apply {
                x = method add.execute(x, 8w0x1);
              }
            }
        "#]]
        .assert_eq(&body_with_index("bit<4>"));
    }

    #[test]
    fn an_execution_without_a_result() {
        expect![[r#"
            apply {
                var index = 8w0x3;
                var cell = method r.read(index);
                var result;
                function f(cell, result, 8w0x1);
                method r.write(index, cell);
              }
            }
        "#]]
        .assert_eq(&body_after("method add.execute(8w3, 8w1);"));
    }

    #[test]
    fn a_predicate_is_a_number() {
        expect![[r#"
            apply {
                x = $cast<bit<8>>(16w0x1 << (8w0x0 | $cast<bit<8>>($cast<bit<1>>(x == 8w0x1)) << 8w0x0 | $cast<bit<8>>($cast<bit<1>>(x == 8w0x2)) << 8w0x1));
              }
            }
        "#]].assert_eq(&body_after("x = method add.predicate(x == 8w1, x == 8w2, hdr.h.a);"));
    }

    #[test]
    fn a_log_stays() {
        expect![[r#"
            apply {
                x = method add.execute_log(hdr.h.a);
              }
            }
        "#]]
        .assert_eq(&body_after("x = method add.execute_log(hdr.h.a);"));
    }
}
