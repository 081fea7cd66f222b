//! Handlers in C or Python of a program: the externs of devices that run them, the regions of their calls, and the devices of these regions.

use base_diag::codes::handler as codes;
use base_diag::{Diagnostic, SourceMap, Span, Style, render};
use dataplane_api::Registry;
pub use handlers::{Built, Failure, Isolation, News, Slow};

use crate::sources;
use handlers::Sources;
use ir::Program;
use ir_handlers::Handler;
use rack_model::{App, Placement, Policy, Rack, Spanned};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use target_c::clip;

/// How handlers are built and called.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Sources in C or Python.
    pub files: Vec<PathBuf>,
    /// Sanitizers, as `-fsanitize` takes them. Handlers are then isolated.
    pub sanitize: Option<String>,
    /// Whether calls run in this process or in separate ones.
    pub isolation: Isolation,
    /// Seed of the handlers' random numbers.
    pub seed: u64,
    /// Gets failed and slow calls when they happen.
    pub report: Option<handlers::Reporter>,
}

/// Externs of devices that run a program.
#[derive(Clone)]
pub struct Offers {
    /// All externs, the program's handlers included.
    pub registry: Registry,
    /// The handlers in C, if the program has some.
    pub built: Option<Arc<Built>>,
}

/// Without handlers in C.
impl Default for Offers {
    fn default() -> Offers {
        Offers { registry: netfn_registry::all(), built: None }
    }
}

impl Offers {
    /// Advice about the handlers' sources.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.built.as_ref().map_or(vec![], |built| built.warnings())
    }

    /// Failed calls of handlers, one diagnostic for each handler.
    pub fn failures(&self) -> Vec<Diagnostic> {
        self.built.as_ref().map_or(vec![], |built| built.failures().diagnostics())
    }
}

/// The handlers of a program that must be in C: those that no device offers otherwise.
pub fn in_c(program: &Program) -> Vec<Handler> {
    let known = netfn_registry::all();
    let all = ir_handlers::handlers(program).into_iter().map(|(_, handler)| handler);
    all.filter(|handler| known.value(&handler.name).is_none()).collect()
}

/// The sources of a program's handlers: a program in CLIP's form has one of its own.
fn with_own(name: &str, files: &[PathBuf]) -> Vec<PathBuf> {
    let is_in_form = |file: &Path| file.to_string_lossy().ends_with(clip::ENDING);
    let own = Path::new(name);
    let has_own = is_in_form(own) && !files.iter().any(|file| is_in_form(file));
    has_own.then(|| own.to_path_buf()).into_iter().chain(files.iter().cloned()).collect()
}

/// C of a program in CLIP's form, which includes the header of its name.
pub fn c_part(program: &str) -> Option<String> {
    let path = Path::new(program);
    let text = if program.ends_with(clip::ENDING) { sources::program_text(path).ok()? } else { return None };
    let header = path.with_extension("h").file_name()?.to_string_lossy().into_owned();
    clip::parts(&text, program, &header).ok().map(|parts| parts.c)
}

/// A mistake in a program in CLIP's form.
pub(crate) fn check_form(main: &str, map: &mut SourceMap) -> Result<(), Vec<Diagnostic>> {
    let Some(text) = main.ends_with(clip::ENDING).then(|| sources::program_text(Path::new(main))) else {
        return Ok(());
    };
    // A file that cannot be read is reported by who compiles it.
    let Some(text) = text.ok() else { return Ok(()) };
    let Err(wrong) = clip::parts(&text, main, "") else { return Ok(()) };
    let base = sources::add(main, &text, map).map_err(|problem| vec![problem])?;
    let (lo, hi) = (base + wrong.at.start as u32, base + wrong.at.end as u32);
    let problem = Diagnostic::error(codes::REMOTE, wrong.title);
    Err(vec![problem.at(Span { lo, hi, ..Span::NONE }, wrong.why).help(wrong.help)])
}

/// Builds the handlers of a program. `name` is the program's file.
pub fn offers(
    program: &Program,
    name: &str,
    options: &Options,
    map: &mut SourceMap,
) -> Result<Offers, Vec<Diagnostic>> {
    let Offers { mut registry, .. } = Offers::default();
    let wanted = in_c(program);
    if wanted.is_empty() {
        return match options.files.first() {
            None => Ok(Offers::default()),
            Some(file) => {
                let title = "the program calls no handlers";
                let problem = Diagnostic::error(codes::HANDLER_LIBRARY, title);
                Err(vec![
                    problem
                        .note(format!("`{}` is given as the source of some", file.display()))
                        .help("a handler is an extern function marked `@remote(handler = \"name\", ...)` that is called"),
                ])
            }
        };
    }
    let sanitize = options.sanitize.as_deref();
    let files = with_own(name, &options.files);
    let from = Sources { program: name, handlers: &wanted, files: &files, sanitize };
    let built = Arc::new(handlers::build(&from, map)?);
    options.report.into_iter().for_each(|report| built.failures().report_to(report));
    // A sanitizer ends the process in which it finds a fault.
    let isolation = if sanitize.is_some() { Isolation::Process } else { options.isolation };
    handlers::register(&built, isolation, options.seed, &mut registry);
    Ok(Offers { registry, built: Some(built) })
}

/// Lets the calls of built handlers run in separate processes.
pub fn isolate(built: &Arc<Built>, isolation: Isolation, seed: u64, registry: &mut Registry) {
    handlers::register(built, isolation, seed, registry);
}

