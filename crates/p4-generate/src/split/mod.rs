//! Random programs cut at random: the parts must do what the whole does.
//!
//! A program gets random regions, some inside others, on two to four devices; packets leave a device and come back. Its
//! parts are printed, compiled, and proved, drained and pipelined. If the splitter refuses the cut, fewer regions are
//! drawn.

mod cuts;

use crate::check::{Finding, Refusal, Step, compile, registry};
use base_diag::Diagnostic;
use base_time::Rng;
use ir::Program;
use ir_prove::faults::Fault;
use ir_prove::{Case, Difference, Effort, Tried, prove};
use ir_split::{Part, auto};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Number of draws of regions for one program.
const DRAWS: u64 = 8;

/// A program with regions that the splitter accepts.
pub struct CutProgram {
    /// Source text, with the regions marked.
    pub source: String,
    /// The program and its parts.
    pub case: Case,
    /// Regions that do not run at the origin.
    pub away: usize,
    /// Control passes from device to device.
    pub cut_edges: usize,
}

/// Reason why a text with marks is no test case.
enum NoCase {
    /// The splitter says so: code and title of its first diagnostic.
    Refused(String),
    /// A fault of p4rack.
    Fault(Finding),
}

/// Draws regions for the program until the splitter accepts them; the last refusal if it never does.
///
/// A fault comes with the text that shows it, if there is one.
pub fn cut(source: &str, seed: u64) -> Result<Result<CutProgram, String>, (Finding, String)> {
    let mut text = String::new();
    let result = caught(|| {
        let rng = Rng::new(seed).split("cuts");
        let whole = compile(source).map_err(|why| fault(Step::Compile, why))?;
        let open = match auto::open(&whole) {
            Ok(open) => open,
            Err(found) => return Ok(Err(reason(&found))),
        };
        let mut last = "no statement".to_string();
        for draw in 0..DRAWS {
            let most = DRAWS - draw;
            let marked = cuts::marked(&open, most, &mut rng.split_index(draw));
            if !target_p4::check(&marked).is_empty() {
                return Ok(Err("cannot be printed with its controls inlined".into()));
            }
            text = target_p4::print(&marked);
            match case_of(&text) {
                Ok(found) if found.cut_edges == 0 => last = "no cut".into(),
                Ok(found) => return Ok(Ok(found)),
                Err(NoCase::Refused(why)) => last = why,
                Err(NoCase::Fault(found)) => return Err(found),
            }
        }
        Ok(Err(last))
    });
    result.map_err(|finding| (finding, text))
}

/// Cuts a text with marks as their names say, and proves it: none if it is refused, or the first difference.
pub fn prove_text(source: &str, effort: &Effort) -> Option<Finding> {
    caught(|| match case_of(source) {
        Ok(found) => prove_case(&found, effort).map(drop),
        Err(NoCase::Refused(_)) => Ok(()),
        Err(NoCase::Fault(found)) => Err(found),
    })
    .err()
}

/// The printed parts of a text with marks, each with its device's name; or why there are none.
pub fn parts_of(source: &str) -> Result<Vec<(String, String)>, String> {
    let found = caught(|| {
        let whole = compile(source).map_err(|why| fault(Step::Compile, why))?;
        let refused = |found: Vec<Diagnostic>| Finding {
            step: Step::Split,
            summary: reason(&found),
            details: String::new(),
        };
        let marks = ir_split::marks(&whole).map_err(refused)?;
        let placement = cuts::placement(&marks);
        let split = ir_split::split(&whole, &placement).map_err(refused)?;
        let parts = placement.devices.iter().zip(&split.devices);
        let text = |(name, device): (&ir::Name, &Option<ir_split::DeviceProgram>)| {
            Some((name.to_string(), target_p4::print(&device.as_ref()?.program)))
        };
        Ok(parts.filter_map(text).collect())
    });
    found.map_err(|finding| finding.summary)
}

