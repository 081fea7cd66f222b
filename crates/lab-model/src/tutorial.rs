//! `topology.json` of p4lang's tutorials.
//!
//! ```json
//! {
//!   "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11", "commands": ["route add default gw 10.0.1.10 dev eth0"] } },
//!   "switches": { "s1": { "runtime_json": "s1-runtime.json", "program": "build/firewall.json", "cpu_port": "510" } },
//!   "links": [["h1", "s1-p1"], ["s1-p2", "s2-p1", "5ms", 0.5]]
//! }
//! ```
//!
//! The third element of a link is its delay, the fourth its bandwidth in Mbit/s.

use crate::check::{self, Links};
use crate::lab::{Entries, Host, Lab, Origin, Switch};
use crate::quantity;
use base_diag::codes::lab as codes;
use base_diag::{Diagnostic, Span};
use base_json::{Fields, Json, Reader};
use rack_model::{DeviceId, HostId, Mac, Network, NodeId, Spanned};

/// Reads a file; `start` is the number of the text's first byte in its source map. There is no lab if there is an error among the diagnostics.
pub fn read_tutorial(text: &str, start: u32) -> (Option<Lab>, Vec<Diagnostic>) {
    let mut reader = Reader::new(codes::DESCRIPTION);
    let json = match base_json::parse(text, start) {
        Ok(json) => json,
        Err(error) => {
            reader.wrong(error.span, "this is not JSON", error.message);
            return (None, reader.problems);
        }
    };
    let mut lab = Lab::new(Origin::Tutorial);
    if let Some(fields) = reader.fields("the file", &json, "{ \"hosts\": {} }") {
        read(&mut reader, fields, &mut lab);
    }
    check::all(&mut reader, &lab);
    lab.number_switches();
    let lab = (!reader.has_errors()).then_some(lab);
    (lab, reader.problems)
}

fn read(reader: &mut Reader, mut fields: Fields<'_>, lab: &mut Lab) {
    let hosts = fields.need(reader, "hosts", "{ \"h1\": { \"ip\": \"10.0.1.1/24\" } }");
    for (name, span, json) in named(reader, "the hosts", hosts) {
        lab.hosts.extend(host(reader, Spanned::new(name.to_string(), span), json));
    }
    let switches = fields.need(reader, "switches", "{ \"s1\": {} }");
    for (name, span, json) in named(reader, "the switches", switches) {
        lab.switches.extend(switch(reader, Spanned::new(name.to_string(), span), json));
    }
    let links = fields.need(reader, "links", "[[\"h1\", \"s1-p1\"]]");
    let mut plugged = Links::default();
    for json in links.and_then(|json| reader.list(json, "[[\"h1\", \"s1-p1\"]]")).unwrap_or_default() {
        link(reader, json, lab, &mut plugged);
    }
    fields.finish(reader, &["hosts", "switches", "links"]);
}

/// The members of an object of named things.
pub(crate) fn named<'j>(
    reader: &mut Reader,
    what: &str,
    json: Option<&'j Json>,
) -> Vec<(&'j str, Span, &'j Json)> {
    let fields = json.and_then(|json| reader.fields(what, json, "{ \"h1\": {} }"));
    fields.map_or(vec![], |mut fields| fields.rest())
}

fn host(reader: &mut Reader, name: Spanned<String>, json: &Json) -> Option<Host> {
    let mut fields = reader.fields(format!("host `{}`", name.value), json, "{ \"ip\": \"10.0.1.1/24\" }")?;
    let ip = fields.need(reader, "ip", "\"10.0.1.1/24\"").and_then(|json| network(reader, json));
    let mac = fields.take("mac").and_then(|json| mac(reader, json));
    let commands = commands(reader, &mut fields);
    fields.finish(reader, &["ip", "mac", "commands"]);
    Some(Host { name, mac, addresses: ip.into_iter().collect(), gateway: None, neighbours: vec![], commands })
}

/// `"commands": [...]`
pub(crate) fn commands(reader: &mut Reader, fields: &mut Fields<'_>) -> Vec<String> {
    let example = "[\"route add default gw 10.0.1.10 dev eth0\"]";
    let list = fields.take("commands").and_then(|json| reader.list(json, example));
    let command = |json| reader.string(json, "\"arp -n\"").map(ToString::to_string);
    list.unwrap_or_default().iter().filter_map(command).collect()
}

