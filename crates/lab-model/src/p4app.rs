//! `p4app.json` of p4-utils.
//!
//! ```json
//! {
//!   "p4_src": "forwarding.p4",
//!   "pcap_dump": true,
//!   "topology": {
//!     "assignment_strategy": "l2",
//!     "links": [["h1", "s1"], ["s1", "s2", { "delay": "5ms", "bw": 10 }]],
//!     "hosts": { "h1": {} },
//!     "switches": { "s1": { "cli_input": "s1-commands.txt" }, "s2": {} }
//!   }
//! }
//! ```
//!
//! Ports of switches count from 1 in the order of the links.

use crate::assign::{self, Strategy};
use crate::check::{self, Links};
use crate::lab::{Entries, Gateway, Host, Lab, Origin, Script, Switch};
use crate::quantity;
use crate::tutorial::{commands, file, mac, named, network};
use base_diag::codes::lab as codes;
use base_diag::{Diagnostic, Span};
use base_json::{Fields, Json, Kind, Reader};
use rack_model::{DeviceId, NodeId, Spanned};

/// Reads a file; `start` is the number of the text's first byte in its source map. There is no lab if there is an error among the diagnostics.
pub fn read_p4app(text: &str, start: u32) -> (Option<Lab>, Vec<Diagnostic>) {
    let mut reader = Reader::new(codes::DESCRIPTION);
    let json = match base_json::parse(text, start) {
        Ok(json) => json,
        Err(error) => {
            reader.wrong(error.span, "this is not JSON", error.message);
            return (None, reader.problems);
        }
    };
    let mut lab = Lab::new(Origin::P4Utils);
    if let Some(fields) = reader.fields("the file", &json, "{ \"topology\": {} }") {
        read(&mut reader, fields, &mut lab);
    }
    check::all(&mut reader, &lab);
    let lab = (!reader.has_errors()).then_some(lab);
    (lab, reader.problems)
}

fn read(reader: &mut Reader, mut file_: Fields<'_>, lab: &mut Lab) {
    let program = file(reader, &mut file_, "p4_src");
    lab.program = program.or_else(|| file(reader, &mut file_, "program"));
    let has_cpu_port = flag(reader, &mut file_, "cpu_port").unwrap_or(false);
    lab.records = flag(reader, &mut file_, "pcap_dump").unwrap_or(false);
    // A lab's prompt and logs are always there.
    for key in ["cli", "enable_log"] {
        flag(reader, &mut file_, key);
    }
    let scripts = file_.take("exec_scripts");
    for json in scripts.and_then(|json| reader.list(json, SCRIPTS)).unwrap_or_default() {
        lab.scripts.extend(script(reader, json));
    }
    // Python classes of p4-utils: their places are taken here.
    for key in [
        "switch",
        "switch_node",
        "host_node",
        "client_module",
        "compiler_module",
        "compiler",
        "options",
        "switch_cli",
        "mininet_module",
        "topo_module",
        "controller_module",
        "topodb_module",
    ] {
        let _ = file_.take(key);
    }
    let topology =
        file_.need(reader, "topology", "{ \"links\": [[\"h1\", \"s1\"]], \"hosts\": {}, \"switches\": {} }");
    if let Some(fields) = topology.and_then(|json| reader.fields("the topology", json, "{ \"links\": [] }")) {
        topology_of(reader, fields, lab, has_cpu_port);
    }
    file_.finish(
        reader,
        &["p4_src", "cli", "pcap_dump", "enable_log", "cpu_port", "exec_scripts", "topology"],
    );
}

