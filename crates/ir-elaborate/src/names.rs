//! Control-plane names (P4-16 §18.3) and names that stay unique.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

/// Name of something inside `prefix`; a leading dot makes `local` absolute.
pub(crate) fn qualify(prefix: &str, local: &str) -> SmolStr {
    match local.strip_prefix('.') {
        Some(absolute) => absolute.into(),
        None if prefix.is_empty() => local.into(),
        None => format!("{prefix}.{local}").into(),
    }
}

/// Names already given in one scope.
#[derive(Default, Debug)]
pub(crate) struct Unique {
    used: FxHashSet<SmolStr>,
}

impl Unique {
    /// The first of `candidates` that is free, else the last one with the smallest number that makes it free.
    pub(crate) fn pick(&mut self, candidates: &[&str]) -> SmolStr {
        let last = candidates.last().copied().unwrap_or("_");
        let mut numbered = (2u32..).map(|n| SmolStr::from(format!("{last}_{n}")));
        let mut all = candidates.iter().map(|c| SmolStr::from(*c));
        loop {
            let name = all.next().or_else(|| numbered.next()).unwrap_or_default();
            if self.used.insert(name.clone()) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_dot_is_absolute() {
        assert_eq!(qualify("ingress.acl", "deny"), "ingress.acl.deny");
        assert_eq!(qualify("ingress.acl", ".deny"), "deny");
        assert_eq!(qualify("", "deny"), "deny");
    }

    #[test]
    fn a_taken_name_gives_way_to_the_next() {
        let mut names = Unique::default();
        assert_eq!(names.pick(&["acl", "acl_in"]), "acl");
        assert_eq!(names.pick(&["acl", "acl_in"]), "acl_in");
        assert_eq!(names.pick(&["acl", "acl_in"]), "acl_in_2");
        assert_eq!(names.pick(&["acl", "acl_in"]), "acl_in_3");
    }
}
