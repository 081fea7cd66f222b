//! Expected and real output.
//!
//! On every port that the test names there must be exactly as many packets as expected, in that order; each at
//! least as long as its pattern and equal to it but for `*`. More bytes may follow unless the pattern ends in
//! `$`. Ports the test never names are not looked at.

use super::Expected;
use base_diag::Diagnostic;
use base_diag::codes::run::STF_FAILED;
use dataplane_api::{Output, Port};
use p4_stf::Pattern;
use std::collections::BTreeSet;

/// What differs.
pub(super) fn compare(expected: &[Expected], named: &BTreeSet<Port>, outputs: &[Output]) -> Vec<Diagnostic> {
    let mut problems = vec![];
    for port in named {
        let mut frames = outputs.iter().filter(|o| o.port == *port).map(|o| o.frame.as_slice());
        for want in expected.iter().filter(|e| e.port == *port) {
            match frames.next() {
                None => problems.push(missing(want)),
                Some(frame) => problems.extend(differs(want, frame)),
            }
        }
        for frame in frames {
            let problem = Diagnostic::error(STF_FAILED, format!("unexpected packet on port {port}"));
            problems.push(problem.note(format!("it is {}", hex(frame))));
        }
    }
    problems
}

fn missing(want: &Expected) -> Diagnostic {
    Diagnostic::error(STF_FAILED, format!("packet missing on port {}", want.port))
        .at(want.span, "no packet is left for this expectation")
}

fn differs(want: &Expected, frame: &[u8]) -> Option<Diagnostic> {
    let pattern = want.data.as_ref()?;
    let at = pattern.mismatch(frame)?;
    let problem = Diagnostic::error(STF_FAILED, format!("packet differs on port {}", want.port));
    Some(
        problem
            .at(want.span, format!("first in digit {at}"))
            .note(format!("expected {}", pattern_text(pattern)))
            .note(format!("     got {}", hex(frame)))
            .note(format!("         {}^", " ".repeat(at))),
    )
}

fn hex(frame: &[u8]) -> String {
    if frame.is_empty() {
        return "empty".to_string();
    }
    frame.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn pattern_text(pattern: &Pattern) -> String {
    let digit = |n: &Option<u8>| n.and_then(|n| char::from_digit(u32::from(n), 16)).unwrap_or('*');
    let end = if pattern.exact { "$" } else { "" };
    format!("{}{end}", pattern.nibbles.iter().map(digit).collect::<String>())
}
