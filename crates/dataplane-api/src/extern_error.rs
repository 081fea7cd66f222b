//! Errors of the user's externs.

/// Reason why a frame extern or value extern could not be created or restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternError(pub String);
