//! Expected and real output.
//!
//! On every port that the test names there must be exactly as many packets as expected, in that order; each at least as
//! long as its pattern and equal to it except at `*`. More bytes may follow unless the pattern ends in `$`. Ports that
//! the test never names are ignored.
//!
//! If a port's packets differ from the expected ones, both lists are first aligned so that as many as possible agree;
//! the rest is reported as differing, missing or unexpected.

use super::{Expected, Received};
use base_diag::Diagnostic;
use base_diag::codes::run::STF_FAILED;
use dataplane_api::Port;
use p4_stf::Pattern;
use std::collections::BTreeSet;

/// Lists whose lengths multiply to more are compared in order.
const MOST_PAIRS: usize = 1 << 20;

/// Bytes in a row of a difference.
const ROW: usize = 16;

/// Rows of a difference that are shown.
const MOST_ROWS: usize = 8;

/// Differences as diagnostics.
pub(super) fn compare(expected: &[Expected], named: &BTreeSet<Port>, sent: &[Received]) -> Vec<Diagnostic> {
    let mut problems = vec![];
    for port in named {
        let want: Vec<&Expected> = expected.iter().filter(|e| e.port == *port).collect();
        let have: Vec<&Received> = sent.iter().filter(|r| r.output.port == *port).collect();
        compare_port(&want, &have, &mut problems);
    }
    problems
}

fn compare_port(want: &[&Expected], have: &[&Received], problems: &mut Vec<Diagnostic>) {
    let (mut next_want, mut next_have) = (0, 0);
    let mut agreed = agreeing(want, have);
    agreed.push((want.len(), have.len()));
    for (to_want, to_have) in agreed {
        let missing = want.get(next_want..to_want).unwrap_or_default();
        let extra = have.get(next_have..to_have).unwrap_or_default();
        problems.extend(missing.iter().zip(extra).map(|(want, have)| differs(want, have)));
        problems.extend(missing.iter().skip(extra.len()).map(|want| is_missing(want)));
        problems.extend(extra.iter().skip(missing.len()).map(|have| unexpected(have)));
        (next_want, next_have) = (to_want + 1, to_have + 1);
    }
}

fn agrees(want: &Expected, have: &Received) -> bool {
    want.data.as_ref().is_none_or(|pattern| pattern.mismatch(&have.output.frame).is_none())
}

/// Positions in both lists that agree, ascending in both: as many as there can be.
fn agreeing(want: &[&Expected], have: &[&Received]) -> Vec<(usize, usize)> {
    if want.len() == have.len() && want.iter().zip(have).all(|(w, h)| agrees(w, h)) {
        return (0..want.len()).map(|at| (at, at)).collect();
    }
    let width = have.len() + 1;
    if want.len().saturating_add(1).saturating_mul(width) > MOST_PAIRS {
        let in_order = want.iter().zip(have).enumerate();
        return in_order.filter(|(_, (w, h))| agrees(w, h)).map(|(at, _)| (at, at)).collect();
    }
    // The most pairs that agree from these positions on.
    let mut best = vec![0u32; (want.len() + 1) * width];
    for (w, one) in want.iter().enumerate().rev() {
        for (h, other) in have.iter().enumerate().rev() {
            let without = best[(w + 1) * width + h].max(best[w * width + h + 1]);
            let with = if agrees(one, other) { best[(w + 1) * width + h + 1] + 1 } else { 0 };
            best[w * width + h] = without.max(with);
        }
    }
    let (mut w, mut h) = (0, 0);
    let mut pairs = vec![];
    while w < want.len() && h < have.len() {
        let here = best[w * width + h];
        if agrees(want[w], have[h]) && here == best[(w + 1) * width + h + 1] + 1 {
            pairs.push((w, h));
            (w, h) = (w + 1, h + 1);
        } else if here == best[(w + 1) * width + h] {
            w += 1;
        } else {
            h += 1;
        }
    }
    pairs
}

fn is_missing(want: &Expected) -> Diagnostic {
    let problem = Diagnostic::error(STF_FAILED, format!("packet missing on port {}", want.port))
        .at(want.span, "no packet is left for this expectation");
    match &want.data {
        Some(pattern) => notes(problem, "expected", &pattern_digits(pattern)),
        None => problem,
    }
}

