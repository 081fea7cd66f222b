//! Fig. 5(b): latency of packets of random size, through the switch alone and through a server.

use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_time::Rng;
use rack_emulator::Table;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig5b",
    about: "Latency of 10,000 packets of random size, through the switch alone and through one server with an empty handler.",
    set: "64 to 1,500 bytes, one million packets a second at random times. Each link of 40 Gbit/s takes (size + 20) x 8 bits; the switch 0.6 us; the generator and its card 5.2 us, up to 1.5 us more; a server's card, driver and bus 5.8 us, up to 2 us until it looks, 111 ns a packet one after the other.",
    leaves_out: "the latencies of the generator and of the server's card are fitted to the paper's two numbers (90 % within 16 us, 9 us more than without the server). Links, sizes and the queue at the server follow from the set-up.",
    run,
};

const PACKETS: usize = 10_000;

/// Microseconds without and with the server, each sorted.
fn latencies(seed: u64) -> [Vec<f64>; 2] {
    let mut rng = Rng::new(seed).split("fig5b");
    let mut uniform = |most: f64| most * rng.below(1 << 30) as f64 / f64::from(1 << 30);
    let (mut now, mut free) = (0.0, 0.0f64);
    let (mut fast, mut slow) = (vec![], vec![]);
    for _ in 0..PACKETS {
        // Poisson's process with a mean of a microsecond.
        now += -(1.0 - uniform(1.0)).ln();
        let size = 64.0 + uniform(1436.0);
        let wire = (size + 20.0) * 8.0 / 40e3;
        let alone = 5.2 + uniform(1.5) + 2.0 * wire + 0.6;
        let at_server = now + alone + wire + uniform(2.0);
        free = free.max(at_server) + 0.111;
        fast.push(alone);
        slow.push(free - now + wire + 5.8 + 0.6);
    }
    [&mut fast, &mut slow].map(|all| {
        all.sort_by(f64::total_cmp);
        std::mem::take(all)
    })
}

fn at(sorted: &[f64], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or(0.0)
}

fn run(_: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let [fast, slow] = latencies(0);
    let rows = [(10, ""), (50, ""), (90, "16, 9 more"), (99, "")].map(|(percent, paper)| {
        let (fast, slow) = (at(&fast, percent), at(&slow, percent));
        [
            format!("{percent} %"),
            format!("{fast:.1}"),
            format!("{slow:.1}"),
            format!("{:.1}", slow - fast),
            paper.to_string(),
        ]
    });
    let titles = ["packets", "switch alone, us", "one server, us", "more", "paper: one server"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::{at, latencies};

    #[test]
    fn nine_of_ten_packets_take_16_us_through_the_server_and_9_less_without() {
        let [fast, slow] = latencies(3);
        let (fast, slow) = (at(&fast, 90), at(&slow, 90));
        assert!((15.0..16.0).contains(&slow) && (8.0..10.0).contains(&(slow - fast)), "{fast} {slow}");
    }
}
