//! `--why-not REGION=DEVICE`: the problem with a region on a device.
//!
//! Only the region moves. If a constraint already excludes the device, the error names it: a pin, an excluded device, a
//! device that runs no regions.

use super::Result;
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, Span};
use plan_model::find_name;
use plan_search::Problem;

/// The problem with a region bound to a device: `REGION=DEVICE`. `pinned` says why a region has to run where it is, and what to
/// type if it is to start on the device instead.
pub fn bind(
    problem: &Problem,
    wanted: &str,
    pinned: &dyn Fn(&str) -> (String, Option<&'static str>),
) -> Result<Problem> {
    let one = |found: Diagnostic| vec![found];
    let Some((region, device)) = wanted.split_once('=') else {
        let title = format!("`{}` names no device", wanted.escape_debug());
        return Err(one(
            Diagnostic::error(codes::UNKNOWN, title).help("write REGION=DEVICE, as in `Acl=nic`")
        ));
    };
    let names: Vec<String> = (0..problem.nodes.len()).map(|n| problem.region_name(n)).collect();
    let node = find_name("region", region, names.iter().map(String::as_str)).map_err(one)?;
    let devices = problem.model.devices.iter().map(|d| d.name.as_str());
    let device = find_name("device", device, devices).map_err(one)?;
    let name = problem.device_name(device);
    if problem.settings.without.contains(&device) {
        let title = format!("device `{name}` is excluded");
        return Err(one(
            Diagnostic::error(codes::NO_PLAN, title).help(format!("leave out `--without {name}`"))
        ));
    }
    let of = |node: usize| {
        let node = &problem.nodes[node];
        &problem.model.apps[node.app].regions[node.region]
    };
    let pins = |node: &usize| !of(*node).on.is_empty() && !of(*node).on.contains(&device);
    if let Some(pin) = std::iter::once(node).chain(problem.nodes[node].together.iter().copied()).find(pins) {
        let places: Vec<String> =
            of(pin).on.iter().map(|d| format!("`{}`", problem.device_name(*d))).collect();
        let title = format!("region `{}` is pinned to {}", names[pin], places.join(" or "));
        let (why, option) = pinned(&names[pin]);
        let mut error = Diagnostic::error(codes::NO_PLAN, title);
        if of(pin).span != Span::NONE {
            error = error.at(of(pin).span, "starts on this device");
        }
        if pin != node {
            error = error.note(format!("`{}` must run on the same device as `{}`", names[node], names[pin]));
        }
        error = error.note(why);
        return Err(one(match option {
            Some(option) => error.help(format!("write `{option} {name}`")),
            None => error,
        }));
    }
    if of(node).on.is_empty() && !problem.model.devices[device].is_host {
        let hosts = problem.model.devices.iter().filter(|d| d.is_host).map(|d| format!("`{}`", d.name));
        let hosts: Vec<String> = hosts.take(MANY + 1).collect();
        let error =
            Diagnostic::error(codes::NO_PLAN, format!("device `{name}` runs no regions of this program"));
        return Err(one(match hosts.len() {
            1..=MANY => error.note(format!("regions may run on {}", hosts.join(", "))),
            _ => error,
        }));
    }
    let mut settings = problem.settings.clone();
    settings.wanted = vec![(node, device)];
    Problem::new(problem.model.clone(), settings)
}

/// More devices than these are not listed.
const MANY: usize = 16;
