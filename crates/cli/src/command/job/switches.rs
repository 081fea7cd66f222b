//! `p4rack job switches`

use super::run::start_switches;
use super::{groups, loaded, write};
use crate::ExitCode;
use crate::output;
use base_diag::SourceMap;
use reduce_workers::Attachment;
use serde_json::json;
use std::io::Read as _;
use std::path::PathBuf;
use std::slice;

#[derive(clap::Args)]
pub struct Args {
    /// Job file
    job: PathBuf,
    /// Hosts, switches and links: a RACK.toml or its directory (default: the RACK.toml beside the job)
    #[arg(long, value_name = "RACK.toml")]
    rack: Option<PathBuf>,
    /// Output directory for the files of switches, and REDUCER.group.json for programs; created if missing
    #[arg(short, long, value_name = "DIR", default_value = "out")]
    output: PathBuf,
}

/// Runs the switches; a line of JSON with the files of groups says that programs may join.
pub fn run(args: &Args, map: &mut SourceMap) -> ExitCode {
    let loaded = match loaded(slice::from_ref(&args.job), args.rack.as_deref(), map, output::Format::Text) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    if let Err(why) = write(&loaded, vec![], &args.output, map) {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    let local = match start_switches(&loaded, &args.output) {
        Ok(local) => local,
        Err(found) => return output::failed(&found, map, output::Format::Text),
    };
    let kernel = |host: usize| Attachment::Kernel { address: loaded.topology.hosts[host].address };
    let mut files = vec![];
    // In place of those for the hosts of the network.
    for (name, text) in groups(&loaded, |host| local.attachment(host).cloned().unwrap_or(kernel(host))) {
        let path = args.output.join(name);
        if let Err(why) = output::write(&path, text.as_bytes(), &output::sources(map)) {
            report!("p4rack: {why}");
            return ExitCode::FAILURE;
        }
        files.push(path);
    }
    output::print(&format!("{}\n", json!({ "groups": files })));
    // Whoever has started this holds the other end.
    let _ = std::io::stdin().lock().read_to_end(&mut vec![]);
    ExitCode::SUCCESS
}
