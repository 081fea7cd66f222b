//! Checks shared by all formats: names, and use of ports.

use crate::lab::{Lab, UNLIMITED};
use base_diag::codes::lab as codes;
use base_diag::{Diagnostic, Span};
use base_json::Reader;
use rack_model::{Link, NodeId};
use std::collections::BTreeMap;

/// The longest name of a node: an interface's name has 15 characters, and `-eth` and a number come after the node's.
const LONGEST: usize = 9;

/// Ports in use.
#[derive(Default)]
pub(crate) struct Links {
    used: BTreeMap<(NodeId, u32), Span>,
}

impl Links {
    /// A link between two ends; without a port it is the node's next one: hosts count from 0, switches from 1. `None` if an end cannot be plugged in.
    pub(crate) fn plug(
        &mut self,
        reader: &mut Reader,
        lab: &Lab,
        ends: [(NodeId, Option<u32>, Span); 2],
        span: Span,
    ) -> Option<Link> {
        let [one, other] = ends.map(|(node, port, at)| (node, self.take(reader, lab, (node, port), at)));
        if let (NodeId::Host(a), NodeId::Host(b)) = (one.0, other.0)
            && a == b
        {
            reader.wrong(span, "a link joins a host with itself", "both ends are the same");
            return None;
        }
        let mut link = Link::new([(one.0, one.1?), (other.0, other.1?)], UNLIMITED);
        link.span = span;
        // Default queue length of `tc`, for links where Mininet sets none.
        link.queue = 1000;
        // Nothing between namespaces counts preambles and gaps, or pads.
        (link.overhead, link.pad) = (0, false);
        Some(link)
    }

    fn take(
        &mut self,
        reader: &mut Reader,
        lab: &Lab,
        (node, port): (NodeId, Option<u32>),
        span: Span,
    ) -> Option<u32> {
        let first = u32::from(matches!(node, NodeId::Device(_)));
        let port = port.unwrap_or_else(|| {
            let free = |port: &u32| !self.used.contains_key(&(node, *port));
            (first..).find(free).unwrap_or(first)
        });
        if let Some(before) = self.used.insert((node, port), span) {
            let title = format!("port {port} of `{}` is used twice", lab.node_name(node));
            let problem = Diagnostic::error(codes::DESCRIPTION, title).at(span, "here again");
            reader.problems.push(problem.at(before, "the first link is plugged in here"));
            return None;
        }
        Some(port)
    }
}

/// Reports a name that no node has.
pub(crate) fn unknown_node(reader: &mut Reader, lab: &Lab, name: &str, span: Span) {
    let title = format!("there is no host or switch `{}`", name.escape_debug());
    let problem = Diagnostic::error(codes::DESCRIPTION, title).at(span, "not among the hosts and switches");
    let known: Vec<&str> = lab.names().collect();
    reader.problems.push(problem.suggest_or(name, known.iter().copied(), |problem| match known.is_empty() {
        true => problem,
        false => problem.note(format!("there are: {}", known.join(", "))),
    }));
}

/// Names that cannot be those of interfaces or stand twice; addresses that two hosts have; nodes without a link; links between hosts.
pub(crate) fn all(reader: &mut Reader, lab: &Lab) {
    let mut names: BTreeMap<&str, Span> = BTreeMap::new();
    let of_hosts = lab.hosts.iter().map(|host| &host.name);
    for name in of_hosts.chain(lab.switches.iter().map(|switch| &switch.name)) {
        let text = name.value.as_str();
        let fits = !text.is_empty() && text.len() <= LONGEST;
        if !fits || !text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            let title = format!("`{}` cannot name a node", text.escape_debug());
            let label = format!("1 to {LONGEST} letters, digits, `-` and `_` are allowed");
            let problem = Diagnostic::error(codes::DESCRIPTION, title).at(name.span, label);
            reader.problems.push(
                problem.note("interfaces are called after their nodes, and their names have 15 characters"),
            );
        }
        if let Some(before) = names.insert(text, name.span) {
            let title = format!("two nodes are called `{text}`");
            let problem = Diagnostic::error(codes::DESCRIPTION, title).at(name.span, "the second");
            reader.problems.push(problem.at(before, "the first"));
        }
    }
    for (at, host) in lab.hosts.iter().enumerate() {
        let shared = lab.hosts[..at].iter().find(|other| {
            other.addresses.iter().any(|one| host.addresses.iter().any(|two| one.address == two.address))
        });
        if let Some(other) = shared {
            let title = format!("`{}` and `{}` have the same address", other.name.value, host.name.value);
            reader.wrong(host.name.span, title, "the second");
        }
    }
    for node in lab.names().filter_map(|name| lab.node(name)) {
        if lab.ends(node).next().is_none() && !lab.links.is_empty() {
            let span = match node {
                NodeId::Host(id) => lab.hosts[id.0 as usize].name.span,
                NodeId::Device(id) => lab.switches[id.0 as usize].name.span,
            };
            let title = format!("no link leads to `{}`", lab.node_name(node));
            reader.problems.push(
                Diagnostic::warning(codes::DESCRIPTION, "passed-over", title)
                    .at(span, "it can reach nothing"),
            );
        }
    }
}
