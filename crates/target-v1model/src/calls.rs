//! Calls of TNA's externs as code of v1model.
//!
//! Before: `x = add.execute(i);` (by `expand-register-actions` a read, the function's body, a write)
//! After:  `sums.read(cell, (bit<32>)i); ... sums.write((bit<32>)i, cell);`

use crate::instances::{cell_bits, number};
use crate::pieces::refused;
use crate::skeleton::Skeleton;
use crate::sums::Sums;
use crate::usage::{Usage, method};
use crate::values::{at_top, choose, concat, fill, from_top, member, width, words};
use base_diag::{Diagnostic, Span};
use ir::{
    Call, Callee, Const, Expr, ExprKind, InstanceId, Program, Stmt, StmtKind, Type, UnaryOp, Var, build,
    visit,
};

/// Where calls stand, and what they may use.
pub(crate) struct Calls<'a> {
    pub(crate) program: &'a Program,
    pub(crate) skeleton: &'a Skeleton,
    pub(crate) usage: &'a Usage,
    pub(crate) vars: &'a mut Vec<Var>,
    /// The metadata in this block.
    pub(crate) meta: Expr,
    pub(crate) found: &'a mut Vec<Diagnostic>,
    /// The checksums and counters of a parser, if calls stand in its states: BMv2 calls no externs there.
    pub(crate) sums: Option<&'a mut Sums>,
    /// In an action, where BMv2 has no conditions.
    pub(crate) in_action: bool,
}

/// The value of a converted call, if it has one.
pub(crate) type Converted = Result<Option<Expr>, Diagnostic>;