fn topology_of(reader: &mut Reader, mut fields: Fields<'_>, lab: &mut Lab, has_cpu_port: bool) {
    let strategy = fields.take("assignment_strategy");
    let strategy = strategy.and_then(|json| {
        let text = reader.string(json, "\"l2\"")?;
        let found = Strategy::parse(text);
        if found.is_none() {
            let words = Strategy::WORDS.join("`, `");
            let problem = Diagnostic::error(
                codes::DESCRIPTION,
                format!("there is no strategy `{}`", text.escape_debug()),
            );
            let problem = problem.at(json.span, format!("`{words}` are known"));
            reader.problems.push(problem.suggest(text, Strategy::WORDS));
        }
        found
    });
    let mut inner =
        fields.take("default").and_then(|json| reader.fields("the default", json, "{ \"bw\": 10 }"));
    let mut arp = |key: &str| {
        let of_hosts = inner.as_mut().and_then(|inner| flag(reader, inner, key));
        flag(reader, &mut fields, key).or(of_hosts).unwrap_or(true)
    };
    let (of_networks, of_gateways) = (arp("auto_arp_tables"), arp("auto_gw_arp"));
    let defaults = Settings::read_defaults(reader, inner, &mut fields);
    let hosts = fields.need(reader, "hosts", "{ \"h1\": {} }");
    for (name, span, json) in named(reader, "the hosts", hosts) {
        lab.hosts.extend(host(reader, Spanned::new(name.to_string(), span), json));
    }
    let mut controlled = vec![];
    let switches = fields.need(reader, "switches", "{ \"s1\": {} }");
    for (name, span, json) in named(reader, "the switches", switches) {
        let Some((switch, is_controlled)) =
            switch(reader, Spanned::new(name.to_string(), span), json, has_cpu_port)
        else {
            continue;
        };
        if is_controlled {
            controlled.push(DeviceId(lab.switches.len() as u32));
        }
        lab.switches.push(switch);
    }
    let links = fields.need(reader, "links", "[[\"h1\", \"s1\"]]");
    let mut plugged = Links::default();
    for json in links.and_then(|json| reader.list(json, "[[\"h1\", \"s1\"]]")).unwrap_or_default() {
        link(reader, json, lab, &mut plugged, &defaults);
    }
    for device in controlled {
        let used = lab.ends(NodeId::Device(device)).map(|end| end.port);
        lab.switches[device.0 as usize].control_port = Some(used.max().unwrap_or(0).saturating_add(1));
    }
    fields.finish(
        reader,
        &["assignment_strategy", "auto_arp_tables", "auto_gw_arp", "default", "hosts", "switches", "links"],
    );
    lab.number_switches();
    let first = lab.origin.first_id();
    let numbers: Vec<u32> =
        lab.switches.iter().map(|switch| u32::try_from(switch.device_id - first + 1).unwrap_or(0)).collect();
    assign::addresses(lab, strategy.unwrap_or(Strategy::Mixed), &numbers);
    assign::neighbours(lab, of_networks, of_gateways);
}

const SCRIPTS: &str = "[{ \"cmd\": \"python controller.py\" }]";

fn script(reader: &mut Reader, json: &Json) -> Option<Script> {
    let mut fields = reader.fields("a script", json, "{ \"cmd\": \"python controller.py\" }")?;
    let command = fields.need(reader, "cmd", "\"python controller.py\"");
    let command = command.and_then(|json| reader.string(json, "\"python controller.py\""));
    let output = fields.take("out_file").and_then(|json| reader.string(json, "\"log/controller.log\""));
    // Switches do not start again.
    let _ = fields.take("reboot_run");
    fields.finish(reader, &["cmd", "out_file", "reboot_run"]);
    Some(Script { command: command?.to_string(), output: output.map(ToString::to_string) })
}

/// `true`, or the same in quotes.
fn flag(reader: &mut Reader, fields: &mut Fields<'_>, key: &str) -> Option<bool> {
    let json = fields.take(key)?;
    match &json.kind {
        Kind::String(text) if text == "true" || text == "false" => Some(text == "true"),
        _ => reader.boolean(json),
    }
}

fn host(reader: &mut Reader, name: Spanned<String>, json: &Json) -> Option<Host> {
    let mut fields = reader.fields(format!("host `{}`", name.value), json, "{}")?;
    let addresses = fields.take("ip").and_then(|json| network(reader, json)).into_iter().collect();
    let mac = fields.take("mac").and_then(|json| mac(reader, json));
    let gateway =
        fields.take("gw").or_else(|| fields.take("defaultRoute")).and_then(|json| gateway(reader, json));
    let commands = commands(reader, &mut fields);
    let _ = fields.take("auto");
    fields.finish(reader, &["ip", "mac", "gw", "defaultRoute", "commands"]);
    Some(Host { name, mac, addresses, gateway, neighbours: vec![], commands })
}

/// `10.0.1.254` or `via 10.0.1.254`
fn gateway(reader: &mut Reader, json: &Json) -> Option<Gateway> {
    let text = reader.string(json, "\"10.0.1.254\"")?;
    let address = text.strip_prefix("via ").unwrap_or(text).trim().parse().ok();
    if address.is_none() {
        reader.wrong_but(json.span, "not a gateway", "an address is expected", "for example: \"10.0.1.254\"");
    }
    address.map(Gateway::Address)
}

/// A switch, and true if its next free port is for controllers (`"cpu_port": true`). A number instead is P4Runtime's CPU port.
fn switch(
    reader: &mut Reader,
    name: Spanned<String>,
    json: &Json,
    has_cpu_port: bool,
) -> Option<(Switch, bool)> {
    let mut fields = reader.fields(format!("switch `{}`", name.value), json, "{}")?;
    let entries = file(reader, &mut fields, "cli_input").map(Entries::Commands).into_iter().collect();
    let program = file(reader, &mut fields, "p4_src").or_else(|| file(reader, &mut fields, "program"));
    let (cpu_port, is_controlled) = match fields.take("cpu_port") {
        None => (None, has_cpu_port),
        Some(Json { kind: Kind::Bool(has), .. }) => (None, *has),
        Some(json) => (reader.whole(json, u32::MAX), false),
    };
    let queues = fields.take("priority_queues_num").and_then(|json| reader.whole(json, u8::MAX));
    fields.finish(reader, &["cli_input", "p4_src", "program", "cpu_port", "priority_queues_num"]);
    let plain = Switch::new(name);
    let priority_queues = queues.unwrap_or(plain.priority_queues);
    Some((Switch { program, entries, cpu_port, priority_queues, ..plain }, is_controlled))
}

