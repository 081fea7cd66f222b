//! Facts about a program, computed once: architecture, stages, tables and objects. Code is made from them, without a
//! device.

use crate::architecture::{Architecture, objects};
use crate::embed::{CellsFacts, TableAt, TableFacts};
use crate::half::Half;
use crate::objects::Object;
use crate::region::{Path, Regions};
use crate::stage::{Block, BlockName, Param, Stage};
use base_diag::Diagnostic;
use dataplane_api::Port;
use ir::{ControlId, InstanceId, ParserId, Program, Role, Type};
use std::sync::Arc;

/// Facts about a program that compiled code depends on.
pub struct Blueprint {
    program: Arc<Program>,
    architecture: Architecture,
}

/// The blocks of a program; of a program for PSA or TNA those of one half.
#[derive(Clone, Copy)]
pub struct Blocks<'b> {
    blueprint: &'b Blueprint,
    half: Half,
}

impl Blueprint {
    /// Blueprint of a program. Errors: reasons why it cannot be run. `drop_port` is the port that means "drop", in
    /// architectures with such a port.
    pub fn new(program: Arc<Program>, drop_port: Port) -> Result<Blueprint, Vec<Diagnostic>> {
        let architecture = Architecture::of(&program, drop_port)?;
        Ok(Blueprint { program, architecture })
    }

    /// The program's blocks; for PSA those of ingress.
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks { blueprint: self, half: Half::Ingress }
    }
}

impl<'b> Blocks<'b> {
    /// The blocks of this half; of architectures without halves it makes no difference.
    pub fn of(self, half: Half) -> Blocks<'b> {
        Blocks { half, ..self }
    }

    /// The program.
    pub fn program(self) -> &'b Arc<Program> {
        &self.blueprint.program
    }

    /// The half of PSA or TNA; `None` for v1model.
    pub fn half(self) -> Option<Half> {
        match &self.blueprint.architecture {
            Architecture::V1Model(_) => None,
            Architecture::Psa(_) | Architecture::Tna(_) => Some(self.half),
        }
    }

    /// Facts by architecture.
    pub(crate) fn architecture(self) -> &'b Architecture {
        &self.blueprint.architecture
    }

    /// A stage; `None` if the architecture has no such block.
    pub fn stage(self, block: BlockName) -> Option<&'b Stage> {
        match &self.blueprint.architecture {
            Architecture::V1Model(model) => Some(model.stage(block)),
            Architecture::Psa(psa) => psa.halves.stage(self.half, block),
            Architecture::Tna(tna) => tna.halves.stage(self.half, block),
        }
    }

    /// The parser.
    pub fn parser(self) -> ParserId {
        match self.stage(BlockName::Parser).map(|stage| stage.block) {
            Some(Block::Parser(id)) => id,
            _ => unreachable!("a program without a parser has no blueprint"),
        }
    }

    /// The control of a block that is none of the parser's.
    pub fn control(self, block: BlockName) -> Option<ControlId> {
        self.stage(block)?.control()
    }

    /// Role of each parameter of a block.
    pub fn roles(self, block: BlockName) -> Vec<Role> {
        self.stage(block).map(Stage::roles).unwrap_or_default()
    }

    /// Types of the headers, the user's metadata and the standard metadata; for a half of PSA, of its output metadata
    /// instead of the last.
    pub fn types(self) -> [Type; 3] {
        match &self.blueprint.architecture {
            Architecture::V1Model(model) => model.types(),
            Architecture::Psa(psa) => psa.types(self.half),
            Architecture::Tna(tna) => tna.types(self.half),
        }
    }

    /// On TNA, whether a packet that the ingress parser refuses reaches ingress: `None` for other architectures.
    pub fn reads_parser_error(self) -> Option<bool> {
        match &self.blueprint.architecture {
            Architecture::V1Model(_) | Architecture::Psa(_) => None,
            Architecture::Tna(tna) => Some(tna.reads_parser_error),
        }
    }

    /// The type and number of each parameter of a block.
    pub fn params(self, block: BlockName) -> &'b [Param] {
        self.stage(block).map_or(&[], |stage| &stage.params)
    }

    /// The port that means "drop"; PSA has none.
    pub fn drop_port(self) -> u32 {
        match &self.blueprint.architecture {
            Architecture::V1Model(model) => model.drop_port,
            Architecture::Psa(_) | Architecture::Tna(_) => 0,
        }
    }

    /// Index of the metadata field with `@counted_length`, which gives the length for counters in ingress and egress.
    pub fn counted_length(self) -> Option<usize> {
        match &self.blueprint.architecture {
            Architecture::V1Model(model) => model.counted_length(),
            Architecture::Psa(_) | Architecture::Tna(_) => None,
        }
    }

    /// Facts about a table.
    pub fn table(self, (control, table): TableAt) -> Option<TableFacts> {
        let control = self.program().controls.get(control.index())?;
        crate::table::build(self.program(), control, control.tables.get(table.index())?)
            .ok()
            .map(|t| t.facts())
    }

    /// The cells of a register of numbers up to 128 bits, or of a counter, if they are `most` at most.
    pub fn cells(self, id: InstanceId, most: u64) -> Option<CellsFacts> {
        let program = self.program();
        let instance = program.instances.get(id.index())?;
        let make = objects(program).ok()?;
        match make(program, instance, &program.extern_object(instance.object).name)?.ok()? {
            Object::Register(register) => register.can_be_flat(most).then(|| CellsFacts {
                size: register.size,
                bytes: register.cell_bytes(),
                ty: instance.type_args.first().cloned(),
            }),
            Object::Counter(counter) => {
                (counter.size <= most).then_some(CellsFacts { size: counter.size, bytes: 16, ty: None })
            }
            _ => None,
        }
    }

    /// The frame externs that the program calls.
    pub fn frame_externs(self) -> Vec<InstanceId> {
        let Some(regions) = self.regions() else { return vec![] };
        let program = self.program();
        let is_frame = |id: &InstanceId| {
            let object = program.instances.get(id.index()).map(|i| program.extern_object(i.object));
            object.is_some_and(|object| object.frame_extern().is_some())
        };
        regions.after.keys().copied().filter(is_frame).collect()
    }

    /// All places of ingress where frames may run on, in an order that the program alone decides.
    pub fn resumes(self) -> Vec<Path> {
        let Some(regions) = self.regions() else { return vec![] };
        let behind = self.frame_externs().into_iter().filter_map(|id| regions.after.get(&id));
        behind.chain(regions.starts.values()).cloned().collect()
    }

    fn regions(self) -> Option<&'b Regions> {
        match &self.blueprint.architecture {
            Architecture::V1Model(model) => Some(&model.regions),
            Architecture::Psa(_) | Architecture::Tna(_) => None,
        }
    }
}
