//! The whole pipeline on one screen.

use crate::Changed;
use base_diag::Diagnostic;
use ir::Program;

/// A pass.
#[derive(Clone, Copy)]
pub struct Pass {
    /// As in its file's name, with `-`.
    pub name: &'static str,
    /// Summary in a few words.
    pub about: &'static str,
    /// The passes that must have run before: a table that breaks this does not compile.
    pub requires: &'static [&'static str],
    /// Property of the program after the pass.
    pub ensures: &'static str,
    /// The pass.
    pub run: fn(&mut Program) -> Changed,
}

const fn pass(
    name: &'static str,
    about: &'static str,
    requires: &'static [&'static str],
    ensures: &'static str,
    run: fn(&mut Program) -> Changed,
) -> Pass {
    Pass { name, about, requires, ensures, run }
}

/// All passes in their order.
#[rustfmt::skip]
pub const PASSES: &[Pass] = &[
    pass("hoist-effects", "side effects become statements", &[], "expressions have no effects", crate::hoist_effects),
    pass("eliminate-exits", "exit becomes structure or a flag", &["hoist-effects"], "no exit", crate::eliminate_exits),
    pass("eliminate-returns", "return becomes structure or a flag", &[], "no return but the last of a function", crate::eliminate_returns),
    pass("bind-action-arguments", "tables run actions with data only", &["eliminate-exits", "eliminate-returns"], "no arguments in action lists", crate::bind_action_arguments),
    pass("expand-register-actions", "actions of registers become reads, calls and writes", &["hoist-effects"], "no register action that code could be", crate::expand_register_actions),
    pass("inline-functions", "calls of functions become their bodies", &["hoist-effects", "eliminate-returns"], "no call of a function", crate::inline_functions),
    pass("inline-actions", "direct calls of actions become their bodies", &["eliminate-exits", "eliminate-returns"], "no call of an action", crate::inline_actions),
    pass("inline-controls", "applied controls become parts of their callers", &["hoist-effects", "eliminate-exits", "eliminate-returns"], "no call of a control", crate::inline_controls),
    pass("expand-loops", "loops test one condition and end only by it", &["hoist-effects"], "only for (; cond; ) without break and continue", crate::expand_loops),
    pass("hoist-locals", "variables are declared beside bodies", &[], "no declaration in a body", crate::hoist_locals),
    pass("inline-parsers", "states of applied parsers become states of their callers", &["expand-loops", "hoist-locals"], "no call of a parser", crate::inline_parsers),
    pass("expand-structs", "structs and tuples are copied, compared and passed by fields", &["hoist-effects", "hoist-locals"], "scalars, headers and stacks are assigned", crate::expand_structs),
    pass("hoist-keys", "keys of tables, select and switch are places", &["hoist-effects", "expand-structs"], "lookups only read", crate::hoist_keys),
    pass("expand-stack-ends", "last and next become elements with a checked index", &["hoist-effects", "inline-functions", "hoist-keys"], "indices are constants or variables", crate::expand_stack_ends),
    pass("expand-emits", "the deparser emits headers one by one", &[], "only headers are emitted", crate::expand_emits),
    pass("hoist-locals", "variables are declared beside bodies", &[], "no declaration in a body", crate::hoist_locals),
    pass("split-structs", "local structs become variables for their parts", &["expand-structs", "hoist-locals"], "locals are scalars, headers, stacks", crate::split_structs),
    pass("fold-constants", "constant expressions are computed, branches never taken are removed", &["hoist-effects"], "no operator on constants alone", crate::fold_constants),
    pass("propagate-values", "reads of constants, copies and values read once become these values", &["split-structs"], "", crate::propagate_values),
    pass("fold-constants", "constant expressions are computed, branches never taken are removed", &["hoist-effects"], "no operator on constants alone", crate::fold_constants),
    pass("remove-dead-stores", "stores that are never read are removed", &["split-structs"], "", crate::remove_dead_stores),
    pass("flatten-blocks", "nested blocks without annotations become part of their blocks", &["hoist-locals", "hoist-keys"], "nested blocks have annotations", crate::flatten_blocks),
    pass("remove-unused", "unused declarations are removed", &["inline-actions", "bind-action-arguments"], "every action is in a table's list", crate::remove_unused),
];

const _: () = {
    let mut at = 0;
    while at < PASSES.len() {
        let mut which = 0;
        while which < PASSES[at].requires.len() {
            assert!(
                runs_before(PASSES[at].requires[which], at),
                "a pass requires one that does not run before it"
            );
            which += 1;
        }
        at += 1;
    }
};

const fn runs_before(name: &str, at: usize) -> bool {
    let mut before = 0;
    while before < at {
        if is_same(PASSES[before].name.as_bytes(), name.as_bytes()) {
            return true;
        }
        before += 1;
    }
    false
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The lowered form of an elaborated program; refused are programs that are too large when everything is inlined, or
/// that have one instance of a block in two stages.
pub fn lower(program: &Program) -> Result<Program, Vec<Diagnostic>> {
    lower_until(program, &mut |_, _, _| {})
}

/// Rounds in which copies are removed.
const COPIES_OF_COPIES: usize = 3;

/// Like [`lower`], for devices of match-action stages: an action of a register is one unit and stays as it is, and
/// tables read places instead of copies of them.
pub fn lower_for_stages(program: &Program) -> Result<Program, Vec<Diagnostic>> {
    let mut program = run(program, |pass| pass.name != "expand-register-actions", &mut |_, _, _| {})?;
    // A copy that is gone may have kept another.
    for _ in 0..COPIES_OF_COPIES {
        for pass in [crate::propagate_into_tables, crate::remove_dead_stores, crate::join_copies] {
            let _ = pass(&mut program);
        }
    }
    let _ = crate::flatten_blocks(&mut program);
    Ok(program)
}

/// Like [`lower`]; `after` sees the program after every pass.
pub fn lower_until(
    program: &Program,
    after: &mut dyn FnMut(&Pass, Changed, &Program),
) -> Result<Program, Vec<Diagnostic>> {
    run(program, |_| true, after)
}

fn run(
    program: &Program,
    is_wanted: fn(&Pass) -> bool,
    after: &mut dyn FnMut(&Pass, Changed, &Program),
) -> Result<Program, Vec<Diagnostic>> {
    crate::check_inlining(program)?;
    let mut program = program.clone();
    for pass in PASSES.iter().filter(|pass| is_wanted(pass)) {
        let changed = (pass.run)(&mut program);
        verify(pass, &program);
        after(pass, changed, &program);
    }
    if cfg!(debug_assertions)
        && let Err(errors) = crate::verify_lowered(&program)
    {
        panic!("the lowered program is not lowered: {errors:#?}");
    }
    Ok(program)
}

/// In debug builds every pass is followed by the verifier; a finding is a bug of the pass.
fn verify(pass: &Pass, program: &Program) {
    if cfg!(debug_assertions)
        && let Err(errors) = ir::verify::verify(program)
    {
        panic!("{} made a program that is not well formed: {errors:#?}", pass.name);
    }
}
