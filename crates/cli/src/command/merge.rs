//! `p4rack merge`

use super::Preprocessor;
use super::convert::to_tna;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, SourceMap, Span};
use clap::ValueEnum;
use ir::Program;
use p4rack::merged::{Joined, Sharer, Sharing, join};
use p4rack::rack;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use traffic_classes::Class;

/// Merge several P4 programs into one, which processes each packet by the program whose traffic class the packet belongs to
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack merge examples/apps -o out
  p4rack merge firewall.p4 nat.p4 --class firewall=tcp -o out    nat gets all other packets

Classes: conditions on port, ethernet.dst, ethernet.src, ethernet.type, vlan.id, vlan.priority, ipv4.src, ipv4.dst, ipv4.protocol,
ipv6.src, ipv6.dst, ipv6.protocol, l4.src, l4.dst (ports of TCP and UDP) and on the headers ethernet, vlan, ipv4, ipv6, tcp, udp,
joined by &&, || and !: `ipv4.dst in 10.1.0.0/16 && !(udp && l4.dst in {53, 5000..5010})`.")]
pub struct Args {
    /// P4 programs; or one RACK.toml, or its directory, whose apps share a device
    #[arg(required = true, value_name = "PROGRAM.p4 | RACK.toml")]
    inputs: Vec<PathBuf>,
    /// Traffic class of the program NAME.p4. At most one program may have no class; it gets all other packets
    #[arg(long, value_name = "NAME=CLASS", value_parser = class)]
    class: Vec<(String, Class)>,
    /// Priority of the program NAME.p4; if classes overlap, the largest priority wins
    #[arg(long, value_name = "NAME=NUMBER", value_parser = priority)]
    priority: Vec<(String, u32)>,
    /// Parsers: each program its own, or one for programs whose parsers agree
    #[arg(long, value_enum, default_value = "own")]
    parsers: Parsers,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Also write the merged program for a Tofino 1, as TNA source: NAME.tna.p4
    #[arg(long, requires = "output")]
    tna: bool,
    /// With `--tna`: times count steps of 1,024 ns instead of microseconds, because a Tofino cannot divide its nanoseconds
    #[arg(long, requires = "tna")]
    ticks: bool,
    /// Output directory, created if missing; without it, only the summary is printed
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Parsers {
    Own,
    Share,
}

fn class(text: &str) -> Result<(String, Class), String> {
    let (name, class) = text.split_once('=').ok_or("write NAME=CLASS")?;
    let read = Class::read(class).map_err(|error| {
        let before = class.get(..error.at.start).unwrap_or_default();
        let wrong = class.get(error.at.clone()).unwrap_or_default();
        format!("{}: {before} >>{wrong}<< ({})", error.title, error.help)
    })?;
    Ok((name.trim().to_string(), read))
}

fn priority(text: &str) -> Result<(String, u32), String> {
    let (name, number) = text.split_once('=').ok_or("write NAME=NUMBER")?;
    Ok((name.trim().to_string(), number.trim().parse().map_err(|_| format!("`{number}` is not a number"))?))
}

/// A merged program, and where it runs.
struct Device {
    name: String,
    sharing: Sharing,
    /// Files and their texts.
    files: Vec<(String, String)>,
}

/// Exit status 1 if the programs cannot be merged or a file cannot be written.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let mut warnings = vec![];
    let is_rack =
        |path: &Path| path.is_dir() || path.extension().is_some_and(|extension| extension == "toml");
    let made = match args.inputs.as_slice() {
        [path] if is_rack(path) => of_rack(args, path, &mut map, &mut warnings),
        programs => of_programs(args, programs, &mut map, &mut warnings),
    };
    let devices = match made.and_then(|devices| for_tofino(args, devices, &mut map)) {
        Ok(devices) => devices,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    if let Some(directory) = &args.output
        && let Err(why) = write(&devices, directory, &output::sources(&map))
    {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    match args.format {
        Format::Text => {
            output::diagnostics_text(&warnings, &map);
            devices.iter().for_each(|device| output::print(&summary(device)));
        }
        Format::Json => output::json(&json!({
            "ok": true,
            "merged": devices.iter().map(|device| as_json(device, args.output.as_deref())).collect::<Vec<_>>(),
            "diagnostics": output::diagnostics_json(&warnings, &map),
        })),
    }
    ExitCode::SUCCESS
}

/// Adds the TNA source of each program to its files, if it is asked for.
fn for_tofino(
    args: &Args,
    mut devices: Vec<Device>,
    map: &mut SourceMap,
) -> Result<Vec<Device>, Vec<Diagnostic>> {
    for device in devices.iter_mut().filter(|_| args.tna) {
        let name = format!("{}.p4", device.name);
        let Some((_, text)) = device.files.iter().find(|(file, _)| *file == name) else { continue };
        let converted = to_tna(&name, text, target_tna::Options { ticks: args.ticks }, map)?;
        device.files.push((format!("{}.tna.p4", device.name), converted.text));
        device
            .sharing
            .notes
            .extend(converted.notes.into_iter().map(|note| format!("{}.tna.p4: {note}", device.name)));
    }
    Ok(devices)
}

/// The devices of a rack that several apps share, with the commands that fill them.
fn of_rack(
    args: &Args,
    path: &Path,
    map: &mut SourceMap,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Device>, Vec<Diagnostic>> {
    let refused = |title: &str, help: &str| {
        Err(vec![Diagnostic::error(base_diag::codes::merge::NOT_MERGED, title).help(help)])
    };
    if !args.class.is_empty() || !args.priority.is_empty() {
        return refused("a rack has its classes itself", "write `class = \"...\"` in `[[app]]`");
    }
    let racked = rack::load(path, &args.preprocessor.options().defines, map)?;
    warnings.extend(racked.warnings.iter().cloned());
    let mut devices = vec![];
    for (at, app) in racked.apps.iter().enumerate() {
        let Some(sharing) = &app.sharing else { continue };
        let origin = racked.rack.apps[at].origin.value.0 as usize;
        let Some(placed) = racked.part(at, origin) else { continue };
        let files = vec![
            (format!("{}.p4", placed.name), placed.text.to_string()),
            (format!("{}.commands.txt", placed.name), p4rack::for_bmv2::commands(&racked, at, origin)),
        ];
        devices.push(Device { name: placed.name.to_string(), sharing: sharing.clone(), files });
    }
    match devices.is_empty() {
        true => refused(
            "no two apps of the rack share a device",
            "name the same `origin` in several `[[app]]`; helpers only with an affinity",
        ),
        false => Ok(devices),
    }
}

fn of_programs(
    args: &Args,
    programs: &[PathBuf],
    map: &mut SourceMap,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Device>, Vec<Diagnostic>> {
    let mut compiled: Vec<(String, Arc<Program>)> = vec![];
    for path in programs {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_known = |name: &String| compiled.iter().any(|(known, _)| known == name);
        let numbered = (2..).map(|n| format!("{stem}{n}"));
        let name = std::iter::once(stem.to_string())
            .chain(numbered)
            .find(|name| !is_known(name))
            .unwrap_or_default();
        let options = args.preprocessor.options();
        let program = rack::compile_program(&path.to_string_lossy(), &options, map, warnings)?;
        compiled.push((name, program));
    }
    let names = args.class.iter().map(|(name, _)| name).chain(args.priority.iter().map(|(name, _)| name));
    if let Some(unknown) = { names }.find(|name| !compiled.iter().any(|(known, _)| known == *name)) {
        let known: Vec<&str> = compiled.iter().map(|(name, _)| name.as_str()).collect();
        let diagnostic =
            Diagnostic::error(base_diag::codes::merge::BAD_CLASS, format!("there is no program `{unknown}`"));
        return Err(vec![diagnostic.help(format!("the programs are named {}", known.join(", ")))]);
    }
    let sharers: Vec<Sharer<'_>> = compiled
        .iter()
        .map(|(name, program)| Sharer {
            app: ir_merge::App {
                name: name.as_str().into(),
                program,
                class: args.class.iter().find(|(known, _)| known == name).map(|(_, class)| class.clone()),
                priority: args.priority.iter().find(|(known, _)| known == name).map(|(_, number)| *number),
                has_regions: false,
                shares_parser: args.parsers == Parsers::Share,
            },
            span: Span::NONE,
        })
        .collect();
    let Joined { text, sharing, .. } = join(&sharers, MERGED, map)?;
    Ok(vec![Device { name: MERGED.to_string(), sharing, files: vec![(format!("{MERGED}.p4"), text)] }])
}

/// Name of the program that is merged without a rack.
const MERGED: &str = "merged";

fn write(devices: &[Device], directory: &Path, read: &[PathBuf]) -> Result<(), String> {
    std::fs::create_dir_all(directory)
        .map_err(|e| format!("`{}` cannot be created: {e}", directory.display()))?;
    for (name, text) in devices.iter().flat_map(|device| &device.files) {
        output::write(&directory.join(name), text.as_bytes(), read)?;
    }
    Ok(())
}

fn summary(device: &Device) -> String {
    let apps = &device.sharing.apps;
    let mut out = format!("{}: {} programs as one\n", device.name, apps.len());
    let width = apps.iter().map(|(share, _)| share.app.len()).max().unwrap_or(0);
    for (share, class) in apps {
        let class = class.as_deref().unwrap_or("all other packets");
        let _ = writeln!(out, "  {:<width$}  {class}", share.app);
        let _ = write!(out, "  {:<width$}    names {}.NAME", "", share.prefix);
        for (what, numbers) in [("multicast groups", share.groups), ("clone sessions", share.sessions)] {
            let _ = match numbers.base {
                0 if numbers.limit == u32::MAX => write!(out, ", {what} as they are"),
                _ if numbers.limit == 0 => Ok(()),
                base => write!(out, ", {what} {base} + own below {}", numbers.limit),
            };
        }
        for (own, merged) in share.digests.iter().filter(|(own, merged)| own != merged) {
            let _ = write!(out, ", digest {own} is {merged}");
        }
        out.push('\n');
    }
    for note in &device.sharing.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    out
}

fn as_json(device: &Device, output: Option<&Path>) -> Value {
    let numbers = |n: ir_merge::Numbers| match n {
        ir_merge::Numbers::NONE => Value::Null,
        ir_merge::Numbers::ALL => json!({ "base": 0 }),
        _ => json!({ "base": n.base, "limit": n.limit }),
    };
    let app = |(share, class): &(ir_merge::Share, Option<String>)| {
        json!({
            "app": share.app.as_str(),
            "class": class,
            "number": share.number,
            "prefix": share.prefix.as_str(),
            "multicast_groups": numbers(share.groups),
            "clone_sessions": numbers(share.sessions),
            "digests": share.digests.iter().map(|(own, merged)| json!([own.as_str(), merged.as_str()])).collect::<Vec<_>>(),
        })
    };
    let files = device.files.iter().filter_map(|(name, _)| Some(output?.join(name)));
    json!({
        "device": device.name,
        "apps": device.sharing.apps.iter().map(app).collect::<Vec<_>>(),
        "notes": device.sharing.notes,
        "files": files.collect::<Vec<_>>(),
    })
}
