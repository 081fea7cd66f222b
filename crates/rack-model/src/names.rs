//! The names of all nodes, known before anything refers to them.

use crate::section::{Entry, Reader, unknown_name};
use crate::value::is_name;
use crate::{DeviceId, End, HostId, NodeId, Spanned};
use base_diag::codes::rack;
use base_diag::{Diagnostic, Span};

/// Devices and hosts share one space of names.
#[derive(Default)]
pub(crate) struct Names {
    nodes: Vec<(String, Span, NodeId)>,
}

impl Names {
    /// Adds the node of a `[device.NAME]` or `[host.NAME]`; reports a duplicate name.
    pub fn add(&mut self, r: &mut Reader, entry: &Entry<'_>, node: NodeId) {
        if !is_name(entry.key) {
            let why = "names consist of letters, digits, `_`, `-` and `.`";
            r.bad_value(entry.key_span, "not a name", why);
        }
        if let Some((_, first, _)) = self.nodes.iter().find(|(name, ..)| name == entry.key) {
            let title = format!("`{}` is both a device and a host", entry.key.escape_debug());
            let diagnostic = Diagnostic::error(rack::DUPLICATE, title);
            r.push(diagnostic.at(entry.key_span, "used again here").at(*first, "first used here"));
        } else {
            self.nodes.push((entry.key.to_string(), entry.key_span, node));
        }
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        self.nodes.iter().find(|(.., known)| *known == node).map_or("", |(name, ..)| name)
    }

    /// An end of a link as the file writes it.
    pub fn end(&self, end: End) -> String {
        match end.node {
            NodeId::Device(_) => format!("{}:{}", self.name(end.node), end.port),
            NodeId::Host(_) => self.name(end.node).to_string(),
        }
    }

    /// True if a node is called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.nodes.iter().any(|(known, ..)| known == name)
    }

    /// The node called `name`; reported if missing.
    pub fn node(&self, r: &mut Reader, name: Spanned<&str>) -> Option<NodeId> {
        let found = self.nodes.iter().find(|(known, ..)| known == name.value);
        if found.is_none() {
            let title = format!("unknown node `{}`", name.value.escape_debug());
            r.push(unknown_name(title, name, self.nodes.iter().map(|(known, ..)| known.as_str())));
        }
        found.map(|(.., node)| *node)
    }

    /// The device called `name`; reported if missing.
    pub fn device(&self, r: &mut Reader, name: Spanned<&str>) -> Option<DeviceId> {
        let pick = |node| if let NodeId::Device(id) = node { Some(id) } else { None };
        self.one_of(r, name, "device", pick)
    }

    /// All hosts, in the order of the file.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.nodes.iter().filter_map(|(.., node)| if let NodeId::Host(id) = node { Some(*id) } else { None })
    }

    /// The host called `name`; reported if missing.
    pub fn host(&self, r: &mut Reader, name: Spanned<&str>) -> Option<HostId> {
        let pick = |node| if let NodeId::Host(id) = node { Some(id) } else { None };
        self.one_of(r, name, "host", pick)
    }

    fn one_of<T>(
        &self,
        r: &mut Reader,
        name: Spanned<&str>,
        kind: &str,
        pick: impl Fn(NodeId) -> Option<T>,
    ) -> Option<T> {
        match self.nodes.iter().find(|(known, ..)| known == name.value) {
            Some((_, place, node)) => pick(*node).or_else(|| {
                let title = format!("`{}` is not a {kind}", name.value);
                let diagnostic = Diagnostic::error(rack::UNKNOWN_NAME, title);
                r.push(diagnostic.at(name.span, format!("a {kind} is needed")).at(*place, "declared here"));
                None
            }),
            None => {
                let of_kind = self.nodes.iter().filter(|(.., node)| pick(*node).is_some());
                let title = format!("unknown {kind} `{}`", name.value.escape_debug());
                r.push(unknown_name(title, name, of_kind.map(|(known, ..)| known.as_str())));
                None
            }
        }
    }
}