/// An address with its prefix length. As in Mininet, the length is 8 if it is not there.
pub(crate) fn network(reader: &mut Reader, json: &Json) -> Option<Network> {
    let text = reader.string(json, "\"10.0.1.1/24\"")?;
    let full = if text.contains('/') { text.to_string() } else { format!("{text}/8") };
    match Network::parse(&full) {
        Ok(network) => Some(network),
        Err(why) => {
            reader.wrong_but(json.span, "not an address", why, "for example: \"10.0.1.1/24\"");
            None
        }
    }
}

pub(crate) fn mac(reader: &mut Reader, json: &Json) -> Option<Mac> {
    let text = reader.string(json, "\"08:00:00:00:01:11\"")?;
    let mac = Mac::parse(text).filter(|mac| !mac.is_group());
    if mac.is_none() {
        let label = match Mac::parse(text) {
            Some(_) => "this is the address of a group: its first byte is odd",
            None => "six bytes in hexadecimal are expected",
        };
        reader.wrong_but(
            json.span,
            "not the MAC address of a host",
            label,
            "for example: \"08:00:00:00:01:11\"",
        );
    }
    mac
}

fn switch(reader: &mut Reader, name: Spanned<String>, json: &Json) -> Option<Switch> {
    let mut fields = reader.fields(format!("switch `{}`", name.value), json, "{}")?;
    let runtime = file(reader, &mut fields, "runtime_json").map(Entries::Runtime);
    let commands = file(reader, &mut fields, "cli_input").map(Entries::Commands);
    let program = file(reader, &mut fields, "program");
    let cpu_port = fields.take("cpu_port").and_then(|json| reader.whole(json, u32::MAX));
    let queues = fields.take("priority_queues").and_then(|json| reader.whole(json, u8::MAX));
    fields.finish(reader, &["runtime_json", "cli_input", "program", "cpu_port", "priority_queues"]);
    // In the order in which the tutorials' script fills a switch.
    let entries = commands.into_iter().chain(runtime).collect();
    let plain = Switch::new(name);
    let priority_queues = queues.unwrap_or(plain.priority_queues);
    Some(Switch { program, entries, cpu_port, priority_queues, ..plain })
}

/// The path of a file.
pub(crate) fn file(reader: &mut Reader, fields: &mut Fields<'_>, key: &str) -> Option<Spanned<String>> {
    let json = fields.take(key)?;
    let text = reader.string(json, "\"s1-runtime.json\"")?;
    Some(Spanned::new(text.to_string(), json.span))
}

fn link(reader: &mut Reader, json: &Json, lab: &mut Lab, plugged: &mut Links) {
    let example = "[\"h1\", \"s1-p1\"]";
    let Some(parts) = reader.list(json, example) else { return };
    let [one, other, settings @ ..] = parts else {
        return reader.wrong_but(
            json.span,
            "a link has two ends",
            "one of them is missing",
            format!("for example: {example}"),
        );
    };
    let (one, other) = (end(reader, one, lab), end(reader, other, lab));
    let delay = settings.first().and_then(|json| quantity::delay(reader, json));
    let rate = settings.get(1).filter(|json| json.kind != base_json::Kind::Null);
    let rate = rate.and_then(|json| quantity::bandwidth(reader, json));
    if let Some(more) = settings.get(2) {
        let label = "a link has two ends, a delay and a bandwidth";
        reader.wrong(more.span, "too many elements", label);
    }
    let (Some(one), Some(other)) = (one, other) else { return };
    if let Some(mut link) = plugged.plug(reader, lab, [one, other], json.span) {
        link.delay = delay.unwrap_or(link.delay);
        link.rate = rate.unwrap_or(link.rate);
        link.full_rate = link.rate;
        lab.links.push(link);
    }
}

/// `h1` or `s1-p1`; a host's port is the next one.
fn end(reader: &mut Reader, json: &Json, lab: &Lab) -> Option<(NodeId, Option<u32>, Span)> {
    let text = reader.string(json, "\"s1-p1\"")?;
    if let Some(host) = lab.host(text) {
        return Some((NodeId::Host(HostId(host as u32)), None, json.span));
    }
    let (name, port) = text.rsplit_once('-').unwrap_or((text, ""));
    let Some(switch) = lab.switch(name) else {
        check::unknown_node(reader, lab, if lab.switch(text).is_some() { text } else { name }, json.span);
        return None;
    };
    let number = port.strip_prefix('p').and_then(|number| number.parse().ok());
    let Some(port) = number else {
        let help = format!("for example: \"{name}-p1\"");
        let label = match port {
            "" => "the port is missing".to_string(),
            _ => format!("`{port}` is not `p` and a number"),
        };
        reader.wrong_but(json.span, "not a port of a switch", label, help);
        return None;
    };
    Some((NodeId::Device(DeviceId(switch as u32)), Some(port), json.span))
}
