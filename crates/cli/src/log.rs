//! Structured logs of long-running commands, to standard error.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Mutex;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

/// Level and format of the log.
#[derive(clap::Args)]
pub struct LogArgs {
    /// Log level; `warn` by default, `trace` with --log-console or --log-file
    #[arg(short = 'L', long, value_enum, value_name = "LEVEL")]
    log_level: Option<Level>,
    /// Log format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    log_format: Format,
    /// Log to standard output instead of standard error
    #[arg(long, conflicts_with = "log_file")]
    log_console: bool,
    /// Log to FILE; existing contents are erased
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Has no effect: every line is written to --log-file immediately
    #[arg(long, requires = "log_file")]
    log_flush: bool,
    /// Has no effect: the log is one file
    #[arg(long, value_name = "BYTES")]
    log_file_max_size: Option<u64>,
    /// Has no effect: the log is one file
    #[arg(long, value_name = "N")]
    log_file_max_files: Option<u64>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    /// One JSON object per line
    Json,
}

impl LogArgs {
    /// Starts logging. An error says why the file cannot be written.
    pub fn begin(&self) -> Result<(), String> {
        for (option, is_given) in [
            ("--log-file-max-size", self.log_file_max_size.is_some()),
            ("--log-file-max-files", self.log_file_max_files.is_some()),
        ] {
            if is_given {
                report!("p4rack: {option} has no effect: the log is one file");
            }
        }
        let default = if self.log_console || self.log_file.is_some() { Level::Trace } else { Level::Warn };
        let level = match self.log_level.unwrap_or(default) {
            Level::Off => LevelFilter::OFF,
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        };
        let to = match &self.log_file {
            Some(path) => {
                let file = File::create(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
                BoxMakeWriter::new(Mutex::new(file))
            }
            None if self.log_console => BoxMakeWriter::new(std::io::stdout),
            None => BoxMakeWriter::new(std::io::stderr),
        };
        let log = tracing_subscriber::fmt().with_max_level(level).with_writer(to);
        match self.log_format {
            Format::Text => log.with_target(false).init(),
            Format::Json => log.json().init(),
        }
        Ok(())
    }
}
