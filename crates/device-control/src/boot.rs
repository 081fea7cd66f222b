//! Boot numbers: a program learns from its entries that its registers are empty again.
//!
//! ```text
//! @boot_number("boot") action serve(bit<16> boot, ...)      the device adds its earlier starts to `boot` in each entry
//! ```
//!
//! A control plane writes the same entries after each start; without the device's own count, the program could not distinguish a register
//! whose content was lost from one that was never written. Reads return the value that was written.

use base_bits::Bits;
use control_writes::{ActionCall, Run, Write};
use ir::{AnnotationValue, Name, Program};
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_store::Described as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Annotation of an action: names the parameter.
const ANNOTATION: &str = "boot_number";

/// Starts of a device. Copies count together.
#[derive(Clone, Default, Debug)]
pub struct Boots(Arc<AtomicU32>);

impl Boots {
    /// A device with this number of earlier starts. A process, which cannot know them, uses the time in seconds.
    pub fn after(earlier: u32) -> Boots {
        Boots(Arc::new(AtomicU32::new(earlier)))
    }

    /// Counts a start; gives the number of earlier ones.
    pub(super) fn count(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// The boot number that one start adds to the entries of a program.
#[derive(Debug)]
pub(super) struct Boot {
    earlier: u32,
    /// Actions, and the place of the argument.
    args: Vec<(Name, usize)>,
}

impl Boot {
    pub fn new(program: &Program, info: &P4Info, earlier: u32) -> Boot {
        let actions = program.controls.iter().flat_map(|control| &control.actions);
        let args = actions.filter_map(|action| {
            let annotation = action.annotations.iter().find(|annotation| annotation.name == ANNOTATION)?;
            let [AnnotationValue::Str(param)] = annotation.body.values() else { return None };
            let name = &action.control_plane_name;
            let known = info.actions.iter().find(|known| known.name() == name.as_str())?;
            Some((name.clone(), known.params.iter().position(|known| known.name == *param)?))
        });
        Boot { earlier, args: args.collect() }
    }

    /// Earlier starts.
    pub fn earlier(&self) -> u32 {
        self.earlier
    }

    /// A write as the device does it.
    pub fn number(&self, write: &mut Write<Name>) {
        match write {
            Write::Entry { to: Some(entry), .. } => match &mut entry.run {
                Run::Action(call) => self.number_call(call),
                Run::OneShot(set) => set.actions.iter_mut().for_each(|one| self.number_call(&mut one.call)),
                Run::Member(_) | Run::Group(_) => {}
            },
            Write::Default { to, .. } => to.call.iter_mut().for_each(|call| self.number_call(call)),
            Write::Member { to, .. } => to.iter_mut().for_each(|call| self.number_call(call)),
            _ => {}
        }
    }

    fn number_call(&self, call: &mut ActionCall<Name>) {
        for (_, at) in self.args.iter().filter(|(action, _)| *action == call.action) {
            let Some(arg) = call.args.get_mut(*at) else { continue };
            let added = arg.add(&Bits::new(arg.width(), self.earlier.into()));
            // 0 refuses everything.
            *arg = if added.is_zero() { Bits::new(arg.width(), 1) } else { added };
        }
    }
}
