//! Runtimes: what a hand-over carries, and the code that stands around the program's own on each device.
//!
//! There is one, `full`: hand-overs carry all live values, and every device runs the parser, deparser and tables of the
//! runtime. A runtime for devices that take less (no recirculation, no value sets) is another implementation of [`Runtime`].

use crate::analysis::Analysis;
use crate::generate::{Cut, device_program};
use crate::layout::{Layout, NotCarried};
use crate::placement::{DeviceIndex, Placement};
use crate::split::DeviceProgram;
use base_diag::Diagnostic;

/// A runtime.
pub trait Runtime: Sync {
    /// As users write it.
    fn name(&self) -> &'static str;

    /// The bits of each hand-over, or the values that have no form in one.
    fn layout(&self, analysis: &Analysis<'_>) -> Result<Layout, Vec<NotCarried>>;

    /// The program of one device; an error is a mistake of the splitter's own.
    fn program(&self, cut: &Cut<'_>, device: DeviceIndex) -> Result<DeviceProgram, Diagnostic>;
}

/// The runtime of a placement.
pub fn runtime(_placement: &Placement) -> &'static dyn Runtime {
    &Full
}

/// Every live value travels.
struct Full;

impl Runtime for Full {
    fn name(&self) -> &'static str {
        "full"
    }

    fn layout(&self, a: &Analysis<'_>) -> Result<Layout, Vec<NotCarried>> {
        let kept = a.originals.as_deref().unwrap_or_default();
        Layout::new(&a.program, a.places(), &a.sections, &a.at, a.placement, kept)
    }

    fn program(&self, cut: &Cut<'_>, device: DeviceIndex) -> Result<DeviceProgram, Diagnostic> {
        device_program(cut, device)
    }
}
