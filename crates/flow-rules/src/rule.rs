//! Flow rules in the syntax of `ovs-ofctl add-flows`: `priority=1,in_port=1,actions=output:11`.
//!
//! The supported subset of OpenFlow is what Flightplan gives to its switch of fixed function (NSDI'21, section 5.4):
//! from a port to a port.

use dataplane_api::Port;
use std::fmt::Write;

/// A rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRule {
    /// Priority; among matching rules the highest wins.
    pub priority: u16,
    /// Port of arrival; `None` matches all ports.
    pub in_port: Option<Port>,
    /// Fate of matching frames.
    pub action: Action,
}

/// Fate of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Sends the frame on this port.
    Output(Port),
    /// Drops the frame.
    Drop,
}

/// The rules that join each pair of ports, both ways, and drop all other frames.
pub fn patch(pairs: &[(Port, Port)]) -> Vec<FlowRule> {
    let rule = |from, to| FlowRule { priority: 1, in_port: Some(from), action: Action::Output(to) };
    let joined = pairs.iter().flat_map(|&(a, b)| [rule(a, b), rule(b, a)]);
    joined.chain([FlowRule { priority: 0, in_port: None, action: Action::Drop }]).collect()
}

/// A line for each rule.
pub fn print(rules: &[FlowRule]) -> String {
    let mut out = String::new();
    for FlowRule { priority, in_port, action } in rules {
        let _ = write!(out, "priority={priority},");
        if let Some(port) = in_port {
            let _ = write!(out, "in_port={port},");
        }
        let _ = match action {
            Action::Output(port) => writeln!(out, "actions=output:{port}"),
            Action::Drop => writeln!(out, "actions=drop"),
        };
    }
    out
}

/// Reads such lines; empty ones and what stands after `#` count nothing. An error names its line, from 1.
pub fn read(text: &str) -> Result<Vec<FlowRule>, String> {
    let mut rules = vec![];
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            rules.push(read_rule(line).map_err(|why| format!("line {number}: {why}"))?);
        }
    }
    Ok(rules)
}

fn read_rule(line: &str) -> Result<FlowRule, String> {
    let (mut priority, mut in_port, mut action) = (None, None, None);
    for part in line.split(',').map(str::trim) {
        let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` has no `=`"))?;
        let is_new = match key {
            "priority" => priority.replace(number(value, key)?).is_none(),
            "in_port" => in_port.replace(number(value, key)?).is_none(),
            "actions" => action.replace(read_action(value)?).is_none(),
            _ => return Err(format!("`{key}` is not `priority`, `in_port` or `actions`")),
        };
        if !is_new {
            return Err(format!("`{key}` is given twice"));
        }
    }
    let action = action.ok_or("`actions` is missing")?;
    // OpenFlow sends no frame back by the port it came by.
    if let (Some(port), Action::Output(to)) = (in_port, action)
        && port == to
    {
        return Err(format!("frames cannot leave on port {port}, on which they were received"));
    }
    // Default priority of `ovs-ofctl`.
    Ok(FlowRule { priority: priority.unwrap_or(0x8000), in_port, action })
}

fn read_action(text: &str) -> Result<Action, String> {
    match text.split_once(':') {
        None if text == "drop" => Ok(Action::Drop),
        Some(("output", port)) => Ok(Action::Output(number(port, "output")?)),
        _ => Err(format!("`{text}` is no action: they are `output:PORT` and `drop`")),
    }
}

fn number<T: std::str::FromStr>(text: &str, key: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{key}` is no number that fits: `{text}`"))
}
