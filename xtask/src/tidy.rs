//! `tidy`: what the compiler does not check about the shape of the project.

mod circles;
mod words;

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Deserialize)]
struct Layers {
    layer: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    name: String,
    pure: bool,
    crates: Vec<String>,
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
}

/// Names that pure crates may not use, and the alternative to each.
const IMPURE: &[(&str, &str)] = &[
    ("std::fs", "take the text as an argument"),
    ("TcpStream", "take the bytes as an argument"),
    ("TcpListener", "take the bytes as an argument"),
    ("UdpSocket", "take the bytes as an argument"),
    ("std::thread", "leave threads to the caller"),
    ("std::process", "leave it to the command line"),
    ("std::env::", "take it as an argument"),
    ("Instant::now", "take a base_time::Time"),
    ("SystemTime", "take a base_time::Time"),
    ("HashMap", "use BTreeMap or IndexMap: iteration order must not decide anything"),
    ("HashSet", "use BTreeSet or IndexSet: iteration order must not decide anything"),
    ("println!", "return what is to be printed"),
    ("f32", "floats decide nothing"),
];

/// Lines in a source file at which it needs a second look; past it, it is refused.
const LONGEST_FILE: usize = 900;

/// Checks everything and prints each finding.
pub fn run() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = vec![];
    match layers(&root) {
        Ok(layers) => {
            check_layers(&root, &layers, &mut found);
            check_purity(&root, &layers, &mut found);
        }
        Err(error) => found.push(error),
    }
    check_sizes(&root, &mut found);
    check_paths(&root, &mut found);
    check_tests(&root, &mut found);
    check_unit_tests(&root, &mut found);
    check_assertions(&root, &mut found);
    circles::check(&root, &mut found);
    words::check(&root, &mut found);
    super::protocol::check(&root, &mut found);
    super::rack_file::check(&root, &mut found);
    for line in &found {
        eprintln!("tidy: {line}");
    }
    println!("tidy: {} findings", found.len());
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn layers(root: &Path) -> Result<Vec<Layer>, String> {
    let text = fs::read_to_string(root.join("layers.toml")).map_err(|e| format!("layers.toml: {e}"))?;
    toml::from_str::<Layers>(&text).map(|l| l.layer).map_err(|e| format!("layers.toml: {e}"))
}

/// Every crate is in one layer, and depends only on crates that stand before it.
fn check_layers(root: &Path, layers: &[Layer], found: &mut Vec<String>) {
    let order: Vec<&String> = layers.iter().flat_map(|l| &l.crates).collect();
    let rank = |name: &str| order.iter().position(|n| *n == name);
    for dir in directories(&root.join("crates")) {
        let name = file_name(&dir);
        let Some(own) = rank(&name) else {
            found.push(format!("crates/{name} is in no layer of layers.toml"));
            continue;
        };
        let text = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
        let Ok(manifest) = toml::from_str::<Manifest>(&text) else {
            found.push(format!("crates/{name}/Cargo.toml cannot be read"));
            continue;
        };
        for dependency in manifest.dependencies.keys() {
            if rank(dependency).is_some_and(|below| below >= own) {
                found.push(format!(
                    "crates/{name} depends on {dependency}, which stands above it in layers.toml"
                ));
            }
        }
    }
    for name in order {
        if !root.join("crates").join(name).is_dir() {
            found.push(format!("layers.toml names {name}, which is no crate"));
        }
    }
}

fn check_purity(root: &Path, layers: &[Layer], found: &mut Vec<String>) {
    for layer in layers.iter().filter(|l| l.pure) {
        for name in &layer.crates {
            for file in sources(&root.join("crates").join(name).join("src")) {
                let text = fs::read_to_string(&file).unwrap_or_default();
                // Tests may read files; they stand at the end of a file or in files named so.
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                if is_test(&file) {
                    continue;
                }
                for (number, line) in (1..).zip(code.lines()) {
                    let code = line.split("//").next().unwrap_or_default();
                    if line.contains("// tidy: ") {
                        continue;
                    }
                    for (what, instead) in IMPURE {
                        if word_in(code, what) {
                            let at = show(root, &file);
                            found.push(format!(
                                "{at}:{number}: `{what}` in the pure layer {}: {instead}",
                                layer.name
                            ));
                        }
                    }
                }
            }
        }
    }
}

