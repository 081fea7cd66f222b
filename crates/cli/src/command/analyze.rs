//! `p4rack analyze`

mod keys;

use super::run::inputs;
use super::{Cut, Preprocessor};
use crate::ExitCode;
use crate::output;
use base_diag::{Diagnostic, SourceMap};
use ir::Program;
use ir_footprint::analysis::{self, Edge, Live, Region};
use ir_footprint::region_graph;
use ir_keys::Keys;
use p4rack::run::feed::Feed;
use p4rack::run::spec::{PortFiles, port_files};
use p4rack::traffic::{self, Traffic};
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Show a program's regions: their tables, their state, and the bits that a hand-over to each would carry
///
/// A region is a part of ingress or egress that may run on another device. A hand-over transfers a packet from one device to another, with
/// the values that the next region needs in a header in front of the packet.
///
/// After the regions, the output lists the hand-overs that occur if each region has a device of its own; the union key, which identifies the
/// flow of a packet; the shard key, by which flows are divided among devices; and the mode of each table and object, that is, how its copies
/// on several devices relate. For a RACK.toml, only keys and modes are shown, for each app.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack analyze examples/slice/slice.p4
  p4rack analyze router.p4 --cut tables --nearest
  p4rack analyze examples/apps/RACK.toml                           union key, shard key and modes of each app
  p4rack analyze router.p4 --traffic 1@in.pcap --entries e.toml    share of packets that pass each region
  p4rack analyze examples/slice/slice.p4 --format svg > regions.svg")]
pub struct Args {
    /// A P4-16 program with `main`, or a RACK.toml
    program: String,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// How regions are chosen
    #[arg(long, value_enum, default_value = "marks")]
    cut: Cut,
    /// For each region that cannot run on another device, show the nearest statements that can
    #[arg(long)]
    nearest: bool,
    /// Run the packets of a capture through the program and print the share of packets that passes each region. Packets enter on PORT (default 0); may be repeated
    #[arg(long, value_name = "[PORT@]FILE.pcap", value_parser = capture)]
    traffic: Vec<PortFiles>,
    /// Table entries for `--traffic`, in any format that `p4rack run --entries` reads; may be repeated
    #[arg(long, value_name = "FILE", requires = "traffic")]
    entries: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// `PORT@FILE`, or a file of packets for port 0.
fn capture(text: &str) -> Result<PortFiles, String> {
    if !text.contains('@') {
        return Ok(PortFiles { port: 0, input: Some(text.into()), output: None });
    }
    let found = port_files(text)?;
    match found.output {
        Some(_) => Err(format!("`{text}` also names an output file: write PORT@FILE.pcap")),
        None => Ok(found),
    }
}

/// How to print the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Format {
    /// Human-readable text
    Text,
    /// One JSON value
    Json,
    /// An SVG drawing of the region graph
    Svg,
}

/// Exit status 1 if the program is wrong.
pub fn run(args: &Args) -> ExitCode {
    if args.program.ends_with(".toml") {
        return apps(args);
    }
    let mut map = SourceMap::new();
    let mut warnings = vec![];
    let program =
        p4rack::rack::compile_program(&args.program, &args.preprocessor.options(), &mut map, &mut warnings);
    let policy = args.cut.policy();
    let analyzed = program.and_then(|program| {
        let regions = analysis::regions(&program, policy, args.nearest, &map)?;
        let edges = analysis::edges(&program, policy);
        let keys = keys::of_program(&program)?;
        let traffic = measured(args, program, &mut map)?;
        Ok((regions, edges, keys, traffic))
    });
    let (regions, edges, keys, traffic) = match analyzed {
        Ok(analyzed) => analyzed,
        Err(found) => return failed(args, &found, &map),
    };
    match args.format {
        Format::Json => {
            let mut shown = json!({ "ok": true, "regions": regions, "edges": edges });
            if let Some(keys) = &keys {
                shown["keys"] = keys::json(keys, &map);
            }
            if let Some(traffic) = &traffic {
                shown["traffic"] = json!(traffic);
            }
            output::json(&shown);
        }
        Format::Svg => output::print(&region_graph::svg(&regions, &edges)),
        Format::Text => {
            output::diagnostics_text(&warnings, &map);
            let mut out = String::new();
            regions.iter().for_each(|region| write_region(&mut out, region));
            write_edges(&mut out, &edges);
            if let Some(keys) = &keys {
                out.push_str(&keys::text(keys, &map));
            }
            if let Some(traffic) = &traffic {
                let _ = writeln!(
                    out,
                    "{} packets; share that passes each region, as a line for RACK.toml:",
                    traffic.packets
                );
                let _ = writeln!(out, "  {}", traffic.line());
            }
            output::print(&out);
        }
    }
    ExitCode::SUCCESS
}

fn failed(args: &Args, found: &[Diagnostic], map: &SourceMap) -> ExitCode {
    let json = args.format == Format::Json;
    output::failed(found, map, if json { output::Format::Json } else { output::Format::Text })
}

