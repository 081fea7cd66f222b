//! Files on disk as the compiler's sources.

use crate::sources::{self, NoText};
use p4_syntax::{LoadError, Loader};
use std::path::Path;
use std::sync::Arc;
use target_c::clip;

/// Reads files from disk; architecture files and blocks are built in. Of programs in CLIP's form, it gives the P4.
#[derive(Clone, Copy, Default, Debug)]
pub struct Disk;

impl Loader for Disk {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        match sources::program_text(Path::new(path)) {
            Ok(text) if path.ends_with(clip::ENDING) => match clip::parts(&text, path, "") {
                Ok(parts) => Ok(parts.p4.into()),
                Err(wrong) => {
                    let line = text[..wrong.at.start].matches('\n').count() + 1;
                    Err(LoadError::Unreadable(format!("line {line}: {}", wrong.why)))
                }
            },
            Ok(text) => Ok(text.into()),
            Err(NoText::Missing) => Err(LoadError::NotFound),
            Err(NoText::Unreadable(why)) => Err(LoadError::Unreadable(why)),
        }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        let block = || p4_blocks::include(name, p4_blocks::Form::Approximate).map(Arc::from);
        p4_arch::include(name).map(Arc::from).or_else(block)
    }

    fn meant(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let near = if path.is_dir() { sources::first_with(path, "p4") } else { sources::near(path) };
        near.map(|near| near.display().to_string())
    }

    fn builtins(&self) -> Vec<&str> {
        p4_arch::include_names().chain(p4_blocks::include_names()).collect()
    }
}
