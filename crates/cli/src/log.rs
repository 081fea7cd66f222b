//! Structured logs of long-running commands, to standard error.

use tracing_subscriber::filter::LevelFilter;

/// Level and format of the log.
#[derive(clap::Args)]
pub struct LogArgs {
    /// Log level
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Level::Warn)]
    log_level: Level,
    /// Log format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    log_format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    /// One JSON object per line
    Json,
}

impl LogArgs {
    /// Starts logging.
    pub fn begin(&self) {
        let level = match self.log_level {
            Level::Off => LevelFilter::OFF,
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
        };
        let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
        match self.log_format {
            Format::Text => log.with_target(false).init(),
            Format::Json => log.json().init(),
        }
    }
}
