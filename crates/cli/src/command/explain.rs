//! `p4rack explain`

use crate::ExitCode;
use crate::output;
use base_diag::{Code, codes, did_you_mean};

/// Explain a diagnostic's code
#[derive(clap::Args)]
pub struct Args {
    /// The code, as in `error[P4R0502]`; without one, all codes are listed
    code: Option<String>,
}

/// Exit status 1 if there is no such code.
pub fn run(args: &Args) -> ExitCode {
    let Some(text) = &args.code else {
        for entry in codes::all() {
            let title = entry.text.lines().next().unwrap_or_default().trim_start_matches("# ");
            output::print(&format!("{}  {title}\n", entry.code));
        }
        return ExitCode::SUCCESS;
    };
    match text.parse::<Code>().ok().and_then(codes::explain) {
        Some(explanation) => {
            output::print(explanation);
            ExitCode::SUCCESS
        }
        None => {
            tell!("p4rack: there is no code `{text}`");
            let known: Vec<String> = codes::all().map(|e| e.code.to_string()).collect();
            if let Some(near) = did_you_mean(text, known.iter().map(String::as_str)) {
                tell!("did you mean `{near}`?");
            }
            tell!("`p4rack explain` lists all codes");
            ExitCode::FAILURE
        }
    }
}
