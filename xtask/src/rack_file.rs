//! `rack-file`: `docs/rack-file.md`, the reference of RACK.toml, from the heads of the modules that read it. `tidy` compares the page.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

const PAGE: &str = "docs/rack-file.md";

const HEAD: &str = "# RACK.toml

The keys of a rack file, section by section. [emulator.md](emulator.md) describes how a rack runs; `examples` has whole files. Every mistake is reported with its place: `p4rack explain P4R0601` and the codes after it.

Times are written `\"2us\"` (ps, ns, us, ms, s, min, h), rates `\"1Gbit/s\"` (bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s), shares `\"0.1%\"`. Paths are relative to the file.

This page is generated from the heads of the modules of `crates/rack-model` by `cargo xtask rack-file`.
";

/// Modules of `rack-model`, with the headings of their sections.
const SECTIONS: [(&str, &str); 19] = [
    ("rack", "`[rack]`"),
    ("device", "`[device.NAME]`"),
    ("legacy", "Legacy switches"),
    ("host", "`[host.NAME]`"),
    ("link", "`[[link]]`"),
    ("app", "`[[app]]`"),
    ("pinning", "`[[app]]`: pinned flows"),
    ("demand", "`[[app]]`: traffic, for plans"),
    ("failover", "`[failover]`"),
    ("group", "`[[group]]` and `[[membership]]`"),
    ("moves", "`[[move]]`"),
    ("job", "`[[job]]`"),
    ("control", "`[control]` and `[[replace]]`"),
    ("plan", "`[plan]`"),
    ("workload", "`[[workload]]`"),
    ("expect", "`expect`"),
    ("watch", "`watch`"),
    ("fault", "`[[fault]]`"),
    ("stage", "`[[phase]]`"),
];

/// Writes the page.
pub fn run() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match page(&root).and_then(|page| fs::write(root.join(PAGE), page)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rack-file: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares the page with the modules.
pub fn check(root: &Path, found: &mut Vec<String>) {
    let written = fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    match page(root) {
        Ok(page) if page == written => {}
        Ok(_) => found.push(format!("{PAGE} is not what rack-model says: run `cargo xtask rack-file`")),
        Err(error) => found.push(format!("{PAGE}: {error}")),
    }
}

fn page(root: &Path) -> std::io::Result<String> {
    let mut page = HEAD.to_string();
    for (module, heading) in SECTIONS {
        let text = fs::read_to_string(root.join(format!("crates/rack-model/src/{module}.rs")))?;
        let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
        page += &format!("\n## {heading}\n\n");
        for line in lines {
            page += &format!("{}\n", plain(line.strip_prefix(' ').unwrap_or(line)));
        }
    }
    Ok(page)
}

/// A line without links into the code: other modules are named by their headings.
fn plain(line: &str) -> String {
    let mut line = line.to_string();
    for (module, heading) in SECTIONS {
        line = line.replace(&format!("`{module}.rs`"), heading);
    }
    // `[text](path::to)` and `[`text`]` are links of rustdoc.
    let mut out = String::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find("](") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let (Some(start), Some(end)) = (before.rfind('['), after.find(')')) else { break };
        if !after[..end].contains("::") {
            break;
        }
        out += &before[..start];
        out += &before[start + 1..];
        rest = &after[end + 1..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn links_into_the_code_are_text() {
        assert_eq!(plain("see [`expect`](crate::expect), [a](crate::a)."), "see `expect`, a.");
        assert_eq!(plain("see `group.rs`"), "see `[[group]]` and `[[membership]]`");
        assert_eq!(plain("[page](page.md) and [\"a\", \"b\"]"), "[page](page.md) and [\"a\", \"b\"]");
    }
}
