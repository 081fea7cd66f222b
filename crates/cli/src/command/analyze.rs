//! `p4rack analyze`

use super::Preprocessor;
use crate::output::{self, Format};
use base_diag::SourceMap;
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;

/// Show a program's regions: tables, state, and what a cut before each would carry
#[derive(clap::Args)]
pub struct Args {
    /// A P4-16 program with `main`
    program: String,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if the program is wrong.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let mut warnings = vec![];
    let program =
        p4rack::rack::compile_program(&args.program, &args.preprocessor.options(), &mut map, &mut warnings);
    let regions = program.and_then(|program| p4rack::analysis::regions(&program));
    let regions = match regions {
        Ok(regions) => regions,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    match args.format {
        Format::Json => output::json(&json!({ "ok": true, "regions": regions })),
        Format::Text => {
            output::diagnostics_text(&warnings, &map);
            let mut out = String::new();
            for region in &regions {
                let _ = writeln!(out, "{} ({})", region.name, region.half);
                let _ = writeln!(out, "  tables  {}", list(&region.tables));
                let _ = writeln!(out, "  state   {}", list(&region.state));
                match &region.cut {
                    Ok(cut) => {
                        let _ = writeln!(out, "  enter   {}", carried(&cut.enter));
                        for (section, live) in &cut.leave {
                            let _ = writeln!(out, "  to {section:<12} {}", carried(live));
                        }
                    }
                    Err(why) => {
                        let _ = writeln!(out, "  cut     refused: {}", why.join("; "));
                    }
                }
            }
            output::print(&out);
        }
    }
    ExitCode::SUCCESS
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "-".to_string() } else { names.join(", ") }
}

fn carried(live: &[p4rack::analysis::Live]) -> String {
    let bits: u32 = live.iter().map(|l| l.bits).sum();
    let names: Vec<String> = live.iter().map(|l| format!("{}:{}", l.value, l.bits)).collect();
    format!("{bits} bits ({})", names.join(", "))
}
