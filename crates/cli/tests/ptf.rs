//! A PTF suite against `p4rack switch` on veth pairs, as it is run against `simple_switch_grpc`. It needs `ptf` in the path, `ip`, and network namespaces.

#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::process::{Command, Stdio};

/// True if a command succeeds, whatever it prints.
fn works(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn a_suite_runs_unchanged() {
    let namespace = ["-rn", "--"];
    if !works(Command::new("unshare").args(namespace).args(["ip", "link", "add", "test0", "type", "veth"])) {
        println!("SKIPPED: no network namespaces with veth pairs here");
        return;
    }
    if !works(Command::new("ptf").arg("--help")) {
        println!("SKIPPED: PTF is not installed: pip install ptf scapy");
        return;
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptf");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ptf");
    std::fs::create_dir_all(&directory).expect("a directory for the logs");
    let output = Command::new("unshare")
        .args(namespace)
        .arg(tests.join("run"))
        .arg(env!("CARGO_BIN_EXE_p4rack"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4"))
        .arg(&tests)
        .current_dir(&directory)
        .output()
        .expect("it runs");
    let reported = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reported}{wrong}");
    assert!(format!("{reported}{wrong}").contains("Ran 2 tests"), "{reported}{wrong}");
}
