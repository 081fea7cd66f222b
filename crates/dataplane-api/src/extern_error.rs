//! Errors of the user's externs.

/// Why a frame extern or value extern could not be made or restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternError(pub String);