fn unexpected(have: &Received) -> Diagnostic {
    let title = format!("unexpected packet on port {}", have.output.port);
    let problem =
        Diagnostic::error(STF_FAILED, title).at(have.of, "sent for this packet, or by a later timer");
    notes(problem, "received", &frame_digits(&have.output.frame))
}

/// Two digits or wildcards a byte, and an end.
fn pattern_digits(pattern: &Pattern) -> Vec<char> {
    let digit = |n: &Option<u8>| n.and_then(|n| char::from_digit(u32::from(n), 16)).unwrap_or('*');
    let mut digits: Vec<char> = pattern.nibbles.iter().map(digit).collect();
    if pattern.exact {
        digits.push('$');
    }
    digits
}

fn frame_digits(frame: &[u8]) -> Vec<char> {
    let nibbles = frame.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles.filter_map(|n| char::from_digit(u32::from(n), 16)).collect()
}

fn notes(mut problem: Diagnostic, what: &str, digits: &[char]) -> Diagnostic {
    if digits.is_empty() {
        return problem.note(format!("{what}  no bytes"));
    }
    for (row, part) in digits.chunks(2 * ROW).enumerate().take(MOST_ROWS) {
        problem = problem.note(format!("{what}  {:04x}  {}", row * ROW, spaced(part)));
    }
    if digits.len() > 2 * ROW * MOST_ROWS {
        problem = problem.note(format!("{} bytes in all", digits.len() / 2));
    }
    problem
}

/// `0a0b` as `0a 0b`
fn spaced(digits: &[char]) -> String {
    digits.chunks(2).map(|byte| byte.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
}

/// The rows in which a packet differs from the expected one, one above the other.
fn differs(want: &Expected, have: &Received) -> Diagnostic {
    let problem = Diagnostic::error(STF_FAILED, format!("packet differs on port {}", want.port));
    let Some(pattern) = &want.data else { return problem };
    let (mut expected, received) = (pattern_digits(pattern), frame_digits(&have.output.frame));
    if expected.last() == Some(&'$') {
        expected.pop();
    }
    // STF patterns are prefixes unless they end in `$`: a longer packet is no mistake then.
    let length = match (expected.len(), received.len()) {
        (want, have) if have < want => {
            format!(": {} bytes are expected, {} were received", want.div_ceil(2), have / 2)
        }
        (want, have) if have > want && pattern.exact => {
            format!(": {} bytes are expected, {} were received", want.div_ceil(2), have / 2)
        }
        _ => String::new(),
    };
    let first = pattern.mismatch(&have.output.frame).unwrap_or(0);
    let mut problem = problem.at(want.span, format!("first in byte {}{length}", first / 2));
    if !have.of.is_none() {
        problem = problem.at(have.of, "sent for this packet, or by a later timer");
    }
    let end = expected.len().max(if pattern.exact { received.len() } else { 0 });
    let differ = |at: usize| match (expected.get(at), received.get(at)) {
        (Some('*'), Some(_)) => false,
        (Some(want), Some(have)) => want != have,
        (None, None) => false,
        (None, Some(_)) => pattern.exact,
        (Some(_), None) => true,
    };
    let rows = (0..end).step_by(2 * ROW).filter(|row| (*row..row + 2 * ROW).any(differ));
    for row in rows.clone().take(MOST_ROWS) {
        let part = |digits: &[char]| {
            let to = digits.len().min(row + 2 * ROW);
            spaced(digits.get(row..to).unwrap_or_default())
        };
        let marks: Vec<char> =
            (row..end.min(row + 2 * ROW)).map(|at| if differ(at) { '^' } else { ' ' }).collect();
        problem = problem
            .note(format!("expected  {:04x}  {}", row / 2, part(&expected)))
            .note(format!("received  {:04x}  {}", row / 2, part(&received)))
            .note(format!("                {}", spaced(&marks).trim_end()));
    }
    match rows.count().checked_sub(MOST_ROWS) {
        Some(more) if more > 0 => problem.note(format!("{more} more rows of {ROW} bytes differ")),
        _ => problem,
    }
}
