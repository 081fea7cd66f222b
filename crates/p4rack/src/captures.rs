//! The captures that a rack's workloads replay.

use base_diag::Diagnostic;
use base_diag::codes::run::CAPTURE;
use base_pcap::Reader;
use base_time::Duration;
use host_programs::Value;
use host_programs::kind::MOST_PACKETS;
use rack_emulator::Captures;
use rack_model::{Rack, Spanned};
use std::fs::File;
use std::path::Path;

/// Reads every capture once: frames with their times since the first.
pub fn read(rack: &Rack, directory: &Path) -> Result<Captures, Vec<Diagnostic>> {
    let mut captures = Captures::new();
    for workload in rack.all_workloads() {
        let Some((Value::Text(file), place)) = workload.load.value("file") else { continue };
        if !captures.contains_key(file) {
            let file = Spanned::new(file.clone(), place);
            let frames = frames(directory, &file).map_err(|diagnostic| vec![diagnostic])?;
            captures.insert(file.value, frames);
        }
    }
    Ok(captures)
}

fn frames(directory: &Path, file: &Spanned<String>) -> Result<Vec<(Duration, Vec<u8>)>, Diagnostic> {
    let wrong = |why: String| {
        let title = format!("capture `{}` cannot be read", file.value.escape_debug());
        Diagnostic::error(CAPTURE, title).at(file.span, "replayed here").note(why)
    };
    let source = File::open(directory.join(&file.value)).map_err(|e| wrong(e.to_string()))?;
    let mut frames: Vec<(Duration, Vec<u8>)> = vec![];
    let mut first = None;
    for record in Reader::new(source).map_err(|e| wrong(e.to_string()))?.take(MOST_PACKETS as usize) {
        let record = record.map_err(|e| wrong(e.to_string()))?;
        let since_first = record.nanos.saturating_sub(*first.get_or_insert(record.nanos));
        // Captures are not always in order; time does not go back.
        let last = frames.last().map_or(Duration::ZERO, |(at, _)| *at);
        frames.push((Duration::from_ns(since_first).max(last), record.frame));
    }
    Ok(frames)
}
