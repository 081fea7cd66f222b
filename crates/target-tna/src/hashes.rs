//! Hashes: each call of v1model's `hash` becomes a `Hash` of its own.
//!
//! Before: `hash(index, HashAlgorithm.crc32, 32w0, { hdr.ipv4.src_addr }, 32w1024);`
//! After:  `Hash<bit<32>>(HashAlgorithm_t.CRC32) hash; ... index = (bit<32>)hash.get({ hdr.ipv4.src_addr })[9:0];`
//!
//! `hash` gives `base + H(data) mod max`. A Tofino has no division, so `max` has to be a constant. A power of two takes the low bits; [`crate::remainders`] has the others,
//! for which a control needs tables or conditions: in actions, `max` has to be a power of two.
//! Data that are no whole bytes are filled with zeros at the end by v1model, and at the front by TNA: the new program appends the zeros.

use crate::original::refused;
use crate::remainders::remainder;
use base_diag::{Diagnostic, Span};
use ir::{
    Call, Callee, Const, Control, ControlId, Direction, Expr, ExprKind, ExternId, ExternMethod, ExternObject,
    Instance, InstanceId, Name, Owner, Program, Signature, SignatureParam, Stmt, StmtKind, Type, TypeDecl,
    TypeId, TypeKind, build, visit,
};
use std::collections::BTreeMap;

const FUNCTION: &str = "hash";
/// Name in v1model, name in TNA, bits of the result.
pub(crate) const ALGORITHMS: [(&str, &str, u32); 3] =
    [("crc16", "CRC16", 16), ("crc32", "CRC32", 32), ("xor16", "XOR16", 16)];
/// Members of `HashAlgorithm_t`.
const MEMBERS: [&str; 10] =
    ["IDENTITY", "RANDOM", "XOR8", "XOR16", "XOR32", "CRC8", "CRC16", "CRC32", "CRC64", "CUSTOM"];
const ALGORITHM_TYPE: &str = "HashAlgorithm_t";
const BYTE_BITS: u32 = 8;

/// True for a call of `hash`.
pub(crate) fn is_hash(program: &Program, call: &Call) -> bool {
    matches!(call.callee, Callee::ExternFunction(id) if program.extern_functions[id.index()].name == FUNCTION)
}

/// Parts of a call.
struct Parts<'c> {
    result: &'c Expr,
    /// Width of the result.
    width: u32,
    /// Name in TNA.
    algorithm: &'static str,
    /// Width of the hash.
    bits: u32,
    base: &'c Expr,
    data: &'c Expr,
    /// Low bits of the hash that are used.
    used: u32,
    /// The number that the hash is divided by, if that is no power of two.
    divisor: Option<u64>,
    /// Zeros to append to the data.
    filling: u32,
}

/// The parts of a call, or why TNA cannot do it.
fn parts<'c>(program: &Program, call: &'c Call) -> Result<Parts<'c>, &'static str> {
    let [Some(result), Some(algorithm), Some(base), Some(data), Some(max)] = &call.args[..] else {
        return Err("an argument is missing");
    };
    let name = member(program, algorithm).ok_or("the algorithm is not known")?;
    let known = ALGORITHMS.iter().find(|(v1model, ..)| name == v1model);
    let (_, algorithm, bits) =
        *known.ok_or("TNA has `crc16`, `crc32` and `xor16`, without parameters set later")?;
    let max = match &max.kind {
        ExprKind::Const(Const::Bits(max)) => max.to_u64().map(|max| max.max(1)),
        _ => None,
    };
    let max = max.ok_or("a Tofino cannot divide: `max` has to be a constant")?;
    let divisor = Some(max).filter(|max| !max.is_power_of_two() && *max < 1 << bits);
    let used = if divisor.is_some() { bits } else { max.ilog2().min(bits) };
    let Type::Bit(width) = *program.representation(&result.ty) else {
        return Err("the result is no `bit<N>`");
    };
    let Type::Bit(_) = program.representation(&base.ty) else { return Err("the base is no `bit<N>`") };
    let long = program.bits(&data.ty).ok_or("data without a fixed length")?;
    if !has_whole_bytes(program, data) {
        return Err(
            "fields of one header are no whole bytes: without the header, other bits would be hashed",
        );
    }
    let filling = (long % u64::from(BYTE_BITS)) as u32;
    let filling = (BYTE_BITS - filling) % BYTE_BITS;
    Ok(Parts { result, width, algorithm, bits, base, data, used, divisor, filling })
}

