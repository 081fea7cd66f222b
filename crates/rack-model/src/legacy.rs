//! Legacy switches: fixed-function switches that extend a device with ports.
//!
//! ```text
//! h1 ---- 1 left 11 ---- 1 core      `[device.left] class = "legacy", extends = "core"`: port n of `left` acts as
//! h2 ---- 2      12 ---- 2           port n of `core`, if a link joins port n of `core` with another port of `left`
//! ```

use crate::{Device, DeviceClass, DeviceId, End, Link, LinkId, NodeId, Rack};
use base_diag::codes::rack;
use base_diag::{Diagnostic, Span};
use std::collections::BTreeMap;

/// A path between two ends that are not legacy switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cable {
    /// Hosts, or devices that run programs.
    pub ends: [End; 2],
    /// From the first end to the second; between them frames pass legacy switches.
    pub links: Vec<LinkId>,
}

impl Cable {
    /// The longest frame that passes, with its Ethernet header.
    pub fn longest_frame(&self, rack: &Rack) -> u32 {
        let links = self.links.iter().filter_map(|id| rack.links.get(id.0 as usize));
        links.map(Link::longest_frame).min().unwrap_or(0)
    }

    /// Short frames arrive padded.
    pub fn pads(&self, rack: &Rack) -> bool {
        self.links.iter().filter_map(|id| rack.links.get(id.0 as usize)).any(|link| link.pad)
    }
}

impl Rack {
    /// The device that a legacy switch stands for.
    pub fn extended(&self, legacy: DeviceId) -> Option<DeviceId> {
        let device = self.devices.get(legacy.0 as usize)?;
        device.extends.as_ref().and_then(|name| self.device(&name.value))
    }

    /// The pairs of ports that a legacy switch connects: port n of its own, and its port at the other end of the link from port n of the device
    /// that it extends.
    pub fn circuits(&self, legacy: DeviceId) -> Vec<(u32, u32)> {
        let Some(core) = self.extended(legacy) else { return vec![] };
        let links = self.links_between(NodeId::Device(core), NodeId::Device(legacy));
        links.map(|(_, at_core, here)| (at_core, here)).collect()
    }

    /// The cables as hosts and programs see them: links that meet in a legacy switch are one. Cables without a second
    /// end are left out.
    pub fn cables(&self) -> Vec<Cable> {
        let mut cables = vec![];
        for (id, link) in (0..).map(LinkId).zip(&self.links) {
            let Some(at) = link.ends.iter().position(|end| self.legacy(end.node).is_none()) else { continue };
            let Some((links, end)) = self.follow(id, link.ends[1 - at]) else { continue };
            // A cable is listed at the first of its two links.
            if links.last() >= Some(&id) {
                cables.push(Cable { ends: [link.ends[at], end], links });
            }
        }
        cables
    }

    /// Follows a link from its far end through legacy switches. Returns all links, and the end of the last one.
    fn follow(&self, first: LinkId, mut far: End) -> Option<(Vec<LinkId>, End)> {
        let mut links = vec![first];
        while let Some((id, _)) = self.legacy(far.node) {
            let other = self.circuits(id).into_iter().find_map(|(a, b)| match far.port {
                port if port == a => Some(b),
                port if port == b => Some(a),
                _ => None,
            })?;
            let (next, end) = self.peer(far.node, other)?;
            links.push(next);
            far = end;
        }
        Some((links, far))
    }

    /// The device, if it is a legacy switch.
    pub fn legacy(&self, node: NodeId) -> Option<(DeviceId, &Device)> {
        let NodeId::Device(id) = node else { return None };
        let device = self.devices.get(id.0 as usize)?;
        (device.class == DeviceClass::Legacy).then_some((id, device))
    }
}

