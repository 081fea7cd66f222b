//! A lab as the text of a `RACK.toml`: the same network in virtual time.

use crate::lab::{Gateway, Host, Lab, UNLIMITED};
use rack_model::{Link, Mac, NodeId};
use std::fmt::Write;
use std::net::IpAddr;

/// Frames that a host has sent in a lab.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capture {
    /// Position of the sender among the hosts.
    pub from: usize,
    /// Position of the receiver that counts them.
    pub to: usize,
    /// A pcap file.
    pub file: String,
}

/// The text. `programs` are the files of the switches' programs, by the switches' places. A rack's hosts have no ARP: the MAC address of a gateway is taken
/// from the hosts' commands. Pings, iperf and captures become workloads. Without captures, every host pings those that it has a path to.
pub fn to_rack_text(lab: &Lab, programs: &[String], captures: &[Capture]) -> String {
    let mut text = String::from("# The network of a lab, in virtual time: `p4rack up`.\n");
    for (switch, program) in lab.switches.iter().zip(programs) {
        let name = &switch.name.value;
        let mut files = switch.entries.iter().map(|entries| entries.file().value.as_str());
        let _ = write!(
            text,
            "\n[device.{name}]\nclass = \"switch\"\n\n[[app]]\nname = {name:?}\nprogram = {program:?}\norigin = {name:?}\n"
        );
        if let Some(file) = files.next() {
            let _ = writeln!(text, "entries = {file:?}");
        }
        for file in files {
            let _ = writeln!(text, "# Not read: a rack's app has one file of entries. {file:?}");
        }
    }
    for host in &lab.hosts {
        host_text(&mut text, host);
    }
    for link in &lab.links {
        link_text(&mut text, lab, link);
    }
    if captures.is_empty() {
        workloads(&mut text, lab);
    }
    for Capture { from, to, file } in captures {
        let [from, to] = [*from, *to].map(|at| lab.hosts[at].name.value.as_str());
        let _ =
            write!(text, "\n[[workload]]\nkind = \"pcap\"\nfrom = {from:?}\nto = {to:?}\nfile = {file:?}\n");
    }
    text
}

fn host_text(text: &mut String, host: &Host) {
    let addresses: Vec<String> = host.addresses.iter().map(|network| format!("\"{network}\"")).collect();
    let _ = writeln!(
        text,
        "\n[host.{}]\nmac = \"{}\"\nip = [{}]",
        host.name.value,
        mac_of(host),
        addresses.join(", ")
    );
    if let Some(mac) = gateway_of(host) {
        let _ = writeln!(text, "gateway = \"{mac}\"");
    }
}

fn mac_of(host: &Host) -> Mac {
    host.mac.unwrap_or_default()
}

/// The MAC address that leads to other networks.
fn gateway_of(host: &Host) -> Option<Mac> {
    let commands = || host.commands.iter().map(|command| command.split_whitespace().collect::<Vec<_>>());
    let by_command = commands().find_map(|words| gateway_in(&words)).map(Gateway::Address);
    match host.gateway.or(by_command)? {
        Gateway::Mac(mac) => Some(mac),
        Gateway::Address(address) => {
            let known = host.neighbours.iter().find(|known| known.address == address).map(|known| known.mac);
            known.or_else(|| commands().find_map(|words| mac_in(&words, address)))
        }
    }
}

/// `route add default gw ADDRESS`, `ip route add default via ADDRESS`
fn gateway_in(words: &[&str]) -> Option<IpAddr> {
    let is_default = words.contains(&"route") && words.contains(&"default");
    let at = words.iter().position(|word| matches!(*word, "gw" | "via"))?;
    words.get(at + 1).filter(|_| is_default)?.parse().ok()
}

/// `arp -s ADDRESS MAC`, `ip neigh add ADDRESS lladdr MAC`
fn mac_in(words: &[&str], address: IpAddr) -> Option<Mac> {
    let is_known = words.contains(&"arp") || words.iter().any(|word| word.starts_with("neigh"));
    let names_it = words.iter().any(|word| word.parse() == Ok(address));
    (is_known && names_it).then(|| words.iter().find_map(|word| Mac::parse(word)))?
}

