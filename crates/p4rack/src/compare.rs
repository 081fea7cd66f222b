//! `p4rack compare --exact`: a program that uses blocks against the same program with their exact twins, on the same packets.
//!
//! Both programs report each output of a block with a line of `log_msg`. The n-th line of a packet in one program belongs to the
//! n-th line of the same output in the other.

use crate::files::Disk;
use crate::run::entries::Filling;
use crate::run::feed::Feed;
use crate::run::{Engine, Job};
use base_diag::codes::syntax::INCLUDE_NOT_FOUND;
use base_diag::{Diagnostic, SourceMap};
use base_page::chart::{self, Axis, Chart, Line};
use base_page::markup::{self, escape};
use compiler::{Until, compile};
use ir::Program;
use p4_blocks::{Distribution, Form, REPORT};
use p4_syntax::{LoadError, Loader, Options};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The disk, with blocks that report their outputs.
struct Reporting {
    form: Form,
    /// A block was included.
    used: Cell<bool>,
}

impl Loader for Reporting {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        Disk.read(path)
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        let block = p4_blocks::include_reporting(name, self.form);
        self.used.set(self.used.get() || block.is_some());
        block.map(Arc::from).or_else(|| Disk.builtin(name))
    }

    fn meant(&self, path: &str) -> Option<String> {
        Disk.meant(path)
    }

    fn builtins(&self) -> Vec<&str> {
        p4_arch::include_names().chain(p4_blocks::include_names()).collect()
    }
}

/// The program in both forms.
pub struct Pair {
    /// With the blocks.
    pub approximate: Arc<Program>,
    /// With their exact twins.
    pub exact: Arc<Program>,
}

/// Compiles both.
pub fn compile_pair(main: &str, options: &Options, map: &mut SourceMap) -> Result<Pair, Vec<Diagnostic>> {
    let mut of = |form| {
        let loader = Reporting { form, used: Cell::new(false) };
        let compiled = compile(main, &loader, options, Until::Elaborated, map);
        let program = compiled.program.ok_or(compiled.diagnostics)?;
        if !loader.used.get() {
            let title = format!("`{main}` includes no block");
            return Err(vec![Diagnostic::error(INCLUDE_NOT_FOUND, title).help(
                "`#include <p4rack/blocks/NAME.p4>` includes a block; `p4rack block list` lists them",
            )]);
        }
        Ok(program)
    };
    let (approximate, exact) = (of(Form::Approximate)?, of(Form::Exact)?);
    Ok(Pair { approximate, exact })
}

/// Result of a comparison.
#[derive(Default)]
pub struct Comparison {
    /// Packets that came in.
    pub packets: u64,
    /// Packets that leave on another port or with other bytes.
    pub leave_otherwise: u64,
    /// Outputs that only one of the programs computed for a packet.
    pub unpaired: u64,
    /// By `CONTROL.output`.
    pub outputs: BTreeMap<String, Distribution>,
}

/// Result of a packet: the values of each output, and the frames sent with their ports.
type Outcome = (Vec<(String, u128)>, Vec<(u32, Vec<u8>)>);

/// Runs both programs on the packets of two equal feeds.
pub fn compare(
    pair: &Pair,
    fillings: impl Fn(&Arc<Program>) -> Result<Vec<Filling>, Vec<Diagnostic>>,
    mut feeds: [Feed; 2],
) -> Result<Comparison, Vec<Diagnostic>> {
    let [first, second] = &mut feeds;
    let approximate = outcomes(&pair.approximate, fillings(&pair.approximate)?, first)?;
    let exact = outcomes(&pair.exact, fillings(&pair.exact)?, second)?;
    let mut comparison = Comparison::default();
    for ((values, sent), (truths, sent_exactly)) in approximate.into_iter().zip(exact) {
        comparison.packets += 1;
        comparison.leave_otherwise += u64::from(sent != sent_exactly);
        let mut truths_of: BTreeMap<String, Vec<u128>> = BTreeMap::new();
        // Reversed, so that `pop` takes the first.
        for (output, truth) in truths.into_iter().rev() {
            truths_of.entry(output).or_default().push(truth);
        }
        for (output, value) in values {
            match truths_of.get_mut(&output).and_then(Vec::pop) {
                Some(truth) => comparison.outputs.entry(output).or_default().add(value, truth),
                None => comparison.unpaired += 1,
            }
        }
        comparison.unpaired += truths_of.values().map(|rest| rest.len() as u64).sum::<u64>();
    }
    Ok(comparison)
}

