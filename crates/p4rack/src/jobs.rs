//! `[[job]]` of a rack: its switches become apps, its reducers workloads with the data of its mappers.

use crate::job::{Text, topology};
use crate::sources;
use base_diag::codes::job as codes;
use base_diag::{Diagnostic, SourceMap, Span};
use host_programs::{KINDS, Load, Value};
use rack_emulator::Captures;
use rack_model::{App, HostId, Rack, Spanned, Workload};
use reduce_jobs::plan::Placed;
use reduce_jobs::{Job, Plan, Topology, plan};
use reduce_workers::packed;
use std::collections::BTreeMap;
use std::path::Path;
use traffic_classes::Class;

/// The jobs of a rack, placed.
#[derive(Debug)]
pub struct Jobs {
    /// Texts of the jobs, in the order of the file.
    pub texts: Vec<Text>,
    /// Hosts and switches of the rack.
    pub topology: Topology,
    /// Where pairs are reduced.
    pub plan: Plan,
    /// Program and entries of each app that a switch of the plan has become, by the app's name.
    pub programs: BTreeMap<String, (String, String)>,
}

/// Reads the jobs of a rack and places them; none if it has no jobs.
pub fn read(rack: &Rack, directory: &Path, map: &mut SourceMap) -> Result<Option<Jobs>, Vec<Diagnostic>> {
    if rack.jobs.is_empty() {
        return Ok(None);
    }
    let (mut texts, mut found) = (vec![], vec![]);
    for job in &rack.jobs {
        match sources::read(&directory.join(&job.file.value), map) {
            Ok((text, base)) => {
                texts.extend(reduce_jobs::check(&text, base, &mut found).map(|job| Text { text, job }));
            }
            Err(problem) => found.push(problem.at(job.file.span, "named here, beside this file")),
        }
    }
    if !found.is_empty() {
        return Err(found);
    }
    let topology = topology(rack);
    let all: Vec<Job> = texts.iter().map(|text| text.job.clone()).collect();
    let plan = plan(&all, &topology)?;
    let mut programs = BTreeMap::new();
    for device in &plan.switches {
        let source = device.program.source().expect("the plan has checked it");
        let entries = device.entries(&topology).join("\n") + "\n";
        programs.insert(app_name(&topology.switches[device.switch]), (source, entries));
    }
    Ok(Some(Jobs { texts, topology, plan, programs }))
}

fn app_name(switch: &str) -> String {
    format!("jobs at {switch}")
}

impl Jobs {
    /// Adds an app for each switch that reduces. If the switch has an app already, the job's packets are a class of their own.
    pub(crate) fn add_apps(&self, rack: &mut Rack) {
        for device in &self.plan.switches {
            let name = &self.topology.switches[device.switch];
            let Some(origin) = rack.device(name) else { continue };
            let is_shared = rack.apps.iter().any(|app| app.devices().any(|known| known.value == origin));
            let class = is_shared.then(|| {
                let class = format!("udp && l4.dst == {}", device.program.port);
                Class::read(&class).expect("it is a class")
            });
            let span = rack.jobs.first().map_or(Span::NONE, |job| job.span);
            let name_of_app = Spanned::new(app_name(name), span);
            let program = Spanned::new(format!("jobs/{name}.p4"), span);
            let app = App::new(name_of_app, program, Spanned::new(origin, span), span);
            rack.apps.push(App { class: class.map(|class| Spanned::new(class, span)), ..app });
        }
    }

