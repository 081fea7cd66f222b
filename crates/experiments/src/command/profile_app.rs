//! `p4rack profile-app`

use crate::app_profile::{self, Fitted, Profile, RESOURCES};
use base_diag::SourceMap;
use cli::ExitCode;
use cli::output::{self, Format};
use rack_emulator::Table;
use serde_json::json;
use std::fmt::Write;

/// Show what a program costs for a number of flows: memory, Tofino resources, the device classes that can run it, and the time of a packet
///
/// Tables whose keys contain the shard key (`p4rack analyze`) grow with the flows; other tables have the sizes that the program gives.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack profile-app examples/apps/vpn.p4
  p4rack profile-app examples/apps/firewall.p4 --flows 1000,100000,1000000 --rate 10000000
  p4rack profile-app examples/apps/netcache.p4 --no-speed --format json")]
pub struct Args {
    /// A P4-16 program with `main`, for v1model
    program: String,
    /// Define a preprocessor macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Numbers of flows
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000,1000000", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    flows: Vec<u64>,
    /// Packets per second to process; prints the number of cores of this machine that they need
    #[arg(long, value_name = "PACKETS")]
    rate: Option<u64>,
    /// Leave the measurement on this machine out
    #[arg(long, conflicts_with = "rate")]
    no_speed: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if the program is wrong or cannot be run.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let options = p4_syntax::Options { defines: args.define.clone(), ..p4_syntax::Options::default() };
    let mut warnings = vec![];
    let program = p4rack::rack::compile_program(&args.program, &options, &mut map, &mut warnings);
    let found = program.and_then(|program| app_profile::profile(&program, &args.flows, !args.no_speed, &map));
    let profile = match found {
        Ok(profile) => profile,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    let cores = args.rate.zip(profile.speed.as_ref());
    let cores = cores.map(|(rate, speed)| rate.div_ceil(speed.packets_per_s.max(1)));
    match args.format {
        Format::Json => output::json(&json!({ "ok": true, "profile": profile, "cores": cores })),
        Format::Text => {
            output::diagnostics_text(&warnings, &map);
            output::print(&text(&profile));
            if let (Some(rate), Some(cores)) = (args.rate, cores) {
                output::print(&format!("{rate} packets/s: {cores} cores of this machine\n"));
            }
        }
    }
    ExitCode::SUCCESS
}

fn text(profile: &Profile) -> String {
    let mut out = match profile.growing.as_slice() {
        [] => "no table grows with the flows\n".to_string(),
        growing => format!("tables that grow with the flows: {}\n", growing.join(", ")),
    };
    for obstacle in &profile.obstacles {
        let _ = writeln!(out, "all flows must be at one device: {obstacle}");
    }
    let _ = writeln!(out, "registers and counters: {} bits\n", profile.object_bits);
    let mut rows: Vec<[String; 10]> = vec![];
    let mut reasons: Vec<(u64, &Fitted)> = vec![];
    for quantum in &profile.quanta {
        for fitted in &quantum.tofinos {
            let mut row = [const { String::new() }; 10];
            row[0] = quantum.flows.to_string();
            row[1] = quantum.entry_bits.to_string();
            row[2] = fitted.device.clone();
            row[3] = fitted.stages.map_or("does not fit".to_string(), |stages| stages.to_string());
            for (cell, used) in row[4..].iter_mut().zip(fitted.used).filter(|_| fitted.stages.is_some()) {
                *cell = used.to_string();
            }
            rows.push(row);
            reasons.extend((!fitted.why_not.is_empty()).then_some((quantum.flows, fitted)));
        }
    }
    let [sram, tcam, map_ram, alus, hash, crossbar] = RESOURCES.map(|resource| resource.name());
    let titles = ["flows", "bits of entries", "<device", "stages", sram, tcam, map_ram, alus, hash, crossbar];
    let _ = writeln!(out, "{}", Table::new(&titles, rows));
    let mut last: Option<(&str, &[String])> = None;
    for (flows, fitted) in reasons {
        let reason = (fitted.device.as_str(), fitted.why_not.as_slice());
        if last.replace(reason) != Some(reason) {
            let _ = writeln!(out, "{} with {flows} flows: {}", fitted.device, fitted.why_not.join("; "));
        }
    }
    let rows = profile.classes.iter().map(|class| {
        let runs = if class.why_not.is_empty() { "yes".to_string() } else { class.why_not.join("; ") };
        [class.class.to_string(), class.latency_ns.to_string(), class.packets_per_s.to_string(), runs]
    });
    let titles = ["<class", "latency, ns", "packets/s", "<runs the program"];
    let _ = writeln!(out, "\n{}", Table::new(&titles, rows.collect::<Vec<_>>()));
    if let Some(speed) = &profile.speed {
        let _ = writeln!(
            out,
            "one core of this machine, native engine, {} flows: {} ns a packet (the fastest tenth {} ns), {} packets/s; {} % of the lookups hit an entry",
            speed.flows, speed.median_ns, speed.fast_ns, speed.packets_per_s, speed.hits_percent
        );
    }
    out
}
