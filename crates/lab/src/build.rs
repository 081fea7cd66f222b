//! Files that `make` leaves beside a tutorial: files for controllers in `build/`, logs in `logs/`.

use crate::graph;
use crate::network::Network;
use crate::prepare::Prepared;
use compiler::p4info::Form;
use compiler::pushed::pushed;
use lab_model::Origin;
use p4runtime_proto::p4::v1::WriteRequest;
use p4runtime_proto::to_text;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Writes P4Info and device config of every program, under the names that controllers look for: `build/NAME.p4.p4info.txtpb` and `build/NAME.json` for
/// the tutorials', `NAME_p4rt.txt` and `NAME.json` beside the program for p4-utils'. Returns errors as text.
pub fn write_programs(prepared: &Prepared) -> Vec<String> {
    let mut notes = vec![];
    for (file, program) in &prepared.programs {
        let (info, config) = program_files(prepared, file);
        let pushed = match pushed(program, Form::Text) {
            Ok(pushed) => pushed,
            Err(problems) => {
                let why = problems.first().map_or(String::new(), |problem| format!(": {}", problem.title));
                notes.push(format!("`{}` is not written{why}", config.display()));
                continue;
            }
        };
        let written = info
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| replace(&info, &pushed.p4info))
            .and_then(|()| replace(&config, pushed.as_json.as_bytes()));
        if let Err(error) = written {
            notes.push(format!("`{}`: {error}", info.display()));
        }
    }
    notes
}

/// Writes a file at once: a controller of another lab in this directory never reads a part of it.
fn replace(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut part = file.as_os_str().to_os_string();
    part.push(format!(".{}", std::process::id()));
    std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, file))
}

/// The files of a program's P4Info and device config.
fn program_files(prepared: &Prepared, file: &Path) -> (PathBuf, PathBuf) {
    if prepared.lab.origin == Origin::P4Utils {
        return graph::program_files(file);
    }
    let directory = prepared.base.join("build");
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    (directory.join(format!("{stem}.p4.p4info.txtpb")), directory.join(format!("{stem}.json")))
}

/// Writes the graph that p4-utils' controllers read, unless a file of this name is something else. Returns errors as text.
pub fn write_graph(network: &Network) -> Option<String> {
    let file = network.base.join(graph::FILE);
    if std::fs::read_to_string(&file).is_ok_and(|text| !graph::is_graph(&text)) {
        return Some(format!("`{}` is left as it is: `load_topo` will not read it", file.display()));
    }
    let text = graph::graph(&network.lab, &network.switches).to_string();
    std::fs::write(&file, text).err().map(|error| format!("`{}`: {error}", file.display()))
}

/// Writes the updates that fill each switch: `logs/s1-p4runtime-requests.txt`. Returns errors as text.
pub fn write_requests(prepared: &Prepared, directory: &Path) -> Vec<String> {
    let mut notes = vec![];
    for (switch, ready) in prepared.lab.switches.iter().zip(&prepared.switches) {
        let request = WriteRequest {
            device_id: switch.device_id,
            updates: ready.updates.clone(),
            ..WriteRequest::default()
        };
        let file = directory.join(format!("{}-p4runtime-requests.txt", switch.name.value));
        let text = to_text(&request).map_err(|error| error.to_string());
        let written = text.and_then(|text| {
            std::fs::create_dir_all(directory)
                .and_then(|()| std::fs::write(&file, text))
                .map_err(|error| error.to_string())
        });
        if let Err(error) = written {
            notes.push(format!("`{}`: {error}", file.display()));
        }
    }
    notes
}

/// Message of a lab that is up.
pub fn welcome(network: &Network) -> String {
    let mut text = String::new();
    for switch in &network.switches {
        let _ = writeln!(
            text,
            "{}: {}, P4Runtime {} device {}{}",
            switch.name,
            switch.program.display(),
            switch.address,
            switch.device_id,
            switch.thrift.map_or(String::new(), |address| format!(", Thrift {address}"))
        );
    }
    if let Some(address) = network.p4runtime().filter(|_| network.switches.len() > 1) {
        let _ = writeln!(text, "all switches, by device id: P4Runtime {address}");
    }
    for note in &network.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}
