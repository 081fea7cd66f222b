//! Figure 9: the best plans for four kinds of networks.

use super::fig11::total;
use super::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_time::{Duration, Rate};
use plan_model::Unit;
use rack_emulator::Table;
use rack_model::{Call, DeviceClass, Rack};

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig9",
    about: "The best plans for Crosspod in four networks: 2 Gbit/s with FPGAs, 20 Mbit/s with servers instead.",
    set: "links of 10 Gbit/s; latency first, then power, then cost. Ours are planned for the two switches of the testbed, one end of a link each, and sums are over both; the paper's are \
          for one switch with all functions. Exact search; the paper's plans are greedy, and there are better ones in its own model (docs/planning.md).",
    leaves_out: "nothing of the planner's model. Our latencies have links and switches in them, the paper's have only functions; those of servers are what they are at their best rates (Table 3, \
                 the cache as its planner assumes it). Our Arista has a board with an FPGA behind it for the tables, in any plan. Areas are sums of percent of LUTs, BRAMs and FFs.",
    run,
};

/// A plan: name, file, rate in Mbit/s, whether servers replace FPGAs, and the paper's latency, power, cost and area.
type Case = (&'static str, &'static str, u64, bool, [&'static str; 4]);

const CASES: [Case; 4] = [
    ("maximum performance", "RACK.toml", 2000, false, ["58.56us", "230W", "20", "323.7%"]),
    ("legacy extender", "legacy-extender.toml", 2000, false, ["65us", "260W", "11", "418.3%"]),
    ("server offload (Tofino)", "RACK.toml", 20, true, ["1.39ms", "560W", "27", "0%"]),
    ("server offload (Arista)", "legacy-extender.toml", 20, true, ["14.69ms", "860W", "26", "0%"]),
];

/// Time of a call on a server, in microseconds.
const SERVER: [(&str, u64); 5] = [
    ("kv-cache", 1000),
    ("fec-encode", 300),
    ("fec-decode", 90),
    ("header-compress", 5800),
    ("header-decompress", 5900),
];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let mut rows = vec![];
    for (name, file, rate, has_servers, [latency, power, cost, area]) in CASES {
        (lab.show_progress)(name);
        let racked = lab.changed(file, &|rack| set(rack, rate, has_servers))?;
        rows.push([
            name.to_string(),
            format!("{rate}Mbit/s"),
            total(&racked, "Latency", Unit::Seconds),
            total(&racked, "Power", Unit::Watts),
            total(&racked, "Cost", Unit::Plain),
            total(&racked, AREA, Unit::Percent),
            format!("{latency}, {power}, {cost}, {area}"),
        ]);
    }
    let titles = ["<plan", "rate", "latency", "power", "cost", "area", "<paper's latency, power, cost, area"];
    Ok(Table::new(&titles, rows).into())
}

const AREA: &str = "LUTs+BRAMs+FFs";

fn set(rack: &mut Rack, rate: u64, has_servers: bool) {
    rack.at_full_rate();
    rack.plan.rate = Some(Rate::from_bits_per_s(rate * 1_000_000));
    rack.plan.objectives.push(AREA.to_string().into());
    for device in rack.devices.iter_mut().filter(|device| has_servers && device.class == DeviceClass::Fpga) {
        device.class = DeviceClass::Cpu;
        for (name, call) in &mut device.calls {
            let server = SERVER.iter().find(|(known, _)| known == name);
            *call =
                Call { time: server.map_or(call.time, |(_, us)| Duration::from_us(*us)), ..Call::default() };
        }
    }
}
