//! From the elaborated program to the lowered one, in small passes.
//!
//! Both levels are [`ir::Program`]; the lowered one is a restricted form of it (ARCHITECTURE, "The two levels"). A pass
//! is one file and one function `fn(&mut Program) -> Changed` that keeps the meaning of the program, so that the
//! reference interpreter can run what comes out of each. [`pipeline::PASSES`] lists them in order.
//!
//! The splitter uses some of them alone, on programs that people read afterwards.

mod bind;
mod check_inlining;
mod eliminate_exits;
mod eliminate_returns;
mod hoist_effects;
mod inline_actions;
mod inline_controls;
mod inline_functions;
mod jumps;
mod make;
mod order;
pub mod pipeline;
mod places;
mod substitute;
#[cfg(test)]
mod testing;
mod units;
mod walk;

pub use check_inlining::check_inlining;
pub use eliminate_exits::eliminate_exits;
pub use eliminate_returns::eliminate_returns;
pub use hoist_effects::hoist_effects;
pub use inline_actions::inline_actions;
pub use inline_controls::inline_controls;
pub use inline_functions::inline_functions;
pub use pipeline::{PASSES, Pass, lower, lower_until};

/// Whether a pass changed anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Changed(pub bool);

impl std::ops::BitOrAssign for Changed {
    fn bitor_assign(&mut self, other: Changed) {
        self.0 |= other.0;
    }
}
