//! Devices with ports, and links between them.

use super::json::{Node, Result, parse};
use super::{Config, bare};
use crate::{Bound, Compare, Device, Link, Port, Signature};

/// Reads `devices.json`.
pub fn read_devices(text: &str, base: u32, config: &Config) -> Result<Vec<Device>> {
    let value = parse(text, base)?;
    let root = Node::root(&value, base);
    let mut devices: Vec<Device> = vec![];
    for item in root.list()? {
        let name = item.get("node")?.text()?;
        if devices.iter().any(|d| d.name == name) {
            return Err(item.twice(&format!("device `{name}`")));
        }
        let props = item.get("provides")?.get("props")?.list()?;
        let provides: Vec<_> = props.iter().map(|p| Ok(bare(p.text()?).into())).collect::<Result<_>>()?;
        let bounds = match item.find("requires") {
            Some(requires) => read_bounds(&requires, &config.signature)?,
            None => vec![],
        };
        let mut ports: Vec<Port> = vec![];
        for port in item.get("ports")?.list()? {
            let name = port.get("port")?.text()?;
            if ports.iter().any(|p| p.name == name) {
                return Err(port.twice(&format!("port `{name}`")));
            }
            let bounds = match port.find("requires") {
                Some(requires) => read_bounds(&requires, &config.signature)?,
                None => vec![],
            };
            ports.push(Port { name: name.into(), bounds });
        }
        devices.push(Device {
            name: name.into(),
            forwards: ports.len() > 1,
            is_host: provides.iter().any(|class| config.hosts.contains(class)),
            provides,
            bounds,
            ports,
            span: item.span(),
            ..Device::default()
        });
    }
    Ok(devices)
}

/// Reads a network of links between `devices`.
pub fn read_network(text: &str, base: u32, config: &Config, devices: &[Device]) -> Result<Vec<Link>> {
    let value = parse(text, base)?;
    let root = Node::root(&value, base);
    let mut links: Vec<Link> = vec![];
    for item in root.list()? {
        let far = item.get("linked")?;
        let ends = [end(&item, devices)?, end(&far, devices)?];
        for (device, port) in ends {
            if links.iter().flat_map(|link| link.ends).any(|known| known == (device, port)) {
                let name = &devices[device].ports[port].name;
                return Err(item.twice(&format!("a link at port `{name}` of `{}`", devices[device].name)));
            }
        }
        let is_excluded = |(device, port): (usize, usize)| {
            config.excluded_ports.contains(&devices[device].ports[port].name)
        };
        if !ends.into_iter().any(is_excluded) {
            links.push(Link { ends, span: item.span(), ..Link::default() });
        }
    }
    Ok(links)
}

fn end(item: &Node<'_>, devices: &[Device]) -> Result<(usize, usize)> {
    let (node, port) = (item.get("node")?.text()?, item.get("port")?.text()?);
    let device = item.named("device", node, devices.iter().map(|d| d.name.as_str()))?;
    let port = item.named("port", port, devices[device].ports.iter().map(|p| p.name.as_str()))?;
    Ok((device, port))
}

/// `{"bounds": [{"lt": ["Data::Bound::InputRate", "1e10"]}]}`: all of them.
fn read_bounds(requires: &Node<'_>, signature: &Signature) -> Result<Vec<Bound>> {
    let Some(bounds) = requires.find("bounds") else { return Ok(vec![]) };
    bounds.list()?.iter().map(|bound| read_bound(bound, signature)).collect()
}

/// `{"lt": ["Data::Bound::InputRate", "1e10"]}`
pub(super) fn read_bound(bound: &Node<'_>, signature: &Signature) -> Result<Bound> {
    let (sign, of) = bound.single()?;
    let compare = match sign {
        "lt" => Compare::Less,
        "gt" => Compare::Greater,
        "le" | "leq" => Compare::AtMost,
        "ge" | "geq" => Compare::AtLeast,
        "eq" => Compare::Equal,
        _ => {
            return Err(bound
                .wrong(format!("`{sign}` is not a comparison"))
                .help("use lt, gt, le, ge or eq"));
        }
    };
    let (name, value) = of.pair()?;
    let var = of.variable(bare(name.text()?), signature)?;
    Ok(Bound { var, compare, value: value.quantity(signature.get(var).unit)? })
}
