//! `p4rack sweep`

use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, Severity, SourceMap};
use device_control::Codes;
use p4rack::{rack, up};
use rack_emulator::RunReport;
use rack_model::{Setting, with_settings};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Limit on the runs of a sweep.
const MOST_RUNS: usize = 1_000_000;

/// Run a rack in virtual time with every combination of seeds and values, and write a table of the results
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack sweep examples/slice --seeds 1..20 -o seeds.csv
  p4rack sweep examples/wordcount --set link.loss=0%,1%,5% --set workload.rounds=4,8 --seeds 1..3
  p4rack sweep examples/slice --set 'link[0].delay=1us,10us' --format json

A row for each workload of each run, and phase if the rack has any. In Python, p4rack.sweep distributes the runs with Dask or Ray and writes Parquet.")]
pub struct Args {
    /// RACK.toml, or its directory
    rack: PathBuf,
    /// Values for a key of RACK.toml: keys with dots, of [[SECTION]] all or one by its number from 0, and values with commas. May be repeated
    #[arg(long, value_name = "PATH=VALUE[,VALUE...]")]
    set: Vec<String>,
    /// Random seeds, as FIRST..LAST or with commas (default: the seed of RACK.toml)
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<String>,
    /// Run only this phase
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,
    /// Define a preprocessor macro for the program
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Runs at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    jobs: usize,
    /// Write CSV to this file instead of to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Output format; text is CSV
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// A run: its place in the sweep.
struct Run {
    settings: Vec<Setting>,
    seed: Option<u64>,
}

/// A row: names and values, in order.
type Row = Vec<(String, Value)>;

/// Diagnostics and their texts.
type Failed = (Vec<Diagnostic>, SourceMap);

/// The rows of a run, and whether all expectations are met.
type Done = Result<(Vec<Row>, bool), Failed>;

/// Exit status 1 if a combination is no rack, or a workload does not meet its expectations.
pub fn run(args: &Args) -> ExitCode {
    let runs = match runs(args) {
        Ok(runs) => runs,
        Err(why) => {
            report!("p4rack: {why}");
            return ExitCode::from(2);
        }
    };
    let (next, codes) = (AtomicUsize::new(0), Codes::default());
    let done: Mutex<Vec<Option<Done>>> = Mutex::new((0..runs.len()).map(|_| None).collect());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(at) else { return };
            let result = one(args, run, &codes);
            // The other runs of a sweep with a mistake are of no use.
            if result.is_err() {
                next.store(runs.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[at] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..args.jobs.clamp(1, runs.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let (mut rows, mut ok) = (vec![], true);
    for result in done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_iter().flatten() {
        match result {
            Ok((of_run, is_met)) => {
                rows.extend(of_run);
                ok &= is_met;
            }
            Err((found, map)) => return output::failed(&found, &map, args.format),
        }
    }
    let text = match args.format {
        Format::Text => csv(&rows),
        Format::Json => {
            let object = |row: &Row| Value::Object(row.iter().cloned().collect::<Map<_, _>>());
            json!({ "ok": ok, "rows": rows.iter().map(object).collect::<Vec<_>>() }).to_string() + "\n"
        }
    };
    match &args.output {
        None => output::print(&text),
        Some(path) => {
            if let Err(why) = output::write(path, text.as_bytes(), &[file(args)]) {
                report!("p4rack: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Every combination of values and seeds; the first setting changes slowest, the seed fastest.
fn runs(args: &Args) -> Result<Vec<Run>, String> {
    let mut settings: Vec<Vec<Setting>> = vec![vec![]];
    let seeds = args.seeds.as_deref().map(seeds).transpose()?;
    let mut count = seeds.as_ref().map_or(1, Vec::len);
    for text in &args.set {
        let (path, values) = text
            .split_once('=')
            .ok_or_else(|| format!("--set {text}: write PATH=VALUE, such as `link.loss=0%,1%`"))?;
        let values: Vec<&str> = values.split(',').collect();
        count = count.saturating_mul(values.len());
        if count > MOST_RUNS {
            return Err(format!("more than {MOST_RUNS} runs; leave out values or seeds"));
        }
        let with = |before: &Vec<Setting>, value: &&str| {
            let setting = Setting { path: path.trim().into(), value: value.trim().into() };
            before.iter().cloned().chain([setting]).collect()
        };
        settings =
            settings.iter().flat_map(|before| values.iter().map(move |value| with(before, value))).collect();
    }
    let seeds: Vec<Option<u64>> =
        seeds.map_or(vec![None], |seeds: Vec<u64>| seeds.into_iter().map(Some).collect());
    let of = |settings: &Vec<Setting>| {
        seeds.iter().map(|seed| Run { settings: settings.clone(), seed: *seed }).collect::<Vec<_>>()
    };
    Ok(settings.iter().flat_map(of).collect())
}

/// `1..5`, `1,2,7`, `3`.
fn seeds(text: &str) -> Result<Vec<u64>, String> {
    let wrong = || format!("--seeds {text}: write FIRST..LAST, or numbers with commas");
    if let Some((first, last)) = text.split_once("..") {
        let first: u64 = first.trim().parse().map_err(|_| wrong())?;
        let last: u64 = last.trim().trim_start_matches('=').parse().map_err(|_| wrong())?;
        if last < first || last - first >= MOST_RUNS as u64 {
            return Err(wrong());
        }
        return Ok((first..=last).collect());
    }
    text.split(',').map(|seed| seed.trim().parse().map_err(|_| wrong())).collect()
}

/// Runs share `codes`: most have the same programs.
fn one(args: &Args, run: &Run, codes: &Codes) -> Done {
    let mut map = SourceMap::new();
    let racked = match loaded(args, run, &mut map) {
        Ok(racked) => p4rack::Racked { codes: codes.clone(), ..racked },
        Err(found) => return Err((found, map)),
    };
    let stages: Vec<usize> = match &args.phase {
        Some(name) => match racked.rack.stage_named(name) {
            Ok(stage) => vec![stage],
            Err(why) => return Err((vec![problem(why)], map)),
        },
        None => (0..racked.rack.stages.len()).collect(),
    };
    let stages: Vec<Option<usize>> =
        if stages.is_empty() { vec![None] } else { stages.into_iter().map(Some).collect() };
    let (mut rows, mut ok) = (vec![], true);
    for stage in stages {
        let report = match up::bring_up_in(&racked, stage).and_then(|mut running| running.run()) {
            Ok(report) => report,
            Err(found) => return Err((found, map)),
        };
        ok &= !up::unmet(&racked.rack.in_stage(stage), &report)
            .iter()
            .any(|found| found.severity == Severity::Error);
        let phase = stage.and_then(|at| racked.rack.stages.get(at)).map(|stage| stage.name.value.as_str());
        rows.extend(rows_of(run, phase, &report));
    }
    Ok((rows, ok))
}

fn problem(why: String) -> Diagnostic {
    Diagnostic::error(base_diag::codes::rack::BAD_VALUE, why)
}

fn file(args: &Args) -> PathBuf {
    if args.rack.is_dir() { args.rack.join("RACK.toml") } else { args.rack.clone() }
}

/// The rack with the values of a run.
fn loaded(args: &Args, run: &Run, map: &mut SourceMap) -> Result<p4rack::Racked, Vec<Diagnostic>> {
    let file = file(args);
    let changed = if run.settings.is_empty() { None } else { Some(changed(&file, run, map)?) };
    let change = |rack: &mut rack_model::Rack| {
        if let Some(changed) = &changed {
            *rack = changed.clone();
        }
        rack.seed = run.seed.unwrap_or(rack.seed);
    };
    let mut racked = rack::load_as(&file, &args.define, map, &change, &mut |_| ())?;
    racked.add_job_data()?;
    Ok(racked)
}

/// The file with other values, as a text of its own: diagnostics show the line with the value.
fn changed(file: &Path, run: &Run, map: &mut SourceMap) -> Result<rack_model::Rack, Vec<Diagnostic>> {
    let (text, _) = p4rack::sources::read(file, map).map_err(|found| vec![found])?;
    let text = with_settings(&text, &run.settings)
        .map_err(|error| vec![problem(format!("{}: {}", file.display(), error.title)).help(error.help)])?;
    let said: Vec<String> =
        run.settings.iter().map(|Setting { path, value }| format!("{path}={value}")).collect();
    let name = format!("{} with {}", file.display(), said.join(" "));
    let base = p4rack::sources::add(&name, &text, map).map_err(|found| vec![found])?;
    let (rack, found) = rack_model::read_rack(&text, base);
    rack.ok_or(found)
}

/// A row for each workload.
fn rows_of(run: &Run, phase: Option<&str>, report: &RunReport) -> Vec<Row> {
    let mut head: Row = vec![];
    for Setting { path, value } in &run.settings {
        head.push((path.clone(), json!(value)));
    }
    head.push(("seed".into(), json!(report.seed)));
    head.extend(phase.map(|phase| ("phase".to_string(), json!(phase))));
    head.push(("duration_ps".into(), json!(report.duration_ps)));
    let row = |workload| {
        let mut row = head.clone();
        flat("", &serde_json::to_value(workload).unwrap_or(Value::Null), &mut row);
        row
    };
    report.workloads.iter().map(row).collect()
}

/// Numbers and texts of a value, with the names of the objects around them; lists are left out.
fn flat(name: &str, value: &Value, row: &mut Row) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flat(&name, value, row);
            }
        }
        Value::Array(_) | Value::Null => {}
        value => row.push((name.to_string(), value.clone())),
    }
}

/// All rows with the columns of all, in the order in which they come first.
fn csv(rows: &[Row]) -> String {
    let (mut columns, mut known): (Vec<&str>, BTreeSet<&str>) = (vec![], BTreeSet::new());
    for (name, _) in rows.iter().flatten() {
        if known.insert(name) {
            columns.push(name);
        }
    }
    let field = |text: &str| output::csv_field(text).into_owned();
    let line = |fields: Vec<String>| fields.join(",") + "\n";
    let mut text = line(columns.iter().map(|name| field(name)).collect());
    for row in rows {
        let value = |column: &&str| {
            let found = row.iter().find(|(name, _)| name == column).map(|(_, value)| value);
            field(&found.map_or(String::new(), |value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            }))
        };
        text += &line(columns.iter().map(value).collect());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_ranges_and_lists() {
        assert_eq!(seeds("1..3"), Ok(vec![1, 2, 3]));
        assert_eq!(seeds("7, 5"), Ok(vec![7, 5]));
        for text in ["3..1", "a", "1..", "", "0..99999999999"] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn csv_has_the_columns_of_all_rows() {
        let row = |fields: &[(&str, Value)]| -> Row {
            fields.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
        };
        let rows =
            [row(&[("a", json!(1)), ("b", json!("x,\"y\""))]), row(&[("c", json!(2)), ("a", json!(3))])];
        assert_eq!(csv(&rows), "a,b,c\n1,\"x,\"\"y\"\"\",\n3,,2\n");
    }
}
