//! The architectures that there are: each a folder that knows no other.

use crate::build::MakeObject;
use crate::{psa, v1model};
use base_diag::Diagnostic;
use base_diag::codes::elaborate::ARCHITECTURE;
use dataplane_api::Port;
use ir::{Arch, Program};

/// Facts about a program computed once, by its architecture.
pub(crate) enum Architecture {
    V1Model(Box<v1model::Layout>),
    Psa(Box<psa::Layout>),
}

impl Architecture {
    /// Facts about a program. Errors: reasons why it cannot be run.
    pub(crate) fn of(program: &Program, drop_port: Port) -> Result<Architecture, Vec<Diagnostic>> {
        match program.arch {
            Arch::V1Model(_) => {
                Ok(Architecture::V1Model(Box::new(v1model::Layout::new(program, drop_port)?)))
            }
            Arch::Psa { .. } => Ok(Architecture::Psa(Box::new(psa::Layout::new(program)?))),
            _ => Err(vec![not_run(program)]),
        }
    }
}

/// Makes the objects of a program's architecture.
pub(crate) fn objects(program: &Program) -> Result<MakeObject, Vec<Diagnostic>> {
    match program.arch {
        Arch::V1Model(_) => Ok(v1model::object),
        Arch::Psa { .. } => Ok(psa::object),
        _ => Err(vec![not_run(program)]),
    }
}

/// Whether programs of this architecture can be run; `P4R0303` if not.
pub fn check_architecture(program: &Program) -> Result<(), Diagnostic> {
    match program.arch {
        Arch::V1Model(_) | Arch::Psa { .. } => Ok(()),
        _ => Err(not_run(program)),
    }
}

fn not_run(program: &Program) -> Diagnostic {
    let what = format!("programs for `{}` cannot be run yet", program.main.name);
    Diagnostic::error(ARCHITECTURE, what).note("v1model's `V1Switch` and PSA's `PSA_Switch` can be run")
}
