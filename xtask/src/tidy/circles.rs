//! Circles of files: each names an item of the next, so that none can be read, tested or moved without the others.
//!
//! An edge goes from a file to the module whose item a path names: `crate::store::Store`, `super::plan`, `child::f`. An item that a
//! module re-exports (`pub use child::Thing`) counts as the child's; the re-export itself is no edge. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files in a circle that is still read as one unit.
const MOST: usize = 4;

/// A module's path inside its crate.
type Module = Vec<String>;

/// Refuses larger circles.
pub fn check(root: &Path, found: &mut Vec<String>) {
    for dir in super::directories(&root.join("crates")) {
        let name = super::file_name(&dir);
        for circle in circles(&edges(&dir)).into_iter().filter(|circle| circle.len() > MOST) {
            let files: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            found.push(format!("crates/{name}: a circle of {} files: {}", circle.len(), files.join(", ")));
        }
    }
}

/// By file of a crate, the files that it names something of.
fn edges(dir: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let src = dir.join("src");
    let mut texts = BTreeMap::new();
    for file in super::sources(&src).into_iter().filter(|file| !super::is_test(file)) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code: String =
            text.lines().filter_map(|line| Some(line.split("//").next()?.to_string() + "\n")).collect();
        let relative = file.strip_prefix(&src).unwrap_or(&file).with_extension("");
        let mut module: Module = relative.iter().map(|part| part.to_string_lossy().to_string()).collect();
        module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        texts.insert(module, code);
    }
    let crate_ =
        Crate { exports: texts.iter().map(|(module, code)| (module.clone(), exports(code))).collect() };
    let named = |(module, code): (&Module, &String)| {
        let code = without_exports(code);
        let all = paths(&code).into_iter().filter_map(|path| crate_.resolve(module, &path, 0));
        // Items of the module that a file is part of.
        let all = all.filter(|to| !module.starts_with(to));
        (module.clone(), all.collect())
    };
    texts.iter().map(named).collect()
}

/// The modules of a crate, with what each re-exports: by name, the path after `use`.
struct Crate {
    exports: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
}

impl Crate {
    /// The module whose item a path in `module` names, if it is one of this crate.
    fn resolve(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => vec![],
            "self" => module.clone(),
            "super" => module[..module.len().checked_sub(1)?].to_vec(),
            name => {
                let child = [module.as_slice(), &[name.to_string()]].concat();
                self.exports.contains_key(&child).then_some(child)?
            }
        };
        while let Some((next, after)) = rest.split_first() {
            match next.as_str() {
                "super" => _ = at.pop(),
                name => {
                    let child = [at.as_slice(), &[name.to_string()]].concat();
                    if !self.exports.contains_key(&child) {
                        break;
                    }
                    at = child;
                }
            }
            rest = after;
        }
        let exported = rest.first().and_then(|name| self.exports.get(&at)?.get(name));
        match exported {
            Some(path) if depth < 4 => self.resolve(&at, path, depth + 1).or(Some(at)),
            _ => Some(at),
        }
    }
}

/// Where re-exports begin and end in a text.
fn export_spans(code: &str) -> Vec<(usize, usize)> {
    let starts = code.match_indices("pub").filter_map(|(at, _)| {
        let rest = &code[at + 3..];
        let rest = match rest.trim_start().strip_prefix('(') {
            Some(inner) => inner.split_once(')')?.1,
            None => rest,
        };
        rest.trim_start().starts_with("use ").then_some(at)
    });
    starts.filter_map(|at| Some((at, at + code[at..].find(';')?))).collect()
}

fn without_exports(code: &str) -> String {
    let mut out = code.to_string();
    export_spans(code).into_iter().rev().for_each(|(from, to)| out.replace_range(from..to, ""));
    out
}

fn exports(code: &str) -> BTreeMap<String, Vec<String>> {
    let all = export_spans(code).into_iter().flat_map(|(from, to)| {
        let text = &code[from..to];
        text.split_once("use ").map(|(_, text)| paths(text)).unwrap_or_default()
    });
    all.filter_map(|path| Some((path.last()?.clone(), path))).collect()
}

/// All paths of a text; those of a group `a::{b, c}` one by one.
fn paths(code: &str) -> Vec<Vec<String>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut all = vec![];
    let mut groups: Vec<Vec<String>> = vec![];
    let mut path: Vec<String> = vec![];
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        if is_name(c) {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            path.push(name.to_string());
            rest = after.strip_prefix("::").unwrap_or(after);
            if rest.len() < after.len() && rest.starts_with(is_name) {
                continue;
            }
            if rest.len() < after.len() && rest.starts_with('{') {
                groups.push([groups.last().cloned().unwrap_or_default(), std::mem::take(&mut path)].concat());
                rest = &rest[1..];
                continue;
            }
            all.push([groups.last().cloned().unwrap_or_default(), std::mem::take(&mut path)].concat());
            continue;
        }
        if c == '}' {
            groups.pop();
        }
        rest = &rest[c.len_utf8()..];
    }
    all.retain(|path| path.len() > 1);
    all
}

/// The sets of files that reach each other, the largest first.
fn circles(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let reach = |from: &Module| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&Module> = vec![from];
        while let Some(module) = open.pop() {
            open.extend(edges.get(module).into_iter().flatten().filter(|next| seen.insert((*next).clone())));
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        edges.keys().map(|module| (module, reach(module))).collect();
    let mut all: BTreeSet<Vec<Module>> = BTreeSet::new();
    for (module, to) in &reached {
        let circle: Vec<Module> = to
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*module)))
            .cloned()
            .collect();
        all.insert(circle);
    }
    let mut all: Vec<Vec<Module>> = all.into_iter().filter(|circle| circle.len() > 1).collect();
    all.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> Module {
        path.split("::").filter(|part| !part.is_empty()).map(str::to_string).collect()
    }

    #[test]
    fn groups_are_read_one_by_one() {
        let all = paths("use crate::{a, b::{C, d::e}}; f(super::g::h(1), self.i)");
        let all: Vec<String> = all.iter().map(|path| path.join("::")).collect();
        assert_eq!(all, ["crate::a", "crate::b::C", "crate::b::d::e", "super::g::h"]);
    }

    #[test]
    fn what_is_exported_again_is_the_childs() {
        let texts = [("", "pub use a::Thing; mod a;"), ("a", ""), ("a::b", ""), ("c", "")];
        let exports = texts.map(|(name, code)| (module(name), exports(code)));
        let crate_ = Crate { exports: exports.into() };
        let resolve =
            |from: &str, path: &str| crate_.resolve(&module(from), &module(path), 0).map(|to| to.join("::"));
        assert_eq!(resolve("c", "crate::Thing").as_deref(), Some("a"));
        assert_eq!(resolve("c", "super::a::b::f").as_deref(), Some("a::b"));
        assert_eq!(resolve("a", "b::f").as_deref(), Some("a::b"));
        assert_eq!(resolve("a", "std::fmt"), None);
    }

    #[test]
    fn files_that_reach_each_other_are_a_circle() {
        let edges = [("a", &["b"][..]), ("b", &["c"]), ("c", &["a", "d"]), ("d", &[])];
        let edges = edges.map(|(from, to)| (module(from), to.iter().map(|to| module(to)).collect())).into();
        assert_eq!(circles(&edges), [["a", "b", "c"].map(module).to_vec()]);
    }
}
