//! Every pass keeps the program's behaviour: the elaborated program is compared with the result of each pass, on the
//! programs in `lowering/`; and passes that are broken on purpose are noticed on the same programs.

use base_diag::{SourceMap, Style, render};
use ir::{Const, Control, ExprKind, Program, StateRef, Stmt, StmtKind, Transition, VarId, visit};
use ir_prove::{SameEffort, same};
use p4_arch::Texts;
use std::sync::Arc;

const PROGRAMS: [&str; 5] = ["calls", "loops", "parsers", "structs", "tables"];

fn elaborated(name: &str) -> Arc<Program> {
    let path = format!("{}/tests/lowering/{name}.p4", env!("CARGO_MANIFEST_DIR"));
    let mut map = SourceMap::new();
    let text = std::fs::read_to_string(&path).expect("a program");
    let texts = [(path.as_str(), text.as_str()), ("common.p4", include_str!("lowering/common.p4"))];
    let program = ir_elaborate::program(&path, &Texts(&texts), &p4_syntax::Options::default(), &mut map);
    Arc::new(program.unwrap_or_else(|found| {
        panic!("{}", found.iter().map(|d| render(d, &map, Style::Plain)).collect::<String>())
    }))
}

fn effort() -> SameEffort {
    SameEffort { seed: 7, rounds: 3, packets: 30, entries: 4 }
}

#[test]
fn every_pass_keeps_the_meaning() {
    for name in PROGRAMS {
        let program = elaborated(name);
        let mut sent = 0;
        let lowered = ir_lower::lower_until(&program, &mut |pass, changed, now| {
            let text = ir::text::write(now);
            let back = ir::text::read(&text).unwrap_or_else(|e| panic!("{name}, {}: {e}", pass.name));
            assert_eq!(ir::text::write(&back), text, "{name}, {}", pass.name);
            if changed.0 {
                match same(&program, &Arc::new(now.clone()), &effort()) {
                    Ok(frames) => sent += frames,
                    Err(unlike) => panic!("{name}, behind {}: {unlike}", pass.name),
                }
            }
        });
        let lowered = lowered.unwrap_or_else(|found| panic!("{name}: {found:?}"));
        ir_lower::verify_lowered(&lowered).unwrap_or_else(|found| panic!("{name}: {found:#?}"));
        assert!(sent > 200, "{name}: only {sent} frames came out");
        let again = ir_lower::lower(&lowered).unwrap_or_else(|found| panic!("{name}: {found:?}"));
        if let Err(unlike) = same(&program, &Arc::new(again), &effort()) {
            panic!("{name}, lowered twice: {unlike}");
        }
    }
}

