//! Diagnostics for accesses to register arrays.

use crate::dependences::{Dependences, Node};
use base_diag::{Diagnostic, Span, codes::elaborate, codes::limits};
use device_classes::DeviceClass;
use ir::{InstanceId, Program};
use std::collections::BTreeMap;

/// The violations found, and the dependences between accesses.
#[derive(Default)]
pub(crate) struct Found {
    /// By the place of the second access: that of the first, and the array.
    pub(crate) second: BTreeMap<Span, (Span, InstanceId)>,
    pub(crate) needs: Dependences,
    /// Statements looked at.
    pub(crate) steps: u32,
}

/// Calls of calls could make a small program endless.
pub(crate) const MOST_STEPS: u32 = 1_000_000;

impl Found {
    /// Errors for second accesses and for accesses that need each other.
    pub(crate) fn diagnostics(&self, program: &Program, class: DeviceClass) -> Vec<Diagnostic> {
        if self.steps >= MOST_STEPS {
            let title = "the program is too large for this check";
            return vec![Diagnostic::error(elaborate::INLINED_TOO_LARGE, title).note(format!(
                "with its calls put in place of their callers, it has more than {MOST_STEPS} statements"
            ))];
        }
        let word = class.word();
        let name = |array: InstanceId| &program.instance(array).control_plane_name;
        let mut diagnostics = vec![];
        for (at, (first, array)) in &self.second {
            let title = format!("`{}` is accessed twice in one pass", name(*array));
            let mut diagnostic = Diagnostic::error(limits::SECOND_ACCESS, title).at(*at, "the second access");
            if first != at {
                diagnostic = diagnostic.at(*first, "the first");
            }
            diagnostics.push(diagnostic.note(format!("a `{word}` has each register array in one stage, and a packet passes a stage once; to read a cell and then write the same cell is one access")).help(
                "keep a copy of the array for the second access, or move the accesses into branches that exclude each other",
            ));
        }
        for circle in self.needs.circles() {
            let said = |node: &Node| match node {
                Node::Array(array) => format!("register `{}`", name(*array)),
                Node::Table(control, table) => {
                    format!("table `{}`", program.control(*control).tables[table.index()].control_plane_name)
                }
                Node::Call(..) => "a call of an extern".to_string(),
            };
            let Some((first, at)) = circle.first() else { continue };
            let mut steps: Vec<String> = circle.iter().map(|(node, _)| said(node)).collect();
            steps.push(said(first));
            let title = format!("{} would have to be in two stages", said(first));
            let mut diagnostic = Diagnostic::error(limits::CIRCULAR_ACCESS, title)
                .at(*at, format!("needs a result of {}", steps.get(1).map_or("", String::as_str)));
            for ((_, at), pair) in circle.iter().zip(steps.windows(2)).skip(1) {
                diagnostic = diagnostic.at(*at, format!("{} needs a result of {}", pair[0], pair[1]));
            }
            diagnostics.push(
                diagnostic
                    .note(format!("a `{word}` reads and writes a cell in one stage; needed, in turn: {}", steps.join(", ")))
                    .help("order the arrays: compute what is written to the first without results of the later ones"),
            );
        }
        diagnostics
    }
}