/// The member of v1model's `HashAlgorithm`.
pub(crate) fn member<'p>(program: &'p Program, algorithm: &Expr) -> Option<&'p Name> {
    let ExprKind::Const(Const::Enum(member)) = algorithm.kind else { return None };
    let Type::Named(ty) = algorithm.ty else { return None };
    let TypeKind::Enum(members) = &program.type_decl(ty).kind else { return None };
    members.get(member as usize)
}

/// True if the fields of each header are whole bytes together. Those of an invalid header are left out of the data: the zeros of the filling would
/// not be as many as before.
fn has_whole_bytes(program: &Program, data: &Expr) -> bool {
    let mut bits = BTreeMap::new();
    of_headers(program, data, &mut bits);
    bits.values().all(|bits: &u64| bits.is_multiple_of(u64::from(BYTE_BITS)))
}

/// Adds the bits of each header's fields in the data.
fn of_headers(program: &Program, data: &Expr, bits: &mut BTreeMap<Vec<usize>, u64>) {
    match &data.kind {
        ExprKind::Aggregate(parts) => parts.iter().for_each(|part| of_headers(program, part, bits)),
        ExprKind::Cast(inner) if matches!(inner.kind, ExprKind::Aggregate(_)) => {
            of_headers(program, inner, bits);
        }
        _ => {
            if let Some(header) = header_of(program, data) {
                // A place of its own if it is not known.
                let place = path(header).unwrap_or_else(|| vec![usize::MAX, bits.len()]);
                *bits.entry(place).or_default() += program.bits(&data.ty).unwrap_or(1);
            }
        }
    }
}

/// The header that an expression reads a field of.
fn header_of<'e>(program: &Program, expr: &'e Expr) -> Option<&'e Expr> {
    match &expr.kind {
        ExprKind::Slice { base, .. } => header_of(program, base),
        ExprKind::Field(base, _) if program.is_header(&base.ty) => Some(base),
        ExprKind::Field(base, _) => header_of(program, base),
        _ => None,
    }
}

/// The variable and the fields that lead to a place.
fn path(place: &Expr) -> Option<Vec<usize>> {
    match &place.kind {
        ExprKind::Var(id) => Some(vec![id.index()]),
        ExprKind::Field(base, field) => {
            let mut path = path(base)?;
            path.push(*field as usize);
            Some(path)
        }
        _ => None,
    }
}

/// Refuses a hash that TNA cannot compute.
pub(crate) fn check(program: &Program, call: &Call, in_action: bool) -> Option<Diagnostic> {
    let why = match parts(program, call) {
        Ok(parts) if parts.divisor.is_some() && in_action => {
            "a Tofino cannot divide: in an action, `max` has to be a power of two"
        }
        Ok(_) => return None,
        Err(why) => why,
    };
    Some(refused("this `hash`", call.span, why))
}

/// Replaces all of them. Only controls have any.
pub(crate) fn replace(program: &mut Program) {
    let old = program.clone();
    let mut added = Added { old: &old, algorithms: TypeId::from(old.types.len()), instances: vec![] };
    for (id, control) in program.controls.iter_mut().enumerate() {
        let before = added.instances.len();
        let owner = ControlId::from(id);
        let mut body = std::mem::take(&mut control.body);
        visit::stmts_mut(&mut body, &mut |stmt| added.replace(owner, stmt, Some(&mut *control)));
        control.body = body;
        for action in &mut control.actions {
            visit::stmts_mut(&mut action.body, &mut |stmt| added.replace(owner, stmt, None));
        }
        let first = old.instances.len();
        control.instances.extend((before..added.instances.len()).map(|at| InstanceId::from(first + at)));
    }
    if added.instances.is_empty() {
        return;
    }
    program.instances.append(&mut added.instances);
    object(program);
}

/// The place of a member of `HashAlgorithm_t`.
pub(crate) fn number_of(algorithm: &str) -> Option<u32> {
    MEMBERS.iter().position(|known| *known == algorithm).map(|at| at as u32)
}

/// `HashAlgorithm_t` and `Hash`, which are declared if they are not yet.
pub(crate) fn object(program: &mut Program) -> (TypeId, ExternId) {
    let known = program.externs.iter().position(|object| object.name == "Hash" && !object.user);
    let ty = program.types.iter().position(|decl| decl.name == ALGORITHM_TYPE);
    if let (Some(object), Some(ty)) = (known, ty) {
        return (TypeId::from(ty), ExternId::from(object));
    }
    let ty = TypeId::from(program.types.len());
    program.externs.push(declared(ty));
    program.types.push(TypeDecl {
        name: ALGORITHM_TYPE.into(),
        kind: TypeKind::Enum(MEMBERS.map(Name::from).to_vec()),
        annotations: vec![],
        span: Span::NONE,
    });
    (ty, ExternId::from(program.externs.len() - 1))
}