/// The externs for programs that are not known before, with handlers built from these options: `device_control::Handlers`. The last
/// program's stay built.
pub fn offers_later(options: Options) -> impl Fn(&Program) -> Result<Registry, String> + Send + Sync {
    let last: Mutex<Option<(Vec<Handler>, Registry)>> = Mutex::new(None);
    move |program| {
        let wanted = in_c(program);
        if wanted.is_empty() {
            return Ok(Offers::default().registry);
        }
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, registry)) = last.as_ref().filter(|(known, _)| *known == wanted) {
            return Ok(registry.clone());
        }
        let mut map = SourceMap::new();
        let name = program_of(&options.files);
        let offers = offers(program, &name, &options, &mut map).map_err(|problems| {
            problems.iter().map(|problem| render(problem, &map, Style::Plain)).collect::<String>()
        })?;
        *last = Some((wanted, offers.registry.clone()));
        Ok(offers.registry)
    }
}

/// The name of the program that sources are written for: that of the header which they include and which is not there.
fn program_of(files: &[PathBuf]) -> String {
    let in_form =
        files.iter().filter_map(|file| file.file_name()?.to_str()).find(|name| name.ends_with(clip::ENDING));
    if let Some(name) = in_form {
        return name.to_string();
    }
    let included = files.iter().find_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        let names = text.lines().filter_map(|line| {
            let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
            rest.trim_start().strip_prefix('"')?.split('"').next()?.strip_suffix(".h").map(str::to_string)
        });
        let directory = file.parent().unwrap_or(Path::new(""));
        let mut missing = names.filter(|name| !directory.join(format!("{name}.h")).exists());
        missing.next()
    });
    included.unwrap_or_else(|| "handlers".to_string()) + ".p4"
}

/// The header of a program's handlers. `name` is the program's file.
pub fn header(program: &Program, name: &str) -> Result<String, Vec<Diagnostic>> {
    let wanted = in_c(program);
    match wanted.is_empty() {
        true => Err(vec![Diagnostic::error(codes::HANDLER_LIBRARY, "the program calls no handlers").help(
            "a handler is an extern function marked `@remote(handler = \"name\", ...)` that is called",
        )]),
        false => Ok(target_c::header(name, &wanted)),
    }
}

/// Fuzz targets of a program's handlers: names and sources, which are compiled together with the handlers' own.
pub fn fuzz_targets(program: &Program, name: &str) -> Vec<(String, String)> {
    let wanted = in_c(program);
    let each = wanted.iter().enumerate().map(|(at, handler)| {
        (format!("fuzz-{}.c", handler.name), target_c::fuzz(name, &wanted, at, handlers::ARENA))
    });
    each.collect()
}

/// Makes calls of handlers regions.
pub(crate) fn mark(program: &mut Program) {
    let names = ir_handlers::handlers(program).into_iter().map(|(id, handler)| (id, handler.name)).collect();
    ir_split::handler_calls(program, &names);
}

/// The handlers of a program with the regions of their calls.
pub(crate) fn calls(program: &Program) -> Result<Vec<(Handler, Vec<ir::Name>)>, Vec<Diagnostic>> {
    let found = ir_handlers::handlers(program);
    let marks = if found.is_empty() { vec![] } else { ir_split::marks(program)? };
    let with_regions = |(id, handler): (ir::InstanceId, Handler)| {
        let instance = &program.instance(id).control_plane_name;
        let is_own = |name: &str| {
            let rest = name.strip_prefix(handler.name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let own = marks.iter().filter(|mark| mark.state.contains(instance) && is_own(&mark.name));
        let own = own.map(|mark| mark.name.clone()).collect();
        (handler, own)
    };
    Ok(found.into_iter().map(with_regions).collect())
}

/// An app's placement with the regions of its handlers: those that it does not place run where the handler's group says.
pub(crate) fn placed(
    rack: &Rack,
    app: &App,
    regions: &[Placement],
    program: &Program,
) -> Result<Vec<Placement>, Vec<Diagnostic>> {
    let (mut placed, mut wrong) = (regions.to_vec(), vec![]);
    for (handler, own) in calls(program)? {
        let Some(name) = &handler.group else { continue };
        let is_placed = |region: &ir::Name| regions.iter().any(|p| p.region.value == region.as_str());
        let free = own.into_iter().filter(|region| !is_placed(region));
        let mut free = free.map(|region| Spanned::new(region.to_string(), app.span)).peekable();
        if free.peek().is_none() {
            continue;
        }
        if let Some(group) = rack.groups.iter().find(|group| group.name.value == *name) {
            placed.extend(free.filter_map(|region| Placement::on_group(region, group, app.span)));
            continue;
        }
        let Some(device) = rack.device(name) else {
            let groups = rack.groups.iter().map(|group| group.name.value.as_str());
            let names = rack.devices.iter().map(|device| device.name.value.as_str()).chain(groups);
            let title = format!("there is no group and no device `{name}`");
            let problem = Diagnostic::error(codes::HANDLER_GROUP, title)
                .at(handler.span, format!("`{}` runs there", handler.name));
            wrong.push(problem.suggest_or(name, names, |d| {
                d.help(format!("place it in the app's `map`: `{} = \"DEVICE\"`", handler.name))
            }));
            continue;
        };
        // At the origin the calls need no region of their own.
        if device == app.origin.value {
            continue;
        }
        placed.extend(free.map(|region| Placement {
            region,
            device: Spanned::new(device, app.span),
            spares: vec![],
            policy: Policy::Call,
            replicas: 1,
        }));
    }
    if wrong.is_empty() { Ok(placed) } else { Err(wrong) }
}
