//! Generated code as text: Cranelift's form (CLIF), and the instructions of this machine. Addresses of constant tables in it differ
//! from run to run.

use crate::code::Part;
use crate::facts::Facts;
use crate::layout::Layout;
use crate::machine::{CodeText, Machine};
use crate::notes::Notes;
use crate::tables::Wanted;
use base_diag::Diagnostic;
use device::psa::Half;
use device::{Blocks, Blueprint, Options};
use ir::Program;
use std::sync::Arc;

/// The functions of a lowered program; none if the interpreter runs it. Programs that cannot be run are refused.
pub fn code_text(lowered: Program) -> Result<Vec<CodeText>, Vec<Diagnostic>> {
    ir_interp::check(&lowered)?;
    let blueprint = Blueprint::new(Arc::new(lowered), Options::default().drop_port)?;
    let blocks = blueprint.blocks();
    let parts = match blocks.half() {
        None => vec![("packet", blocks, Part::Whole)],
        Some(_) => [("ingress", Half::Ingress), ("egress", Half::Egress)]
            .map(|(name, half)| (name, blocks.of(half), Part::Half(half)))
            .to_vec(),
    };
    Ok(parts.into_iter().filter_map(|(name, blocks, part)| function(name, blocks, part)).collect())
}

fn function(name: &'static str, blocks: Blocks<'_>, part: Part) -> Option<CodeText> {
    let layout = Layout::new(blocks)?;
    let facts = Facts::new(blocks, &layout, &mut Wanted::default());
    let mut text = CodeText { name, ..CodeText::default() };
    let made = Machine::make(blocks.program(), &layout, &facts, part, &mut Notes::default(), Some(&mut text));
    made.ok().map(|_| text)
}
