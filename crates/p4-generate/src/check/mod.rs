//! Properties of every program.
//!
//! The program compiles, and the verifier finds no error. Its tree, printed, is the same program. Its IR, written as
//! text and read, is the same. It can be printed as P4-16; the printed program has the same control plane and does the
//! same with the same packets, and so does the program after every lowering pass, and as machine code.

mod compile;
mod native;
mod passes;
mod run;
mod surface;

pub(crate) use compile::{FILE, Refusal, compile};
pub use run::{Outcome, reference, run, run_on};
pub(crate) use run::{options, registry};

pub(crate) use native::{check_native, check_native_as};

use crate::inputs::{Inputs, inputs};
use ir::Program;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Checks to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    /// Print the tree, parse it, compare.
    pub syntax: bool,
    /// Write the IR, read it, compare.
    pub text: bool,
    /// Print as P4-16, compile, compare, run both.
    pub print: bool,
    /// Lower, run both.
    pub passes: bool,
    /// Compile to machine code, run both.
    pub native: bool,
}

impl Steps {
    /// All of them.
    pub const ALL: Steps = Steps { syntax: true, text: true, print: true, passes: true, native: true };
    /// Compile, verify and run only.
    pub const NONE: Steps = Steps { syntax: false, text: false, print: false, passes: false, native: false };
}

/// Failed property of a program: a bug of p4rack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The check that found it.
    pub step: Step,
    /// In one line: two findings with equal step and summary are taken for one.
    pub summary: String,
    /// For a person.
    pub details: String,
}

/// A step that found something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// The program is refused.
    Compile,
    /// The verifier finds something.
    Verify,
    /// The printed tree is refused or another program.
    Syntax,
    /// The IR's text is refused or another program.
    Text,
    /// The interpreter refuses the program or finds it broken.
    Run,
    /// The printed program is refused or another one.
    Print,
    /// The printed program does something else.
    PrintedRun,
    /// A lowering pass changes the program's behaviour.
    Pass,
    /// The parts on several devices do not compile, or differ from the whole.
    Split,
    /// Programs that are merged do something else than alone.
    Merge,
    /// A pinned program does something else.
    Pin,
    /// Machine code does something else.
    Native,
    /// Something panicked.
    Panic,
}

/// How a program that has nothing wrong ran.
#[derive(Clone, Debug)]
pub struct Passed {
    /// Behaviour of the program.
    pub outcome: Outcome,
}

/// Takes the steps with `source`. Inputs are drawn from the program with `seed`, or are those `given`.
pub fn check(
    source: &str,
    steps: Steps,
    packets: usize,
    seed: u64,
    given: Option<&Inputs>,
) -> Result<Passed, Finding> {
    let work = AssertUnwindSafe(|| check_steps(source, steps, packets, seed, given));
    catch_unwind(work).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        let message = message.unwrap_or_else(|| "a panic".to_string());
        let first = message.lines().next().unwrap_or_default().to_string();
        Err(Finding { step: Step::Panic, summary: first, details: message })
    })
}

fn check_steps(
    source: &str,
    steps: Steps,
    packets: usize,
    seed: u64,
    given: Option<&Inputs>,
) -> Result<Passed, Finding> {
    let program = whole(source, Step::Compile)?;
    ir::verify::verify(&program).map_err(|errors| {
        let first = errors.first().map(|e| e.message.clone()).unwrap_or_default();
        finding(Step::Verify, first, format!("{errors:#?}"))
    })?;
    let mut bare = program.clone();
    ir::text::erase_spans(&mut bare);
    if steps.syntax {
        check_syntax(source, &bare)?;
    }
    if steps.text {
        check_text(&bare)?;
    }
    let program = Arc::new(program);
    let drawn = given.is_none().then(|| inputs(&program, packets, seed));
    let inputs = given.or(drawn.as_ref()).ok_or_else(|| finding(Step::Run, "no inputs", ""))?;
    let outcome =
        reference(&program, inputs).map_err(|why| finding(Step::Run, first_line(&why), why.clone()))?;
    if outcome.broken() {
        return Err(finding(Step::Run, "the interpreter finds the program broken", ""));
    }
    if steps.print {
        check_print(&bare, inputs, &outcome)?;
    }
    if steps.passes {
        passes::check_passes(&bare, inputs, &outcome)?;
    }
    if steps.native {
        check_native(&bare, inputs, &outcome)?;
    }
    Ok(Passed { outcome })
}

