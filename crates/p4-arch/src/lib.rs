//! The architectures: their P4 declarations and their stages, as data.
//!
//! The declarations are P4 source, given by [`include`] to the preprocessor when a program includes `<core.p4>` or
//! `<v1model.p4>`. What such a file cannot say is data here: in which order a package's blocks run and what each
//! of their parameters means ([`Architecture::stages`]), who writes and who reads the standard metadata
//! ([`Architecture::standard_fields`]), and what a call of an extern touches ([`Architecture::functions`],
//! [`Architecture::objects`]). The elaborator binds stages from it, the interpreter and the splitter read the rest.

mod architecture;
mod include;
pub mod v1model;

pub use architecture::{
    Access, Architecture, Effect, FieldMoment, FunctionFacts, MethodFacts, ObjectFacts, Role, StageFacts,
    StageKind, StandardField, TableUse,
};
pub use include::{include, include_names};

/// The architecture whose `main` has this package type, or `None` where we know only the declarations.
pub fn architecture_of_package(package: &str) -> Option<&'static Architecture> {
    [&v1model::ARCHITECTURE].into_iter().find(|a| a.package == package)
}
