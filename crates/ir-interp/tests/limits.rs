//! No program and no packet makes the device panic, hang or grow: excesses are refused or dropped.

use crate::common;

use base_bits::Bits;
use base_diag::Span;
use base_time::Time;
use common::{Test, conserved};
use dataplane_api::{Device, DropReason};
use device::{Options, Session, Switch};
use ir::{BinaryOp, Block, Callee, Const, Expr, ExprKind, FunctionId, Program, Stmt, StmtKind, Type, visit};
use std::sync::Arc;

fn program(ingress: &str, egress: &str) -> Program {
    let params = "inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm";
    let text = format!(
        "#include \"common.p4\"\n#define INGRESS {ingress}\n#define EGRESS {egress}\n
         control I({params}) {{ INGRESS }}\ncontrol E({params}) {{ EGRESS }}\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
    );
    let program = Test::inline(&text).program;
    Program::clone(&program)
}

fn switch(program: Program) -> Result<Switch, u16> {
    ir_interp::switch(Arc::new(program), Options::default()).map_err(|problems| problems[0].code.0)
}

fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr { kind, ty, span: Span::NONE }
}

/// The body of ingress, to be changed.
fn body(program: &mut Program) -> &mut Block {
    let id = program.stage_control("ingress").expect("ingress");
    &mut program.controls[id.index()].body
}

/// `hdr.data.b = 1 + (1 + (... + hdr.data.b))`, that deep.
fn deep_expression(depth: u32) -> Program {
    let mut program = program("apply { hdr.data.b = hdr.data.b; }", "apply { }");
    let StmtKind::Assign(_, value) = &mut body(&mut program).stmts[0].kind else { panic!() };
    for _ in 0..depth {
        let one = expr(ExprKind::Const(Const::Bits(Bits::one(32))), Type::Bit(32));
        let inner = std::mem::replace(value, one.clone());
        *value = expr(ExprKind::Binary(BinaryOp::Add, Box::new(one), Box::new(inner)), Type::Bit(32));
    }
    program
}

/// `if (true) { if (true) { ... } }`, that deep.
fn deep_blocks(depth: u32) -> Program {
    let mut program = program("apply { hdr.data.b = 7; }", "apply { }");
    let body = body(&mut program);
    for _ in 0..depth {
        let inner = std::mem::take(&mut body.stmts);
        let yes = Block { stmts: inner, ..Block::default() };
        let cond = expr(ExprKind::Const(Const::Bool(true)), Type::Bool);
        body.stmts = vec![Stmt::new(StmtKind::If(cond, yes, Block::default()))];
    }
    program
}

fn first_word(switch: &mut Switch) -> u32 {
    let frame = switch.process(0, &[0; 8], Time::ZERO).remove(0).frame;
    u32::from_be_bytes(frame[4..8].try_into().expect("4 bytes"))
}

#[test]
fn nesting_up_to_the_limit_runs() {
    assert_eq!(first_word(&mut switch(deep_expression(380)).expect("a device")), 380);
    assert_eq!(first_word(&mut switch(deep_blocks(380)).expect("a device")), 7);
}

#[test]
fn nesting_beyond_the_limit_is_refused() {
    for depth in [400, 3000] {
        assert_eq!(switch(deep_expression(depth)).err(), Some(404));
        assert_eq!(switch(deep_blocks(depth)).err(), Some(404));
    }
}

/// `f0` gives its argument, each other function calls the one before and adds 1; ingress calls the last.
fn call_chain(length: usize) -> Program {
    let text = "#include \"common.p4\"
        bit<32> f0(in bit<32> x) { return x; }
        bit<32> f1(in bit<32> x) { return f0(x) + 1; }
        control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
            apply { hdr.data.b = f1(hdr.data.b); }
        }
        V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;";
    let mut program = Program::clone(&Test::inline(text).program);
    let at = program.functions.iter().position(|f| f.name == "f1").expect("f1");
    let mut last = FunctionId::from(at);
    for number in 2..=length {
        let mut next = program.functions[at].clone();
        next.name = format!("f{number}").into();
        call_instead(&mut next.body, last);
        last = FunctionId::from(program.functions.len());
        program.functions.push(next);
    }
    call_instead(body(&mut program), last);
    program
}

/// Makes the calls in a block call `function`.
fn call_instead(block: &mut Block, function: FunctionId) {
    visit::stmts_mut(block, &mut |stmt| {
        visit::exprs_mut(stmt, &mut |expr| {
            visit::subexprs_mut(expr, &mut |e| {
                if let ExprKind::Call(call) = &mut e.kind {
                    call.callee = Callee::Function(function);
                }
            });
        });
    });
}

#[test]
fn calls_count_as_nesting() {
    assert_eq!(first_word(&mut switch(call_chain(70)).expect("a device")), 70);
    assert_eq!(switch(call_chain(120)).err(), Some(404));
    let mut endless = call_chain(1);
    call_instead(&mut endless.functions[1].body, FunctionId(1));
    assert_eq!(switch(endless).err(), Some(404));
}

#[test]
fn large_types_are_refused() {
    let large = |body: &str| switch(program(body, "apply { }")).err();
    assert_eq!(large("bit<8>[70000] cells; apply { cells[0] = 1; hdr.data.op = cells[0]; }"), Some(403));
    assert_eq!(large("bit<8>[60000] cells; apply { cells[0] = 1; hdr.data.op = cells[0]; }"), None);
}

#[test]
fn a_register_takes_no_memory_before_it_is_written() {
    let body =
        "register<bit<32>, bit<32>>(0xffffffff) r; apply { r.write(hdr.data.b, 5); r.read(hdr.data.b, 7); }";
    assert_eq!(first_word(&mut switch(program(body, "apply { }")).expect("a device")), 0);
}

#[test]
fn endless_loops_are_dropped() {
    let mut switch =
        switch(program("apply { for (;true;) { hdr.data.b = hdr.data.b + 1; } }", "apply { }")).unwrap();
    assert_eq!(switch.process(0, &[0; 8], Time::ZERO), []);
    assert_eq!(switch.counters().dropped[&DropReason::StepLimit], 1);
    conserved(&switch);
}

#[test]
fn endless_resubmission_and_recirculation_are_dropped() {
    for (ingress, egress) in [
        ("apply { resubmit_preserving_field_list(1); }", "apply { }"),
        ("apply { }", "apply { recirculate_preserving_field_list(1); }"),
    ] {
        let mut switch = switch(program(ingress, egress)).expect("a device");
        assert_eq!(switch.process(0, &[0; 8], Time::ZERO), []);
        assert_eq!(switch.counters().dropped[&DropReason::PassLimit], 1);
        conserved(&switch);
    }
}

#[test]
fn copies_that_multiply_end() {
    let ingress = "apply { sm.mcast_grp = 1; clone_preserving_field_list(CloneType.I2E, 1, 1); }";
    let egress =
        "apply { recirculate_preserving_field_list(1); clone_preserving_field_list(CloneType.E2E, 1, 1); }";
    let mut switch = switch(program(ingress, egress)).expect("a device");
    switch.multicast_group_set(1, vec![(1, 1), (2, 2), (3, 3)]);
    switch.clone_session_set(1, Some(Session { port: Some(1), group: Some(1), ..Session::default() }));
    assert_eq!(switch.process(0, &[0; 8], Time::ZERO), []);
    assert!(switch.counters().dropped[&DropReason::PassLimit] > 0);
    conserved(&switch);
}
