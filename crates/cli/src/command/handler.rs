//! `p4rack handler`

use super::Preprocessor;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::SourceMap;
use p4rack::handlers;
use p4rack::rack::compile_program;
use std::path::{Path, PathBuf};

/// Write the C header of a program's handlers, or fuzz targets for them
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack handler header snat.p4 -o snat.h
  p4rack handler fuzz snat.p4 -o fuzz      then compile fuzz/fuzz-NAME.c together with the handlers")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Write the header: structs, accessors and prototypes of all handlers that the program calls
    Header {
        /// P4-16 program
        program: String,
        #[command(flatten)]
        preprocessor: Preprocessor,
        /// Output file; the default is standard output
        #[arg(short, long, value_name = "FILE.h")]
        output: Option<PathBuf>,
    },
    /// Write a fuzz target for each handler, for libFuzzer or as a standalone program
    Fuzz {
        /// P4-16 program
        program: String,
        #[command(flatten)]
        preprocessor: Preprocessor,
        /// Output directory; created if missing
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
    },
}

/// Exit status 1 if the program is wrong, calls no handlers, or a file cannot be written.
pub fn run(args: &Args) -> ExitCode {
    let (Action::Header { program, preprocessor, .. } | Action::Fuzz { program, preprocessor, .. }) =
        &args.action;
    let mut map = SourceMap::new();
    let compiled = compile_program(program, &preprocessor.options(), &mut map, &mut vec![]);
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let made = compiled.and_then(|program| Ok((handlers::header(&program, &name)?, program)));
    let (header, compiled) = match made {
        Ok(made) => made,
        Err(found) => return output::failed(&found, &map, Format::Text),
    };
    let read = output::sources(&map);
    let written = match &args.action {
        Action::Header { output: None, .. } => {
            output::print(&header);
            Ok(())
        }
        Action::Header { output: Some(file), .. } => output::write(file, header.as_bytes(), &read),
        Action::Fuzz { output: directory, .. } => {
            let stem = Path::new(&name).with_extension("h");
            let mut files = vec![(stem.display().to_string(), header)];
            let own = handlers::c_part(program);
            files.extend(own.map(|c| (stem.with_extension("c").display().to_string(), c)));
            files.extend(handlers::fuzz_targets(&compiled, &name));
            let created = std::fs::create_dir_all(directory);
            let created =
                created.map_err(|error| format!("`{}` cannot be created: {error}", directory.display()));
            let mut each = files.iter();
            created.and_then(|()| {
                each.try_for_each(|(file, text)| {
                    let path = directory.join(file);
                    output::write(&path, text.as_bytes(), &read)?;
                    output::print(&format!("{}\n", path.display()));
                    Ok(())
                })
            })
        }
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            report!("p4rack: {why}");
            ExitCode::FAILURE
        }
    }
}
