//! Does a program fit a Tofino, or another pipeline of match-action stages?
//!
//! ```text
//! ir::Program --lower--> units --> table dependency graph --> stages
//!                          \--> parsers, deparsers --> containers
//! ```
//!
//! A *unit* is a table, a step of code outside of tables, or a condition. Sizes come from the published constants and
//! sizing rules of the open compiler's Tofino back end (p4lang/p4c); docs/fit.md compares the result with that
//! back end. Numbers of a device are data ([`Device`]).

mod advice;
mod amount;
mod checksums;
mod device;
mod field;
mod fit;
mod graph;
mod layout;
mod object;
mod page;
mod parde;
mod phv;
mod place;
mod problem;
mod report;
mod stage;
mod stateful;
mod table;
mod text;
mod unit;
mod validity;
mod walk;

pub use amount::{Amounts, Resource};
pub use device::{BUILT_IN, Device};
pub use field::Half;
pub use fit::{Fit, Lack, Pipe, fit, fit_lowered};
pub use graph::{Dependency, Reason};
pub use page::html;
pub use phv::Containers;
pub use place::Placement;
pub use problem::Problem;
pub use report::{DependencyReport, PipeReport, Report, StageReport, TableReport};
pub use text::text;
pub use validity::Validity;
