//! Section 7.2, alternate plans: what header compression takes of a Tofino.

use super::{Experiment, Lab, Shown, tofino};
use base_diag::Diagnostic;
use p4_syntax::Options;
use p4rack::rack::compile_program;
use rack_emulator::Table;
use rmt_fit::{PipeReport, Resource};

pub const EXPERIMENT: Experiment = Experiment {
    name: "stages",
    about: "Resources of a Tofino 1 for a router with and without header compression, by the model of `p4rack fit`.",
    set: "crates/netfn-compress/p4/compress_tna.p4 with 1,024 flows in each direction; `-D NO_COMPRESS` leaves compression and decompression out. Tables are logical tables of stages: those of the program, and each condition and each step of code outside of them.",
    leaves_out: "the paper's program for a Tofino, which is not published: what else its switch does, such as hand-overs to the other functions. Compression here has another format, whose references have generations: more registers than the paper's.",
    run,
};

/// Bytes of an SRAM block.
const BLOCK: u32 = 16 << 10;
/// Stateful ALUs of a Tofino 1.
const ALUS: u32 = 48;

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let [with, without] = [placed(lab, &[])?, placed(lab, &["NO_COMPRESS"])?];
    let of = |pipe: &PipeReport, resource| pipe.total.get(&resource).copied().unwrap_or(0);
    let alus = |pipe| {
        let used = of(pipe, Resource::MeterAlu);
        format!("{used} of {ALUS} ({:.0} %)", 100.0 * f64::from(used) / f64::from(ALUS))
    };
    let kilobytes = |pipe| of(pipe, Resource::Sram) * BLOCK / 1000;
    let tables = |pipe| of(pipe, Resource::LogicalTables).to_string();
    let row = |name: &str, with: String, without: String, paper: [&str; 2]| {
        [name.to_string(), with, without, paper[0].to_string(), paper[1].to_string()]
    };
    let rows = vec![
        row("stages", with.stages_used.to_string(), without.stages_used.to_string(), ["10", "4"]),
        row("stateful ALUs", alus(&with), alus(&without), ["25 %", "2 %"]),
        row("tables", tables(&with), tables(&without), ["46", "11"]),
        row(
            "SRAM",
            format!("{} kB", kilobytes(&with)),
            format!("{} kB", kilobytes(&without)),
            ["about 600 kB more", ""],
        ),
    ];
    let titles = ["<resource", "with", "without", "<paper, with", "<paper, without"];
    Ok(Table::new(&titles, rows).into())
}

/// The router with these macros.
fn placed(lab: &mut Lab<'_>, defines: &[&str]) -> Result<PipeReport, Vec<Diagnostic>> {
    let file = lab.racks.join("../../crates/netfn-compress/p4/compress_tna.p4").display().to_string();
    let defines = defines.iter().map(|name| (*name).to_string()).collect();
    let options = Options { defines, ..Options::default() };
    let program = compile_program(&file, &options, lab.map, &mut vec![])?;
    tofino::pipe(&program, lab.map)
}
