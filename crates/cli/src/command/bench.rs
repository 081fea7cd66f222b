//! `p4rack bench`

use crate::ExitCode;
use crate::output::{self, Format};
use experiments::bench::{self, Kind, Outcome, Settings};
use experiments::bench_load::{PROGRAMS, Shape, Size, program};
use serde_json::Value;

/// Measure packets per second on the benchmark programs, beside others that do the same job
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack bench --program router --peers none")]
pub struct Args {
    /// Which programs, or `all`
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "all")]
    program: Vec<String>,
    /// Processor time for each contestant and number of workers
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    seconds: f64,
    /// What runs the P4 program
    #[arg(long, value_enum, default_value = "native")]
    engine: Engine,
    /// Who is measured beside it
    #[arg(long, value_enum, value_delimiter = ',', default_value = "c,swx")]
    peers: Vec<Peer>,
    /// How many at once
    #[arg(long, value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u8).range(1..=64))]
    workers: Vec<u8>,
    /// What packets and entries are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many packets there are, which come again and again
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    packets: u32,
    /// How many flows they are of
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    flows: u32,
    /// The exponent of the flows' popularity (Zipf); without this what fits the program
    #[arg(long, value_name = "EXPONENT")]
    skew: Option<f64>,
    /// Bytes of a packet on the wire, 64 to 1518, or `imix`
    #[arg(long, default_value = "64", value_parser = size)]
    size: Size,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// What runs P4 programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Engine {
    /// Machine code
    Native,
    /// The reference interpreter
    Interp,
}

/// Who is measured beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Peer {
    /// The same job in C
    C,
    /// The same job as a pipeline of DPDK's
    Swx,
    /// The same program in BMv2's `simple_switch`, pcap to pcap
    #[value(name = "simple_switch")]
    SimpleSwitch,
    /// The reference interpreter
    Interp,
    /// Nobody
    None,
}

fn size(text: &str) -> Result<Size, String> {
    match text {
        "imix" => Ok(Size::Imix),
        _ => match text.parse() {
            Ok(bytes @ 64..=1518) => Ok(Size::Fixed(bytes)),
            _ => Err("64 to 1518, or `imix`".to_string()),
        },
    }
}

/// Exit status 1 if a contestant gives other bytes than the interpreter, 2 if a program is not known.
pub fn run(args: &Args) -> ExitCode {
    let mut programs = vec![];
    for name in &args.program {
        match (name.as_str(), program(name)) {
            ("all", _) => programs.extend(&PROGRAMS),
            (_, Some(program)) => programs.push(program),
            _ => {
                let names = PROGRAMS.map(|p| p.name).join(", ");
                tell!("p4rack: there is no program `{name}`; there are: {names}");
                return ExitCode::from(2);
            }
        }
    }
    let mut kinds = vec![match args.engine {
        Engine::Native => Kind::Native,
        Engine::Interp => Kind::Interp,
    }];
    for peer in &args.peers {
        let kind = match peer {
            Peer::C => Kind::C,
            Peer::Swx => Kind::Swx,
            Peer::SimpleSwitch => Kind::SimpleSwitch,
            Peer::Interp => Kind::Interp,
            Peer::None => continue,
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let shape = Shape {
        seed: args.seed,
        packets: args.packets as usize,
        flows: args.flows,
        skew: 0,
        size: args.size,
    };
    let settings = Settings {
        programs,
        kinds,
        workers: args.workers.iter().map(|n| usize::from(*n)).collect(),
        time: (args.seconds.clamp(0.0, 3600.0) * 1000.0) as u64,
        shape,
        skew: args.skew.map(|skew| (skew.clamp(0.0, 4.0) * 1000.0).round() as u32),
    };
    let mut values = vec![];
    let mut faults = false;
    for program in &settings.programs {
        match bench::measure(&settings, program) {
            Ok(result) => {
                faults |= result.outcomes.iter().any(|(_, o)| matches!(o, Outcome::Failed(_)));
                match args.format {
                    Format::Text => output::print(&format!("{}\n", bench::text(&result))),
                    Format::Json => values.push(bench::json(&result)),
                }
            }
            Err(what) => {
                tell!("p4rack: {}: {what}", program.name);
                faults = true;
            }
        }
    }
    if args.format == Format::Json {
        output::json(&Value::Array(values));
    }
    if faults { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
