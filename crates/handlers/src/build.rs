//! Sources of handlers to a library and a worker program.

use crate::ARENA;
use crate::failure::Failures;
use crate::library::Library;
use crate::messages;
use crate::python::Script;
use crate::scratch::Scratch;
use base_diag::codes::handler as codes;
use base_diag::{Diagnostic, SourceMap, Span};
use ir_handlers::Handler;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use target_c::symbols::Symbols;

/// Flags of every compilation. Constructs that newer C versions forbid are errors.
const FLAGS: [&str; 10] = [
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-fno-common",
    "-fno-diagnostics-show-caret",
    "-Wno-unused-parameter",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
];

/// Sources of the handlers of a program.
#[derive(Clone, Debug)]
pub struct Sources<'s> {
    /// Name of the program's file: the header is `NAME.h` for `NAME.p4`.
    pub program: &'s str,
    /// The program's handlers.
    pub handlers: &'s [Handler],
    /// Files in C.
    pub files: &'s [PathBuf],
    /// Sanitizers of the worker program: `address,undefined`.
    pub sanitize: Option<&'s str>,
}

/// Handlers that were built.
pub struct Built {
    handlers: Vec<Handler>,
    in_c: Option<InC>,
    in_python: Option<Script>,
    failures: Failures,
    /// Holds the library and the worker.
    _scratch: Scratch,
}

/// Handlers in C.
struct InC {
    handlers: Vec<Handler>,
    library: Arc<Library>,
    worker: WorkerProgram,
}

/// The program of worker processes, linked when the first process starts: who calls handlers in its own process needs none.
struct WorkerProgram {
    source: PathBuf,
    objects: Vec<PathBuf>,
    linked: OnceLock<Result<PathBuf, String>>,
}

impl WorkerProgram {
    /// The program's file.
    fn path(&self) -> Result<&Path, String> {
        let linked = self.linked.get_or_init(|| {
            let program = self.source.with_file_name("worker");
            let mut link = cc(self.source.parent().unwrap_or(Path::new(".")));
            link.args(FLAGS).arg(&self.source).args(&self.objects).arg("-o").arg(&program);
            let output = link.output().map_err(|e| format!("`cc` cannot be run: {e}"))?;
            let why = String::from_utf8_lossy(&output.stderr);
            match output.status.success() {
                true => Ok(program),
                false => {
                    Err(format!("the program of handlers' processes cannot be linked: {}", why.trim_end()))
                }
            }
        });
        linked.as_deref().map_err(Clone::clone)
    }
}

/// A source, as it was read.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    base: u32,
}

/// One diagnostic with a reason.
pub(crate) fn plain(why: String) -> Vec<Diagnostic> {
    vec![Diagnostic::error(codes::HANDLER_SOURCE, "handlers cannot be built").note(why)]
}

impl Source {
    pub(crate) fn span(&self, at: usize, length: usize) -> Span {
        let start = self.base + at as u32;
        Span { lo: start, hi: start + length as u32, ..Span::NONE }
    }

    fn is(&self, ending: &str) -> bool {
        self.path.extension().is_some_and(|own| own == ending)
    }

    /// The file that the C compiler gets: programs in CLIP's form have their C written to one of its own.
    fn for_cc(&self, header: &str, scratch: &Scratch) -> Result<PathBuf, Vec<Diagnostic>> {
        if !self.is("p4c") {
            return Ok(self.path.clone());
        }
        let parts = target_c::clip::parts(&self.text, &self.path.display().to_string(), header);
        let parts = parts.map_err(|wrong| {
            let problem = Diagnostic::error(codes::REMOTE, wrong.title);
            vec![problem.at(self.span(wrong.at.start, wrong.at.len()), wrong.why).help(wrong.help)]
        })?;
        scratch.write(&format!("clip{}.c", self.base), &parts.c).map_err(plain)
    }

    /// Place of a name in code: where it is called, else where it first is.
    fn word(&self, word: &str) -> Option<Span> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let whole = |at: &usize| {
            let (before, after) = (&self.text[..*at], &self.text[at + word.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        };
        let all: Vec<usize> = self.text.match_indices(word).map(|(at, _)| at).filter(whole).collect();
        let is_called = |at: &&usize| self.text[**at + word.len()..].trim_start().starts_with('(');
        let at = all.iter().find(is_called).or(all.first())?;
        Some(self.span(*at, word.len()))
    }
}

impl Built {
    /// The handlers.
    pub fn handlers(&self) -> &[Handler] {
        &self.handlers
    }

    /// Failed calls of the handlers of this library.
    pub fn failures(&self) -> &Failures {
        &self.failures
    }

    /// The library with a handler, and the handler's number in it.
    pub(crate) fn library(&self, name: &str) -> Option<(&Arc<Library>, usize)> {
        let InC { handlers, library, .. } = self.in_c.as_ref()?;
        Some((library, handlers.iter().position(|handler| handler.name == name)?))
    }