/// True if `word` stands in `line` and is not part of a longer name (`FxHashMap` has no order that is random, but
/// none that means something either; it is allowed where nothing iterates over it).
fn word_in(line: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

fn is_test(file: &Path) -> bool {
    let parts: Vec<_> = file.components().map(|c| c.as_os_str().to_string_lossy().to_string()).collect();
    parts.iter().any(|p| p == "tests" || p == "tests.rs" || p.ends_with("_tests.rs"))
}

/// The library or program of a crate with `test = false` is not compiled a second time for tests, which would not be run.
fn check_unit_tests(root: &Path, found: &mut Vec<String>) {
    for dir in directories(&root.join("crates")) {
        let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
        let Ok(manifest) = manifest.parse::<toml::Table>() else { continue };
        let is_off = |target: &toml::Value| target.get("test").and_then(toml::Value::as_bool) == Some(false);
        let is_library = manifest.get("lib").is_some_and(is_off);
        let programs = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
        let programs: Vec<_> =
            programs.filter(|bin| is_off(bin)).filter_map(|bin| bin.get("path")?.as_str()).collect();
        for file in sources(&dir.join("src")) {
            let is_program = programs.iter().any(|path| file == dir.join(path));
            let code = fs::read_to_string(&file).unwrap_or_default();
            let is_test = |line: &str| matches!(line.trim(), "#[cfg(test)]" | "#[test]" | "#[tokio::test]");
            if (is_program || is_library) && code.lines().any(is_test) {
                let at = show(root, &file);
                found.push(format!("{at} has tests that are not run: remove `test = false` from Cargo.toml"));
            }
        }
    }
}

/// Debug assertions are in the builds of those crates that have some, or unsafe code, which the standard library's assertions check.
fn check_assertions(root: &Path, found: &mut Vec<String>) {
    const WORDS: [&str; 5] =
        ["debug_assert", "debug_assert_eq", "debug_assert_ne", "debug_assertions", "unsafe"];
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let manifest = manifest.parse::<toml::Table>().unwrap_or_default();
    let packages = || manifest.get("profile")?.get("dev")?.get("package");
    let is_on = |name: &str| packages()?.get(name)?.get("debug-assertions")?.as_bool();
    for dir in directories(&root.join("crates")) {
        let has_some = sources(&dir).iter().any(|file| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let mut code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
            code.any(|line| WORDS.iter().any(|word| word_in(line, word)))
        });
        let name = file_name(&dir);
        if has_some != (is_on(&name) == Some(true)) {
            let (has, does) = if has_some { ("has", "add") } else { ("has no", "remove") };
            found.push(format!(
                "crates/{name} {has} assertions of debug builds: {does} `debug-assertions = true` in [profile.dev.package] of Cargo.toml"
            ));
        }
    }
}

/// In a crate that lists its test programs, each file in `tests/` is one of them or a module of `it`: cargo runs no others.
fn check_tests(root: &Path, found: &mut Vec<String>) {
    for dir in directories(&root.join("crates")) {
        let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
        if !manifest.contains("autotests = false") {
            continue;
        }
        let it = fs::read_to_string(dir.join("tests/it.rs")).unwrap_or_default();
        for path in fs::read_dir(dir.join("tests")).into_iter().flatten().flatten().map(|entry| entry.path())
        {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
            let is_program =
                path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").is_file();
            let is_named = it.lines().any(|line| line == format!("mod {name};"))
                || manifest.lines().any(|line| line == format!("name = \"{name}\""));
            if is_program && !is_named {
                let at = show(root, &path);
                found.push(format!(
                    "{at} is not run: add `mod {name};` to tests/it.rs, or a [[test]] to Cargo.toml"
                ));
            }
        }
    }
}

fn is_generated(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "generated")
}

fn check_sizes(root: &Path, found: &mut Vec<String>) {
    for dir in ["crates", "xtask"] {
        for file in sources(&root.join(dir)).into_iter().filter(|file| !is_generated(file)) {
            let lines = fs::read_to_string(&file).unwrap_or_default().lines().count();
            if lines > LONGEST_FILE {
                found.push(format!("{}: {lines} lines: look for two ideas in it", show(root, &file)));
            }
        }
    }
}

/// Nothing in the project names a place on somebody's machine.
fn check_paths(root: &Path, found: &mut Vec<String>) {
    for dir in ["crates", "examples", "docs", "testdata"] {
        for file in files(&root.join(dir)) {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            for (number, line) in (1..).zip(text.lines()) {
                if ["/home/", "/root/", "/Users/"].iter().any(|p| line.contains(p)) {
                    found.push(format!("{}:{number}: a path of one machine", show(root, &file)));
                }
            }
        }
    }
}

fn directories(dir: &Path) -> Vec<PathBuf> {
    let mut list: Vec<_> =
        fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    list.sort();
    list
}

/// All files below a directory, sorted.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut list = vec![];
    let mut entries: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            list.extend(files(&path));
        } else {
            list.push(path);
        }
    }
    list
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    files(dir).into_iter().filter(|f| f.extension().is_some_and(|e| e == "rs")).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_string()
}

fn show(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}