struct Added<'p> {
    old: &'p Program,
    /// `HashAlgorithm_t`
    algorithms: TypeId,
    instances: Vec<Instance>,
}

impl Added<'_> {
    /// `control` is the control around a statement that is not of an action.
    fn replace(&mut self, owner: ControlId, stmt: &mut Stmt, control: Option<&mut Control>) {
        let StmtKind::Call(call) = &stmt.kind else { return };
        if !is_hash(self.old, call) {
            return;
        }
        let Ok(parts) = parts(self.old, call) else { return };
        let wide = Type::Bit(parts.width);
        let base = build::cast(parts.base.clone(), self.old.representation(&parts.base.ty).clone());
        let mut value = build::cast(base, wide.clone());
        let mut before = vec![];
        if parts.used > 0 {
            let number = self.instances.len();
            let instance = self.instance(owner, &parts, stmt.span);
            let mut hash = hash(instance, &parts, call.span);
            if let (Some(divisor), Some(control)) = (parts.divisor, control) {
                hash = remainder(control, number, hash, divisor, &mut before);
            }
            let hash = build::cast(hash, wide);
            value = if is_zero(parts.base) { hash } else { build::add(value, hash) };
        }
        let value = build::cast(value, parts.result.ty.clone());
        let assigned = build::assign(parts.result.clone(), value).at(stmt.span);
        *stmt = if before.is_empty() {
            assigned
        } else {
            before.push(assigned);
            build::stmt(StmtKind::Block(build::block(before))).at(stmt.span)
        };
    }

    fn instance(&mut self, owner: ControlId, parts: &Parts, span: Span) -> InstanceId {
        let control = &self.old.control(owner).control_plane_name;
        let is_taken = |name: &str| self.old.instances.iter().any(|i| i.control_plane_name == name);
        let mut name = format!("{control}.hash{}", self.instances.len());
        while is_taken(&name) {
            name.push('_');
        }
        let at = number_of(parts.algorithm).unwrap_or(0);
        let algorithm = build::expr(ExprKind::Const(Const::Enum(at)), Type::Named(self.algorithms));
        self.instances.push(Instance {
            name: "hash".into(),
            control_plane_name: name.into(),
            object: ExternId::from(self.old.externs.len()),
            type_args: vec![Type::Bit(parts.bits)],
            args: vec![algorithm],
            owner: Owner::Control(owner),
            methods: vec![],
            annotations: vec![],
            span,
        });
        InstanceId::from(self.old.instances.len() + self.instances.len() - 1)
    }
}

/// The low bits of `instance.get(data)`.
fn hash(instance: InstanceId, parts: &Parts, span: Span) -> Expr {
    let data = filled(parts.data, parts.filling);
    let call = Call {
        callee: Callee::Method(instance, 0),
        type_args: vec![data.ty.clone()],
        args: vec![Some(data)],
        span,
    };
    let all = build::expr(ExprKind::Call(Box::new(call)), Type::Bit(parts.bits)).at(span);
    if parts.used == parts.bits {
        return all;
    }
    let slice = ExprKind::Slice { base: Box::new(all), hi: parts.used - 1, lo: 0 };
    build::expr(slice, Type::Bit(parts.used)).at(span)
}

/// The data with so many zeros.
fn filled(data: &Expr, filling: u32) -> Expr {
    if filling == 0 {
        return data.clone();
    }
    let zeros = build::bits(filling, 0);
    let types = vec![data.ty.clone(), zeros.ty.clone()];
    build::expr(ExprKind::Aggregate(vec![data.clone(), zeros]), Type::Tuple(types)).at(data.span)
}

fn is_zero(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Const(Const::Bits(bits)) if bits.to_u64() == Some(0))
}

/// `Hash` as far as it is used.
fn declared(algorithms: TypeId) -> ExternObject {
    let param = |name: &str, ty: Type| SignatureParam {
        name: name.into(),
        direction: Direction::In,
        ty,
        optional: false,
    };
    let (width, data) = (Name::from("W"), Name::from("D"));
    let signature = Signature {
        type_params: vec![data.clone()],
        params: vec![param("data", Type::Param(data))],
        returns: Type::Param(width.clone()),
    };
    ExternObject {
        name: "Hash".into(),
        user: false,
        type_params: vec![width],
        constructors: vec![vec![param("algo", Type::Named(algorithms))]],
        methods: vec![ExternMethod {
            name: "get".into(),
            signature,
            is_abstract: false,
            annotations: vec![],
            span: Span::NONE,
        }],
        annotations: vec![],
        span: Span::NONE,
    }
}
