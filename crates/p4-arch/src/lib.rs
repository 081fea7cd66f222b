//! The architectures: their P4 declarations and their stages, as data.
//!
//! The declarations are P4 source, given by [`include()`] to the preprocessor when a program includes `<core.p4>` or
//! `<v1model.p4>`. Facts that such a file cannot express are data here: the order of a package's blocks, the meaning of each
//! of their parameters ([`Architecture::stages`]), who writes and who reads the standard metadata
//! ([`Architecture::standard_fields`]), and what a call of an extern touches ([`Architecture::functions`],
//! [`Architecture::objects`]). The elaborator binds stages from it, the interpreter and the splitter read the rest.

mod architecture;
mod cut;
mod declared;
mod include;
pub mod pna;
pub mod psa;
mod rows;
mod texts;
pub mod tna;
pub mod v1model;

pub use architecture::{
    Access, Architecture, Carried, Effect, FieldMoment, FunctionFacts, MethodFacts, ObjectFacts,
    PackageFacts, Role, StageFacts, StageKind, StandardField, TableObject, TableUse,
};
pub use cut::{CutCall, CutFacts, Duty, Meaning, StateMode};
pub use declared::Declared;
pub use include::{include, include_names};
pub use texts::Texts;

/// All architectures with facts.
pub static ARCHITECTURES: [&Architecture; 5] =
    [&v1model::ARCHITECTURE, &psa::ARCHITECTURE, &pna::ARCHITECTURE, &tna::TNA, &tna::T2NA];

/// The architecture of this name: `v1model`, `psa`, `pna`, `tna`, `t2na`.
pub fn architecture(name: &str) -> Option<&'static Architecture> {
    ARCHITECTURES.into_iter().find(|a| a.name == name)
}
