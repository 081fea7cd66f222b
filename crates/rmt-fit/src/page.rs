//! A report as a page: stages as columns with their tables in them.

use crate::amount::Resource;
use crate::report::{PipeReport, Report};
use crate::text::title;
use base_page::markup::{escape, page};
use std::fmt::Write;

const STYLE: &str = "\
.stages { display: flex; gap: 6px; align-items: flex-start; } \
.stage { min-width: 130px; border: 1px solid var(--grid); padding: 4px; } .stage h3 { margin: 0 0 4px; font-size: 13px; } \
.table { margin: 3px 0; padding: 3px 5px; font-size: 12px; border-left: 4px solid var(--border); background: var(--device); overflow-wrap: anywhere; } \
.table.ternary { border-left-color: #b3541e; } .table.action { border-left-color: #5a8f3c; } .table.condition { border-left-color: #888; } \
.table.egress { border-style: solid; border-width: 1px 1px 1px 4px; } .table small { display: block; color: var(--edge); } \
td.use { background: linear-gradient(to right, var(--chosen) var(--share), transparent var(--share)); } .over { outline: 2px solid #c33; } ";

/// A report as a page: for each pipeline, the stages with the resources that they use, and the dependencies.
pub fn html(report: &Report, program: &str) -> String {
    let verdict = if report.fits { "fits" } else { "does not fit" };
    let title = format!("{program} {verdict} {}", report.device);
    let mut body = format!("<h1>{}</h1>\n", escape(&title));
    for pipe in &report.pipes {
        let _ = writeln!(
            body,
            "<h2>{}: {} of {} stages</h2>",
            escape(&pipe.name),
            pipe.stages_used,
            report.device_stages
        );
        stages(&mut body, report, pipe);
        uses(&mut body, report, pipe);
        dependencies(&mut body, pipe);
    }
    page(&title, STYLE, &body, "")
}

fn stages(body: &mut String, report: &Report, pipe: &PipeReport) {
    body.push_str("<div class=\"scroll\"><div class=\"stages\">\n");
    for stage in &pipe.stages {
        let over = if stage.stage > report.device_stages { " over" } else { "" };
        let _ = writeln!(body, "<div class=\"stage{over}\"><h3>stage {}</h3>", stage.stage);
        for table in &stage.tables {
            let memory = [Resource::Sram, Resource::Tcam, Resource::MapRam];
            let memory =
                memory.into_iter().filter_map(|r| Some(format!("{} {}", table.used.get(&r)?, r.name())));
            let memory: Vec<String> = memory.collect();
            let _ = writeln!(
                body,
                "<div class=\"table {} {}\">{}<small>{}</small></div>",
                table.kind,
                table.half,
                escape(&title(table)),
                escape(&memory.join(", "))
            );
        }
        body.push_str("</div>\n");
    }
    body.push_str("</div></div>\n");
}

fn uses(body: &mut String, report: &Report, pipe: &PipeReport) {
    body.push_str("<div class=\"scroll\"><table><tr><th class=\"left\">in each stage</th>");
    for stage in &pipe.stages {
        let _ = write!(body, "<th>{}</th>", stage.stage);
    }
    body.push_str("<th>of</th></tr>\n");
    for resource in Resource::ALL.into_iter().filter(|r| pipe.total.contains_key(r)) {
        let limit = report.stage_limits.get(&resource).copied().unwrap_or(0);
        let _ = write!(body, "<tr><td class=\"left\">{}</td>", resource.name());
        for stage in &pipe.stages {
            let used = stage.used.get(&resource).copied().unwrap_or(0);
            let share = u64::from(used) * 100 / u64::from(limit.max(1));
            let _ = write!(body, "<td class=\"use\" style=\"--share: {share}%\">{used}</td>");
        }
        let _ = writeln!(body, "<td>{limit}</td></tr>");
    }
    body.push_str("</table></div>\n");
}

fn dependencies(body: &mut String, pipe: &PipeReport) {
    if pipe.dependencies.is_empty() {
        return;
    }
    body.push_str("<h3>Dependencies</h3>\n<div class=\"scroll\"><table><tr><th class=\"left\">from</th><th class=\"left\">to</th><th class=\"left\">kind</th><th class=\"left\">field</th></tr>\n");
    for d in &pipe.dependencies {
        let chosen = if pipe.chain.contains(d) { " class=\"chosen\"" } else { "" };
        let _ = writeln!(
            body,
            "<tr{chosen}><td class=\"left\">{}</td><td class=\"left\">{}</td><td class=\"left\">{}</td><td class=\"left\">{}</td></tr>",
            escape(&d.from),
            escape(&d.to),
            d.reason.name(),
            escape(&d.field)
        );
    }
    body.push_str("</table></div>\n");
}
