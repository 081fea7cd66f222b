//! `p4rack compare`

use super::Preprocessor;
use super::run::inputs;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, SourceMap};
use base_time::Duration;
use p4rack::compare::{Comparison, compare, compile_pair};
use p4rack::run::entries;
use p4rack::run::feed::Feed;
use p4rack::run::spec::{PortFiles, port_files};
use std::path::PathBuf;

/// Compare the building blocks of a program with their exact twins on captured packets
///
/// The exact twin of a block has the same interface and computes the exact result. The output has the errors of each output of a block.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack compare limiter.p4 --exact -i 1@in.pcap
  p4rack compare limiter.p4 --exact -i 1@in.pcap --entries e.toml --html errors.html")]
pub struct Args {
    /// P4-16 program that includes blocks
    program: String,
    /// Required: compare with the exact twins of the program's blocks. There is no other comparison yet
    #[arg(long, required = true)]
    exact: bool,
    /// Capture file of the packets that enter on PORT (pcap or pcapng)
    #[arg(short, long, value_name = "PORT@IN", value_parser = port_files, required = true)]
    interface: Vec<PortFiles>,
    /// Table entries, in any format that `p4rack run --entries` reads; may be repeated
    #[arg(long, value_name = "FILE")]
    entries: Vec<PathBuf>,
    /// Time between packets, such as 10us; replaces the captures' timestamps
    #[arg(long, value_name = "TIME")]
    interval: Option<Duration>,
    /// Also write the distributions of errors as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if the program, a capture or an entry is wrong, or the program has no block.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let comparison = match compared(args, &mut map) {
        Ok(comparison) => comparison,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    if let Some(path) = &args.html
        && let Err(why) =
            output::write(path, comparison.page(&args.program).as_bytes(), &output::sources(&map))
    {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    match args.format {
        Format::Text => output::print(&comparison.text()),
        Format::Json => output::json(&comparison.json()),
    }
    ExitCode::SUCCESS
}

fn compared(args: &Args, map: &mut SourceMap) -> Result<Comparison, Vec<Diagnostic>> {
    let pair = compile_pair(&args.program, &args.preprocessor.options(), map)?;
    let mut texts = vec![];
    for path in &args.entries {
        let (text, start) = inputs::read(path, map)?;
        texts.push((path, text, start));
    }
    let feed = || inputs::captures(&args.interface, Feed::new(args.interval));
    compare(
        &pair,
        |program| {
            let read =
                |(path, text, start): &(&PathBuf, String, u32)| entries::read(program, path, text, *start);
            texts.iter().map(read).collect()
        },
        [feed()?, feed()?],
    )
}
