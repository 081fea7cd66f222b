//! Texts in memory as the sources of a program.

use crate::{include, include_names};
use p4_syntax::{LoadError, Loader};
use std::sync::Arc;

/// Texts by name; architecture files are built in.
///
/// A path means the text of this name, in any directory: `#include "../headers.p4"` finds `headers.p4`.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'t>(pub &'t [(&'t str, &'t str)]);

impl Loader for Texts<'_> {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        let is_it =
            |name: &str| path.strip_suffix(name).is_some_and(|dir| dir.is_empty() || dir.ends_with('/'));
        let found = self.0.iter().find(|(name, _)| is_it(name));
        found.map(|(_, text)| Arc::from(*text)).ok_or(LoadError::NotFound)
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        include(name).map(Arc::from)
    }

    fn builtins(&self) -> Vec<&str> {
        include_names().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_by_its_name_in_any_directory() {
        let texts = Texts(&[("a.p4", "one"), ("dir/b.p4", "two")]);
        let read = |path| texts.read(path).map(|text| text.to_string());
        assert_eq!(read("a.p4"), Ok("one".to_string()));
        assert_eq!(read("../x/a.p4"), Ok("one".to_string()));
        assert_eq!(read("dir/b.p4"), Ok("two".to_string()));
        assert_eq!(read("b.p4"), Err(LoadError::NotFound));
        assert_eq!(read("ba.p4"), Err(LoadError::NotFound));
        assert!(texts.builtin("core.p4").is_some() && texts.builtins().contains(&"core.p4"));
    }
}