/// True if the case with this fault in its parts is found different; none if nothing of it has the fault.
pub fn notices(program: &CutProgram, fault: &Fault, effort: &Effort) -> Option<bool> {
    let parts = fault.apply(&program.case.parts)?;
    let broken = Case { parts, ..program.case.clone() };
    let different = caught(|| match prove(&broken, effort) {
        // A failed set-up does not show the fault.
        Err(failure) => Ok(!matches!(failure.difference, Difference::Setup(_))),
        Ok(_) => Ok(false),
    });
    Some(different.unwrap_or(true))
}

/// Proves a case.
pub fn prove_cut(program: &CutProgram, effort: &Effort) -> Result<Tried, Finding> {
    caught(|| prove_case(program, effort))
}

fn prove_case(program: &CutProgram, effort: &Effort) -> Result<Tried, Finding> {
    prove(&program.case, effort).map_err(|failure| {
        let what = match &failure.difference {
            Difference::Outputs { .. } => "other frames",
            Difference::Digests { .. } => "other digests",
            Difference::State { .. } => "another state",
            Difference::NotSerializable { .. } => "no order of the accesses",
            Difference::Overtaken { .. } => "packets of one flow overtake",
            Difference::Stale { .. } => "a hand-over of another plan is taken",
            Difference::Violation(_) => "packets are lost or invented",
            Difference::NeverEnds => "never ends",
            Difference::Setup(_) => "cannot be set up",
        };
        let summary = format!("{}: {what}", failure.proof);
        Finding { step: Step::Split, summary, details: failure.describe() }
    })
}

fn case_of(source: &str) -> Result<CutProgram, NoCase> {
    let refused = |found: Vec<Diagnostic>| NoCase::Refused(reason(&found));
    let whole = Arc::new(compile(source).map_err(|why| NoCase::Fault(fault(Step::Print, why)))?);
    let marks = ir_split::marks(&whole).map_err(refused)?;
    let placement = cuts::placement(&marks);
    let split = ir_split::split(&whole, &placement).map_err(refused)?;
    let away =
        placement.sites.keys().filter(|region| placement.device_of(region) != placement.origin()).count();
    let mut parts = vec![];
    for device in &split.devices {
        parts.push(match device {
            Some(device) => {
                let program = Arc::new(part(&device.program).map_err(NoCase::Fault)?);
                Some(Part { program, linkage: device.linkage.clone() })
            }
            None => None,
        });
    }
    let case = Case { whole, parts, placement, registry: registry() };
    Ok(CutProgram { source: source.to_string(), case, away, cut_edges: split.cut_edges().len() })
}

/// A part as it runs: printed and compiled.
fn part(program: &Program) -> Result<Program, Finding> {
    if let Some(problem) = target_p4::check(program).first() {
        let details = format!("{problem:?}");
        return Err(Finding { step: Step::Split, summary: problem.title.clone(), details });
    }
    let printed = target_p4::print(program);
    compile(&printed).map_err(|why| {
        let mut found = fault(Step::Split, why);
        found.details.push_str(&format!("\nprinted:\n{printed}"));
        found
    })
}

fn fault(step: Step, why: Refusal) -> Finding {
    Finding { step, summary: why.title, details: why.text }
}

fn reason(found: &[Diagnostic]) -> String {
    let Some(first) = found.first() else { return "nothing said".to_string() };
    let label = first.labels.first().map_or("", |l| l.text.as_str());
    let text = format!("{} {} | {label}", first.code, first.title);
    text.split('`').enumerate().map(|(i, piece)| if i % 2 == 0 { piece } else { "_" }).collect()
}

fn caught<T>(work: impl FnOnce() -> Result<T, Finding>) -> Result<T, Finding> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        let message = message.unwrap_or_else(|| "a panic".to_string());
        let summary = message.lines().next().unwrap_or_default().to_string();
        Err(Finding { step: Step::Panic, summary, details: message })
    })
}
