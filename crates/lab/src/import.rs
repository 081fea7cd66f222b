//! `p4rack import`: the text of a `RACK.toml` with the network of a lab.

use crate::find::find;
use crate::prepare::{Wishes, program_files, read};
use base_diag::codes::lab as codes;
use base_diag::{Diagnostic, SourceMap};
use base_pcap::{Frame, Reader};
use lab_model::{Capture, Entries, Host, Lab, to_rack_text};
use rack_model::NodeId;
use std::net::IpAddr;
use std::path::Path;

/// The rack of a lab, to be written into `directory`: its paths begin there. Warnings come with it. `captures` is a directory of a lab's
/// captures: the frames in it that came from hosts are sent again.
pub fn import(
    path: &Path,
    wishes: &Wishes,
    captures: Option<&Path>,
    directory: &Path,
    map: &mut SourceMap,
) -> Result<(String, Vec<Diagnostic>), Vec<Diagnostic>> {
    let found = find(path).map_err(|problem| vec![problem])?;
    let (lab, problems) = read(&found, map);
    let Some(mut lab) = lab else { return Err(problems) };
    let files = program_files(&found, wishes, &lab, map)?;
    let programs: Vec<String> = files.iter().map(|file| seen_from(directory, file)).collect();
    for switch in &mut lab.switches {
        for entries in &mut switch.entries {
            let (Entries::Runtime(file) | Entries::Commands(file) | Entries::Any(file)) = entries;
            file.value = seen_from(directory, &found.base.join(&file.value));
        }
    }
    let captures = captures.map(|captures| sent_by_hosts(&lab, captures, directory));
    let captures = captures.transpose().map_err(|problem| vec![problem])?.unwrap_or_default();
    Ok((to_rack_text(&lab, &programs, &captures), problems))
}

/// The captures of frames that hosts have sent. The receiver of each is the host that most of them name as their destination.
fn sent_by_hosts(lab: &Lab, captures: &Path, directory: &Path) -> Result<Vec<Capture>, Diagnostic> {
    let mut all = vec![];
    for link in &lab.links {
        for [host, switch] in [link.ends, [link.ends[1], link.ends[0]]] {
            let (NodeId::Host(from), NodeId::Device(_)) = (host.node, switch.node) else { continue };
            let file = captures.join(format!("{}_in.pcap", lab.interface(switch)));
            let wrong = |why: String| {
                Diagnostic::error(
                    codes::BRING_UP,
                    format!("`{}` cannot be read as a capture", file.display()),
                )
                .note(why)
            };
            let bytes = match std::fs::File::open(&file) {
                Ok(bytes) => std::io::BufReader::new(bytes),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(wrong(error.to_string())),
            };
            let mut reader = Reader::new(bytes).map_err(|error| wrong(error.to_string()))?;
            let mut named = vec![0_u64; lab.hosts.len()];
            let mut count = |frame: Frame<'_>| {
                for (host, named) in lab.hosts.iter().zip(&mut named) {
                    *named += u64::from(is_for(host, frame.bytes));
                }
            };
            let mut frames = 0;
            while reader.read(&mut count).map_err(|error| wrong(error.to_string()))?.is_some() {
                frames += 1;
            }
            let others = (0..lab.hosts.len()).filter(|to| *to != from.0 as usize);
            // Of equal ones the first.
            let to = others.rev().max_by_key(|to| named[*to]);
            if let Some(to) = to.filter(|_| frames > 0) {
                all.push(Capture { from: from.0 as usize, to, file: seen_from(directory, &file) });
            }
        }
    }
    match all.is_empty() {
        false => Ok(all),
        true => {
            let title = format!("`{}` has no frames of this lab's hosts", captures.display());
            let problem = Diagnostic::error(codes::BRING_UP, title);
            Err(problem.help("a lab writes its captures to `pcaps`, one for each port of a switch"))
        }
    }
}

/// True if the frame's destination is an address of the host.
fn is_for(host: &Host, frame: &[u8]) -> bool {
    let is_ipv4 = frame.get(12..14) == Some(&[8, 0]);
    let by_mac = host.mac.is_some_and(|mac| frame.get(..6) == Some(&mac.0[..]));
    let by_ip = |address: IpAddr| match address {
        IpAddr::V4(address) => is_ipv4 && frame.get(30..34) == Some(&address.octets()[..]),
        IpAddr::V6(_) => false,
    };
    by_mac || host.addresses.iter().any(|network| by_ip(network.address))
}

/// A path that is right where `directory` is the current one: short where the file is below it.
fn seen_from(directory: &Path, file: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let (directory, file) = (absolute(directory), absolute(file));
    file.strip_prefix(&directory).unwrap_or(&file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPOLOGY: &str = r#"{ "hosts": { "h1": { "ip": "10.0.0.1/24", "mac": "02:00:00:00:00:01" }, "h2": { "ip": "10.0.0.2/24" }, "h3": { "ip": "10.0.0.3/24" } },
        "switches": { "s1": {} }, "links": [["h1", "s1-p1"], ["s1-p2", "h2"], ["h3", "s1-p3"]] }"#;

    fn ipv4(to: u8) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[30..34].copy_from_slice(&[10, 0, 0, to]);
        frame
    }

    #[test]
    fn captures_go_to_the_host_that_most_frames_name() {
        let directory = std::env::temp_dir().join(format!("p4rack-import-{}", std::process::id()));
        let captures = directory.join("pcaps");
        std::fs::create_dir_all(&captures).expect("a directory");
        let write = |name: &str, frames: &[Vec<u8>]| {
            let mut writer = base_pcap::Writer::new(vec![]).expect("a capture");
            frames.iter().for_each(|frame| writer.frame(Frame::whole(0, frame)).expect("a frame"));
            std::fs::write(captures.join(name), writer.into_inner()).expect("a file");
        };
        let (lab, _) = lab_model::read_tutorial(TOPOLOGY, 1);
        let lab = lab.expect("a lab");
        let of = || {
            let found = sent_by_hosts(&lab, &captures, &directory);
            found
                .map(|all| all.into_iter().map(|of| (of.from, of.to, of.file)).collect::<Vec<_>>())
                .map_err(|problem| problem.title)
        };
        assert!(of().is_err_and(|title| title.ends_with("has no frames of this lab's hosts")));
        let by_mac = [&[2, 0, 0, 0, 0, 1][..], &[0; 54]].concat();
        write("s1-eth1_in.pcap", &[ipv4(3), ipv4(2), ipv4(2)]);
        write("s1-eth1_out.pcap", &[ipv4(1)]);
        write("s1-eth2_in.pcap", &[]);
        write("s1-eth3_in.pcap", &[by_mac]);
        let file = |port: u8| format!("pcaps/s1-eth{port}_in.pcap");
        assert_eq!(of(), Ok(vec![(0, 1, file(1)), (2, 0, file(3))]));
        std::fs::write(captures.join("s1-eth2_in.pcap"), "no capture").expect("a file");
        assert!(of().is_err_and(|title| title.ends_with("s1-eth2_in.pcap` cannot be read as a capture")));
        std::fs::remove_dir_all(&directory).expect("it goes");
    }
}