    /// True for a handler that cannot run in this process.
    pub fn is_in_python(&self, name: &str) -> bool {
        self.in_python.as_ref().is_some_and(|script| script.handlers.iter().any(|own| own == name))
    }

    /// A process that answers calls of a handler.
    ///
    /// # Errors
    ///
    /// The first process's program cannot be linked.
    pub(crate) fn worker(&self, name: &str) -> Result<Command, String> {
        Ok(match (&self.in_python, &self.in_c) {
            (Some(script), _) if self.is_in_python(name) => script.command(name),
            (_, Some(InC { worker, .. })) => {
                let mut command = Command::new(worker.path()?);
                command.arg(name).env_clear();
                command
            }
            // Handlers are in one of both: this ends at once.
            (_, None) => Command::new("false"),
        })
    }

    /// Advice about sources that can be run.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.in_python.as_ref().map(Script::warning).into_iter().collect()
    }
}

/// Compiles and loads the handlers of a program. Sources are read, and added to `map`. Those whose names end in `.py` are in Python, `.p4c` in CLIP's form,
/// all others in C.
///
/// # Errors
///
/// Diagnostics: a source that cannot be read or compiled, uses what handlers must not use, or has not the program's handlers.
pub fn build(from: &Sources<'_>, map: &mut SourceMap) -> Result<Built, Vec<Diagnostic>> {
    if from.files.is_empty() {
        return Err(no_source(from.handlers));
    }
    let sources = from.files.iter().map(|path| read(path, map)).collect::<Result<Vec<_>, _>>()?;
    let (python, c): (Vec<_>, Vec<_>) = sources.into_iter().partition(|source| source.is("py"));
    let scratch = Scratch::new().map_err(plain)?;
    let script = if python.is_empty() { None } else { Some(Script::new(&python, from.handlers, &scratch)?) };
    let is_in_python = |handler: &&Handler| {
        script.as_ref().is_some_and(|script: &Script| script.handlers.contains(&handler.name))
    };
    let rest: Vec<Handler> = from.handlers.iter().filter(|handler| !is_in_python(handler)).cloned().collect();
    let in_c = match (rest.first(), c.first()) {
        (None, None) => None,
        (Some(handler), None) => {
            let title = format!("no source defines handler `{}`", handler.name);
            let problem = Diagnostic::error(codes::HANDLER_LIBRARY, title).at(handler.span, "declared here");
            let help = format!("write `def {}(ctx, request): ...` at the top level", handler.name);
            return Err(vec![problem.help(help)]);
        }
        (None, Some(source)) => {
            let file = source.path.display();
            return Err(plain(format!("all handlers are defined in Python, so that `{file}` has none")));
        }
        (Some(_), Some(_)) => Some(build_c(&Sources { handlers: &rest, ..from.clone() }, &c, &scratch)?),
    };
    Ok(Built {
        handlers: from.handlers.to_vec(),
        in_c,
        in_python: script,
        failures: Failures::default(),
        _scratch: scratch,
    })
}

fn build_c(from: &Sources<'_>, sources: &[Source], scratch: &Scratch) -> Result<InC, Vec<Diagnostic>> {
    let stem = Path::new(from.program).file_stem().map_or("program".into(), |stem| stem.to_string_lossy());
    let header = format!("{stem}.h");
    scratch.write(&header, &target_c::header(from.program, from.handlers)).map_err(plain)?;
    let compiler = Compiler { scratch, sources, header: &header };
    let (mut objects, mut files, mut texts) = (vec![], vec![], vec![]);
    for (at, source) in sources.iter().enumerate() {
        let object = scratch.path().join(format!("{at}.o"));
        let text = source.for_cc(&header, scratch)?;
        // Files beside the source are found also where its text is elsewhere.
        let beside = source.path.parent().unwrap_or(Path::new(""));
        let beside = if beside.as_os_str().is_empty() { Path::new(".") } else { beside };
        compiler.run(
            cc(scratch.path()).args(FLAGS).arg("-I").arg(beside).arg("-c").arg(&text).arg("-o").arg(&object),
        )?;
        let bytes = std::fs::read(&object).map_err(|e| plain(e.to_string()))?;
        files.push(Symbols::read(&bytes).ok_or_else(|| {
            plain("the compiler's object file is in another format than ELF for 64-bit machines".to_string())
        })?);
        objects.push(object);
        texts.push(text);
    }
    judge(from, sources, files, &header)?;
    let own = scratch.write("calls.c", &target_c::calls(from.program, from.handlers)).map_err(plain)?;
    let library = scratch.path().join("handlers.so");
    let mut link = cc(scratch.path());
    link.args(FLAGS).args(["-shared", "-nostartfiles"]).arg(own).args(&objects).arg("-o").arg(&library);
    compiler.run(&mut link)?;
    let source =
        scratch.write("worker.c", &target_c::worker(from.program, from.handlers, ARENA)).map_err(plain)?;
    let linked = OnceLock::new();
    if let Some(which) = from.sanitize {
        let worker = scratch.path().join("worker");
        let mut link = cc(scratch.path());
        link.args(FLAGS).arg(&source).args(["-g", "-fno-sanitize-recover=all"]);
        compiler.run(link.arg(format!("-fsanitize={which}")).args(&texts).arg("-o").arg(&worker))?;
        let _ = linked.set(Ok(worker));
    }
    let library = Arc::new(Library::load(&library, from.handlers).map_err(plain)?);
    Ok(InC { handlers: from.handlers.to_vec(), library, worker: WorkerProgram { source, objects, linked } })
}

