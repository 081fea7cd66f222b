//! Transfers of a rack, and the shape of their times.

use base_diag::{Diagnostic, Span};
use base_time::Time;
use host_programs::flow_list::FlowList;
use p4rack::rack::Racked;
use p4rack::up::bring_up;
use protocol_trials::statistics::{mean, quantile};
use rack_model::Rack;
use std::collections::BTreeMap;

/// Data in a full packet.
pub const PACKET: u32 = 1444;

/// The transfers of a rack's first workload: length in bytes, and time in ms.
pub fn times(racked: &Racked) -> Result<Vec<(u32, f64)>, Vec<Diagnostic>> {
    times_of(racked, 1, u64::MAX, &mut |_, _| ())
}

/// The same of its first workloads. `watch` gets the time and the number of transfers that have ended, each time so many events have happened.
pub fn times_of(
    racked: &Racked,
    workloads: usize,
    every: u64,
    watch: &mut dyn FnMut(Time, usize),
) -> Result<Vec<(u32, f64)>, Vec<Diagnostic>> {
    let mut running = bring_up(racked)?;
    running.emulator.keep_samples(true);
    // For each workload its pairs, and the lengths of their transfers.
    let lists: Vec<BTreeMap<_, (u32, Vec<u32>)>> = racked.rack.workloads[..workloads]
        .iter()
        .map(|workload| {
            let list = |pair| FlowList::new(&workload.load, pair).map(|flow| flow.bytes).collect();
            (0..).zip(workload.pairs()).map(|(at, pair)| (pair, (at, list(at)))).collect()
        })
        .collect();
    let mut out = vec![];
    running.run_watched(every, &mut |emulator| {
        for sample in emulator.take_samples() {
            let pairs = lists.get(sample.workload);
            let Some((pair, list)) = pairs.and_then(|pairs| pairs.get(&(sample.from, sample.to))) else {
                continue;
            };
            let bytes = list.get(sample.sequence as usize).copied().unwrap_or(0);
            let ms = sample.received.since(sample.sent).as_ns() as f64 / 1e6;
            out.push(((sample.workload, *pair, sample.sequence), (bytes, ms)));
        }
        watch(emulator.now(), out.len());
        Ok(())
    })?;
    out.sort_by_key(|(place, _)| *place);
    Ok(out.into_iter().map(|(_, time)| time).collect())
}

/// Mean, median and 95th percentile.
pub fn shape(times: &[f64]) -> [f64; 3] {
    [mean(times), quantile(times, 0.5), quantile(times, 0.95)]
}

/// Mean of the first time of each row by the mean of the second.
pub fn ratio_of_means(rows: &[(f64, f64)]) -> f64 {
    let sum = |of: fn(&(f64, f64)) -> f64| rows.iter().map(of).sum::<f64>();
    sum(|row| row.0) / sum(|row| row.1)
}

/// `0.85, 0.73, 2.05`
pub fn three(values: [f64; 3]) -> String {
    values.map(|value| format!("{value:.2}")).join(", ")
}

/// Chooses a form of the programs of all apps by a macro; none if the name is empty.
pub fn choose_form(rack: &mut Rack, form: &'static str) {
    if !form.is_empty() {
        let define = || (form.to_string().into(), "1".to_string().into());
        rack.apps.iter_mut().for_each(|app| app.defines.push(define()));
    }
}

/// The number of transfers of each pair, and the list that they are drawn from.
pub fn draw(rack: &mut Rack, count: u64) {
    if let Some(workload) = rack.workloads.first_mut() {
        workload.load.count = count;
        workload.load.set("list", host_programs::Value::Number(1), Span::NONE);
    }
}
