//! Handlers in Python: the interpreter of the machine runs `worker.py` with their sources.

use crate::build::{Source, plain};
use crate::messages;
use crate::scratch::Scratch;
use base_diag::codes::handler as codes;
use base_diag::{Diagnostic, Severity};
use ir_handlers::Handler;
use std::path::PathBuf;
use std::process::Command;

/// A script that answers calls.
pub struct Script {
    path: PathBuf,
    /// Handlers that its sources define.
    pub handlers: Vec<String>,
}

impl Script {
    /// Checks sources, and writes the script that runs their handlers.
    pub fn new(
        sources: &[Source],
        handlers: &[Handler],
        scratch: &Scratch,
    ) -> Result<Script, Vec<Diagnostic>> {
        // Copies: a process that starts again gets the same code.
        let copied = |(at, source): (usize, &Source)| {
            let copy = scratch.write(&format!("source{at}.py"), &source.text)?;
            Ok((source.path.clone(), copy))
        };
        let files = sources.iter().enumerate().map(copied).collect::<Result<Vec<_>, _>>().map_err(plain)?;
        let path = scratch.write("worker.py", &target_c::python_worker(handlers, &files)).map_err(plain)?;
        let mut script = Script { path, handlers: vec![] };
        let output = script.command("--check").output().map_err(|error| {
            vec![
                Diagnostic::error(codes::HANDLER_SOURCE, "there is no Python")
                    .note(format!("`python3` cannot be run: {error}"))
                    .help("`apt-get install python3`, or write the handler in C"),
            ]
        })?;
        let text = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let found = messages::diagnostics(&text, sources, "");
            return Err(if found.is_empty() { plain(text.trim_end().to_string()) } else { found });
        }
        script.handlers = String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect();
        Ok(script)
    }

    /// The script with an argument. Nothing of the environment but the places of programs reaches it.
    pub fn command(&self, argument: &str) -> Command {
        let mut command = Command::new("python3");
        let kept = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.env_clear().envs(kept);
        // Sets have the same order in each run.
        command.env("PYTHONHASHSEED", "0").args(["-s", "-S", "-B"]).arg(&self.path).arg(argument);
        command
    }

    /// Advice against it, for what is not a prototype.
    pub fn warning(&self) -> Diagnostic {
        let names = self.handlers.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let title = "handlers in Python are slow";
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(codes::HANDLER_SOURCE, title) }
            .note(format!("{names}: each call runs in a process of its own, also without `--isolate`"))
            .help("use them for prototypes; `p4rack bench handler` measures the time of calls")
    }
}