fn link_text(text: &mut String, lab: &Lab, link: &Link) {
    let ends = link.ends.map(|end| match end.node {
        NodeId::Host(_) => format!("\"{}\"", lab.node_name(end.node)),
        NodeId::Device(_) => format!("\"{}:{}\"", lab.node_name(end.node), end.port),
    });
    let rate = if link.rate == UNLIMITED { rack_model::link::DEFAULT_RATE } else { link.rate };
    let _ = write!(text, "\n[[link]]\nends = [{}]\nrate = \"{rate}\"\n", ends.join(", "));
    if link.delay > base_time::Duration::ZERO {
        let _ = writeln!(text, "delay = \"{}\"", link.delay);
    }
    if link.loss.ppb() > 0 {
        let _ = writeln!(text, "loss = \"{}\"", link.loss);
    }
    let _ = writeln!(text, "queue = {}", link.queue);
}

/// True if a host can reach another.
fn reaches(from: &Host, to: &Host) -> bool {
    let Some(address) = to.addresses.first().map(|network| network.address) else { return false };
    from.addresses.iter().any(|own| own.contains(address)) || gateway_of(from).is_some()
}

fn workloads(text: &mut String, lab: &Lab) {
    let ping = |text: &mut String, from: &str, to: &[String], count: u32| {
        let _ = write!(
            text,
            "\n[[workload]]\nkind = \"ping\"\nfrom = {from:?}\nto = [{}]\ncount = {count}\ninterval = \"1ms\"\n",
            to.join(", ")
        );
    };
    for host in &lab.hosts {
        // Answers need a path back.
        let is_reachable =
            |other: &&Host| other.name != host.name && reaches(host, other) && reaches(other, host);
        let others: Vec<String> =
            lab.hosts.iter().filter(is_reachable).map(|other| format!("{:?}", other.name.value)).collect();
        if !others.is_empty() {
            ping(text, &host.name.value, &others, 3);
        }
        for command in &host.commands {
            let words: Vec<&str> = command.split_whitespace().collect();
            let to = lab.hosts.iter().filter(is_reachable).find(|other| {
                other
                    .addresses
                    .iter()
                    .any(|network| words.iter().any(|word| word.parse() == Ok(network.address)))
            });
            let Some(to) = to.map(|to| &to.name.value) else { continue };
            match words.first() {
                Some(&"ping") => {
                    let count = option(&words, "-c").and_then(|count| count.parse().ok());
                    ping(text, &host.name.value, &[format!("{to:?}")], count.unwrap_or(3));
                }
                Some(&("iperf" | "iperf3")) => iperf(text, &host.name.value, to, &words),
                _ => {}
            }
        }
    }
}

/// The word after an option.
fn option<'w>(words: &[&'w str], name: &str) -> Option<&'w str> {
    words.iter().skip_while(|word| **word != name).nth(1).copied()
}

/// `iperf -c ADDRESS [-u] [-b RATE]`: a transfer, or datagrams. Virtual time needs no ten seconds of either.
fn iperf(text: &mut String, from: &str, to: &str, words: &[&str]) {
    if !words.contains(&"-u") {
        let _ = write!(text, "\n[[workload]]\nkind = \"tcp\"\nfrom = {from:?}\nto = {to:?}\ncount = 1\n");
        return;
    }
    // iperf's units, and its default.
    let rate = option(words, "-b").unwrap_or("1M");
    let rate = match rate.split_at_checked(rate.len().saturating_sub(1)) {
        Some((number, "k" | "K")) => format!("{number}kbit/s"),
        Some((number, "m" | "M")) => format!("{number}Mbit/s"),
        Some((number, "g" | "G")) => format!("{number}Gbit/s"),
        _ => format!("{rate}bit/s"),
    };
    let _ = write!(
        text,
        "\n[[workload]]\nkind = \"udp\"\nfrom = {from:?}\nto = {to:?}\ncount = 1000\nrate = {rate:?}\nsize = 1470\n"
    );
}