/// A mutant of the program after `split-structs`, where all results of passes still exist; false if the program has
/// nothing to mutate.
type Mutant = (&'static str, fn(&mut Program) -> bool);

const MUTANTS: [Mutant; 24] = [
    ("eliminate-exits: exit does not raise the flag", |p| drop_assigns(p, "has_exited")),
    ("eliminate-exits: nobody looks at the flag", |p| unguarded(p, "has_exited")),
    ("eliminate-returns: return does not raise the flag", |p| drop_assigns(p, "has_returned")),
    ("eliminate-returns: nobody looks at the flag", |p| unguarded(p, "has_returned")),
    ("expand-loops: break does not raise the flag", |p| drop_assigns(p, "has_broken")),
    ("expand-loops: the last round is left out", |p| each_assign(p, "more", &mut |v| *v = constant(false))),
    ("expand-loops: a list starts at its second value", |p| {
        each_assign(p, "at", &mut |v| {
            if let ExprKind::Const(Const::Bits(b)) = &mut v.kind
                && b.width() == 32
            {
                *b = base_bits::Bits::one(32)
            }
        })
    }),
    ("hoist-effects: an operand is not kept", |p| drop_assigns(p, "old")),
    ("hoist-effects: an index is evaluated too late", |p| drop_assigns(p, "index")),
    ("hoist-effects: both sides are evaluated", |p| unguarded(p, "both")),
    ("inline-functions: the result is lost", |p| drop_assigns(p, "result")),
    ("bind: an index of an argument is forgotten", |p| drop_assigns(p, "index$")),
    ("bind: results are not copied back", |p| drop_copies_back(p)),
    ("bind: arguments are not copied in", |p| drop_assigns(p, "v")),
    ("hoist-locals: a variable is not fresh in each round", |p| drop_zeros(p, "fresh")),
    ("inline-controls: a variable is not fresh in each application", |p| drop_zeros(p, "times")),
    ("hoist-keys: a key is not computed", |p| drop_assigns(p, "key")),
    ("hoist-keys: hit is miss", |p| each_use_of_hit(p)),
    ("inline-parsers: accept becomes reject", |p| retarget(p, StateRef::Reject)),
    ("inline-parsers: what stands behind is skipped", |p| skip_behind(p)),
    ("expand-stack-ends: no check", |p| drop_stmts(p, &mut |s| matches!(s.kind, StmtKind::Verify(..)))),
    ("expand-structs: a field is not copied", |p| drop_nth_scalar_copy(p)),
    ("expand-structs: validity is not compared", |p| no_validity(p)),
    ("expand-emits: the last header is lost", |p| drop_last_emit(p)),
];

#[test]
fn broken_passes_are_noticed() {
    let programs: Vec<_> = PROGRAMS
        .iter()
        .map(|name| {
            let program = elaborated(name);
            let mut made = None;
            let lowered = ir_lower::lower_until(&program, &mut |pass, _, program| {
                if pass.name == "split-structs" {
                    made = Some(program.clone());
                }
            });
            lowered.unwrap_or_else(|found| panic!("{name}: {found:?}"));
            (program, made.expect("a pass of that name"))
        })
        .collect();
    let alive: Vec<&str> = MUTANTS
        .iter()
        .filter(|(_, mutate)| {
            !programs.iter().any(|(program, lowered)| {
                let mut mutant = lowered.clone();
                mutate(&mut mutant) && same(program, &Arc::new(mutant), &effort()).is_err()
            })
        })
        .map(|(name, _)| *name)
        .collect();
    assert!(alive.is_empty(), "these broken passes are not noticed: {alive:#?}");
}

/// Takes the names of variables and a list of statements that uses them.
type OnList<'a> = dyn FnMut(&dyn Fn(VarId) -> String, &mut Vec<Stmt>) + 'a;

/// Calls `f` with every list of statements, outer ones first, and the names of its variables.
fn each_list(program: &mut Program, f: &mut OnList<'_>) {
    fn walk(name: &dyn Fn(VarId) -> String, stmts: &mut Vec<Stmt>, f: &mut OnList<'_>) {
        f(name, stmts);
        for stmt in stmts {
            visit::blocks_mut(stmt, &mut |block| walk(name, &mut block.stmts, f));
        }
    }
    for Control { vars, actions, body, .. } in &mut program.controls {
        let names: Vec<String> = vars.iter().map(|v| v.name.to_string()).collect();
        let name = |id: VarId| names[id.index()].clone();
        actions.iter_mut().for_each(|action| walk(&name, &mut action.body.stmts, f));
        walk(&name, &mut body.stmts, f);
    }
    for parser in &mut program.parsers {
        let names: Vec<String> = parser.vars.iter().map(|v| v.name.to_string()).collect();
        let name = |id: VarId| names[id.index()].clone();
        parser.states.iter_mut().for_each(|state| walk(&name, &mut state.stmts, f));
    }
}

fn drop_stmts(program: &mut Program, gone: &mut dyn FnMut(&Stmt) -> bool) -> bool {
    let mut any = false;
    each_list(program, &mut |_, stmts| {
        let before = stmts.len();
        stmts.retain(|stmt| !gone(stmt));
        any |= stmts.len() < before;
    });
    any
}

/// Removes assignments to variables of this name that do not just set them to zero.
fn drop_assigns(program: &mut Program, wanted: &str) -> bool {
    let mut any = false;
    each_list(program, &mut |name, stmts| {
        let before = stmts.len();
        stmts.retain(|stmt| match &stmt.kind {
            StmtKind::Assign(place, value) => match place.kind {
                ExprKind::Var(var) => name(var) != wanted || is_zero(value),
                _ => true,
            },
            _ => true,
        });
        any |= stmts.len() < before;
    });
    any
}

fn drop_zeros(program: &mut Program, wanted: &str) -> bool {
    let mut any = false;
    each_list(program, &mut |name, stmts| {
        let before = stmts.len();
        stmts.retain(|stmt| match &stmt.kind {
            StmtKind::Assign(place, value) => match place.kind {
                ExprKind::Var(var) => name(var) != wanted || !is_zero(value),
                _ => true,
            },
            _ => true,
        });
        any |= stmts.len() < before;
    });
    any
}

fn is_zero(value: &ir::Expr) -> bool {
    match &value.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.is_zero(),
        ExprKind::Const(Const::Bool(b)) => !b,
        _ => false,
    }
}

