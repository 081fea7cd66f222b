//! The files that the front end reads, as a trait.

use std::sync::Arc;

/// Provides the texts of files; this crate opens no file itself.
pub trait Loader {
    /// The text of the file at `path`: the main file as it was named, or a directory of an includer or of
    /// [`Options::include_dirs`], a `/`, and what stands in the `#include`.
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError>;

    /// The text of an architecture file that needs no directory: `core.p4`, `v1model.p4`, `bmv2/psa.p4`.
    fn builtin(&self, name: &str) -> Option<Arc<str>>;

    /// The file that can be read and that `path` is likely a slip of; of a directory, a program in it.
    fn meant(&self, _path: &str) -> Option<String> {
        None
    }

    /// The names that [`Loader::builtin`] knows, for did-you-mean.
    fn builtins(&self) -> Vec<&str> {
        vec![]
    }
}

/// Reason why a file has no text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// There is none; the search goes on.
    NotFound,
    /// The file exists but cannot be read, for this reason.
    Unreadable(String),
}

/// Options of the user.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `-D`: `NAME`, `NAME=VALUE` or `NAME(x)=VALUE`.
    pub defines: Vec<String>,
    /// `-U`, after all `defines`.
    pub undefines: Vec<String>,
    /// `-I`, in order.
    pub include_dirs: Vec<String>,
}