/// Settings of a link.
#[derive(Default)]
struct Settings<'j> {
    delay: Option<&'j Json>,
    rate: Option<&'j Json>,
    jitter: Option<&'j Json>,
    loss: Option<&'j Json>,
    queue: Option<&'j Json>,
}

impl<'j> Settings<'j> {
    fn read_defaults(
        reader: &mut Reader,
        inner: Option<Fields<'j>>,
        fields: &mut Fields<'j>,
    ) -> Settings<'j> {
        let mut settings = inner.map_or(Settings::default(), |inner| Settings::take(reader, inner));
        settings.delay = settings.delay.or(fields.take("default_delay"));
        settings.rate = settings.rate.or(fields.take("default_bw"));
        settings.loss = settings.loss.or(fields.take("default_loss"));
        settings.queue = settings.queue.or(fields.take("default_queue_length"));
        settings
    }

    fn take(reader: &mut Reader, mut fields: Fields<'j>) -> Settings<'j> {
        let queue = fields.take("queue_length").or_else(|| fields.take("max_queue_size"));
        let settings = Settings {
            delay: fields.take("delay"),
            rate: fields.take("bw"),
            jitter: fields.take("jitter"),
            loss: fields.take("loss"),
            queue,
        };
        // A cost for p4-utils' own shortest paths.
        let _ = fields.take("weight");
        fields.finish(
            reader,
            &["delay", "jitter", "bw", "loss", "queue_length", "max_queue_size", "port1", "port2", "weight"],
        );
        settings
    }

    fn or(self, other: &Settings<'j>) -> Settings<'j> {
        Settings {
            delay: self.delay.or(other.delay),
            rate: self.rate.or(other.rate),
            jitter: self.jitter.or(other.jitter),
            loss: self.loss.or(other.loss),
            queue: self.queue.or(other.queue),
        }
    }
}

fn link<'j>(
    reader: &mut Reader,
    json: &'j Json,
    lab: &mut Lab,
    plugged: &mut Links,
    defaults: &Settings<'j>,
) {
    let example = "[\"h1\", \"s1\"]";
    let Some(parts) = reader.list(json, example) else { return };
    let [one, other, settings @ ..] = parts else {
        return reader.wrong_but(
            json.span,
            "a link has two ends",
            "one of them is missing",
            format!("for example: {example}"),
        );
    };
    let (one, other) = (node(reader, one, lab), node(reader, other, lab));
    let mut ports = [None, None];
    let mut own = Settings::default();
    if let Some(mut fields) =
        settings.first().and_then(|json| reader.fields("this link", json, "{ \"bw\": 10 }"))
    {
        for (port, key) in ports.iter_mut().zip(["port1", "port2"]) {
            *port = fields.take(key).and_then(|json| reader.whole(json, 65_535u32));
        }
        own = Settings::take(reader, fields);
    }
    let settings = own.or(defaults);
    let (Some((one, one_at)), Some((other, other_at))) = (one, other) else { return };
    let ends = [(one, ports[0], one_at), (other, ports[1], other_at)];
    let Some(mut link) = plugged.plug(reader, lab, ends, json.span) else { return };
    if let Some(delay) = settings.delay.and_then(|json| quantity::delay(reader, json)) {
        link.delay = delay;
    }
    if let Some(jitter) = settings.jitter.and_then(|json| quantity::delay(reader, json)) {
        link.jitter = jitter;
    }
    if let Some(rate) = settings.rate.and_then(|json| quantity::bandwidth(reader, json)) {
        (link.rate, link.full_rate) = (rate, rate);
    }
    if let Some(loss) = settings.loss.and_then(|json| quantity::loss(reader, json)) {
        link.loss = loss;
    }
    if let Some(queue) = settings.queue.and_then(|json| reader.whole(json, 1_000_000u32)) {
        link.queue = queue.max(1);
    }
    lab.links.push(link);
}

fn node(reader: &mut Reader, json: &Json, lab: &Lab) -> Option<(NodeId, Span)> {
    let text = reader.string(json, "\"s1\"")?;
    let node = lab.node(text);
    if node.is_none() {
        check::unknown_node(reader, lab, text, json.span);
    }
    node.map(|node| (node, json.span))
}
