//! `p4rack explain`

use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Code, codes, did_you_mean};
use serde_json::json;

/// Explain a diagnostic code
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack explain P4R0505")]
pub struct Args {
    /// Diagnostic code, as in `error[P4R0502]`; without a code, list all codes
    code: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if there is no such code.
pub fn run(args: &Args) -> ExitCode {
    let Some(text) = &args.code else {
        let all = codes::all().map(|entry| (entry.code, title(entry.text)));
        match args.format {
            Format::Text => all.for_each(|(code, title)| output::print(&format!("{code}  {title}\n"))),
            Format::Json => {
                let all = all.map(|(code, title)| json!({ "code": code.to_string(), "title": title }));
                output::json(&json!({ "ok": true, "codes": all.collect::<Vec<_>>() }));
            }
        }
        return ExitCode::SUCCESS;
    };
    match text.parse::<Code>().ok().and_then(codes::explain) {
        Some(explanation) => {
            match args.format {
                Format::Text => output::print(explanation),
                Format::Json => {
                    output::json(&json!({ "ok": true, "title": title(explanation), "text": explanation }))
                }
            }
            ExitCode::SUCCESS
        }
        None if args.format == Format::Json => {
            output::json(&json!({ "ok": false, "error": format!("there is no code `{text}`") }));
            ExitCode::FAILURE
        }
        None => {
            report!("p4rack: there is no code `{text}`");
            let known: Vec<String> = codes::all().map(|e| e.code.to_string()).collect();
            if let Some(near) = did_you_mean(text, known.iter().map(String::as_str)) {
                report!("did you mean `{near}`?");
            }
            report!("`p4rack explain` lists all codes");
            ExitCode::FAILURE
        }
    }
}

/// The first line of an explanation.
fn title(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches("# ")
}
