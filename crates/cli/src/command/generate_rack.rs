//! `p4rack generate-rack`

use crate::ExitCode;
use crate::output::{self, Format};
use rack_model::generate::{self, File};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Write a rack: RACK.toml with addresses and workloads, a router for its switches, and their routes
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack generate-rack star --nics 2 -o star
  p4rack generate-rack fat-tree --k 8 -o tree")]
pub struct Args {
    /// How to print what was written
    #[arg(long, value_enum, default_value = "text", global = true)]
    format: Format,
    #[command(subcommand)]
    kind: Kind,
}

#[derive(clap::Subcommand)]
enum Kind {
    /// A fat tree of switches with K ports each
    FatTree {
        /// Ports of a switch: even, 2 to 64
        #[arg(long)]
        k: u32,
        /// Where to write; it is made if it is not there
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
    },
    /// One switch with network cards and servers around it
    Star {
        /// Programmable network cards
        #[arg(long, default_value_t = 1)]
        nics: u32,
        /// Servers
        #[arg(long, default_value_t = 4)]
        servers: u32,
        /// Where to write; it is made if it is not there
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
                Format::Text => tell!("p4rack: {error}"),
                Format::Json => output::json(&json!({ "ok": false, "error": error })),
            }
            ExitCode::FAILURE
        }
        Err(why) => {
            tell!("p4rack: {why}");
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
            "`{}` was not generated and is not written over: write elsewhere",
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
