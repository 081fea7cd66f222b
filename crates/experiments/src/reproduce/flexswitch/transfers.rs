//! Transfers of a rack, and the shape of their times.

use base_diag::{Diagnostic, Span};
use host_programs::flow_list::FlowList;
use p4rack::rack::Racked;
use p4rack::up::bring_up;
use protocol_trials::statistics::{mean, quantile};
use rack_model::Rack;

/// Data in a full packet.
pub const PACKET: u32 = 1444;

/// The transfers of a rack's first workload: length in bytes, and time in ms.
pub fn times(racked: &Racked) -> Result<Vec<(u32, f64)>, Vec<Diagnostic>> {
    let workload = &racked.rack.workloads[0];
    let mut running = bring_up(racked)?;
    running.emulator.keep_samples(true);
    running.run()?;
    let pairs: Vec<_> = workload.pairs().collect();
    let lists: Vec<Vec<u32>> = (0..)
        .zip(&pairs)
        .map(|(pair, _)| FlowList::new(&workload.load, pair).map(|flow| flow.bytes).collect())
        .collect();
    let mut out = vec![];
    for sample in running.emulator.take_samples() {
        let Some(pair) = pairs.iter().position(|pair| *pair == (sample.from, sample.to)) else { continue };
        let bytes = lists[pair].get(sample.sequence as usize).copied().unwrap_or(0);
        let ms = sample.received.since(sample.sent).as_ns() as f64 / 1e6;
        out.push(((pair, sample.sequence), (bytes, ms)));
    }
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