/// The keys of each app of a rack.
fn apps(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let path = Path::new(&args.program);
    let found = p4rack::rack::app_programs(path, &args.preprocessor.options().defines, &mut map);
    let apps = found.and_then(|apps| {
        let of_app = |(name, program): (String, Arc<Program>)| Ok((name, keys::of_program(&program)?));
        apps.into_iter().map(of_app).collect::<Result<Vec<_>, Vec<Diagnostic>>>()
    });
    let apps = match apps {
        Ok(apps) => apps,
        Err(found) => return failed(args, &found, &map),
    };
    match args.format {
        Format::Json => {
            let app = |(name, keys): &(String, Option<Keys>)| json!({ "name": name, "keys": keys.as_ref().map(|keys| keys::json(keys, &map)) });
            output::json(&json!({ "ok": true, "apps": apps.iter().map(app).collect::<Vec<_>>() }));
        }
        Format::Svg => {
            report!("p4rack: only the regions of a program can be drawn: name the P4 file of an app");
            return ExitCode::FAILURE;
        }
        Format::Text => {
            for (name, keys) in &apps {
                let keys =
                    keys.as_ref().map_or("  no keys: not a program for v1model\n".to_string(), |keys| {
                        keys::text(keys, &map)
                    });
                output::print(&format!("app {name}\n{keys}"));
            }
        }
    }
    ExitCode::SUCCESS
}

/// Result of `--traffic`.
fn measured(
    args: &Args,
    program: Arc<Program>,
    map: &mut SourceMap,
) -> Result<Option<Traffic>, Vec<Diagnostic>> {
    if args.traffic.is_empty() {
        return Ok(None);
    }
    let mut fillings = vec![];
    for path in &args.entries {
        let (text, start) = inputs::read(path, map)?;
        fillings.push(p4rack::run::entries::read(&program, path, &text, start)?);
    }
    let mut feed = inputs::captures(&args.traffic, Feed::new(None))?;
    traffic::measure(&traffic::job(program, fillings), args.cut.policy(), &mut feed).map(Some)
}

fn write_region(out: &mut String, region: &Region) {
    let _ = writeln!(out, "{} ({}, {})", region.name, region.half, region.place);
    for table in &region.tables {
        let keys: Vec<_> =
            table.keys.iter().map(|k| format!("{}:{} {}", k.name, k.bits, k.match_kind)).collect();
        let size = table.size.map_or_else(String::new, |size| format!(", size {size}"));
        let keys = if keys.is_empty() { "no key".to_string() } else { keys.join(", ") };
        let _ = writeln!(out, "  table   {} ({keys}; {} bits an entry{size})", table.name, table.entry_bits);
    }
    for object in &region.state {
        let called = if object.methods.is_empty() {
            String::new()
        } else {
            format!(": {}", object.methods.join(", "))
        };
        let _ = writeln!(out, "  state   {} ({}, {}{called})", object.name, object.kind, object.mode);
    }
    let (most, always) = (&region.paths.most, &region.paths.always);
    if most.tables + most.accesses > 0 {
        let _ = writeln!(
            out,
            "  paths   at most {} tables ({} key bits, {} bits of entries) and {} uses of state; always {}",
            most.tables,
            most.key_bits,
            most.entry_bits,
            most.accesses,
            if always.is_empty() {
                "none".to_string()
            } else {
                always.iter().cloned().collect::<Vec<_>>().join(", ")
            }
        );
    }
    match &region.cut {
        Ok(cut) => {
            let _ = writeln!(out, "  enter   {} + {}", cut.common_bits, carried(&cut.enter));
            write_uses(out, &cut.enter);
            for (section, live) in &cut.leave {
                let _ = writeln!(out, "  to {section:<12} {} + {}", cut.common_bits, carried(live));
                write_uses(out, live);
            }
        }
        Err(why) => {
            let _ = writeln!(out, "  cut     refused: {}", why.join("; "));
        }
    }
    if let Some(near) = &region.nearest {
        let count = if near.statements == 1 {
            "1 statement".into()
        } else {
            format!("{} statements", near.statements)
        };
        let _ = writeln!(out, "  nearest {count} from {}, with {}", near.place, near.tables.join(", "));
    }
}

/// The hand-overs if each region had a device of its own.
fn write_edges(out: &mut String, edges: &Result<Vec<Edge>, Vec<String>>) {
    match edges {
        Ok(edges) if edges.is_empty() => {}
        Ok(edges) => {
            let widest = edges.iter().map(|e| e.from.chars().count()).max().unwrap_or(0);
            let _ = writeln!(out, "each region on a device of its own:");
            for e in edges {
                let _ = writeln!(
                    out,
                    "  {:widest$} -> {:<16} {} + {} bits",
                    e.from, e.to, e.common_bits, e.live_bits
                );
            }
        }
        Err(why) => {
            let _ = writeln!(out, "each region on a device of its own: refused: {}", why.join("; "));
        }
    }
}

/// Writers and readers of each value.
fn write_uses(out: &mut String, live: &[Live]) {
    for value in live {
        let writer =
            value.writer.as_deref().map_or("set before ingress".to_string(), |w| format!("written {w}"));
        let reader = value.reader.as_deref().map_or("read at the end".to_string(), |r| format!("read {r}"));
        let _ = writeln!(out, "            {:<28} {writer}, {reader}", value.value);
    }
}

fn carried(live: &[Live]) -> String {
    let bits: u32 = live.iter().map(|l| l.bits).sum();
    let names: Vec<String> = live.iter().map(|l| format!("{}:{}", l.value, l.bits)).collect();
    format!("{bits} bits ({})", names.join(", "))
}
