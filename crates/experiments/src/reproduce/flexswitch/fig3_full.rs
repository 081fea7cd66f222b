//! Fig. 3 in its full size: 2,560 servers behind 112 switches.
//!
//! ```text
//! 64 ToRs: 40 x 1G to servers, 4 x 10G up    32 aggregation: 8 x 10G down, 8 x 10G up    16 core: 16 x 10G
//! ```
//!
//! Each of eight groups has eight ToRs and four aggregation switches. Paths follow the destination: its number chooses the uplinks.

use super::fig3::table;
use super::transfers::{choose_form, times_of};
use crate::bench::Scratch;
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use base_diag::codes::emulate::UNREADABLE_FILE;
use base_time::{Duration, Rng, Time};
use std::fmt::Write;
use std::path::Path;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig3-full",
    about: "The same among 2,560 servers behind 112 switches, by TCP (CUBIC), RCP and XCP, exact and on a limited switch. A long run; `--until` ends each scheme at a virtual time.",
    set: "286,720 transfers for all: each server sends to four others, Poisson, Pareto 1.2, 25 packets on average, at most 15 MB, which loads links between aggregation and core to 30 %. Servers at 1 Gbit/s, \
          switches at 10 Gbit/s; 64 ToRs, 32 aggregation and 16 core switches, links of 5 us, 256 frames at each port. All ports of RCP and XCP have rate control. Each scheme ends after 200 ms.",
    leaves_out: "The paper's ToRs are said to have four times as many ports down as up, at a tenth of the rate: its links up carry what its servers send, and so do ours. Paths are chosen by destination, not by flow. \
                 Transfers under way at the end are not counted.",
    run,
};

const TORS: usize = 64;
const AGGREGATION: usize = 32;
const CORES: usize = 16;
/// Servers of a ToR.
const SERVERS: usize = 40;
const HOSTS: usize = TORS * SERVERS;
/// Receivers of each server, and transfers to each.
const RECEIVERS: usize = 4;
const COUNT: usize = 28;
/// Virtual time of a run, and events between messages of progress.
const UNTIL: Duration = Duration::from_ms(200);
const EVENTS: u64 = 1_000_000;

/// Name, kind of the workloads, program, and for an approximation the place of its exact twin.
const SCHEMES: [(&str, &str, &str, Option<usize>); 5] = [
    ("TCP (CUBIC)", "tcp", "rcp/forward.p4", None),
    ("RCP", "rcp", "rcp/rcp.p4", None),
    ("RCP, limited", "rcp", "rcp/rcp.p4", Some(1)),
    ("XCP", "xcp", "xcp/xcp.p4", None),
    ("XCP, limited", "xcp", "xcp/xcp.p4", Some(3)),
];

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let wrong = |why: String| vec![Diagnostic::error(UNREADABLE_FILE, why)];
    let scratch = Scratch::new().map_err(wrong)?;
    let until = lab.until.unwrap_or(Time::ZERO + UNTIL);
    let mut all = vec![];
    for (name, kind, program, twin) in SCHEMES {
        write(&scratch, kind, &lab.racks.join(program)).map_err(wrong)?;
        (lab.show_progress)(&format!("{name}: the rack is read"));
        let racked = lab.changed(&scratch.path().join("RACK.toml").to_string_lossy(), &|rack| {
            if kind != "tcp" {
                choose_form(rack, "FABRIC");
                choose_form(rack, if twin.is_none() { "EXACT" } else { "" });
            }
            rack.until = Some(until);
        })?;
        (lab.show_progress)(&format!("{name}: the rack is brought up"));
        let progress = &mut lab.show_progress;
        all.push(times_of(&racked, HOSTS, EVENTS, &mut |now, transfers| {
            progress(&format!("{name}: {} ms of {}, {transfers} transfers", ms(now), ms(until)));
        })?);
    }
    let schemes: Vec<_> =
        SCHEMES.iter().zip(&all).map(|((name, .., twin), times)| (*name, &times[..], *twin)).collect();
    Ok(table(&schemes).into())
}

fn ms(time: Time) -> f64 {
    time.since(Time::ZERO).as_ns() as f64 / 1e6
}

/// Writes RACK.toml, and the entries of each switch.
fn write(scratch: &Scratch, kind: &str, program: &Path) -> Result<(), String> {
    let program = program.canonicalize().map_err(|why| format!("`{}`: {why}", program.display()))?;
    let switches: Vec<Switch> = [(Tier::Tor, TORS), (Tier::Aggregation, AGGREGATION), (Tier::Core, CORES)]
        .into_iter()
        .flat_map(|(tier, count)| (0..count).map(move |number| Switch { tier, number }))
        .collect();
    for switch in &switches {
        scratch.write(&format!("{}.stf", switch.name()), switch.entries(kind != "tcp").as_bytes())?;
    }
    scratch.write("RACK.toml", rack(kind, &program, &switches).as_bytes()).map(drop)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    Tor,
    Aggregation,
    Core,
}

