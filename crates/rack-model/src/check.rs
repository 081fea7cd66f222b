//! Checks across the sections of the file.

use crate::read::Draft;
use crate::section::{Reader, unknown_name};
use crate::{Device, DeviceId, End, Host, HostId, NodeId, Spanned, Workload};
use base_diag::codes::rack;
use base_diag::{Diagnostic, Span};
use base_time::Time;
use host_programs::kind::Rule;
use std::collections::BTreeMap;
use std::net::IpAddr;

pub(crate) fn check(r: &mut Reader, draft: &Draft) {
    check_ports(r, draft);
    check_hosts_are_linked(r, draft);
    check_addresses(r, draft);
    check_apps(r, draft);
    let workloads: Vec<&Workload> = draft.rack.all_workloads().collect();
    for workload in &workloads {
        check_workload(r, draft, workload);
    }
    let names = workloads.iter().map(|w| (w.name.value.as_str(), w.name.span));
    check_unique(r, names, "workload name");
    let stages = draft.rack.stages.iter().map(|s| (s.name.value.as_str(), s.name.span));
    check_unique(r, stages, "phase name");
    for (name, _) in draft.rack.stages.iter().flat_map(|stage| &stage.paper) {
        let known = || workloads.iter().map(|w| w.name.value.as_str());
        if !known().any(|known| known == name.value) {
            let title = format!("unknown workload `{}`", name.value.escape_debug());
            r.push(unknown_name(title, Spanned::new(&name.value, name.span), known()));
        }
    }
    check_rules(r, &workloads);
}

/// Each port takes one link, and each host has one port.
fn check_ports(r: &mut Reader, draft: &Draft) {
    let mut used: Vec<End> = vec![];
    for end in draft.rack.links.iter().flat_map(|link| link.ends) {
        match used.iter().find(|e| (e.node, e.port) == (end.node, end.port)) {
            None => used.push(end),
            Some(first) => {
                let (code, title, label) = match end.node {
                    NodeId::Device(_) => (rack::LINK_ENDS, "a port takes one link", "used again here"),
                    NodeId::Host(_) => (
                        rack::NOT_SUPPORTED,
                        "a second link of a host is not supported yet",
                        "linked again here",
                    ),
                };
                let first = (first.span != end.span).then_some(first.span);
                let diagnostic = Diagnostic::error(code, title).at(end.span, label);
                r.push(first.into_iter().fold(diagnostic, |d, span| d.at(span, "first linked here")));
            }
        }
    }
}

fn check_hosts_are_linked(r: &mut Reader, draft: &Draft) {
    if !draft.knows_all_links {
        return;
    }
    let linked = |id| draft.rack.links.iter().flat_map(|l| l.ends).any(|e| e.node == NodeId::Host(id));
    for (id, host) in (0..).map(HostId).zip(draft.hosts.iter().flatten()) {
        if !linked(id) {
            let title = format!("host `{}` is not linked", host.name.value);
            let help = format!("add a `[[link]]` with `ends = [\"{}\", \"DEVICE:PORT\"]`", host.name.value);
            let diagnostic = Diagnostic::error(rack::NOT_LINKED, title);
            r.push(diagnostic.at(host.name.span, "no link ends here").help(help));
        }
    }
}

fn check_addresses(r: &mut Reader, draft: &Draft) {
    let hosts = || draft.hosts.iter().flatten();
    let macs: Vec<_> = hosts().map(|h| (h.mac.value.to_string(), h.mac.span)).collect();
    check_unique(r, macs.iter().map(|(text, span)| (text.as_str(), *span)), "MAC address");
    let ips: Vec<_> = hosts().flat_map(|h| &h.ip).map(|n| (n.value.address.to_string(), n.span)).collect();
    check_unique(r, ips.iter().map(|(text, span)| (text.as_str(), *span)), "IP address");
}