/// Handlers that no source implements.
fn no_source(handlers: &[Handler]) -> Vec<Diagnostic> {
    let each = handlers.iter().map(|handler| {
        Diagnostic::error(codes::HANDLER_SOURCE, format!("handler `{}` has no source", handler.name))
            .at(handler.span, "declared here")
            .help(
                "name its source: `--handlers FILE.c`, or `handlers = [\"FILE.c\"]` of the app in RACK.toml",
            )
            .help("`p4rack handler header PROGRAM.p4` writes the header that it includes")
    });
    each.collect()
}

fn read(path: &Path, map: &mut SourceMap) -> Result<Source, Vec<Diagnostic>> {
    let unreadable = |why: String| {
        let problem = Diagnostic::error(codes::HANDLER_SOURCE, "a handler's source cannot be read");
        vec![problem.note(format!("`{}`: {why}", path.display()))]
    };
    let bytes = std::fs::read(path).map_err(|e| unreadable(e.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_string()))?;
    let name = path.display().to_string();
    let file = map.add_file(name, text.as_str(), Span::NONE).ok().and_then(|id| map.file(id));
    let base = file.map(|file| file.base()).ok_or_else(|| unreadable("it is too large".to_string()))?;
    Ok(Source { path: path.to_path_buf(), text, base })
}

fn cc(headers: &Path) -> Command {
    let mut cc = Command::new("cc");
    cc.env("LC_ALL", "C").arg("-I").arg(headers);
    cc
}

struct Compiler<'c> {
    scratch: &'c Scratch,
    sources: &'c [Source],
    header: &'c str,
}

impl Compiler<'_> {
    fn run(&self, command: &mut Command) -> Result<(), Vec<Diagnostic>> {
        let output = command.output().map_err(|e| {
            let problem = Diagnostic::error(codes::HANDLER_SOURCE, "there is no C compiler");
            vec![
                problem
                    .note(format!("`cc` cannot be run: {e}"))
                    .help("`apt-get install gcc`, or implement the handler as a value extern in Rust: docs/how-to/write-a-value-extern.md"),
            ]
        })?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr)
            .replace(&format!("{}/", self.scratch.path().display()), "");
        let found = messages::diagnostics(&text, self.sources, self.header);
        if found.is_empty() {
            let problem = Diagnostic::error(codes::HANDLER_BUILD, "a handler does not compile");
            return Err(vec![problem.note(text.trim_end().to_string())]);
        }
        Err(found)
    }
}

/// Refuses libraries that use what handlers must not use, and those of other programs.
fn judge(
    from: &Sources<'_>,
    sources: &[Source],
    files: Vec<Symbols>,
    header: &str,
) -> Result<(), Vec<Diagnostic>> {
    let symbols = Symbols::joined(files);
    let at = |problem: Diagnostic, word: &str, why: String| match sources
        .iter()
        .find_map(|source| source.word(word))
    {
        Some(span) => problem.at(span, why),
        None => problem.note(why),
    };
    let mut found = vec![];
    for refused in symbols.refused() {
        let title = format!("a handler must not use `{}`", refused.name);
        let problem = Diagnostic::error(codes::HANDLER_SYMBOL, title);
        found.push(at(problem, &refused.name, refused.why).help(refused.help));
    }
    for handler in from.handlers {
        let name = &handler.name;
        let problem = |title: String| {
            Diagnostic::error(codes::HANDLER_LIBRARY, title).at(handler.span, "declared here")
        };
        let own = target_c::fingerprint_symbol(handler);
        let other = target_c::fingerprint_prefix(name);
        if !symbols.defined.contains(name) {
            let functions =
                symbols.defined.iter().map(String::as_str).filter(|known| !known.starts_with("p4r_"));
            let title = format!("no source defines handler `{name}`");
            found.push(problem(title).suggest_or(name, functions, |d| d));
        } else if !symbols.defined.contains(&own) {
            found.push(match symbols.defined.iter().any(|known| known.starts_with(&other)) {
                true => problem(format!("`{name}` was compiled for another form of the program")).help(
                    format!("write the header again: `p4rack handler header {} -o {header}`", from.program),
                ),
                false => problem(format!("the source of `{name}` does not include its header"))
                    .help(format!("write `#include \"{header}\"`")),
            });
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}
