//! Figure 8: goodput of a mapper at 10 Gbit/s, three hosts with one, two and four mappers each.

use super::systems::{BOUND, VOCABULARY, run, verdict};
use crate::reproduce::{Experiment, Shown};
use aggregate::{Layout, Op};
use rack_emulator::Table;
use reduce_compared::{Data, Links, Mode, Shape, Trial};

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig8",
    about: "Goodput of a mapper at 10 Gbit/s: bytes of pairs until the last mapper has sent everything. The paper has 9.13, 4.26 and 2.31 Gbit/s with 1, 2 and 4 mappers on each of three hosts.",
    set: "three hosts of mappers and a reducer, links of 10 Gbit/s and 5 us, queues of 512 KiB. `words`: Zipf's law, 600,000 / m of each mapper; `rank`: scores of the same 800,000 / m keys of each mapper, the largest of each key. A bank has 196,608 slots (pipeline), 262,144 (software); for `rank` 65,536 in each lane, for `rank, 8,192 rows` those of the pipeline profile. \
        A pair counts with its bytes in the format: 68 for P4COM (its keys have 64), 10 for the pipeline profile, 22 for the software profile. `bound`: pairs of a full packet, of its bytes on the wire, of 10 Gbit/s. With `rank` nearly every key finds a slot, and the goodput is that of the format and the protocol. With 8,192 rows there are nine to thirteen rounds. With `words`, three mappers have most of their words alone: these pairs fill the reducer's link, which bounds AGG's goodput. P4COM's dumps wait in the switch, in a queue without a limit, and do not count.",
    leaves_out: "the CPU time of hosts; the paper's period of 100 s.",
    run: |_| Ok(shown(600_000)),
};

const TEN: u64 = 10_000_000_000;

/// Name, system, slots, bytes of a pair, pairs of a full packet and its bytes on a link.
fn systems() -> [(&'static str, Mode, u64, u64, u64, u64); 3] {
    let full = |layout: Layout| {
        let (lanes, pair) = (u64::from(layout.lanes), layout.pair_bytes() as u64);
        (pair, lanes, aggregate::datagram::AROUND + layout.header_bytes() as u64 + lanes * pair)
    };
    let (pipeline, software) = (full(Layout::PIPELINE), full(Layout::SOFTWARE));
    [
        ("P4COM, as printed", Mode::Printed { is_repaired: false }, BOUND, 68, 20, 78 + 9 + 20 * 68),
        ("AGG, pipeline", Mode::Pipeline, 196_608, pipeline.0, pipeline.1, pipeline.2),
        ("AGG, software", Mode::Software, 262_144, software.0, software.1, software.2),
    ]
}

fn shown(words: u32) -> Shown {
    let mut rows = vec![];
    let sets =
        [("words", Op::Add, None), ("rank", Op::Max, Some(1 << 16)), ("rank, 8,192 rows", Op::Max, None)];
    for (name, op, rows_of_lanes) in sets {
        for (per_host, paper) in [(1, "9.13"), (2, "4.26"), (4, "2.31")] {
            let (mappers, each) = (3 * per_host, words / u32::from(per_host));
            let data = match op {
                Op::Add => Data::words(mappers, each, VOCABULARY, 1000, 7),
                _ => Data { op, is_dense: false, ..Data::gradients(mappers, each / 3 * 4, 7) },
            };
            let shape = Shape { mappers: 3 * per_host, per_host, has_two_tiers: false };
            for (system, mode, slots, pair, lanes, packet) in systems() {
                if name.ends_with("rows") && mode != Mode::Pipeline {
                    continue;
                }
                // As many as the layout can have: nearly all keys find one.
                let slots = rows_of_lanes.map_or(slots, |rows: u64| lanes * rows);
                let trial = Trial { data: &data, shape, links: Links::of(TEN), slots, restarts: vec![] };
                let outcome = run(&trial, mode);
                let bits = (data.sum() * pair * 8) as f64;
                let host = bits / 3.0 / outcome.sent.as_ns().max(1) as f64;
                let bound = 10.0 * (lanes * pair) as f64 / packet as f64;
                rows.push([
                    name.to_string(),
                    per_host.to_string(),
                    system.to_string(),
                    format!("{:.2}", host / f64::from(per_host)),
                    format!("{host:.2}"),
                    format!("{bound:.2}"),
                    format!("{:.2}", host / bound),
                    verdict(&outcome),
                    if op == Op::Add { paper.to_string() } else { "similar".to_string() },
                ]);
            }
        }
    }
    let titles = [
        "<data",
        "m",
        "<system",
        "Gbit/s a mapper",
        "a host",
        "bound",
        "of the bound",
        "<result",
        "<paper, a mapper",
    ];
    Table::new(&titles, rows).into()
}
