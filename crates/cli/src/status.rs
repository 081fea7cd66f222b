//! Exit status of a command.

/// The number that a process ends with: as [`std::process::ExitCode`], but it can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExitCode(pub(crate) u8);

impl ExitCode {
    /// All is well.
    pub const SUCCESS: ExitCode = ExitCode(0);
    /// The input is wrong.
    pub const FAILURE: ExitCode = ExitCode(1);
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(status: ExitCode) -> std::process::ExitCode {
        status.0.into()
    }
}

impl From<u8> for ExitCode {
    fn from(status: u8) -> ExitCode {
        ExitCode(status)
    }
}
