//! `planner_config.json`: variables with their first values and units, classes that may run something, objectives.

use super::bare;
use super::json::{Node, Result, parse};
use crate::{Role, Scope, Signature, Unit, Variable};
use smol_str::SmolStr;

/// Content of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The variables.
    pub signature: Signature,
    /// Classes of devices that may run segments.
    pub hosts: Vec<SmolStr>,
    /// Ports that are not used.
    pub excluded_ports: Vec<SmolStr>,
    /// Names of variables, the first first.
    pub objectives: Vec<String>,
    /// One segment a device at most.
    pub single_allocation: bool,
}

const ROLES: [(&str, Role); 3] =
    [("Latency", Role::Latency), ("InputRate", Role::Rate), ("PacketSize", Role::Size)];

/// Reads it. The variables of areas are those of the allocatable devices, without the device's name.
pub fn read_config(text: &str, base: u32) -> Result<Config> {
    let value = parse(text, base)?;
    let root = Node::root(&value, base);
    let mut signature = Signature::default();
    let mut areas: Vec<(&str, String)> = vec![];
    for (_, device) in root.get("AllocatableFPGA")?.entries()? {
        for (area, name) in device.entries()? {
            areas.push((area, bare(name.text()?).to_string()));
        }
    }
    let unit = |name: &str| -> Result<Unit> {
        for (key, unit) in root.get("Units")?.entries()? {
            if bare(key) == name {
                return Ok(match unit.text()? {
                    "bits per second" => Unit::BitsPerSecond,
                    "seconds" => Unit::Seconds,
                    // Sizes are said to be in packets, and are bytes.
                    "packets" => Unit::Bytes,
                    "Watts" => Unit::Watts,
                    "%" => Unit::Percent,
                    _ => Unit::Plain,
                });
            }
        }
        Ok(Unit::Plain)
    };
    for (key, first) in root.get("Initial State")?.entries()? {
        let name = bare(key);
        if areas.iter().any(|(_, area)| area == name) {
            continue;
        }
        let role = ROLES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role);
        let unit = unit(name)?;
        let initial = first.quantity(unit)?;
        signature.add(Variable { name: name.into(), unit, scope: Scope::Path, role, initial });
    }
    for (name, role, unit) in
        [("Hops", Role::Hops, Unit::Plain), ("HandoverBits", Role::HandoverBits, Unit::Bits)]
    {
        signature.add(Variable { name: name.into(), unit, scope: Scope::Path, role: Some(role), initial: 0 });
    }
    for name in ["Power", "Cost"] {
        let unit = unit(name)?;
        signature.add(Variable { name: name.into(), unit, scope: Scope::Once, role: None, initial: 0 });
    }
    for (area, name) in &areas {
        if signature.find(area).is_none() {
            let unit = unit(name)?;
            let scope = Scope::Device { limit: unit.parse("100").ok() };
            signature.add(Variable { name: (*area).into(), unit, scope, role: None, initial: 0 });
        }
    }
    let names = |key: &str| -> Result<Vec<SmolStr>> {
        root.get(key)?.list()?.iter().map(|n| Ok(bare(n.text()?).into())).collect()
    };
    let order = root.get("Order")?.list()?;
    let objectives = order.iter().map(|item| Ok(bare(item.single()?.0).to_string()));
    Ok(Config {
        hosts: names("Supporting Device Classes")?,
        excluded_ports: names("excluded_ports")?,
        objectives: objectives.collect::<Result<_>>()?,
        single_allocation: root.get("single_allocation")?.flag()?,
        signature,
    })
}