    /// Adds a workload for each reducer, and the pairs of its mappers to `captures`.
    pub(crate) fn add_workloads(
        &self,
        rack: &mut Rack,
        directory: &Path,
        captures: &mut Captures,
    ) -> Result<(), Vec<Diagnostic>> {
        let mut found = vec![];
        let mut ports: BTreeMap<(usize, u16), Span> = BTreeMap::new();
        for placed in &self.plan.reducers {
            match self.workload(rack, placed, directory, captures, &mut ports) {
                Ok(workload) => rack.workloads.push(workload),
                Err(problems) => found.extend(problems),
            }
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    fn workload(
        &self,
        rack: &Rack,
        placed: &Placed,
        directory: &Path,
        captures: &mut Captures,
        ports: &mut BTreeMap<(usize, u16), Span>,
    ) -> Result<Workload, Vec<Diagnostic>> {
        let (job, entry) = (&self.texts[placed.job].job, &rack.jobs[placed.job]);
        let reducer = &job.reducers[placed.reducer];
        let name = &reducer.name.value;
        let wrong = |title: String, help: &str| {
            vec![Diagnostic::error(codes::JOB_SETTING, title).at(reducer.name.span, "").help(help)]
        };
        if job.is_group(reducer) {
            let help = "jobs of a rack read files; programs join by `p4rack job switches` or in a lab";
            return Err(wrong(format!("the mappers of `{name}` are programs"), help));
        }
        if let Some(other) = rack.all_workloads().find(|other| other.name.value == *name) {
            let title = format!("a workload and a reducer are called `{name}`");
            let problem = Diagnostic::error(codes::JOB_SETTING, title).at(reducer.name.span, "");
            return Err(vec![problem.at(other.name.span, "the workload").help("rename one of them")]);
        }
        // A host has one socket for a port.
        for host in placed.mappers.iter().chain([&placed.host]) {
            if ports.insert((*host, reducer.port), reducer.name.span).is_some() {
                let title = format!("`{}` has several parts of jobs", self.topology.hosts[*host].name);
                let help = "in a rack, a host is one mapper or one reducer of a port: give data sets of one host to one mapper, or other jobs another `port`";
                return Err(wrong(title, help));
            }
        }
        let beside = directory.join(&entry.file.value);
        let beside = beside.parent().unwrap_or(directory);
        let mut pairs = 0;
        for (channel, at) in reducer.mappers.iter().enumerate() {
            let mapper = &job.mappers[*at];
            let packed = packed(job, mapper, reducer, beside)
                .map_err(|problem| vec![problem.at(mapper.name.span, "")])?;
            pairs += packed.pairs.len() as u64;
            captures.insert(
                host_programs::job_pairs::key(name, channel),
                host_programs::job_pairs::records(&packed.pairs),
            );
        }
        let host = |at: &usize| rack.host(&self.topology.hosts[*at].name);
        let from: Option<Vec<HostId>> = placed.mappers.iter().map(host).collect();
        let (Some(from), Some(to)) = (from, host(&placed.host)) else {
            return Err(wrong(format!("a host of `{name}` is not in the rack"), "name hosts of the rack"));
        };
        let addresses =
            placed.switches.iter().map(|folding| self.topology.hosts[folding.behind].address.to_string());
        let addresses: Vec<String> = addresses.collect();
        let kind = KINDS.iter().find(|kind| kind.word == "reduce").copied().expect("it is registered");
        let number = |number: u32| Value::Number(number);
        let text = |text: &str| Value::Text(text.into());
        let profile = match reducer.layout {
            layout if layout.is_dense() => "arrays",
            layout if layout.evict => "software",
            _ => "pipeline",
        };
        // Of arrays, the length: all rows of all mappers have places in it.
        let count = reducer.elements().map_or(pairs, |elements| elements * u64::from(reducer.chunks()));
        let most = host_programs::reduce::MOST_COUNT;
        if count > most {
            return Err(wrong(
                format!("`{name}` has {count} pairs; a rack takes {most} at most"),
                "use smaller data, or `p4rack job run`",
            ));
        }
        let mut load = Load::new(kind, count, 0)
            .with("pairs", text(name))
            .with("op", text(reducer.op.word()))
            .with("by", text(if reducer.is_switched { "switch" } else { "hosts" }))
            .with("profile", text(profile))
            .with(
                "switch",
                Value::Text(if addresses.is_empty() { "0.0.0.0".into() } else { addresses.join(",") }),
            )
            .with("parents", number(placed.parents.into()))
            .with("keys", number(1))
            .with("rows", number(reducer.layout.rows()))
            .with("rounds", number(reducer.rounds))
            .with("window", number(reducer.layout.window))
            .with("job", number(reducer.number.into()))
            .with("port", number(reducer.port.into()))
            .with("patience", Value::Time(entry.patience));
        load.start = entry.start;
        Ok(Workload {
            name: Spanned::new(name.clone(), entry.span),
            load,
            from: Spanned::new(from, entry.span),
            to: Spanned::new(vec![to], entry.span),
            expect: entry.expect.clone(),
            watch: vec![],
            span: entry.span,
        })
    }
}