fn outcomes(
    program: &Arc<Program>,
    fillings: Vec<Filling>,
    feed: &mut Feed,
) -> Result<Vec<Outcome>, Vec<Diagnostic>> {
    let job = Job {
        program: Arc::clone(program),
        fillings,
        seed: 0,
        interval: None,
        cpu_port: None,
        trace: false,
        engine: Engine::Native,
        registry: crate::functions::runnable(program)?,
    };
    let mut all: Vec<Outcome> = vec![];
    job.feed(feed, &mut |step| {
        if step.input.is_some() || all.is_empty() {
            all.push(Outcome::default());
        }
        if let Some((values, sent)) = all.last_mut() {
            values.extend(step.log.iter().filter_map(|line| reported(line)));
            sent.extend(step.sent.iter().map(|sent| (sent.port, sent.frame.clone())));
        }
        Ok(())
    })?;
    Ok(all)
}

/// Reads a report of a block: `p4rack block CountMin.estimate 17`.
fn reported(line: &str) -> Option<(String, u128)> {
    let (output, value) = line.strip_prefix(REPORT)?.trim().rsplit_once(' ')?;
    Some((output.to_string(), value.parse().ok()?))
}

/// A share in percent.
fn percent(share: f64) -> String {
    format!("{:.3} %", 100.0 * share)
}

impl Comparison {
    /// As text for people.
    pub fn text(&self) -> String {
        let titles = ["output", "values", "equal", "bias", "mean", "median", "90 %", "99 %", "most"];
        let mut rows = vec![titles.map(str::to_string)];
        for (name, errors) in &self.outputs {
            let [mean, median, ninety, last, most] = errors.summary().map(percent);
            let (count, equal, bias) =
                (errors.count().to_string(), percent(errors.equal()), percent(errors.bias()));
            rows.push([name.clone(), count, equal, bias, mean, median, ninety, last, most]);
        }
        let widths: Vec<usize> =
            (0..9).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
        let mut out = format!(
            "{} packets, of which {} leave differently with exact twins\nerrors of blocks relative to their exact twins:\n\n",
            self.packets, self.leave_otherwise
        );
        if self.outputs.is_empty() {
            out += "none: no packet reached a block in both programs\n";
            rows.clear();
        }
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        if self.unpaired > 0 {
            let _ = writeln!(
                out,
                "\n{} values have no counterpart, because a packet took another path with exact twins",
                self.unpaired
            );
        }
        out
    }

    /// The same as a value.
    pub fn json(&self) -> serde_json::Value {
        let output = |(name, errors): (&String, &Distribution)| {
            let [mean, median, ninety, last, most] = errors.summary();
            serde_json::json!({
                "output": name,
                "values": errors.count(),
                "equal": errors.equal(),
                "bias": errors.bias(),
                "mean": mean,
                "median": median,
                "p90": ninety,
                "p99": last,
                "most": most,
            })
        };
        serde_json::json!({
            "ok": true,
            "packets": self.packets,
            "leave_otherwise": self.leave_otherwise,
            "unpaired": self.unpaired,
            "outputs": self.outputs.iter().map(output).collect::<Vec<_>>(),
        })
    }

    /// A page with the cumulative distributions.
    pub fn page(&self, program: &str) -> String {
        let curves: Vec<Line> = self
            .outputs
            .iter()
            .map(|(name, errors)| Line {
                name: name.clone(),
                points: errors
                    .curve(200)
                    .into_iter()
                    .map(|(error, share)| (100.0 * error, 100.0 * share))
                    .collect(),
            })
            .collect();
        let most =
            curves.iter().flat_map(|line| line.points.last()).map(|(error, _)| *error).fold(1.0, f64::max);
        let words = |value: u64| format!("{value} %");
        let names = curves.iter().enumerate().map(|(number, line)| {
            format!("<li style=\"color: {}\">{}</li>", chart::colour(number), escape(&line.name))
        });
        let names: String = names.collect();
        let chart = Chart {
            title: "share of values with at most this error".to_string(),
            x: Axis { range: (0.0, most), logarithmic: false, words },
            y: Axis { range: (0.0, 100.0), logarithmic: false, words },
            lines: curves,
            spans: vec![],
            size: (860.0, 360.0),
            left: 70.0,
        };
        let title = format!("Blocks of {program} against their exact twins");
        let body = format!(
            "<h1>{}</h1>\n<pre>{}</pre>\n<ul>{names}</ul>\n{}\n",
            escape(&title),
            escape(&self.text()),
            chart.svg()
        );
        markup::page(&title, chart::STYLE, &body, "")
    }
}
