//! Attempts to break the split: each program is split with region `R` (and `S`) elsewhere, and proved.

mod support;

use base_diag::SourceMap;
use ir_prove::{Case, Effort, prove};
use ir_split::{DeviceIndex, Placement};
use p4rack::rack::make_parts;
use support::{placement, small_program, text};

fn outcome(source: &str, placement: Placement) -> String {
    let mut map = SourceMap::new();
    let whole = match p4rack::reparse::reparse("test.p4", source, &mut map) {
        Ok(w) => w,
        Err(found) => return format!("WHOLE REFUSED\n{}", text(&found, &map)),
    };
    let parts = match make_parts(&whole, &placement, &mut map) {
        Ok((_, parts, texts)) => {
            if std::env::var("SHOW").is_ok() {
                for t in texts.iter().flatten() {
                    println!("{t}\n======");
                }
            }
            parts
        }
        Err(found) => return format!("SPLIT REFUSED\n{}", text(&found, &map)),
    };
    for part in parts.iter().flatten() {
        if let Err(errors) = ir::verify::verify(&part.program) {
            return format!("VERIFY {errors:?}");
        }
    }
    let case = Case { whole, parts, placement, registry: p4rack::functions::all() };
    for seed in 1..=3 {
        let effort = Effort { packets: 300, seed, ..Effort::default() };
        match prove(&case, &effort) {
            Ok(tried) => println!("  {tried:?}"),
            Err(failure) => return format!("DIFFERENCE {}", failure.describe()),
        }
    }
    "EQUAL".into()
}

#[test]
fn explore() {
    let dir = std::env::var("ATTACK").unwrap_or("/tmp/attack/cases".into());
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().to_string();
        if !name.contains(&only) {
            continue;
        }
        let body = std::fs::read_to_string(&file).unwrap();
        let source = if body.starts_with("#include") {
            body
        } else {
            let mut parts = body.split("\n---\n");
            let (d, i, e) =
                (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
            let top = parts.next().unwrap_or("");
            small_program(d, i, e).replace("parser P(", &format!("{top}\nparser P("))
        };
        println!("##### {name}");
        let mut place = placement(&["R"]);
        if source.contains("@region(\"S\")") {
            let (tor, nic, two) = (DeviceIndex(0), DeviceIndex(1), DeviceIndex(2));
            place.devices.push("two".into());
            place.regions.insert("S".into(), two);
            place.ports.extend([((tor, two), 302), ((two, tor), 303), ((nic, two), 304), ((two, nic), 305)]);
        }
        let got = std::panic::catch_unwind(|| outcome(&source, place)).unwrap_or_else(|e| {
            format!(
                "PANIC {:?}",
                e.downcast_ref::<String>().cloned().or(e.downcast_ref::<&str>().map(|s| s.to_string()))
            )
        });
        println!("{got}");
    }
}