impl Calls<'_> {
    pub(crate) fn list(&mut self, stmts: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(stmts) {
            visit::blocks_mut(&mut stmt, &mut |block| self.list(&mut block.stmts));
            let mut before = vec![];
            if let StmtKind::Call(call) = &stmt.kind
                && self.is_foreign(call)
            {
                let call = call.clone();
                if let Err(problem) = self.call(&call, &Type::Void, &mut before) {
                    self.found.push(problem);
                }
                stmts.extend(before);
                continue;
            }
            visit::exprs_mut(&mut stmt, &mut |expr| self.expr(expr, &mut before));
            let is_loop = matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. });
            if is_loop && !before.is_empty() {
                self.found.push(refused(
                    "a call in the head of a loop cannot be converted",
                    stmt.span,
                    "called here",
                ));
            }
            stmts.extend(before);
            stmts.push(stmt);
        }
    }

    /// Expressions have no effects, so that calls in them may run before.
    pub(crate) fn expr(&mut self, expr: &mut Expr, before: &mut Vec<Stmt>) {
        visit::parts_mut(expr, &mut |part| self.expr(part, before));
        let ExprKind::Call(call) = &expr.kind else { return };
        if !self.is_foreign(call) {
            return;
        }
        let call = call.clone();
        match self.call(&call, &expr.ty, before) {
            Ok(Some(value)) => *expr = value.at(expr.span),
            Ok(None) => self.found.push(refused(
                "the value of this call has no counterpart in v1model",
                expr.span,
                "used here",
            )),
            Err(problem) => self.found.push(problem),
        }
    }

    /// A call of one of TNA's externs.
    fn is_foreign(&self, call: &Call) -> bool {
        matches!(call.callee, Callee::Method(..) | Callee::ExternFunction(_))
    }

    fn call(&mut self, call: &Call, ty: &Type, before: &mut Vec<Stmt>) -> Converted {
        let arg = |at: usize| call.args.get(at).cloned().flatten();
        let need = |at: usize| {
            arg(at)
                .ok_or_else(|| refused("this call cannot be converted", call.span, "an argument is missing"))
        };
        if let Callee::ExternFunction(id) = call.callee {
            let name =
                self.program.extern_functions.get(id.index()).map_or("", |function| function.name.as_str());
            return self.function(name, call, before);
        }
        let Callee::Method(id, _) = call.callee else { return Ok(None) };
        let Some((object, name)) = method(self.program, call) else { return Ok(None) };
        if let Some(problem) = self.unlike(object, name, call) {
            return Err(problem);
        }
        if let Some(sums) = &mut self.sums
            && object != "ParserPriority"
        {
            let unit = (id, object, name);
            return sums.call(self.program, self.vars, unit, call, before).unwrap_or_else(|| {
                let label = format!("`{name}` of `{object}` in a parser");
                Err(refused("this call has no counterpart in v1model", call.span, &label))
            });
        }
        match (object, name) {
            ("Register", "read") => {
                let index = need(0)?;
                Ok(Some(self.read(id, index, ty.clone(), call.span, before)?))
            }
            ("RegisterParam", "read") => {
                Ok(Some(self.read(id, build::bits(32, 0), ty.clone(), call.span, before)?))
            }
            ("Register", "write") => {
                let (index, value) = (need(0)?, need(1)?);
                let bits = words(self.program, &value).and_then(concat);
                let bits = bits.ok_or_else(|| {
                    refused("this register cannot be converted", call.span, "its cells have no fixed layout")
                })?;
                let write = self.method("register", "write", id, vec![word32(&index), bits]);
                before.push(self.guarded(id, &index, write));
                Ok(None)
            }
            ("Counter", "count") => {
                let index = need(0)?;
                let count = self.method("counter", "count", id, vec![word32(&index)]);
                before.push(self.guarded(id, &index, count));
                Ok(None)
            }
            ("DirectCounter", "count") => {
                before.push(self.method("direct_counter", "count", id, vec![]));
                Ok(None)
            }
            ("Meter", "execute") => {
                let index = need(0)?;
                let color = self.local("color", Type::Bit(8), before);
                let execute = self.typed(
                    "meter",
                    "execute_meter",
                    id,
                    vec![Type::Bit(8)],
                    vec![word32(&index), color.clone()],
                );
                before.push(self.guarded(id, &index, execute));
                Ok(Some(self.color(id, color)))
            }
            ("DirectMeter", "execute") => {
                // BMv2 wants one place for the color of a meter, whichever action reads it.
                let Some(color) = member(self.program, &self.meta, "color") else { return Ok(None) };
                before.push(self.method("direct_meter", "read", id, vec![color.clone()]));
                Ok(Some(self.color(id, color)))
            }
            ("Hash", "get") => {
                let algorithm = match number(self.program, id, 0) {
                    Some(0) => "identity",
                    Some(3) => "xor16",
                    Some(6) => "crc16",
                    Some(7) => "crc32",
                    _ => {
                        let label = "v1model has `IDENTITY`, `XOR16`, `CRC16` and `CRC32`";
                        return Err(refused("this hash has no counterpart in v1model", call.span, label));
                    }
                };
                self.hash(algorithm, need(0)?, ty, call.span, before).map(Some)
            }
            ("Checksum", "update") => {
                let sum = self.hash("csum16", need(0)?, &Type::Bit(16), call.span, before)?;
                Ok(Some(match arg(1).map(|flag| flag.kind) {
                    Some(ExprKind::Const(Const::Bool(true))) => {
                        let is_zero = build::equals(sum.clone(), build::bits(16, 0));
                        choose(is_zero, build::bits(16, 0xffff), sum)
                    }
                    None | Some(ExprKind::Const(Const::Bool(false))) => sum,
                    Some(_) => {
                        return Err(refused(
                            "this call cannot be converted",
                            call.span,
                            "`zeros_as_ones` is no constant",
                        ));
                    }
                }))
            }
            ("Random", "get") => {
                let wide = self.program.bits(ty).unwrap_or(0) as u32;
                let drawn = self.local("drawn", Type::Bit(wide), before);
                let most = build::expr(
                    ExprKind::Unary(UnaryOp::BitNot, Box::new(build::bits(wide, 0))),
                    Type::Bit(wide),
                );
                let args = vec![drawn.clone(), build::bits(wide, 0), most];
                before.push(self.run("random", vec![Type::Bit(wide)], args));
                Ok(Some(build::cast(drawn, ty.clone())))
            }
            ("Digest", "pack") => {
                let data = need(0)?;
                before.push(self.run("digest", vec![data.ty.clone()], vec![build::bits(32, 1), data]));
                Ok(None)
            }
            ("Mirror", "emit") => {
                let session = need(0)?;
                let bits = match arg(1) {
                    Some(header) => words(self.program, &header).and_then(concat),
                    None => None,
                };
                let wide = bits.as_ref().map_or(0, width);
                self.set("session", build::cast(session, Type::Bit(16)), before);
                self.set("mirror", build::bits(8, self.usage.mirror(wide)), before);
                if let (Some(bits), Some(all)) = (bits, member(self.program, &self.meta, "mirrored")) {
                    self.set("mirrored", at_top(bits, width(&all)), before);
                }
                Ok(None)
            }
            ("Resubmit", "emit") => {
                self.set("resubmits", build::bits(1, 1), before);
                let all = member(self.program, &self.meta, "resubmitted").map_or(0, |field| width(&field));
                let bits = match arg(0) {
                    Some(header) => words(self.program, &header).and_then(concat),
                    None => None,
                };
                self.set("resubmitted", bits.map_or(build::bits(all, 0), |bits| at_top(bits, all)), before);
                Ok(None)
            }
            ("ParserPriority", "set") => Ok(None),
            _ => {
                let label = format!("`{name}` of `{object}`");
                Err(refused("this call has no counterpart in v1model", call.span, &label))
            }
        }
    }

    /// Methods that v1model has in another form only.
    fn unlike(&self, object: &str, name: &str, call: &Call) -> Option<Diagnostic> {
        let Callee::Method(_, at) = call.callee else { return None };
        let Callee::Method(id, _) = call.callee else { return None };
        let object_type = self.program.extern_object(self.program.instances.get(id.index())?.object);
        let params = &object_type.methods.get(at as usize)?.signature.params;
        let given = |param: &str| {
            let at = params.iter().position(|known| known.name == param);
            at.is_some_and(|at| matches!(call.args.get(at), Some(Some(_))))
        };
        for (param, label) in [
            ("adjust_byte_count", "v1model counts the bytes of the frame"),
            ("color", "meters of v1model do not take the color of a packet"),
        ] {
            if given(param) {
                let title = format!("`{param}` of `{object}.{name}` has no counterpart in v1model");
                return Some(refused(&title, call.span, label));
            }
        }
        None
    }

    /// A cell as a value; zero beyond the last one.
    fn read(
        &mut self,
        id: InstanceId,
        index: Expr,
        ty: Type,
        span: Span,
        before: &mut Vec<Stmt>,
    ) -> Result<Expr, Diagnostic> {
        let wide = cell_bits(self.program, id).ok_or_else(|| {
            refused("this register cannot be converted", span, "its cells have no fixed layout")
        })?;
        let bits = self.local("bits", Type::Bit(wide), before);
        let read = self.method("register", "read", id, vec![bits.clone(), word32(&index)]);
        before.push(self.guarded(id, &index, read));
        if bits.ty == ty {
            return Ok(bits);
        }
        let cell = self.uninitialized("cell", ty, before);
        let slice = |offset: u32, count: u32| from_top(&bits, offset, count);
        fill(self.program, &cell, 0, &slice, before).ok_or_else(|| {
            refused("this register cannot be converted", span, "its cells have no fixed layout")
        })?;
        Ok(cell)
    }

    /// The number of a color.
    fn color(&self, id: InstanceId, color: Expr) -> Expr {
        let numbers: Vec<u64> = self
            .program
            .instance(id)
            .args
            .iter()
            .filter_map(|arg| match &arg.kind {
                ExprKind::Const(Const::Bits(bits)) if bits.width() == 8 => bits.to_u64(),
                _ => None,
            })
            .collect();
        let [red, yellow, green] = <[u64; 3]>::try_from(numbers).unwrap_or([3, 1, 0]);
        let is = |number: u64| build::equals(color.clone(), build::bits(8, number));
        choose(is(2), build::bits(8, red), choose(is(1), build::bits(8, yellow), build::bits(8, green)))
    }

    /// The hash of data whose first byte is filled up with zeros.
    fn hash(
        &mut self,
        algorithm: &str,
        data: Expr,
        ty: &Type,
        span: Span,
        before: &mut Vec<Stmt>,
    ) -> Result<Expr, Diagnostic> {
        let wide = self.program.bits(ty).unwrap_or(0) as u32;
        let bad = |label: &str| refused("this hash cannot be converted", span, label);
        let mut parts = words(self.program, &data).ok_or_else(|| bad("its data have no fixed layout"))?;
        let bits: u32 = parts.iter().map(width).sum();
        if !bits.is_multiple_of(8) {
            parts.insert(0, build::bits(8 - bits % 8, 0));
        }
        if algorithm == "identity" {
            // v1model takes the first eight bytes, TNA the last.
            let all = concat(parts).ok_or_else(|| bad("it has no data"))?;
            return Ok(build::cast(build::cast(all, Type::Bit(wide)), ty.clone()));
        }
        if wide >= 64 {
            return Err(bad("its result has more than 63 bits"));
        }
        let member =
            ["crc32", "crc32_custom", "crc16", "crc16_custom", "random", "identity", "csum16", "xor16"];
        let at = member.iter().position(|known| *known == algorithm);
        let at = at.ok_or_else(|| bad("v1model does not have its algorithm"))? as u32;
        let sum = self.local("sum", Type::Bit(wide), before);
        let types: Vec<Type> = parts.iter().map(|part| part.ty.clone()).collect();
        let data = build::expr(ExprKind::Aggregate(parts), Type::Tuple(types.clone())).at(span);
        let algorithms = self.skeleton.ty("HashAlgorithm");
        let args = vec![
            sum.clone(),
            build::expr(ExprKind::Const(Const::Enum(at)), algorithms),
            build::bits(wide, 0),
            data,
            build::bits(64, 1 << wide),
        ];
        let types = vec![Type::Bit(wide), Type::Bit(wide), Type::Tuple(types), Type::Bit(64)];
        before.push(self.run("hash", types, args));
        Ok(build::cast(sum, ty.clone()))
    }

    /// `stmt`, if the object has a cell of this index. Actions have no conditions on BMv2: there the switch has to ignore the index.
    fn guarded(&self, id: InstanceId, index: &Expr, stmt: Stmt) -> Stmt {
        let Some(size) = crate::instances::size(self.program, id).filter(|_| !self.in_action) else {
            return stmt;
        };
        let wide = width(index);
        if wide < 64 && 1u64 << wide <= size {
            return stmt;
        }
        match &index.kind {
            ExprKind::Const(Const::Bits(bits)) if bits.to_u64().is_some_and(|at| at < size) => stmt,
            _ => build::if_then(build::less(word32(index), build::bits(32, size)), vec![stmt]),
        }
    }

    fn set(&self, name: &str, value: Expr, out: &mut Vec<Stmt>) {
        if let Some(field) = member(self.program, &self.meta, name) {
            out.push(build::assign(field, value));
        }
    }

    /// A new variable, zero.
    fn local(&mut self, name: &str, ty: Type, before: &mut Vec<Stmt>) -> Expr {
        let var = build::local(self.vars, name, ty.clone(), Span::NONE);
        before.push(build::declare(var, Some(build::bits(self.program.bits(&ty).unwrap_or(1) as u32, 0))));
        build::var(var, &ty)
    }

    /// A new variable that is written as a whole at once.
    fn uninitialized(&mut self, name: &str, ty: Type, before: &mut Vec<Stmt>) -> Expr {
        let var = build::local(self.vars, name, ty.clone(), Span::NONE);
        before.push(build::declare(var, None));
        build::var(var, &ty)
    }

    fn method(&self, object: &str, name: &str, id: InstanceId, args: Vec<Expr>) -> Stmt {
        self.typed(object, name, id, vec![], args)
    }

    fn typed(&self, object: &str, name: &str, id: InstanceId, types: Vec<Type>, args: Vec<Expr>) -> Stmt {
        build::call(Callee::Method(id, self.skeleton.method(object, name)), types, args)
    }

    fn run(&self, function: &str, types: Vec<Type>, args: Vec<Expr>) -> Stmt {
        build::call(Callee::ExternFunction(self.skeleton.function(function)), types, args)
    }
}

fn word32(index: &Expr) -> Expr {
    build::cast(index.clone(), Type::Bit(32))
}
