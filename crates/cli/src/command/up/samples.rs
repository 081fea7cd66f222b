//! `--samples`: arrivals, one per line.

use super::{Args, Output};
use p4rack::Racked;
use rack_emulator::Emulator;
use rack_model::NodeId;
use std::fmt::Write;

const TITLES: &str = "phase,workload,from,to,sequence,sent_ps,received_ps,latency_ps\n";

/// Opens the file and writes its header line; `None` without `--samples`.
pub fn open(args: &Args, racked: &Racked) -> Result<Option<Output>, String> {
    let mut file = args.samples.clone().map(|path| Output::new(path, racked)).transpose()?;
    if let Some(file) = &mut file {
        file.write(TITLES.as_bytes())?;
    }
    Ok(file)
}

/// Writes the arrivals since the last call. Names consist of letters, digits, `_`, `-` and `.`, so nothing is quoted.
pub fn write(file: &mut Output, stage: &str, emulator: &mut Emulator) -> Result<(), String> {
    let mut text = String::new();
    let samples = emulator.take_samples();
    let rack = emulator.rack();
    for sample in samples {
        let workload = rack.workloads.get(sample.workload).map_or("", |workload| &workload.name.value);
        let name = |host| rack.node_name(NodeId::Host(host));
        let (from, to) = (name(sample.from), name(sample.to));
        let (sent, received) = (sample.sent.as_ps(), sample.received.as_ps());
        let (number, latency) = (sample.sequence, received.saturating_sub(sent));
        let _ = writeln!(text, "{stage},{workload},{from},{to},{number},{sent},{received},{latency}");
    }
    file.write(text.as_bytes())
}