fn constant(value: bool) -> ir::Expr {
    ir::Expr { kind: ExprKind::Const(Const::Bool(value)), ty: ir::Type::Bool, span: base_diag::Span::NONE }
}

fn each_assign(program: &mut Program, wanted: &str, f: &mut dyn FnMut(&mut ir::Expr)) -> bool {
    let mut any = false;
    each_list(program, &mut |name, stmts| {
        for stmt in stmts {
            if let StmtKind::Assign(place, value) = &mut stmt.kind
                && matches!(place.kind, ExprKind::Var(var) if name(var) == wanted)
            {
                let before = value.clone();
                f(value);
                any |= *value != before;
            }
        }
    });
    any
}

/// Replaces `if (flag) { a }` and `if (!flag) { a }` by `a`.
fn unguarded(program: &mut Program, wanted: &str) -> bool {
    let mut any = false;
    each_list(program, &mut |name, stmts| {
        for stmt in std::mem::take(stmts) {
            let is_guard = |cond: &ir::Expr| match &cond.kind {
                ExprKind::Var(var) => name(*var) == wanted,
                ExprKind::Unary(_, inner) => matches!(inner.kind, ExprKind::Var(var) if name(var) == wanted),
                _ => false,
            };
            match stmt.kind {
                StmtKind::If(cond, yes, no) if is_guard(&cond) && no.stmts.is_empty() => {
                    any = true;
                    stmts.extend(yes.stmts);
                }
                _ => stmts.push(stmt),
            }
        }
    });
    any
}

/// Removes what is assigned to fields from plain variables.
fn drop_copies_back(program: &mut Program) -> bool {
    drop_stmts(program, &mut |stmt| match &stmt.kind {
        StmtKind::Assign(place, value) => {
            matches!(place.kind, ExprKind::Field(..)) && matches!(value.kind, ExprKind::Var(_))
        }
        _ => false,
    })
}

fn each_use_of_hit(program: &mut Program) -> bool {
    let mut any = false;
    each_list(program, &mut |_, stmts| {
        for stmt in stmts {
            if let StmtKind::Assign(_, value) = &mut stmt.kind
                && let ExprKind::ApplyHit(table) = value.kind
            {
                value.kind = ExprKind::ApplyMiss(table);
                any = true;
            }
        }
    });
    any
}

fn retarget(program: &mut Program, to: StateRef) -> bool {
    let mut any = false;
    for state in program.parsers.iter_mut().flat_map(|p| &mut p.states).filter(|s| s.name == "items_done") {
        state.transition = Transition::Goto(to);
        any = true;
    }
    any
}

fn skip_behind(program: &mut Program) -> bool {
    let mut any = false;
    for state in program.parsers.iter_mut().flat_map(|p| &mut p.states).filter(|s| s.name.contains("_behind"))
    {
        any |= !state.stmts.is_empty();
        state.stmts.clear();
        state.transition = Transition::Goto(StateRef::Accept);
    }
    any
}

fn drop_nth_scalar_copy(program: &mut Program) -> bool {
    drop_stmts(program, &mut |stmt| match &stmt.kind {
        StmtKind::Assign(place, _) => match &place.kind {
            ExprKind::Field(base, 1) => matches!(&base.kind, ExprKind::Field(..)),
            _ => false,
        },
        _ => false,
    })
}

fn no_validity(program: &mut Program) -> bool {
    let mut any = false;
    each_list(program, &mut |_, stmts| {
        for stmt in stmts {
            if let StmtKind::If(cond, ..) = &mut stmt.kind {
                visit::subexprs_mut(cond, &mut |e| {
                    if matches!(e.kind, ExprKind::IsValid(_)) {
                        *e = constant(true);
                        any = true;
                    }
                });
            }
        }
    });
    any
}

fn drop_last_emit(program: &mut Program) -> bool {
    let mut any = false;
    each_list(program, &mut |_, stmts| {
        if let Some(at) = stmts.iter().rposition(|stmt| matches!(stmt.kind, StmtKind::Emit(..))) {
            stmts.remove(at);
            any = true;
        }
    });
    any
}
