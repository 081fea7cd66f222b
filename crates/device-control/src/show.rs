//! Description of a switch for operators.

use super::Metric;
use base_time::Duration;
use controller::{Controller, CopyState, DeviceId, EdgeState, Kept, Limits, MergeState, MergeTraffic};
use p4runtime_proto::p4rack::v1::{
    Copy, Device, Edge, Link, Merged, Merging, Metric as Shown, ShowResponse, Spares, Target, Thresholds,
    show_response::State, target,
};

/// Metrics as messages.
pub fn metrics(metrics: Vec<Metric>) -> Vec<Shown> {
    let shown = |metric: Metric| Shown {
        name: metric.name.to_string(),
        labels: metric.labels.into_iter().map(|(label, value)| (label.to_string(), value)).collect(),
        value: metric.value,
    };
    metrics.into_iter().map(shown).collect()
}

fn spares(EdgeState { edge, targets, used }: EdgeState, name: &dyn Fn(usize) -> String) -> Spares {
    let state = |device: usize, kept: Option<Kept>| match kept {
        None => target::State::Unknown,
        Some(Kept::Usable) if used == Some(device) => target::State::InUse,
        Some(Kept::Usable) => target::State::Ready,
        Some(Kept::Out) => target::State::Out,
        Some(Kept::Recovering(_)) => target::State::Recovering,
        Some(Kept::Held) => target::State::KeptOut,
    };
    let target = |(device, kept): (&usize, Option<Kept>)| Target {
        device: name(*device),
        state: state(*device, kept) as i32,
    };
    let targets = edge.targets.iter().zip(targets).map(target).collect();
    let thresholds = Some(thresholds(edge.limits));
    Spares { from: name(edge.sender), regions: edge.regions, targets, thresholds }
}

fn thresholds(Limits { thresholds: of, hold_down }: Limits) -> Thresholds {
    Thresholds {
        ask_every: Some(of.ask_every),
        ask_after_us: Some(of.ask_after),
        patience_us: Some(of.patience),
        most_missed: Some(of.most_missed.into()),
        tolerance: Some(of.tolerance.into()),
        most_gaps: Some(of.most_gaps.into()),
        window: Some(of.window),
        hold_down_us: Some(hold_down.as_ps() / Duration::from_us(1).as_ps()),
    }
}

fn merging(controller: &Controller) -> Merging {
    let MergeTraffic { rounds, messages, bytes, refused } = controller.merge_traffic();
    let interval_us = controller.merge_interval().as_ps() / Duration::from_us(1).as_ps();
    Merging { interval_us, rounds, messages, bytes, refused }
}

fn merged(MergeState { name, operator, cells, copies }: MergeState) -> Merged {
    let copy = |CopyState { device, incarnation, pushes, is_behind, silent_rounds }| Copy {
        device,
        incarnation,
        pushes,
        is_behind,
        silent_rounds,
    };
    let copies = copies.into_iter().map(copy).collect();
    Merged { name, operator: operator.name().to_string(), cells, copies }
}