/// Reports mistakes about legacy switches.
pub(crate) fn check(whole: &Rack) -> Vec<Diagnostic> {
    let mut wrong = vec![];
    let mut known: BTreeMap<DeviceId, Span> = BTreeMap::new();
    for (id, device) in (0..).map(DeviceId).zip(&whole.devices) {
        wrong.extend(check_device(whole, id, device));
        let Some(name) = &device.extends else { continue };
        let Some(core) = whole.device(&name.value) else { continue };
        if let Some(first) = known.insert(core, name.span) {
            let title = format!("two switches extend `{}`", name.value);
            wrong.push(
                Diagnostic::error(rack::DUPLICATE, title)
                    .at(name.span, "named again here")
                    .at(first, "first named here"),
            );
        }
    }
    for (device, entries) in whole.stages.iter().flat_map(|stage| &stage.entries) {
        if let Some((_, device)) = whole.legacy(NodeId::Device(*device)) {
            let title = "entries of a switch that has no tables";
            let why = format!("`{}` is a legacy switch", device.name.value);
            wrong.push(Diagnostic::error(rack::BAD_VALUE, title).at(entries.span, why));
        }
    }
    for app in &whole.apps {
        for named in app.devices() {
            let Some((_, device)) = whole.legacy(NodeId::Device(named.value)) else { continue };
            let title = format!("`{}` is a legacy switch and runs no program", device.name.value);
            let diagnostic =
                Diagnostic::error(rack::BAD_VALUE, title).at(named.span, "named here as a device of an app");
            let core =
                device.extends.as_ref().map_or("the device that it extends", |name| name.value.as_str());
            wrong.push(diagnostic.help(format!("name `{core}`, which it extends: their ports are the same")));
        }
    }
    wrong
}

fn check_device(whole: &Rack, id: DeviceId, device: &Device) -> Vec<Diagnostic> {
    let name = &device.name.value;
    let Some(extended) = &device.extends else {
        if device.class != DeviceClass::Legacy {
            return vec![];
        }
        let title = format!("`{name}` is a legacy switch without a purpose");
        let diagnostic =
            Diagnostic::error(rack::MISSING_KEY, title).at(device.name.span, "it has no `extends`");
        return vec![diagnostic.help("name the device whose ports it has: `extends = \"core\"`")];
    };
    let refuse =
        |title: &str, why: String| vec![Diagnostic::error(rack::BAD_VALUE, title).at(extended.span, why)];
    if device.class != DeviceClass::Legacy {
        return refuse(
            "only a legacy switch extends another device",
            format!("`{name}` runs programs itself"),
        );
    }
    if !device.externs.is_empty() || device.entries.is_some() {
        return refuse(
            "a legacy switch runs no program",
            format!("`{name}` has neither `externs` nor `entries`"),
        );
    }
    match whole.device(&extended.value).map(|core| (core, whole.legacy(NodeId::Device(core)))) {
        None => {
            let names = whole.devices.iter().map(|d| d.name.value.as_str());
            let title = format!("unknown device `{}`", extended.value.escape_debug());
            let diagnostic = Diagnostic::error(rack::UNKNOWN_NAME, title).at(extended.span, "not known");
            return vec![diagnostic.suggest(&extended.value, names)];
        }
        Some((_, Some(_))) => {
            return refuse(
                "a legacy switch extends a device that runs programs",
                "this is one itself".to_string(),
            );
        }
        Some((_, None)) => {}
    }
    let pairs = whole.circuits(id);
    if pairs.is_empty() {
        let why = format!("no cable leads from `{name}` to `{}`", extended.value);
        return refuse("a legacy switch without a link to the device it extends", why);
    }
    let mut wrong = vec![];
    let node = NodeId::Device(id);
    for &(front, back) in &pairs {
        if pairs.iter().any(|(_, other)| *other == front) {
            let title = format!("port {front} of `{name}` is taken by a cable to `{}`", extended.value);
            let diagnostic = Diagnostic::error(rack::LINK_ENDS, title);
            let span = whole.peer(node, back).map_or(extended.span, |(_, end)| end.span);
            let why = format!("this port is port {front} of `{name}`");
            wrong.push(
                diagnostic.at(span, why).help("plug cables between the two into ports of higher numbers"),
            );
        }
    }
    for (_, port, far) in whole.links_of(node) {
        if !pairs.iter().any(|&(front, back)| port == front || port == back) {
            let title = format!("port {port} of `{name}` has no link");
            let here =
                whole.links.iter().flat_map(|l| l.ends).find(|end| (end.node, end.port) == (node, port));
            let span = here.map_or(far.span, |end| end.span);
            let why = format!("`{}` has no port {port} that is plugged into `{name}`", extended.value);
            let help =
                format!("add a `[[link]]` with `ends = [\"{}:{port}\", \"{name}:PORT\"]`", extended.value);
            wrong.push(Diagnostic::error(rack::NOT_LINKED, title).at(span, why).help(help));
        }
    }
    wrong
}
