//! `features`: third-party crates that a build of one crate's tests, or of a command, compiles once more than a build of all.
//!
//! Cargo unites the features of the packages that a command names. With other features a crate is compiled again for `cargo test -p CRATE`,
//! `cargo build` or `cargo install`, and so is all that depends on it. The crate `features` says what to do for tests; the command has the
//! workspace's features without it.
//!
//! ```text
//! cargo test -p device: indexmap 2.14.2 [default std] with hashbrown 0.17.1 []
//! ```

use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Crates whose programs users build.
const COMMANDS: [&str; 2] = ["cli", "experiments"];

/// Prints every difference of builds of the commands and, if asked for, of each crate's tests; fails if there is one.
pub fn run(each_crate: bool) -> ExitCode {
    match differences(each_crate) {
        Ok(0) => {
            println!("features: no differences");
            ExitCode::SUCCESS
        }
        Ok(found) => {
            println!("features: {found} differences");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("features: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the differences. Returns their number.
fn differences(each_crate: bool) -> Result<usize, String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let crates = std::fs::read_dir(crates).map_err(|error| format!("the crates: {error}"))?;
    let mut names: Vec<String> =
        crates.flatten().map(|entry| entry.file_name().to_string_lossy().to_string()).collect();
    names.sort();
    let all = units(&["test", "--no-run", "--workspace"])?;
    let tests = names.iter().filter(|_| each_crate).map(|name| ("test", name.as_str()));
    let mut found = 0;
    for (command, name) in tests.chain(COMMANDS.map(|name| ("build", name))) {
        let no_run: &[&str] = if command == "test" { &["--no-run"] } else { &[] };
        let one = units(&[&[command, "--package", name], no_run].concat())?;
        let is_new =
            |key: &u64| one.get(key).is_some_and(|unit| unit.is_third_party) && !all.contains_key(key);
        let new = one.iter().filter(|(key, _)| is_new(key));
        // Those whose dependencies are as everywhere are the cause; the others follow.
        let causes = new.filter(|(_, unit)| !unit.needs.iter().any(is_new));
        for (_, unit) in causes {
            println!("cargo {command} -p {name}: {}", unit.label);
            found += 1;
        }
    }
    Ok(found)
}

/// A crate as it is compiled, or a build script that runs.
struct Unit {
    is_third_party: bool,
    /// Name, version and features, with those of its dependencies.
    label: String,
    /// Keys of its dependencies.
    needs: Vec<u64>,
}

/// The units that cargo would compile, by a key that stands for all that distinguishes them, dependencies included.
fn units(args: &[&str]) -> Result<BTreeMap<u64, Unit>, String> {
    let output = Command::new(env!("CARGO"))
        .args(args)
        .args(["--locked", "--unit-graph", "-Z", "unstable-options"])
        // Only unstable versions of cargo print what they would compile. Nothing is compiled here.
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    let graph: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo: {error}"))?;
    let graph = graph["units"].as_array().ok_or("cargo prints no units")?;
    let mut keys: Vec<Option<u64>> = vec![None; graph.len()];
    let mut units = BTreeMap::new();
    // Each round adds units whose dependencies are known. There are no cycles.
    while keys.iter().any(Option::is_none) {
        let missing = keys.iter().filter(|key| key.is_none()).count();
        for (number, unit) in graph.iter().enumerate() {
            let needs = unit["dependencies"].as_array().into_iter().flatten();
            let index = |need: &Value| need["index"].as_u64().and_then(|index| usize::try_from(index).ok());
            let needs: Option<Vec<usize>> = needs.map(index).collect();
            let needs = needs.ok_or("a dependency has no index")?;
            let known: Option<Vec<u64>> =
                needs.iter().map(|need| keys.get(*need).copied().flatten()).collect();
            let (None, Some(mut known)) = (keys[number], known) else { continue };
            known.sort_unstable();
            let key = key(unit, &known);
            let of = needs.iter().map(|need| name(&graph[*need])).collect::<Vec<_>>().join(", ");
            let label = if of.is_empty() { name(unit) } else { format!("{} with {of}", name(unit)) };
            let is_third_party = unit["pkg_id"].as_str().is_some_and(|id| id.starts_with("registry+"));
            keys[number] = Some(key);
            units.insert(key, Unit { is_third_party, label, needs: known });
        }
        if keys.iter().filter(|key| key.is_none()).count() == missing {
            return Err("the units depend on each other".to_string());
        }
    }
    Ok(units)
}

fn key(unit: &Value, needs: &[u64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for field in ["pkg_id", "target", "platform", "mode", "features"] {
        unit[field].to_string().hash(&mut hasher);
    }
    // The same settings have one name for tests and another for commands.
    let mut profile = unit["profile"].clone();
    if let Some(profile) = profile.as_object_mut() {
        profile.remove("name");
    }
    profile.to_string().hash(&mut hasher);
    needs.hash(&mut hasher);
    hasher.finish()
}

/// Name, version and features.
fn name(unit: &Value) -> String {
    let id = unit["pkg_id"].as_str().unwrap_or_default();
    let id = id.rsplit(['#', '/']).next().unwrap_or_default().replace('@', " ");
    let features = unit["features"].as_array().into_iter().flatten().filter_map(Value::as_str);
    format!("{id} [{}]", features.collect::<Vec<_>>().join(" "))
}
