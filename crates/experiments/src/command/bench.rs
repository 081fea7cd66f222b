//! `p4rack bench`

use crate::bench::{self, Kind, Outcome, Settings};
use crate::bench_load::{PROGRAMS, Shape, Size, program};
use base_diag::SourceMap;
use cli::output::{self, Format};
use cli::{ExitCode, report};
use p4rack::rack::compile_program;
use serde_json::Value;

/// Measure packets per second on the benchmark programs and compare with other implementations
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  p4rack bench --program router --peers none
  p4rack bench --targets --seconds 2
  p4rack bench handler snat.p4 --handlers snat.c"
)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Programs to measure, separated by commas, or `all`
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "all")]
    program: Vec<String>,
    /// CPU seconds per implementation and worker count
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    seconds: f64,
    /// Engine that runs the P4 program
    #[arg(long, value_enum, default_value = "native")]
    engine: Engine,
    /// Implementations to compare with
    #[arg(long, value_enum, value_delimiter = ',', default_value = "c,swx")]
    peers: Vec<Peer>,
    /// Numbers of parallel workers to measure, such as `1,2`
    #[arg(long, value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u8).range(1..=64))]
    workers: Vec<u8>,
    /// Random seed for packets and entries
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of distinct packets; they are replayed in a loop
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    packets: u32,
    /// Number of flows
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    flows: u32,
    /// Zipf exponent of the flows' popularity; the default depends on the program
    #[arg(long, value_name = "EXPONENT")]
    skew: Option<f64>,
    /// Packet size on the wire in bytes, 64 to 1518, or `imix`
    #[arg(long, default_value = "64", value_parser = size)]
    size: Size,
    /// Print the project's target rates next to the measured ones: two workers, in-process ports, C, captures, the emulator
    #[arg(long, conflicts_with_all = ["engine", "peers", "workers"])]
    targets: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Subcommand)]
enum What {
    /// Measure the time of calls of a program's C handlers
    Handler(HandlerArgs),
}

#[derive(clap::Args)]
struct HandlerArgs {
    /// P4-16 program
    program: String,
    #[command(flatten)]
    handlers: cli::Handlers,
    #[command(flatten)]
    preprocessor: cli::Preprocessor,
    /// Seconds per handler and kind of call (inline, isolated)
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    seconds: f64,
    /// Random seed for requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// The engine that runs P4 programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Engine {
    /// Machine code compiled for the program
    Native,
    /// The reference interpreter
    Interp,
}

/// An implementation to compare with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Peer {
    /// Hand-written C
    C,
    /// A DPDK SWX pipeline
    Swx,
    /// BMv2's `simple_switch`, from pcap to pcap
    #[value(name = "simple_switch")]
    SimpleSwitch,
    /// The reference interpreter
    Interp,
    /// No comparison
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
    if let Some(What::Handler(args)) = &args.what {
        return run_handlers(args);
    }
    let mut programs = vec![];
    for name in &args.program {
        match (name.as_str(), program(name)) {
            ("all", _) => programs.extend(&PROGRAMS),
            (_, Some(program)) => programs.push(program),
            _ => {
                let names = PROGRAMS.map(|p| p.name).join(", ");
                report!("p4rack: unknown program `{name}`; known programs: {names}");
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
    if args.targets {
        return run_targets(&settings, args.format);
    }
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
                report!("p4rack: {}: {what}", program.name);
                faults = true;
            }
        }
    }
    if args.format == Format::Json {
        output::json(&Value::Array(values));
    }
    if faults { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Exit status 1 if something could not be measured.
fn run_targets(settings: &Settings, format: Format) -> ExitCode {
    let (mut values, mut is_whole) = (vec![], true);
    if format == Format::Text {
        output::print(&bench::head());
    }
    bench::targets(settings, |target| {
        is_whole &= target.measured.is_ok();
        match format {
            Format::Text => output::print(&target.text()),
            Format::Json => values.push(target.json()),
        }
    });
    if format == Format::Json {
        output::json(&Value::Array(values));
    }
    if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Exit status 1 if the program or a handler is wrong.
fn run_handlers(args: &HandlerArgs) -> ExitCode {
    let mut map = SourceMap::new();
    let options = args.handlers.options(args.seed);
    let compiled = compile_program(&args.program, &args.preprocessor.options(), &mut map, &mut vec![]);
    let offers =
        compiled.and_then(|program| p4rack::handlers::offers(&program, &args.program, &options, &mut map));
    let built = match offers {
        Ok(offers) => offers.built,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    let mut values = vec![];
    for handler in built.iter().flat_map(|built| built.handlers()) {
        let Some(built) = &built else { continue };
        let time = std::time::Duration::from_secs_f64(args.seconds.clamp(0.0, 3600.0));
        match bench::handler(built, handler, args.seed, time) {
            Ok(times) => match args.format {
                Format::Text => output::print(&times.text(&handler.name)),
                Format::Json => values.push(times.json(&handler.name)),
            },
            Err(why) => {
                report!("p4rack: {}: {why}", handler.name);
                return ExitCode::FAILURE;
            }
        }
    }
    if args.format == Format::Json {
        output::json(&Value::Array(values));
    } else if built.is_none() {
        report!("p4rack: `{}` calls no handlers", args.program);
    }
    ExitCode::SUCCESS
}
