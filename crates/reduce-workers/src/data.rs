//! Data sets: files, directories, and commands that read them.

use base_diag::codes::job as codes;
use base_diag::{Code, Diagnostic};
use reduce_jobs::Job;
use reduce_jobs::job::{Function, Mapper, Reducer, ValueKind};
use reduce_jobs::network::Packed;
use reduce_jobs::pairs::{Combined, DataError};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Data that gives no pairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub code: Code,
    pub title: String,
    /// `file:line`
    pub place: String,
    pub help: String,
}

impl Problem {
    fn of_file(path: &Path, error: &std::io::Error) -> Problem {
        Problem {
            code: codes::JOB_DATA,
            title: format!("`{}` cannot be read: {error}", path.display()),
            place: path.display().to_string(),
            help: "data sets are files, or directories of files, on the mapper's host".into(),
        }
    }

    fn of_data(path: &Path, error: DataError) -> Problem {
        let DataError { line, title, help } = error;
        let code = if title.contains("is wider than") { codes::VALUE_TOO_WIDE } else { codes::JOB_DATA };
        Problem { code, title, place: format!("{}:{line}", path.display()), help }
    }
}

/// The combined pairs of a mapper, of so many values up to `most` each. Relative paths begin at `directory`.
fn read(
    job: &Job,
    mapper: &Mapper,
    directory: &Path,
    (values, most): (usize, u64),
) -> Result<Combined, Problem> {
    let mut combined = Combined::new(mapper.op, values, most);
    for dataset in mapper.datasets.iter().map(|at| &job.datasets[*at]) {
        for path in files(&directory.join(&dataset.path))? {
            let text = fs::read(&path).map_err(|error| Problem::of_file(&path, &error))?;
            let text = match &mapper.function {
                Function::Run { command } => run(command, directory, &path, text)?,
                _ => text,
            };
            combined.read(&mapper.function, &text).map_err(|error| Problem::of_data(&path, error))?;
        }
    }
    Ok(combined)
}

/// The pairs of a mapper for a reducer. Relative paths begin at `directory`.
pub fn packed(job: &Job, mapper: &Mapper, reducer: &Reducer, directory: &Path) -> Result<Packed, Diagnostic> {
    prepare(job, mapper, reducer, directory).map_err(|problem| {
        let Problem { code, title, place, help } = problem;
        Diagnostic::error(code, title).note(format!("at {place}")).help(help)
    })
}

pub(crate) fn prepare(
    job: &Job,
    mapper: &Mapper,
    reducer: &Reducer,
    directory: &Path,
) -> Result<Packed, Problem> {
    let most = if reducer.value == ValueKind::U64 { u64::MAX } else { u32::MAX.into() };
    let combined = read(job, mapper, directory, (reducer.values as usize, most))?;
    Packed::new(reducer, combined.iter()).map_err(|error| {
        let (title, help) = error.in_words();
        let is_data = matches!(error, reduce_jobs::network::KeyError::Beyond(..));
        let code = if is_data { codes::JOB_DATA } else { codes::KEY_TOO_LONG };
        Problem { code, title, place: mapper.name.value.clone(), help }
    })
}

/// A file, or the files of a directory in the order of their names. Hidden ones are left out.
fn files(path: &Path) -> Result<Vec<PathBuf>, Problem> {
    let wrong = |error: std::io::Error| Problem::of_file(path, &error);
    if !fs::metadata(path).map_err(wrong)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = vec![];
    for entry in fs::read_dir(path).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Runs a command that reads a file from standard input, and returns its output. The file's name is in `P4RACK_FILE`.
fn run(command: &str, directory: &Path, path: &Path, text: Vec<u8>) -> Result<Vec<u8>, Problem> {
    let wrong = |what: String| Problem {
        code: codes::JOB_DATA,
        title: format!("the command `{command}` {what}"),
        place: path.display().to_string(),
        help: "it reads the data at its standard input and prints lines `key TAB value`".into(),
    };
    let child = Command::new("sh")
        .args(["-c", command])
        .current_dir(if directory.as_os_str().is_empty() { Path::new(".") } else { directory })
        .env("P4RACK_FILE", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| wrong(format!("cannot be started: {error}")))?;
    let mut input = child.stdin.take();
    // A command that does not read everything is content with less.
    let feeder = std::thread::spawn(move || input.as_mut().map(|input| input.write_all(&text)));
    let output = child.wait_with_output().map_err(|error| wrong(format!("has no result: {error}")))?;
    let _ = feeder.join();
    if !output.status.success() {
        return Err(wrong(format!("has failed: {}", output.status)));
    }
    Ok(output.stdout)
}
