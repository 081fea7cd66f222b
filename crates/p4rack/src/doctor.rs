//! Capabilities of this machine, and what to install for the missing ones.

use base_diag::SourceMap;
use compiler::reparse;
use device::Options;
use serde::Serialize;
use std::process::{Command, Stdio};
use target_native::Engine;

/// Something that a machine can do or not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// Name of the capability.
    pub what: &'static str,
    /// Whether the feature works.
    pub works: bool,
    /// If available, how; otherwise the reason, and what to do.
    pub message: String,
}

/// The smallest program that can be run.
const PROGRAM: &str = "#include <core.p4>\n#include <v1model.p4>\nstruct h_t { }\nstruct m_t { }\n\
parser P(packet_in b, out h_t h, inout m_t m, inout standard_metadata_t s) { state start { transition accept; } }\n\
control V(inout h_t h, inout m_t m) { apply { } }\n\
control I(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply { } }\n\
control D(packet_out b, in h_t h) { apply { } }\n\
V1Switch(P(), V(), I(), I(), V(), D()) main;\n";

/// Useful external programs: purpose, name, and Debian package.
const TOOLS: [(&str, &str, &str); 4] = [
    ("C as a peer of `bench`", "cc", "apt-get install gcc"),
    ("split programs on BMv2", "simple_switch", "build https://github.com/p4lang/behavioral-model"),
    ("controllers in `./test`", "python3", "apt-get install python3-venv"),
    ("pages in `./test`", "chromium", "apt-get install chromium"),
];

/// Checks all features.
pub fn doctor() -> Vec<Finding> {
    let mut findings = vec![machine_code(), cores(), tap()];
    findings.extend(TOOLS.map(|(what, name, install)| tool(what, name, install)));
    findings.push(dpdk());
    findings
}

fn finding(what: &'static str, result: Result<String, String>) -> Finding {
    let works = result.is_ok();
    Finding { what, works, message: result.unwrap_or_else(|why| why) }
}

/// Compiles a small program to machine code.
fn machine_code() -> Finding {
    let compiled = reparse("doctor.p4", PROGRAM, &mut SourceMap::new())
        .and_then(|program| Engine::compile(&program, Options::default()).map(drop));
    let why =
        |_| format!("no machine code for {}: `--engine interp` runs everything", std::env::consts::ARCH);
    finding("machine code", compiled.map(|()| std::env::consts::ARCH.to_string()).map_err(why))
}

fn cores() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let message = format!("{cores} cores");
    let few = format!("{cores} core: `bench` and its peers disturb one another");
    finding("measures", if cores > 1 { Ok(message) } else { Err(few) })
}

/// A device node, and the right to configure networks.
fn tap() -> Finding {
    const NODE: &str = "/dev/net/tun";
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let result = match std::fs::OpenOptions::new().read(true).write(true).open(NODE) {
        Err(error) => Err(format!("`{NODE}`: {error}: run `modprobe tun`, and as root")),
        Ok(_) if !may_configure_networks(&status) => {
            Err("not allowed to configure networks: run as root, or `setcap cap_net_admin+ep p4rack`"
                .to_string())
        }
        Ok(_) => Ok(NODE.to_string()),
    };
    finding("TAP ports of `switch`", result)
}

/// True if the process has `CAP_NET_ADMIN`, from Linux's process status.
fn may_configure_networks(status: &str) -> bool {
    const CAP_NET_ADMIN: u64 = 1 << 12;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set & CAP_NET_ADMIN != 0)
}

fn tool(what: &'static str, name: &str, install: &str) -> Finding {
    let status = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    finding(
        what,
        match status {
            Ok(_) => Ok(format!("`{name}`")),
            Err(_) => Err(format!("`{name}` is not installed: {install}")),
        },
    )
}

fn dpdk() -> Finding {
    let mut ask = Command::new("pkg-config");
    let status = ask.args(["--exists", "libdpdk"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let missing = || "not installed: apt-get install libdpdk-dev pkg-config".to_string();
    let works = status.is_ok_and(|status| status.success());
    finding("DPDK as a peer of `bench`", works.then(|| "libdpdk".to_string()).ok_or_else(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_read_from_what_linux_says() {
        assert!(may_configure_networks("Name:\tp4rack\nCapEff:\t000001ffffffffff\n"));
        assert!(may_configure_networks("CapEff:\t0000000000001000\n"));
        assert!(!may_configure_networks("CapEff:\t0000000000000fff\nCapBnd:\t000001ffffffffff\n"));
        assert!(!may_configure_networks(""));
    }

    #[test]
    fn what_is_not_there_is_reported_with_what_to_do() {
        let none = tool("nothing", "p4rack-has-no-such-program", "apt-get install nothing");
        assert!(!none.works);
        assert_eq!(none.message, "`p4rack-has-no-such-program` is not installed: apt-get install nothing");
        // Machine code works on every machine on which these tests run.
        assert!(machine_code().works, "{:?}", machine_code());
    }
}
