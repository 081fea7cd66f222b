//! `p4rack compile`

use super::Preprocessor;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::SourceMap;
use compiler::p4info::Form;
use compiler::pushed::pushed;
use compiler::{Until, compile};
use p4rack::Disk;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Write the files that a controller pushes to `p4rack switch`: the P4Info, and the device config as P4 text and as JSON for controllers that expect BMv2's JSON
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack compile router.p4 -o build")]
pub struct Args {
    /// A P4-16 program
    program: String,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Output directory; created if missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Encoding of the P4Info file: NAME.p4.p4info.txtpb, NAME.p4.p4info.json or NAME.p4.p4info.bin
    #[arg(long, value_enum, default_value = "text")]
    p4info_format: super::p4info::Format,
    /// Output format of the list of files
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if the program has an error or a file cannot be written.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let compiled = compile(&args.program, &Disk, &args.preprocessor.options(), Until::Elaborated, &mut map);
    let read = output::sources(&map);
    let Some(program) = compiled.program else {
        return output::failed(&compiled.diagnostics, &map, args.format);
    };
    let program = match p4rack::rack::runnable(program, &args.program, &mut map) {
        Ok(program) => program,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    let form = Form::from(args.p4info_format);
    let pushed = match pushed(&program, form) {
        Ok(pushed) => pushed,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    let source = Path::new(&args.program);
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let info = args.output.join(format!("{stem}.p4.p4info.{}", form.extension()));
    let config = args.output.join(format!("{stem}.p4"));
    let as_json = args.output.join(format!("{stem}.json"));
    let written = std::fs::create_dir_all(&args.output)
        .map_err(|error| format!("`{}` cannot be created: {error}", args.output.display()))
        // The device config may have the source's own name: refused before anything is written.
        .and_then(|()| output::unread(&config, &read))
        .and_then(|()| output::write(&info, &pushed.p4info, &read))
        .and_then(|()| output::write(&config, pushed.device_config.as_bytes(), &read))
        .and_then(|()| output::write(&as_json, pushed.as_json.as_bytes(), &read));
    if let Err(why) = written {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    match args.format {
        Format::Text => {
            output::diagnostics_text(&compiled.diagnostics, &map);
            output::print(&format!(
                "P4Info         {}\ndevice config  {}\nas JSON        {}\n",
                info.display(),
                config.display(),
                as_json.display()
            ));
        }
        Format::Json => output::json(&json!({
            "ok": true,
            "p4info": info,
            "device_config": config,
            "device_config_json": as_json,
            "diagnostics": output::diagnostics_json(&compiled.diagnostics, &map),
        })),
    }
    ExitCode::SUCCESS
}
