//! Commands of the prompt and of scripts, as in Mininet.

use crate::follow::follow;
use crate::network::Network;
use crate::ping::ping_all;
use crate::printed::Printed;
use crate::transfer::transfer;
use crate::{dump, terminal};
use base_diag::did_you_mean;
use rack_model::{HostId, NodeId};
use std::time::Duration;

/// Timeout of `pingall` for each answer, and duration of `iperf`, unless they are given.
const PATIENCE: Duration = Duration::from_secs(1);
const SPAN: Duration = Duration::from_secs(3);
/// The longest `iperf`.
const MOST_SPAN: Duration = Duration::from_secs(3600);

/// The commands with their descriptions.
pub const COMMANDS: [(&str, &str); 13] = [
    ("HOST COMMAND", "run COMMAND in a host; names of hosts stand for their addresses"),
    (
        "SWITCH COMMAND",
        "table_dump [TABLE], show_tables, counters [FILTER], trace PORT HEX, and the commands of `p4rack cli`",
    ),
    ("pingall [SECONDS]", "ping every host from every other"),
    ("iperf HOST HOST [SECONDS]", "how fast one TCP connection is"),
    ("link NODE NODE up|down", "take a link up or down"),
    (
        "trace HOST|SWITCH:PORT HEX",
        "follow a frame through the switches, from a host or from a port of a switch",
    ),
    ("links", "the links and what they have carried"),
    ("nodes", "hosts and switches"),
    ("dump", "all about hosts and switches"),
    ("xterm HOST...", "a terminal in a host: a window of X or of tmux"),
    ("sh COMMAND", "run COMMAND outside of the lab"),
    ("help", "this text"),
    ("exit", "end the lab"),
];

/// Input and output of a host's command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Streams {
    /// At the terminal.
    Terminal,
    /// Into the result.
    Captured,
}

/// Result of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// Success, with the output.
    Well(String),
    /// Failure, with the message.
    Badly(String),
    /// The lab ends.
    Exit,
}

/// Does one line.
pub fn perform(network: &Network, line: &str, streams: Streams) -> Done {
    let line = line.trim();
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return Done::Well(String::new()) };
    let rest: Vec<&str> = words.collect();
    let text = line[first.len()..].trim();
    if first.starts_with('#') {
        return Done::Well(String::new());
    }
    if let Some(host) = network.lab.host(first) {
        return in_host(network, host, text, streams);
    }
    if let Some(switch) = network.lab.switch(first) {
        return said(dump::of_switch(network, switch, &rest));
    }
    match first {
        "exit" | "quit" | "EOF" => Done::Exit,
        "help" | "?" => Done::Well(help()),
        "nodes" => Done::Well(dump::nodes(network)),
        "links" | "net" => Done::Well(dump::links(network)),
        "dump" => Done::Well(dump::all(network)),
        "pingall" | "pingallfull" => ping(network, &rest),
        "iperf" => said(measure(network, &rest)),
        "trace" => said(trace(network, &rest)),
        "link" => said(link(network, &rest)),
        "xterm" | "x" | "gterm" => said(terminals(network, &rest)),
        "sh" => outside(text, streams),
        _ => Done::Badly(unknown(network, first)),
    }
}

fn said(result: Result<String, String>) -> Done {
    match result {
        Ok(text) => Done::Well(text),
        Err(why) => Done::Badly(format!("{why}\n")),
    }
}

fn help() -> String {
    COMMANDS.iter().map(|(form, means)| format!("  {form:<24} {means}\n")).collect()
}

fn unknown(network: &Network, word: &str) -> String {
    let commands = COMMANDS
        .iter()
        .filter_map(|(form, _)| form.split(' ').next())
        .filter(|name| name.chars().all(|c| c.is_ascii_lowercase()));
    let near = did_you_mean(word, commands.chain(network.lab.names()));
    let hint = near.map_or("`help` lists the commands".to_string(), |near| format!("did you mean `{near}`?"));
    format!("there is no command, host or switch `{word}`: {hint}\n")
}

/// Runs a command line of a shell in a host.
fn in_host(network: &Network, host: usize, text: &str, streams: Streams) -> Done {
    let line = with_addresses(network, text);
    let words = if line.is_empty() { vec!["bash"] } else { vec!["bash", "-c", &line] };
    let done = match streams {
        Streams::Terminal => network
            .start(host, &words)
            .and_then(|mut child| child.wait())
            .map(|status| (status.success(), String::new())),
        Streams::Captured => network.output(host, &words),
    };
    match done {
        Ok((true, text)) => Done::Well(text),
        Ok((false, text)) => Done::Badly(text),
        Err(error) => Done::Badly(format!("{error}\n")),
    }
}

fn outside(text: &str, streams: Streams) -> Done {
    let mut command = std::process::Command::new("bash");
    command.args(["-c", text]);
    match streams {
        Streams::Terminal => match command.status() {
            Ok(status) if status.success() => Done::Well(String::new()),
            Ok(_) => Done::Badly(String::new()),
            Err(error) => Done::Badly(format!("{error}\n")),
        },
        Streams::Captured => match captured(&mut command) {
            Ok((true, text)) => Done::Well(text),
            Ok((false, text)) => Done::Badly(text),
            Err(error) => Done::Badly(format!("{error}\n")),
        },
    }
}

