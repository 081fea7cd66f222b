//! DPDK's SWX pipeline as a peer: `examples/bench/swx/host.c` and a specification for each program that has one.

use super::peer::{Scratch, run};
use bench_load::{C_FILES, Program, SWX_HOST};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiles the host for a program; the error says why there is none.
pub fn compile(program: &Program, scratch: &Scratch) -> Result<PathBuf, String> {
    let Some(specification) = program.swx else {
        return Err(format!("there is no pipeline for `{}`", program.name));
    };
    let flags = pkg_config(&["--cflags"])?;
    let libraries = pkg_config(&["--libs"])?;
    scratch.write(&format!("{}.spec", program.name), specification.as_bytes())?;
    scratch.write("host.c", SWX_HOST.as_bytes())?;
    let binary = scratch.path().join("swx");
    let mut cc = Command::new("cc");
    cc.current_dir(scratch.path())
        .args(["-O3", "-march=native", "-DALLOW_EXPERIMENTAL_API", "-o"])
        .arg(&binary);
    for (name, text) in C_FILES {
        scratch.write(name, text.as_bytes())?;
    }
    run(cc.args(flags).arg("host.c").args(libraries))?;
    scratch.write("swx.name", program.name.as_bytes())?;
    Ok(binary)
}

/// Starts the host; `number` keeps several apart.
pub fn command(binary: &Path, number: usize) -> Command {
    let mut command = Command::new(binary);
    let dir = binary.parent().unwrap_or(Path::new("."));
    let name = std::fs::read_to_string(dir.join("swx.name")).unwrap_or_default();
    command.arg(dir.join(format!("{name}.spec"))).arg(number.to_string()).stderr(Stdio::null());
    command
}

fn pkg_config(what: &[&str]) -> Result<Vec<String>, String> {
    let missing = || "DPDK is not installed: apt-get install libdpdk-dev pkg-config".to_string();
    let output = Command::new("pkg-config").args(what).arg("libdpdk").output().map_err(|_| missing())?;
    if !output.status.success() {
        return Err(missing());
    }
    Ok(String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_string).collect())
}
