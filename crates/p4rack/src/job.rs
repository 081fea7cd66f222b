//! Jobs of MapReduce: their files, the network of a RACK.toml, and the files of a plan.

use crate::{bmv2, entries, sources};
use base_diag::{Diagnostic, SourceMap, codes};
use rack_model::{DeviceClass, NodeId, Rack, read_rack};
use reduce_jobs::plan::Device;
use reduce_jobs::topology::{Host, Link, Node};
use reduce_jobs::{Job, Plan, Topology};
use std::path::{Path, PathBuf};

/// A job and its text.
#[derive(Debug)]
pub struct Text {
    /// As it is in the file.
    pub text: String,
    /// The same, checked.
    pub job: Job,
}

/// Reads and checks files of jobs.
pub fn read(paths: &[PathBuf], map: &mut SourceMap) -> Result<Vec<Text>, Vec<Diagnostic>> {
    let (mut texts, mut problems) = (vec![], vec![]);
    for path in paths {
        match sources::read(path, map) {
            Ok((text, base)) => {
                if let Some(job) = reduce_jobs::check(&text, base, &mut problems) {
                    texts.push(Text { text, job });
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(texts) } else { Err(problems) }
}

/// The network of a RACK.toml (or the one in a directory).
pub fn network(path: &Path, map: &mut SourceMap) -> Result<Topology, Vec<Diagnostic>> {
    let path = if path.is_dir() { path.join("RACK.toml") } else { path.to_path_buf() };
    let (text, base) = sources::read(&path, map).map_err(|problem| vec![problem])?;
    let (rack, problems) = read_rack(&text, base);
    rack.map(|rack| topology(&rack)).ok_or(problems)
}

/// Hosts with IPv4 addresses, programmable switches, and the links between them.
pub fn topology(rack: &Rack) -> Topology {
    let (mut topology, mut hosts, mut switches) = (Topology::default(), vec![], vec![]);
    for host in &rack.hosts {
        hosts.push(host.v4().map(|address| {
            topology.hosts.push(Host { name: host.name.value.clone(), address, mac: host.mac.value.0 });
            topology.hosts.len() - 1
        }));
    }
    for device in &rack.devices {
        switches.push((device.class != DeviceClass::Legacy).then(|| {
            topology.switches.push(device.name.value.clone());
            topology.switches.len() - 1
        }));
    }
    for link in &rack.links {
        let end = |end: &rack_model::End| {
            let node = match end.node {
                NodeId::Host(host) => Node::Host((*hosts.get(host.0 as usize)?)?),
                NodeId::Device(device) => Node::Switch((*switches.get(device.0 as usize)?)?),
            };
            Some((node, end.port))
        };
        if let [Some(one), Some(other)] = link.ends.each_ref().map(end) {
            let rate = link.rate.bytes_in(base_time::Duration::from_s(1)).saturating_mul(8);
            topology.links.push(Link { ends: [one, other], rate });
        }
    }
    topology
}

/// The files of a plan's switches: for each its program, its entries, and a RACK.toml for `p4rack switch`.
pub fn files(plan: &Plan, topology: &Topology) -> Vec<(String, String)> {
    let mut files = vec![];
    for device in &plan.switches {
        let name = &topology.switches[device.switch];
        let source = device.program.source().expect("the plan has checked it");
        files.push((format!("{name}.p4"), source));
        files.push((format!("{name}.stf"), device.entries(topology).join("\n") + "\n"));
        let rack = format!(
            "# `p4rack switch {name}.toml -i PORT@INTERFACE ...` runs it.\n\n[rack]\nname = \"{name}\"\nseed = 1\n\n\
             [device.{name}]\nclass = \"switch\"\n\n[[app]]\nprogram = \"{name}.p4\"\nentries = \"{name}.stf\"\norigin = \"{name}\"\n"
        );
        files.push((format!("{name}.toml"), rack));
    }
    files
}

/// The files of these switches of a plan for a Tofino 1: program and entries.
pub fn files_for_tna(
    plan: &Plan,
    topology: &Topology,
    switches: &[String],
) -> Result<Vec<(String, String)>, Vec<Diagnostic>> {
    let mut files = vec![];
    for name in switches {
        let device = device(plan, topology, name)?;
        let source = device.program.tna().map_err(|problem| {
            let title = format!("switch `{name}` has no program for a Tofino");
            vec![Diagnostic::error(codes::tna::CONVERT, title).note(problem.to_string())]
        })?;
        files.push((format!("{name}.tna.p4"), source));
        files.push((format!("{name}.tna.stf"), device.entries_for_tna(topology).join("\n") + "\n"));
    }
    Ok(files)
}

/// The files of these switches of a plan for `simple_switch`: program and commands. `boot`: the number of the start, another one after each restart.
pub fn files_for_bmv2(
    plan: &Plan,
    topology: &Topology,
    switches: &[String],
    boot: u16,
) -> Result<Vec<(String, String)>, Vec<Diagnostic>> {
    let mut files = vec![];
    for name in switches {
        let mut device = device(plan, topology, name)?.clone();
        device.seats.iter_mut().for_each(|seat| seat.boot = boot);
        let source = device.program.for_bmv2().source().map_err(|problem| {
            let title = format!("switch `{name}` has no program for BMv2");
            vec![Diagnostic::error(codes::job::JOB_SETTING, title).note(problem.to_string())]
        })?;
        let (file, stf) = (format!("{name}.bmv2.p4"), device.entries(topology).join("\n") + "\n");
        let program = compiler::reparse(&file, &source, &mut SourceMap::new())?;
        let entries = entries::read_text(Path::new("entries.stf"), &stf, 0, &program)?;
        files.push((format!("{name}.commands.txt"), bmv2::fill_commands(&program, entries.writes())));
        files.push((file, source));
    }
    Ok(files)
}

/// The switch of this name.
fn device<'p>(plan: &'p Plan, topology: &Topology, name: &str) -> Result<&'p Device, Vec<Diagnostic>> {
    let found = plan.switches.iter().find(|device| topology.switches[device.switch] == name);
    found.ok_or_else(|| {
        let known: Vec<&str> =
            plan.switches.iter().map(|device| topology.switches[device.switch].as_str()).collect();
        let problem = Diagnostic::error(codes::job::JOB_SETTING, format!("no switch `{name}` has a program"));
        vec![problem.note(format!("switches with a program: {}", known.join(", ")))]
    })
}