fn check_unique<'a>(r: &mut Reader, values: impl Iterator<Item = (&'a str, Span)>, what: &str) {
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for (value, span) in values {
        match seen.get(value) {
            None => drop(seen.insert(value, span)),
            Some(first) => {
                let diagnostic =
                    Diagnostic::error(rack::DUPLICATE, format!("{what} `{value}` is used twice"));
                r.push(diagnostic.at(span, "used again here").at(*first, "first used here"));
            }
        }
    }
}

/// Checks that apps have different names, and that devices with entries run a program.
fn check_apps(r: &mut Reader, draft: &Draft) {
    let apps = &draft.rack.apps;
    check_unique(r, apps.iter().map(|app| (app.name.value.as_str(), app.name.span)), "app name");
    if apps.is_empty() {
        return;
    }
    for (id, device) in (0..).map(DeviceId).zip(&draft.devices) {
        let Some(Device { name, entries: Some(entries), .. }) = device else { continue };
        if draft.rack.apps_of(id).next().is_none() {
            let diagnostic = Diagnostic::error(rack::BAD_VALUE, "entries of a device that runs no program");
            let why = format!("no app names `{}`", name.value);
            r.push(diagnostic.at(entries.span, why).help("add it to the `devices` of an app"));
        }
    }
}

/// Checks that the workload can run: two IPv4 hosts, a route, frames that the sender's link accepts. Of several pairs,
/// the first that cannot is reported.
fn check_workload(r: &mut Reader, draft: &Draft, workload: &Workload) {
    let before = r.diagnostics.error_count();
    let (from, to) = (&workload.from, &workload.to);
    match (from.value.as_slice(), to.value.as_slice()) {
        ([a], [b]) if a == b => {
            let name = draft.hosts.get(a.0 as usize).and_then(Option::as_ref).map_or("", |h| &h.name.value);
            let diagnostic = Diagnostic::error(rack::WORKLOAD, "a host cannot send to itself");
            r.push(diagnostic.at(to.span, format!("`{name}` is also the sender")));
        }
        _ if workload.pairs().next().is_none() => {
            let diagnostic = Diagnostic::error(rack::WORKLOAD, "the workload has no pair of hosts");
            r.push(diagnostic.at(workload.span, "no pair of two hosts"));
        }
        _ => {}
    }
    check_ends(r, workload);
    // Pairs come sender by sender; the sender's link is looked for once, for there may be a million pairs.
    let mut sender = None;
    for (from, to) in workload.pairs() {
        if r.diagnostics.error_count() > before {
            return;
        }
        check_pair(r, draft, workload, from, to);
        if sender.replace(from) != Some(from) && r.diagnostics.error_count() == before {
            check_fits(r, draft, workload, from);
        }
    }
}

fn check_pair(r: &mut Reader, draft: &Draft, workload: &Workload, sender: HostId, receiver: HostId) {
    let host = |id: HostId| draft.hosts.get(id.0 as usize).and_then(Option::as_ref);
    let (Some(from), Some(to)) = (host(sender), host(receiver)) else {
        return;
    };
    let ends = [(from, workload.from.span), (to, workload.to.span)];
    if let Some((_, span)) = ends.into_iter().find(|(host, _)| host.v4().is_none()) {
        r.not_yet(
            span,
            "workloads over IPv6 are",
            "give it an IPv4 and an IPv6 address: `ip = [\"10.0.0.1/24\", \"fd00::1/64\"]`",
        );
        return;
    }
    check_gateway(r, from, to, workload.from.span);
    check_gateway(r, to, from, workload.to.span);
}

/// Checks the constraints between two workloads of one kind.
fn check_rules(r: &mut Reader, workloads: &[&Workload]) {
    let mut ports: BTreeMap<(&str, HostId, HostId, u16), Span> = BTreeMap::new();
    let mut sizes: BTreeMap<(&str, HostId), &Workload> = BTreeMap::new();
    for workload in workloads {
        match workload.load.kind.rule {
            Some(Rule::PortOfItsOwn(transport)) => check_port(r, workload, transport, &mut ports),
            Some(Rule::OneSize(title)) => check_size(r, workload, title, &mut sizes),
            None => {}
        }
    }
}

