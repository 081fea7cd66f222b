//! One file for each command.

pub mod analyze;
pub mod check;
pub mod explain;
pub mod ir;
pub mod p4info;
pub mod prove_split;
pub mod run;
pub mod split;
pub mod up;

/// Preprocessor options that several commands take.
#[derive(clap::Args, Clone, Debug)]
pub struct Preprocessor {
    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Forget a macro
    #[arg(short = 'U', value_name = "NAME")]
    undefine: Vec<String>,
    /// Look for included files here too
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
