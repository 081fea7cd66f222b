//! One file for each command.

pub mod analyze;
pub mod block;
pub mod check;
pub mod cli;
pub mod compare;
pub mod compile;
pub mod completions;
pub mod convert;
pub mod ctl;
pub mod doctor;
pub mod experiments;
pub mod explain;
pub mod fit;
pub mod generate_rack;
pub mod handler;
pub mod import;
pub mod ir;
pub mod job;
pub mod lab;
pub mod merge;
pub mod p4info;
pub mod plan;
pub mod prove_split;
pub mod run;
pub mod split;
pub mod sweep;
pub mod switch;
pub mod up;

/// Preprocessor options that several commands take.
#[derive(clap::Args, Clone, Debug)]
pub struct Preprocessor {
    /// Define a preprocessor macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Undefine a preprocessor macro
    #[arg(short = 'U', value_name = "NAME")]
    undefine: Vec<String>,
    /// Add a directory to the include path
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<String>,
}

impl Preprocessor {
    /// As the front end takes them.
    pub fn options(&self) -> p4_syntax::Options {
        p4_syntax::Options {
            defines: self.define.clone(),
            undefines: self.undefine.clone(),
            include_dirs: self.include.clone(),
        }
    }
}

/// Options for a program's handlers.
#[derive(clap::Args, Clone, Debug)]
pub struct Handlers {
    /// Source of the program's handlers, in C or, for prototypes, in Python; may be repeated
    #[arg(long = "handlers", value_name = "FILE.c|FILE.py")]
    files: Vec<std::path::PathBuf>,
    /// Run each handler in a separate process: a handler that crashes or does not return fails one call and is restarted
    #[arg(long)]
    isolate: bool,
    /// Sanitizers of the C compiler to build handlers with, such as `address,undefined`; implies `--isolate`
    #[arg(long, value_name = "LIST")]
    sanitize: Option<String>,
}

impl Handlers {
    /// As they are built.
    pub fn options(&self, seed: u64) -> p4rack::handlers::Options {
        p4rack::handlers::Options {
            files: self.files.clone(),
            sanitize: self.sanitize.clone(),
            isolation: match self.isolate {
                true => p4rack::handlers::Isolation::Process,
                false => p4rack::handlers::Isolation::Inline,
            },
            seed,
            report: None,
        }
    }
}

/// The regions that a command works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Cut {
    /// Regions marked in the source
    Marks,
    /// One region for each boundary between two statements: from there to the end of the enclosing block
    Auto,
    /// Each statement that applies a table or calls an extern method
    Tables,
    /// Each block with a `@name` annotation and each applied control
    Blocks,
    /// Consecutive slices of ingress and egress, one for each use of a table or an extern
    Chain,
    /// Each statement that a switch cannot execute: calls of externs that the program declares
    BeyondSwitch,
    /// Each statement that a Tofino cannot execute: as `beyond-switch`, and multiplication or shifts by variables, loops, registers wider than 64 bits
    BeyondTofino,
}

impl Cut {
    /// How regions are chosen; `None` if they are marked.
    pub fn policy(self) -> Option<ir_split::auto::Policy> {
        use ir_split::auto::Policy;
        use rack_model::DeviceClass;
        match self {
            Cut::Marks => None,
            Cut::Auto => Some(Policy::Borders),
            Cut::Tables => Some(Policy::Tables),
            Cut::Blocks => Some(Policy::Blocks),
            Cut::Chain => Some(Policy::Chain),
            Cut::BeyondSwitch => Some(Policy::Beyond(DeviceClass::Switch)),
            Cut::BeyondTofino => Some(Policy::Beyond(DeviceClass::Tofino1)),
        }
    }
}

/// Memory for programs and entries in bytes, from the option `--max-memory`.
pub fn memory_of(mib: Option<u64>) -> u64 {
    mib.map_or_else(|| agent::Limits::memory_of(agent::most_memory()), |mib| mib.saturating_mul(1 << 20))
}
