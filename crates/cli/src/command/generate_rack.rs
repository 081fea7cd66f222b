//! `p4rack generate-rack`

use crate::ExitCode;
use crate::output::{self, Format};
use rack_model::generate::{self, File};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Generate a rack: RACK.toml with addresses and workloads, a router program for the switches, and their routes
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack generate-rack star --nics 2 -o star
  p4rack generate-rack fat-tree --k 8 -o tree")]
pub struct Args {
    /// Output format of the list of files
    #[arg(long, value_enum, default_value = "text", global = true)]
    format: Format,
    #[command(subcommand)]
    kind: Kind,
}

#[derive(clap::Subcommand)]
enum Kind {
    /// Fat tree of switches with K ports each
    FatTree {
        /// Ports per switch: even, 2 to 64
        #[arg(long)]
        k: u32,
        /// Output directory; created if missing
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
    },
    /// One switch with SmartNICs and servers attached
    Star {
        /// Number of SmartNICs
        #[arg(long, default_value_t = 1)]
        nics: u32,
        /// Number of servers
        #[arg(long, default_value_t = 4)]
        servers: u32,
        /// Output directory; created if missing
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
    },
}

/// Exit status 1 if a file cannot be written, 2 if there is no such rack.
pub fn run(args: &Args) -> ExitCode {
    let (files, to) = match &args.kind {
        Kind::FatTree { k, output } => (generate::fat_tree(*k), output),
        Kind::Star { nics, servers, output } => (generate::star(*nics, *servers), output),
    };
    match files.map(|files| write(&files, to).map(|()| files)) {
        Ok(Ok(files)) => {
            let at = to.display();
            let paths: Vec<PathBuf> = files.iter().map(|file| to.join(&file.path)).collect();
            match args.format {
                Format::Text => {
                    output::print(&format!("{} files in {at}: run it with `p4rack up {at}`\n", paths.len()));
                }
                Format::Json => output::json(&json!({ "ok": true, "files": paths })),
            }
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => {
            match args.format {
                Format::Text => report!("p4rack: {error}"),
                Format::Json => output::json(&json!({ "ok": false, "error": error })),
            }
            ExitCode::FAILURE
        }
        Err(why) => {
            report!("p4rack: {why}");
            ExitCode::from(2)
        }
    }
}

fn write(files: &[File], directory: &Path) -> Result<(), String> {
    // A rack that was generated says so in its first line.
    let rack = directory.join("RACK.toml");
    let is_ours =
        |text: String| text.lines().next().is_some_and(|line| line.contains("p4rack generate-rack"));
    if rack.exists() && !std::fs::read_to_string(&rack).is_ok_and(is_ours) {
        return Err(format!(
            "`{}` was not written by `p4rack generate-rack` and is not overwritten: choose another directory",
            rack.display()
        ));
    }
    for file in files {
        let path = directory.join(&file.path);
        let fail = |error: std::io::Error| format!("`{}` cannot be written: {error}", path.display());
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(fail)?;
        std::fs::write(&path, &file.text).map_err(fail)?;
    }
    Ok(())
}