fn captured(command: &mut std::process::Command) -> std::io::Result<(bool, String)> {
    let printed = Printed::new()?;
    command.stdin(std::process::Stdio::null()).stdout(printed.end()?).stderr(printed.end()?);
    Ok((command.status()?.success(), printed.text()?))
}

/// Words that are names of hosts become their addresses, but for the first, which is a program.
pub fn with_addresses(network: &Network, text: &str) -> String {
    let address = |word: &str| network.lab.host(word).and_then(|host| network.address(host));
    replaced(text, |word| address(word).map(|address| address.to_string()))
}

/// Replaces whole words except the first; separators stay.
pub fn replaced(text: &str, with: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut is_first = true;
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        match with(word).filter(|_| !is_first) {
            Some(other) => {
                out.push_str(&other);
                out.push_str(&piece[word.len()..]);
            }
            None => out.push_str(piece),
        }
        is_first &= word.is_empty();
    }
    out
}

/// A number of seconds, such as 0.5.
fn seconds(word: &str) -> Option<Duration> {
    word.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

fn ping(network: &Network, words: &[&str]) -> Done {
    let patience = match words {
        [] => PATIENCE,
        [word, ..] => match seconds(word) {
            Some(patience) => patience,
            None => return Done::Badly("usage: pingall [SECONDS]\n".to_string()),
        },
    };
    let pings = ping_all(network, patience);
    let (received, sent) = pings.count();
    if received == sent { Done::Well(pings.text()) } else { Done::Badly(pings.text()) }
}

fn host_named(network: &Network, name: &str) -> Result<usize, String> {
    let names = || network.lab.hosts.iter().map(|host| host.name.value.as_str());
    network.lab.host(name).ok_or_else(|| match did_you_mean(name, names()) {
        Some(near) => format!("there is no host `{name}`; did you mean `{near}`?"),
        None => format!("there is no host `{name}`; there are: {}", names().collect::<Vec<_>>().join(", ")),
    })
}

fn measure(network: &Network, words: &[&str]) -> Result<String, String> {
    let usage = || "usage: iperf HOST HOST [SECONDS]".to_string();
    let (from, to, span) = match words {
        [] if network.lab.hosts.len() > 1 => (0, network.lab.hosts.len() - 1, SPAN),
        [from, to] => (host_named(network, from)?, host_named(network, to)?, SPAN),
        [from, to, span] => {
            let span =
                seconds(span).filter(|span| !span.is_zero() && *span <= MOST_SPAN).ok_or_else(usage)?;
            (host_named(network, from)?, host_named(network, to)?, span)
        }
        _ => return Err(usage()),
    };
    let rate = transfer(network, from, to, span)?;
    let name = |host: usize| &network.lab.hosts[host].name.value;
    let mbits = rate.bits_per_s() as f64 / 1e6;
    Ok(format!("*** Results: TCP {} -> {}: {mbits:.2} Mbit/s\n", name(from), name(to)))
}

fn link(network: &Network, words: &[&str]) -> Result<String, String> {
    let [one, other, state @ ("up" | "down")] = words else {
        return Err("usage: link NODE NODE up|down".to_string());
    };
    let node = |name: &str| {
        network.lab.node(name).ok_or_else(|| match did_you_mean(name, network.lab.names()) {
            Some(near) => format!("there is no host or switch `{name}`; did you mean `{near}`?"),
            None => format!("there is no host or switch `{name}`"),
        })
    };
    let links: Vec<usize> = network.lab.links_between(node(one)?, node(other)?).collect();
    if links.is_empty() {
        return Err(format!("no link joins `{one}` and `{other}`"));
    }
    links.into_iter().try_for_each(|link| network.set_link(link, *state == "down"))?;
    Ok(String::new())
}

/// Follows a frame that a host sends, or that comes in by a port of a switch.
fn trace(network: &Network, words: &[&str]) -> Result<String, String> {
    let [place, hex] = words else { return Err("usage: trace HOST|SWITCH:PORT HEX".to_string()) };
    let frame = dump::bytes(hex).ok_or_else(|| format!("`{hex}` is not a frame in hexadecimal"))?;
    let from = match place.split_once(':') {
        Some((switch, port)) => {
            let Some(node @ NodeId::Device(_)) = network.lab.node(switch) else {
                return Err(format!("there is no switch `{switch}`"));
            };
            (node, port.parse().map_err(|_| format!("`{port}` is not a port"))?)
        }
        None => {
            let node = NodeId::Host(HostId(host_named(network, place)? as u32));
            let first = network.lab.ends(node).next().ok_or_else(|| format!("no link leaves `{place}`"))?;
            (node, first.port)
        }
    };
    follow(&network.lab, from, frame, |switch, port, frame| dump::traced(network, switch, port, frame))
}

fn terminals(network: &Network, words: &[&str]) -> Result<String, String> {
    if words.is_empty() {
        return Err("usage: xterm HOST...".to_string());
    }
    let hosts: Result<Vec<usize>, String> = words.iter().map(|name| host_named(network, name)).collect();
    hosts?.into_iter().map(|host| terminal::open(network, host)).collect()
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn names_of_hosts_are_replaced_but_for_the_program() {
        let with = |word: &str| (word == "h2").then(|| "10.0.0.2".to_string());
        assert_eq!(replaced("ping -c 1  h2", with), "ping -c 1  10.0.0.2");
        assert_eq!(replaced("h2 h2\th2 h22", with), "h2 10.0.0.2\t10.0.0.2 h22");
        assert_eq!(replaced("", with), "");
    }
}