/// A switch of a tier.
struct Switch {
    tier: Tier,
    number: usize,
}

impl Switch {
    fn name(&self) -> String {
        let tier = match self.tier {
            Tier::Tor => "tor",
            Tier::Aggregation => "agg",
            Tier::Core => "core",
        };
        format!("{tier}{}", self.number)
    }

    /// The port to a server.
    fn port_to(&self, host: usize) -> usize {
        let (tor, group) = (host / SERVERS, host / SERVERS / 8);
        match self.tier {
            Tier::Tor if tor == self.number => 1 + host % SERVERS,
            Tier::Tor => 41 + host % 4,
            Tier::Aggregation if group == self.number / 4 => 1 + tor % 8,
            Tier::Aggregation => 9 + host / 4 % 8,
            Tier::Core => 1 + 2 * group + host / 32 % 2,
        }
    }

    fn entries(&self, controlled: bool) -> String {
        let mut out = String::new();
        let ports = if self.tier == Tier::Tor { 44 } else { 16 };
        for port in (1..=ports).filter(|_| controlled) {
            // Bytes of 256 us: 95 % of the rate, and the rate without gaps between frames.
            let rate = if self.tier == Tier::Tor && port <= SERVERS { 1 } else { 10 };
            let _ = writeln!(
                out,
                "add links standard_metadata.egress_spec:{port} control_rate(slot:{}, capacity:{}, drain:{})",
                port - 1,
                30_400 * rate,
                31_500 * rate
            );
        }
        for host in 0..HOSTS {
            let (mac, port) = (0x0200_0000_0000u64 + host as u64, self.port_to(host));
            let _ = writeln!(out, "add hosts hdr.ethernet.dst_addr:{mac:#x} forward(port:{port})");
        }
        out
    }
}

fn rack(kind: &str, program: &Path, switches: &[Switch]) -> String {
    let quoted =
        |names: Vec<String>| names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let mut out = format!(
        "[rack]\nname = \"fig3-full\"\nseed = 1\n\n[[app]]\nprogram = {:?}\norigin = [{}]\n",
        program.display().to_string(),
        quoted(switches.iter().map(Switch::name).collect())
    );
    for switch in switches {
        let name = switch.name();
        let _ = writeln!(
            out,
            "[device.{name}]\nclass = \"switch\"\nexterns = [\"divide\", \"keyed-register\"]\nentries = \"{name}.stf\""
        );
    }
    for host in 0..HOSTS {
        let (high, low) = (host / 256, host % 256);
        let _ = writeln!(
            out,
            "[host.h{host}]\nmac = \"02:00:00:00:{high:02x}:{low:02x}\"\nip = \"10.0.{}.{}/16\"",
            1 + host / 200,
            1 + host % 200
        );
    }
    let mut link = |one: String, other: String, gbits: u32| {
        let _ = writeln!(
            out,
            "[[link]]\nends = [\"{one}\", \"{other}\"]\nrate = \"{gbits}Gbit/s\"\ndelay = \"5us\"\nqueue = 256"
        );
    };
    for host in 0..HOSTS {
        link(format!("h{host}"), format!("tor{}:{}", host / SERVERS, 1 + host % SERVERS), 1);
    }
    for tor in 0..TORS {
        for up in 0..4 {
            link(format!("tor{tor}:{}", 41 + up), format!("agg{}:{}", 4 * (tor / 8) + up, 1 + tor % 8), 10);
        }
    }
    for switch in 0..AGGREGATION {
        let (group, of_group) = (switch / 4, switch % 4);
        for up in 0..8 {
            let core = 8 * (of_group / 2) + up;
            link(
                format!("agg{switch}:{}", 9 + up),
                format!("core{core}:{}", 1 + 2 * group + of_group % 2),
                10,
            );
        }
    }
    let mut rng = Rng::new(1);
    for host in 0..HOSTS {
        let mut to: Vec<usize> = vec![];
        while to.len() < RECEIVERS {
            let other = rng.index(HOSTS);
            if other != host && !to.contains(&other) {
                to.push(other);
            }
        }
        let wish = if kind == "rcp" { "rate = \"1Gbit/s\"\n" } else { "" };
        let _ = writeln!(
            out,
            "[[workload]]\nkind = \"{kind}\"\nname = \"w{host}\"\nfrom = \"h{host}\"\nto = [{}]\n{wish}count = {COUNT}\ninterval = \"3.6ms\"\nsize = 36200\nlist = {}\nlargest = 15000000",
            quoted(to.iter().map(|host| format!("h{host}")).collect()),
            host + 1
        );
    }
    out
}
