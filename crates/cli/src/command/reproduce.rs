//! `p4rack reproduce`

use super::up;
use crate::output;
use std::path::PathBuf;
use std::process::ExitCode;

/// Repeat experiments of a paper, its numbers beside ours
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(clap::Subcommand)]
enum Paper {
    /// Flightplan (NSDI'21): in-network functions of Crosspod on two switches
    Flightplan {
        /// Which figure
        figure: Figure,
        /// Where its racks are
        #[arg(long, value_name = "DIR", default_value = "examples/crosspod")]
        racks: PathBuf,
        /// Links of 10 Gbit/s as in the paper, and not of 1 Gbit/s
        #[arg(long)]
        full_rate: bool,
        /// Stop each run at this virtual time
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// Also write the figures as one page that a browser shows
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
}

/// What can be repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Figure {
    /// Functions switched on one by one, as TCP and memcached see them
    #[value(name = "fig10")]
    Functions,
    /// What loss leaves of TCP, with and without error correction
    #[value(name = "fig13")]
    Loss,
}

/// What no figure has.
const LEAVES_OUT: &str = "The model leaves out: FPGAs beside the switches (the switches call the functions themselves, and take the same time with \
and\nwithout them), power, and of TCP selective acknowledgements (smoltcp's Reno waits for its timer of 200 ms where Linux does not).\n";

impl Figure {
    fn file(self) -> &'static str {
        match self {
            Figure::Functions => "RACK.toml",
            Figure::Loss => "figure-13.toml",
        }
    }

    /// Flows, times and loss: what goodput depends on.
    fn setting(self) -> &'static str {
        match self {
            Figure::Functions => {
                "40 TCP connections (the paper does not say how many), each with at most 256 KiB under way; 4 us of propagation there and back;\n\
                 loss from left to right, each frame for itself; a read each 100 us and a write each ms on average, 10,000 keys by Zipf's law (0.99).\n"
            }
            Figure::Loss => {
                "40 TCP connections (10 in the paper), each with at most 256 KiB under way, for a second (10 times a minute in the paper);\n\
                 4 us of propagation there and back; loss from left to right, each frame for itself; k = 5, h = 1 as in the paper.\n"
            }
        }
    }
}

/// Exit status 1 if a rack is not there or wrong.
pub fn run(args: Args) -> ExitCode {
    let Paper::Flightplan { figure, racks, full_rate, until, html } = args.paper;
    let status = up::run(&up::Args::of_stages(racks.join(figure.file()), full_rate, until, html));
    if status == ExitCode::SUCCESS {
        output::print(&format!("\n{}{LEAVES_OUT}", figure.setting()));
    }
    status
}