/// A rack; `addresses` are those of agents in other processes.
pub(super) fn rack(controller: &Controller, addresses: &[String]) -> ShowResponse {
    let placement = crate::plan::placement(controller);
    let rollout = controller.rollout();
    let stale = controller.stale();
    let name = |device: usize| placement.devices.get(device).map(ToString::to_string).unwrap_or_default();
    let device = |index: usize| Device {
        name: name(index),
        address: addresses.get(index).cloned().unwrap_or_default(),
        is_origin: placement.origin().0 as usize == index,
        regions: placement
            .sites
            .iter()
            .filter(|(_, site)| site.devices.iter().any(|device| device.0 as usize == index))
            .map(|(region, _)| region.to_string())
            .collect(),
        stale: stale.get(&DeviceId(index)).cloned().unwrap_or_default(),
    };
    let wires = super::plan::wires(&placement);
    let one_way = wires.iter().filter(|(from, to)| from < to);
    let links = one_way.map(|((from, from_port), (to, to_port))| Link {
        from: name(*from),
        from_port: *from_port,
        to: name(*to),
        to_port: *to_port,
    });
    let mut edges = vec![];
    for (index, part) in rollout.iter().flat_map(|rollout| rollout.parts.iter().enumerate()) {
        for (at, port) in part.iter().flat_map(|part| &part.edges) {
            edges.push(Edge {
                from: name(index),
                at: at.clone(),
                to: wires.get(&(index, *port)).map(|(to, _)| name(*to)).unwrap_or_default(),
                port: *port,
            });
        }
    }
    let state = match (&rollout, controller.is_stopped()) {
        (None, _) => State::NoProgram,
        (Some(_), true) => State::Held,
        (Some(_), false) => State::Running,
    };
    ShowResponse {
        state: state as i32,
        devices: (0..placement.devices.len()).map(device).collect(),
        links: links.collect(),
        edges,
        metrics: vec![],
        clients: controller.clients(),
        // Those are known where they are.
        ports: vec![],
        groups: vec![],
        pinned_apps: vec![],
        merged: controller.merges().into_iter().map(merged).collect(),
        merging: (!controller.merges().is_empty()).then(|| merging(controller)),
        spares: controller.edges().into_iter().map(|edge| spares(edge, &name)).collect(),
    }
}

/// The helper that serves each shard, as far as the edges of shards say it.
pub fn serving(shown: &mut ShowResponse) {
    for app in &mut shown.pinned_apps {
        for shard in app.shards.iter_mut().filter(|shard| !shard.backups.is_empty()) {
            let helpers = || std::iter::once(&shard.device).chain(&shard.backups);
            let is_it = |edge: &&Spares| {
                edge.from == app.switch && edge.targets.iter().map(|target| &target.device).eq(helpers())
            };
            let Some(edge) = shown.spares.iter().find(is_it) else { continue };
            let find = |state| edge.targets.iter().find(|target| target.state() == state);
            // Before the first packet, no target is in use.
            let next = find(target::State::InUse).or(find(target::State::Ready));
            if find(target::State::Unknown).is_none() {
                shard.serving = next.map_or_else(String::new, |target| target.device.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::p4rack::v1::{FlowShard, PinnedApp};
    use target::State::{InUse, Out, Ready, Unknown};

    /// The helper that serves a shard of `a` and `b` whose edge has these states.
    fn serves(states: [target::State; 2]) -> String {
        let names = ["a", "b"].map(str::to_string);
        let target = |(device, state): (String, target::State)| Target { device, state: state as i32 };
        let edge = |targets: Vec<Target>| Spares { from: "s".into(), targets, ..Spares::default() };
        let targets: Vec<Target> = names.clone().into_iter().zip(states).map(target).collect();
        let other = targets.iter().rev().cloned().collect();
        let [device, backup] = names;
        let shard = FlowShard { number: 3, serving: device.clone(), device, backups: vec![backup] };
        let alone = FlowShard { serving: "c".into(), device: "c".into(), ..FlowShard::default() };
        let app = PinnedApp { switch: "s".into(), shards: vec![shard, alone], ..PinnedApp::default() };
        let spares = vec![edge(other), edge(targets)];
        let mut shown = ShowResponse { pinned_apps: vec![app], spares, ..ShowResponse::default() };
        serving(&mut shown);
        let mut shards = shown.pinned_apps.remove(0).shards;
        assert_eq!(shards.remove(1).serving, "c", "it has no backup");
        shards.remove(0).serving
    }

    #[test]
    fn the_target_in_use_serves_a_shard() {
        assert_eq!(serves([InUse, Ready]), "a");
        assert_eq!(serves([Out, InUse]), "b");
        assert_eq!(serves([Ready, Ready]), "a", "no packet has come yet");
        assert_eq!(serves([Out, Ready]), "b");
        assert_eq!(serves([Out, Out]), "");
        assert_eq!(serves([Unknown, Unknown]), "a");
    }
}
