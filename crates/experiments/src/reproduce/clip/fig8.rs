//! Fig. 8: throughput of SNAT at one core, with hot flows at the switch and without, for two traces.

use super::fig6::Drawn;
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig8",
    about: "Throughput of SNAT at one core of one server, with and without 1,024 flows at the switch, for stand-ins for both traces.",
    set: "Zipf's law, 1.0 and 10,000 flows of 64-byte packets for the data center; 0.9, 100,000 flows and a mean of 700 bytes for web search. The generator sends twice what the core takes, 3.3 million packets a second, and at most 40 Gbit/s. Flows by a count-min sketch of 2 rows of 65,536 cells.",
    leaves_out: "the traces themselves, whose sizes and skew are guessed; the core's rate is fitted to the factor of two, which is the generator's limit in the paper, too. The figure has no numbers.",
    run,
};

/// Million packets a second of the core.
const CORE: f64 = 3.3;
/// Packets of the generator for one that the core takes.
const LOAD: f64 = 2.0;

/// Name, flows, exponent in thousandths, mean bytes.
const TRACES: [(&str, usize, u32, u32); 2] =
    [("data center", 10_000, 1000, 64), ("web search", 100_000, 900, 700)];

/// Million packets a second without and with flows at the switch.
fn rates(flows: usize, skew: u32, size: u32, seed: u64) -> [f64; 2] {
    let link = 40e3 / f64::from((size + 20) * 8);
    let load = LOAD.min(link / CORE);
    let mut drawn = Drawn::of(flows, skew, 1, load, seed);
    let moved = drawn.by_sketch(65_536);
    [drawn.throughput(&[]) * CORE, drawn.throughput(&moved) * CORE]
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let rows = TRACES.map(|(name, flows, skew, size)| {
        let [without, with] = rates(flows, skew, size, 0);
        let gbits = |rate: f64| format!("{:.2}", rate * f64::from(size * 8) / 1000.0);
        let gain = format!("{:.2}", with / without);
        [name.to_string(), gbits(without), gbits(with), gain, "near 2".to_string()]
    });
    let titles = ["<trace", "at the server, Gbit/s", "hot flows at the switch", "gain", "paper: gain"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::{LOAD, TRACES, rates};

    #[test]
    fn hot_flows_at_the_switch_give_what_the_generator_sends() {
        for (name, flows, skew, size) in TRACES {
            let [without, with] = rates(flows, skew, size, 1);
            assert!((1.5..LOAD + 1e-6).contains(&(with / without)), "{name}: {without} {with}");
        }
    }
}
