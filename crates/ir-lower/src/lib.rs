//! From the elaborated program to the lowered one, in small passes.
//!
//! Both levels are [`ir::Program`]; the lowered one is a restricted form of it (docs/internals/lowered.md). A pass is
//! one file and one function `fn(&mut Program) -> Changed` that keeps the meaning of the program, so that the reference
//! interpreter can run the result of each. [`pipeline::PASSES`] lists them in order.
//!
//! The splitter uses some of them alone, on programs that people read afterwards.

mod bind;
mod bind_action_arguments;
mod check_inlining;
mod check_parser_results;
mod cycles;
mod eliminate_exits;
mod eliminate_returns;
mod expand_emits;
mod expand_loops;
mod expand_register_actions;
mod expand_stack_ends;
mod expand_structs;
mod flatten_blocks;
mod fold_constants;
mod hoist_effects;
mod hoist_keys;
mod hoist_locals;
mod inline_actions;
mod inline_controls;
mod inline_functions;
mod inline_parsers;
mod join_copies;
mod jumps;
mod known;
mod order;
pub mod pipeline;
mod places;
mod propagate_into_tables;
mod propagate_values;
mod remove_dead_stores;
mod remove_unused;
mod split_structs;
mod substitute;
#[cfg(test)]
mod testing;
mod units;
mod verify_lowered;
mod walk;
mod zero;

pub use bind_action_arguments::bind_action_arguments;
pub use check_inlining::check_inlining;
pub use eliminate_exits::eliminate_exits;
pub use eliminate_returns::eliminate_returns;
pub use expand_emits::{expand_emits, expand_struct_emits, headers_of};
pub use expand_loops::expand_loops;
pub use expand_register_actions::expand_register_actions;
pub use expand_stack_ends::expand_stack_ends;
pub use expand_structs::expand_structs;
pub use flatten_blocks::flatten_blocks;
pub use fold_constants::fold_constants;
pub use hoist_effects::hoist_effects;
pub use hoist_keys::hoist_keys;
pub use hoist_locals::{hoist_body, hoist_locals};
pub use inline_actions::inline_actions;
pub use inline_controls::inline_controls;
pub use inline_functions::inline_functions;
pub use inline_parsers::inline_parsers;
pub use join_copies::join_copies;
pub use pipeline::{PASSES, Pass, lower, lower_for_stages, lower_until};
pub use propagate_into_tables::propagate_into_tables;
pub use propagate_values::propagate_values;
pub use remove_dead_stores::remove_dead_stores;
pub use remove_unused::remove_unused;
pub use split_structs::split_structs;
pub use verify_lowered::verify_lowered;

/// Whether a pass changed anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Changed(pub bool);

impl std::ops::BitOrAssign for Changed {
    fn bitor_assign(&mut self, other: Changed) {
        self.0 |= other.0;
    }
}
