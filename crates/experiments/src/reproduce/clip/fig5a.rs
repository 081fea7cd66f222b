//! Fig. 5(a): throughput by packet size, without an application, with none, one and two servers.

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig5a",
    about: "Throughput by packet size with all traffic through no, one or two servers: servers bound small packets, the link large ones.",
    set: "min(generator, servers x rate, 40 Gbit/s / ((size + 20) x 8 bits)); 12 million packets a second from the generator, 9 million at a server.",
    leaves_out: "the two rates are fitted to the paper's text (one server reaches the bound at 512 bytes, two help for smaller packets); the figure has no numbers. The rest is a formula, not a run.",
    run,
};

/// Million packets a second.
const GENERATOR: f64 = 12.0;
const SERVER: f64 = 9.0;

/// Packet rate of the 40 Gbit/s link, with preamble and gap between frames.
fn link(size: u32) -> f64 {
    40e3 / f64::from((size + 20) * 8)
}

/// Million packets a second through this many servers; 0: the switch alone.
fn rate(size: u32, servers: u32) -> f64 {
    let servers = if servers == 0 { f64::INFINITY } else { f64::from(servers) * SERVER };
    GENERATOR.min(servers).min(link(size))
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let rows = [64, 128, 256, 512, 1024, 1500].map(|size| {
        let shown = |servers| format!("{:.2}", rate(size, servers) * f64::from(size * 8) / 1000.0);
        let near = if rate(size, 1) >= 0.95 * rate(size, 0) { "yes" } else { "no" };
        let paper = match size {
            512 | 1024 => "yes",
            1500 => "",
            _ => "no",
        };
        [size.to_string(), shown(0), shown(1), shown(2), near.to_string(), paper.to_string()]
    });
    let titles = ["bytes", "switch, Gbit/s", "1 server", "2 servers", "1 is near the bound", "paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn one_server_is_near_the_bound_from_512_bytes_and_two_help_below() {
        for size in [512, 1024, 1500] {
            assert!(rate(size, 1) >= 0.95 * rate(size, 0), "{size}");
        }
        for size in [64, 128, 256] {
            assert!(rate(size, 1) < 0.8 * rate(size, 0) && rate(size, 2) > 1.2 * rate(size, 1), "{size}");
        }
    }
}