fn check_port<'w>(
    r: &mut Reader,
    workload: &'w Workload,
    transport: &'w str,
    seen: &mut BTreeMap<(&'w str, HostId, HostId, u16), Span>,
) {
    let port = workload.load.port();
    let keys = || workload.pairs().map(|(from, to)| (transport, from, to, port));
    if let Some(first) = keys().find_map(|key| seen.get(&key)) {
        let title = format!("{transport} port {port} is used twice between two hosts");
        let diagnostic = Diagnostic::error(rack::DUPLICATE, title);
        r.push(diagnostic.at(workload.span, "used again here").at(*first, "first used here"));
    }
    seen.extend(keys().map(|key| (key, workload.span)));
}

fn check_size<'w>(
    r: &mut Reader,
    workload: &'w Workload,
    title: &str,
    seen: &mut BTreeMap<(&'w str, HostId), &'w Workload>,
) {
    let (kind, size) = (workload.load.kind.word, workload.load.size);
    let known = |to: &HostId| seen.get(&(kind, *to)).filter(|other| other.load.size != size);
    if let Some(other) = workload.to.value.iter().find_map(known) {
        let diagnostic = Diagnostic::error(rack::WORKLOAD, title)
            .at(workload.span, format!("{size} bytes here"))
            .at(other.span, format!("{} bytes here", other.load.size));
        r.push(diagnostic.help("give both workloads the same `size`"));
    }
    for to in &workload.to.value {
        seen.entry((kind, *to)).or_insert(workload);
    }
}

/// Checks that the last packet is sent within the range of virtual time, with equal time left for its path.
fn check_ends(r: &mut Reader, workload: &Workload) {
    let (load, pairs) = (&workload.load, workload.pairs().count() as u64);
    let last = load.time_of(load.count.saturating_sub(1)) + load.stagger * pairs;
    if last.as_ps() > Time::MAX.as_ps() / 2 {
        let diagnostic = Diagnostic::error(rack::WORKLOAD, "the workload lasts too long")
            .at(workload.span, format!("{} packets would exceed the end of virtual time", load.count))
            .note("the last packet must be sent within 106 days")
            .help("lower `count` or `start`, or send faster");
        r.push(diagnostic);
    }
}

/// `from` knows where to send frames for `to`.
fn check_gateway(r: &mut Reader, from: &Host, to: &Host, place: Span) {
    let Some(address) = to.v4() else { return };
    if from.next_hop(to, IpAddr::V4(address)).is_none() {
        let title = format!("host `{}` has no gateway", from.name.value);
        let diagnostic = Diagnostic::error(rack::WORKLOAD, title)
            .at(place, format!("cannot reach `{}`", to.name.value))
            .note(format!("{address} is in none of its networks"))
            .help(format!("give host `{}` a `gateway`: the MAC address of its router", from.name.value));
        r.push(diagnostic);
    }
}

fn check_fits(r: &mut Reader, draft: &Draft, workload: &Workload, sender: HostId) {
    let Some((id, ..)) = draft.rack.links_of(NodeId::Host(sender)).next() else { return };
    let Some(link) = draft.rack.links.get(id.0 as usize) else { return };
    if workload.load.frame_bytes() > Some(link.longest_frame()) {
        let most = link.mtu.saturating_sub(28);
        let diagnostic = Diagnostic::error(rack::WORKLOAD, "the packets are too long for the sender's link")
            .at(workload.span, format!("{} bytes of payload do not fit", workload.load.size))
            .note(format!("the link's MTU is {} bytes, and headers take 28 of them", link.mtu))
            .help(format!("set `size` to at most {most}, or raise the link's `mtu`"));
        r.push(diagnostic);
    }
}
