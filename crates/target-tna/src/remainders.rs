//! Remainders of hashes by a constant that is no power of two, without a division.
//!
//! Before: `hash(index, HashAlgorithm.crc16, 32w0, { hdr.ipv4.src_addr }, 32w1000);`
//! After:  `part = hash.get({ hdr.ipv4.src_addr }); hash0_byte0_table.apply(); hash0_byte1_table.apply();`
//!         `part = byte0 + byte1; if (part >= 1000) { part = part - 1000; } index = (bit<32>)part;`
//!
//! The remainder of a sum is that of the sum of remainders. A table with 256 constant entries for each byte of the hash gives the remainder of the byte at its place;
//! their sum, of two or four, is less than twice or four times the divisor. If the sum has at most 256 values, a table gives its remainder, which takes one stage; else
//! multiples of the divisor are subtracted. If the divisor is more than a quarter of all hashes, it is subtracted up to three times instead of all this.

use base_diag::Span;
use ir::{
    ActionId, ActionRef, Annotation, AnnotationBody, BinaryOp, Control, DefaultAction, Entry, Expr, ExprKind,
    Keyset, Stmt, StmtKind, TableId, Type, VarId, build,
};

const BYTE_BITS: u32 = 8;
/// The most entries of a table.
const MOST_ENTRIES: u64 = 256;

/// `value` modulo `divisor`, which is less than all values of its type; `before` are the statements that compute it. `number` is the number of the hash.
pub(crate) fn remainder(
    control: &mut Control,
    number: usize,
    value: Expr,
    divisor: u64,
    before: &mut Vec<Stmt>,
) -> Expr {
    let span = value.span;
    let ty = value.ty.clone();
    let Type::Bit(bits) = ty else { return value };
    let all = 1u64 << bits;
    let kept = local(control, &format!("hash{number}_part"), &ty, span);
    let part = build::var(kept, &ty);
    before.push(build::assign(part.clone(), value).at(span));
    if divisor >= all / 4 {
        for _ in 0..(all - 1) / divisor {
            before.push(subtract(&part, bits, divisor).at(span));
        }
        return part;
    }
    let bytes = bits / BYTE_BITS;
    let mut sum: Option<Expr> = None;
    for byte in 0..bytes {
        let name = format!("hash{number}_byte{byte}");
        let place = local(control, &name, &ty, span);
        let lo = byte * BYTE_BITS;
        let table = table(control, &name, &part, place, (lo, MOST_ENTRIES), divisor);
        before.push(build::stmt(StmtKind::Apply(table)).at(span));
        let own = build::var(place, &ty);
        sum = Some(match sum {
            Some(sum) => build::add(sum, own),
            None => own,
        });
    }
    let Some(sum) = sum else { return part };
    before.push(build::assign(part.clone(), sum).at(span));
    let sums = u64::from(bytes) * (divisor - 1) + 1;
    if sums <= MOST_ENTRIES {
        let table = table(control, &format!("hash{number}_sum"), &part, kept, (0, sums), divisor);
        before.push(build::stmt(StmtKind::Apply(table)).at(span));
        return part;
    }
    if bytes > 2 {
        before.push(subtract(&part, bits, 2 * divisor).at(span));
    }
    before.push(subtract(&part, bits, divisor).at(span));
    part
}

/// A variable that tables and actions of the control see.
fn local(control: &mut Control, name: &str, ty: &Type, span: Span) -> VarId {
    let id = build::local(&mut control.vars, name, ty.clone(), span);
    control.locals.push(build::declare(id, None).at(span));
    id
}

/// `if (part >= number) { part = part - number; }`
fn subtract(part: &Expr, bits: u32, number: u64) -> Stmt {
    let number = build::bits(bits, number);
    let is_more = build::binary(BinaryOp::Ge, part.clone(), number.clone(), Type::Bool);
    build::if_then(is_more, vec![build::assign(part.clone(), build::subtract(part.clone(), number))])
}

/// A table that sets `to` to the remainder of the first `size` values of the byte of `part` from bit `lo` on, at its place.
fn table(
    control: &mut Control,
    name: &str,
    part: &Expr,
    to: VarId,
    (lo, size): (u32, u64),
    divisor: u64,
) -> TableId {
    let Type::Bit(bits) = part.ty else { return TableId::from(control.tables.len()) };
    let ty = part.ty.clone();
    let hidden = || vec![Annotation { name: "hidden".into(), body: AnnotationBody::Empty }];
    let data = VarId::from(control.vars.len());
    control.vars.push(build::data_param("remainder", ty.clone()));
    let set = build::assign(build::var(to, &ty), build::var(data, &ty));
    let action = ActionId::from(control.actions.len());
    let mut set = build::action(&format!("{name}_is"), &control.control_plane_name, vec![data], vec![set]);
    set.annotations = hidden();
    control.actions.push(set);
    let slice = ExprKind::Slice { base: Box::new(part.clone()), hi: lo + BYTE_BITS - 1, lo };
    let key = build::expr(slice, Type::Bit(BYTE_BITS)).at(part.span);
    let of_control = &control.control_plane_name;
    let mut table =
        build::exact_table(&format!("{name}_table"), of_control, key, "hash", [action, action], size);
    table.actions = vec![ActionRef { action, args: vec![], annotations: vec![] }];
    table.default_action = DefaultAction { action: 0, args: vec![build::bits(bits, 0)], is_const: true };
    let entry = |value: u64| Entry {
        keys: vec![Keyset::Value(build::bits(BYTE_BITS, value))],
        action: 0,
        args: vec![build::bits(bits, (value << lo) % divisor)],
        priority: None,
        is_const: false,
        annotations: vec![],
        span: Span::NONE,
    };
    table.entries = (0..size).map(entry).collect();
    table.const_entries = true;
    table.annotations = hidden();
    control.tables.push(table);
    TableId::from(control.tables.len() - 1)
}
