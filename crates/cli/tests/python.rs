//! The Python package `p4rack.lab`, with the built command in place of the package's native module: `crates/python/tests/run` installs the package
//! as users do. It needs Python, and permission to create network namespaces.

#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::process::Command;

#[test]
fn labs_are_made_and_asked_in_python() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let package = place.join("p4rack");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&package).unwrap();
    for entry in std::fs::read_dir(python.join("p4rack")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "py") {
            std::fs::copy(&file, package.join(file.file_name().unwrap())).unwrap();
        }
    }
    let native = format!(
        "import subprocess\nclass Error(Exception): pass\nclass Switch: pass\n\
         def run(words): return subprocess.call([{:?}, *words[1:]])\n",
        env!("CARGO_BIN_EXE_p4rack")
    );
    std::fs::write(package.join("_native.py"), native).unwrap();
    let run = Command::new("python3")
        .arg(python.join("tests/lab.py"))
        .arg(python.join("../../examples"))
        .env("PYTHONPATH", &place)
        .env("XDG_RUNTIME_DIR", &place)
        .current_dir(&place)
        .output();
    let Ok(output) = run else {
        println!("SKIPPED: there is no python3");
        return;
    };
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(77) {
        println!("{said}");
        return;
    }
    assert!(output.status.success() && said.ends_with("ok\n"), "{said}");
}
