//! The architectures that there are: each a folder that knows no other.

use crate::build::MakeObject;
use crate::{psa, tna, v1model};
use base_diag::Diagnostic;
use base_diag::codes::elaborate::ARCHITECTURE;
use dataplane_api::Port;
use ir::{Arch, Program};

/// Facts about a program computed once, by its architecture.
pub(crate) enum Architecture {
    V1Model(Box<v1model::Layout>),
    Psa(Box<psa::Layout>),
    Tna(Box<tna::Layout>),
}

impl Architecture {
    /// Facts about a program. Errors: reasons why it cannot be run.
    pub(crate) fn of(program: &Program, drop_port: Port) -> Result<Architecture, Vec<Diagnostic>> {
        match program.arch {
            Arch::V1Model(_) => {
                Ok(Architecture::V1Model(Box::new(v1model::Layout::new(program, drop_port)?)))
            }
            Arch::Psa { .. } => Ok(Architecture::Psa(Box::new(psa::Layout::new(program)?))),
            Arch::Tna(_) | Arch::T2na => Ok(Architecture::Tna(Box::new(tna::Layout::new(program)?))),
            _ => Err(vec![not_run(program)]),
        }
    }
}

/// Makes the objects of a program's architecture.
pub(crate) fn objects(program: &Program) -> Result<MakeObject, Vec<Diagnostic>> {
    match program.arch {
        Arch::V1Model(_) => Ok(v1model::object),
        Arch::Psa { .. } => Ok(psa::object),
        Arch::Tna(_) | Arch::T2na => Ok(tna::object),
        _ => Err(vec![not_run(program)]),
    }
}

/// Whether programs of this architecture and with such pipelines can be run; `P4R0303` or `P4R1801` if not.
pub fn check_architecture(program: &Program) -> Result<(), Diagnostic> {
    match program.arch {
        Arch::V1Model(_) | Arch::Psa { .. } => Ok(()),
        Arch::Tna(_) | Arch::T2na => tna::check_pipes(program),
        _ => Err(not_run(program)),
    }
}

fn not_run(program: &Program) -> Diagnostic {
    let what = format!("programs for `{}` cannot be run yet", program.main.name);
    Diagnostic::error(ARCHITECTURE, what)
        .note("v1model's `V1Switch`, PSA's `PSA_Switch` and the `Switch` of TNA and T2NA can be run")
}