/// The inputs that [`check`] draws for `source`; none if it does not compile.
pub fn inputs_of(source: &str, packets: usize, seed: u64) -> Option<Inputs> {
    let work = || compile(source).ok().map(|program| inputs(&program, packets, seed));
    catch_unwind(work).ok().flatten()
}

/// The inputs as an STF test with the program's output; `None` if it does not compile or run.
pub fn test_of(source: &str, inputs: &Inputs) -> Option<String> {
    let work = || {
        let program = Arc::new(compile(source).ok()?);
        let outcome = run(&program, inputs).ok()?;
        Some(crate::stf::stf(&program, inputs, &outcome))
    };
    catch_unwind(AssertUnwindSafe(work)).ok().flatten()
}

pub(crate) fn finding(step: Step, summary: impl Into<String>, details: impl Into<String>) -> Finding {
    Finding { step, summary: summary.into(), details: details.into() }
}

pub(crate) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

fn whole(source: &str, step: Step) -> Result<Program, Finding> {
    compile(source).map_err(|refusal| finding(step, refusal.title, refusal.text))
}

fn check_syntax(source: &str, bare: &Program) -> Result<(), Finding> {
    let printed = crate::tree::reprint(source);
    let mut again = whole(&printed, Step::Syntax)?;
    ir::text::erase_spans(&mut again);
    same(bare, &again, Step::Syntax, &printed)
}

fn check_text(bare: &Program) -> Result<(), Finding> {
    let text = ir::text::write(bare);
    match ir::text::read(&text) {
        Err(error) => {
            let error = error.to_string();
            Err(finding(Step::Text, first_line(&error), error))
        }
        Ok(again) if again == *bare => Ok(()),
        Ok(again) => same(bare, &again, Step::Text, &text).and(Err(finding(
            Step::Text,
            "equal as text, but not as data",
            text,
        ))),
    }
}

fn check_print(bare: &Program, inputs: &Inputs, outcome: &Outcome) -> Result<(), Finding> {
    if let Some(problem) = target_p4::check(bare).first() {
        return Err(finding(Step::Print, problem.title.clone(), format!("{problem:?}")));
    }
    let printed = target_p4::print(bare);
    let again = whole(&printed, Step::Print).map_err(|mut f| {
        f.details.push_str(&format!("\nprinted:\n{printed}"));
        f
    })?;
    let (before, after) = (surface::surface(bare), surface::surface(&again));
    if let Some(line) = before.symmetric_difference(&after).next() {
        let summary = "the control plane sees another program";
        return Err(finding(Step::Print, summary, format!("in one only: {line}\nprinted:\n{printed}")));
    }
    let other =
        run(&Arc::new(again), inputs).map_err(|why| finding(Step::Print, first_line(&why), why.clone()))?;
    match outcome.difference(&other) {
        None => Ok(()),
        Some(difference) => {
            Err(finding(Step::PrintedRun, "the printed program does something else", difference))
        }
    }
}

/// Both programs have the same IR.
fn same(one: &Program, other: &Program, step: Step, printed: &str) -> Result<(), Finding> {
    let (one, other) = (ir::text::write(one), ir::text::write(other));
    if one == other {
        return Ok(());
    }
    let lines = one.lines().zip(other.lines()).find(|(a, b)| a != b);
    let (a, b) = lines.unwrap_or(("another length", ""));
    let details = format!("before: {}\nafter:  {}\nprinted:\n{printed}", a.trim(), b.trim());
    let word = |line: &str| line.trim().split([' ', '(', '.', '<']).next().unwrap_or_default().to_string();
    Err(finding(step, format!("the IR is another one: `{}` and `{}`", word(a), word(b)), details))
}
