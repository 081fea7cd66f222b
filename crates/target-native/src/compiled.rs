//! A program as machine code, without any state: the part that engines of the same program share.

use crate::code::Part;
use crate::facts::Facts;
use crate::layout::{Layout, Node};
use crate::machine::Machine;
use crate::notes::{Fallback, Notes};
use crate::tables::{TableReplicas, Wanted};
use crate::timeless::is_timeless;
use base_diag::Diagnostic;
use dataplane_api::Port;
use device::psa::Half;
use device::stage::BlockName;
use device::v1model::{Calculation, calculations};
use device::{Blocks, Blueprint, Core};
use ir::{Name, Program};
use ir_interp::Interpreter;
use ir_value::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Compiled code of a program. A clone is the same code. [`Engine::of`](crate::Engine::of) creates engines that run it.
#[derive(Clone)]
pub struct Compiled {
    /// Lowered; as it stands if that makes it too large.
    pub(crate) program: Arc<Program>,
    /// Names of its calls of hashes, as the program had them before it was lowered.
    pub(crate) calculations: Arc<[Calculation]>,
    /// The port that means "drop".
    pub(crate) drop_port: Port,
    pub(crate) code: Made,
    /// True if several threads may run the code in parallel: see [`Shared`](crate::Shared).
    pub(crate) shares: bool,
    /// See [`Engine::is_timeless`](crate::Engine::is_timeless).
    pub(crate) is_timeless: bool,
}

impl Compiled {
    /// How the program was compiled.
    pub fn report(&self) -> Report {
        let builds = || self.code.builds();
        Report {
            compiled: builds().next().is_some(),
            fallbacks: builds().flat_map(|build| build.whole.notes.left()).collect(),
            classes: builds().map(|build| build.whole.notes.classes).sum(),
            ends: builds().map(|build| build.whole.notes.ends).sum(),
            early: builds().map(|build| build.whole.notes.early.len()).sum(),
            frame_bytes: builds().map(|build| build.layout.bytes).max().unwrap_or(0),
        }
    }

    /// Lowers and compiles a program; no device is needed. Programs that no device runs are refused. `shares`: several
    /// threads will run it at once.
    pub fn new(program: &Program, drop_port: Port, shares: bool) -> Result<Compiled, Vec<Diagnostic>> {
        let calculations: Arc<[Calculation]> = calculations(program).into();
        // The interpreter runs a program as it stands if it is too large when everything is inlined.
        let Some(lowered) = ir_lower::lower(program).ok() else {
            ir_interp::check(program)?;
            let program = Arc::new(program.clone());
            let code = Made::Nothing;
            return Ok(Compiled { program, calculations, drop_port, code, shares, is_timeless: false });
        };
        ir_interp::check(&lowered)?;
        Compiled::of(Arc::new(lowered), calculations, drop_port, shares)
    }

    /// The same code for a program that differs in the sizes of its tables alone; none if it does not suit them, since small tables with short keys are arrays.
    pub fn resized(&self, program: &Program) -> Option<Compiled> {
        let tables = program.controls.iter().flat_map(|control| &control.tables);
        let sizes: BTreeMap<&Name, Option<u64>> =
            tables.map(|table| (&table.control_plane_name, table.size)).collect();
        let mut own = Program::clone(&self.program);
        for table in own.controls.iter_mut().flat_map(|control| &mut control.tables) {
            table.size = sizes.get(&table.control_plane_name).copied().unwrap_or(table.size);
        }
        let own = Arc::new(own);
        let blueprint = Blueprint::new(Arc::clone(&own), self.drop_port).ok()?;
        let suits = self.code.builds().all(|build| build.wanted.suits(blueprint.blocks()));
        suits.then(|| Compiled { program: own, ..self.clone() })
    }

    /// The code for devices with this drop port, or for threads.
    pub(crate) fn fit(&self, drop_port: Port, shares: bool) -> Result<Compiled, Vec<Diagnostic>> {
        let is_fit = self.drop_port == drop_port && self.shares == shares;
        if is_fit || matches!(self.code, Made::Nothing) {
            return Ok(self.clone());
        }
        Compiled::of(Arc::clone(&self.program), Arc::clone(&self.calculations), drop_port, shares)
    }

    fn of(
        program: Arc<Program>,
        calculations: Arc<[Calculation]>,
        drop_port: Port,
        shares: bool,
    ) -> Result<Compiled, Vec<Diagnostic>> {
        let blueprint = Blueprint::new(Arc::clone(&program), drop_port)?;
        let code = Made::new(blueprint.blocks(), shares);
        let [_, _, standard] = blueprint.blocks().types();
        let is_whole = |build: &Arc<Build>| build.whole.notes.left().next().is_none();
        let is_timeless =
            matches!(&code, Made::Whole(build) if is_whole(build)) && is_timeless(&program, &standard);
        Ok(Compiled { program, calculations, drop_port, code, shares, is_timeless })
    }
}

/// Result of a compilation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// False if the interpreter runs everything: the program is too large, or calls functions on frames and either copies packets in
    /// ingress, or has headers or stacks in its metadata.
    pub compiled: bool,
    /// Work left to the interpreter: the kind of a statement, or `"block"`, with its block. For PSA, and mostly for
    /// TNA, the interpreter then runs the whole half.
    pub fallbacks: Vec<(BlockName, String)>,
    /// Classes of packets that have code of their own: the parser decides them by a constant that it stores.
    pub classes: usize,
    /// Ends of the parser that have code of their own: the valid headers are known there.
    pub ends: usize,
    /// Lookups of keys at known places of the frame, which may be made before their packets run.
    pub early: usize,
    /// Bytes of a packet's frame.
    pub frame_bytes: usize,
}

/// Compiled code of a program.
#[derive(Clone)]
pub(crate) enum Made {
    /// The interpreter runs the program.
    Nothing,
    /// Code of a program for v1model.
    Whole(Arc<Build>),
    /// Code of a program for PSA or TNA.
    Halves(HalfBuilds),
}

impl Made {
    fn new(blocks: Blocks<'_>, shares: bool) -> Made {
        if blocks.half().is_some() {
            return HalfBuilds::new(blocks, shares).map_or(Made::Nothing, Made::Halves);
        }
        let build = Build::new(blocks, Part::Whole, shares, Wanted::default());
        build.map_or(Made::Nothing, |build| Made::Whole(Arc::new(build)))
    }

    /// All code: one build, or one of each half.
    pub(crate) fn builds(&self) -> impl Iterator<Item = &Arc<Build>> {
        let (one, halves) = match self {
            Made::Nothing => (None, None),
            Made::Whole(build) => (Some(build), None),
            Made::Halves(builds) => (None, Some([&builds.ingress, &builds.egress])),
        };
        one.into_iter().chain(halves.into_iter().flatten())
    }
}

/// The code of both halves. A clone is the same code.
#[derive(Clone)]
pub(crate) struct HalfBuilds {
    pub(crate) ingress: Arc<Build>,
    pub(crate) egress: Arc<Build>,
}

impl HalfBuilds {
    /// The code of a program for PSA or TNA; `None` if it is for the interpreter alone. `shares` says that several threads are to run it at
    /// once: then tables of both halves change all at once, and the numbers of egress go on after those of ingress.
    pub(crate) fn new(blocks: Blocks<'_>, shares: bool) -> Option<HalfBuilds> {
        let half = |half: Half, wanted: Wanted| {
            Build::new(blocks.of(half), Part::Half(half), shares, wanted).map(Arc::new)
        };
        let ingress = half(Half::Ingress, Wanted::default())?;
        let before = if shares { ingress.wanted.clone() } else { Wanted::default() };
        Some(HalfBuilds { egress: half(Half::Egress, before)?, ingress })
    }

    /// The tables and cells of a device, for each half.
    pub(crate) fn table_replicas(&self, core: &mut Core) -> Option<[TableReplicas; 2]> {
        Some([self.ingress.table_replicas(core)?, self.egress.table_replicas(core)?])
    }
}

impl Build {
    /// True if it is code for TNA.
    pub(crate) fn is_tna(&self) -> bool {
        self.facts.reads_parser_error.is_some()
    }

    /// True if all of a half is in its code.
    pub(crate) fn runs_half(&self) -> bool {
        let notes = &self.whole.notes;
        let is_plain = self
            .layout
            .half
            .as_ref()
            .is_some_and(|homes| homes.carried.iter().all(|(_, node)| is_plain(node)));
        let alone = |fallback: &Fallback| self.is_tna() && fallback.is_alone;
        is_plain && notes.stages.is_empty() && notes.fallbacks.iter().all(alone)
    }
}

/// True if the value of the node can be brought into a frame before its packet begins: arrays are cleared then.
fn is_plain(node: &Node) -> bool {
    match node {
        Node::Scalar(_) | Node::Header(_) | Node::Nothing => true,
        Node::Struct(nodes) | Node::Union(nodes) => nodes.iter().all(is_plain),
        Node::Stack(_) | Node::Value(_) => false,
    }
}

/// The code of a program with the facts about it.
pub(crate) struct Build {
    pub(crate) whole: Coded,
    /// Code for parts of the program, compiled on first use.
    ingress: OnceLock<Option<Coded>>,
    egress: OnceLock<Option<Coded>>,
    again: OnceLock<Option<Coded>>,
    out: OnceLock<Option<Coded>>,
    deparse: OnceLock<Option<Coded>>,
    /// For each place where frames run on: as the packet that called, and fresh.
    resumes: Vec<[OnceLock<Option<Coded>>; 2]>,
    pub(crate) facts: Facts,
    pub(crate) wanted: Wanted,
    pub(crate) layout: Layout,
    pub(crate) zeros: Vec<Value>,
    /// Interpreter for parts without code.
    pub(crate) rest: Interpreter,
}

/// Code, and the objects that it refers to by number.
pub(crate) struct Coded {
    pub(crate) machine: Machine,
    pub(crate) notes: Notes,
}

impl Coded {
    /// The code, or if there is none, whether parts of it would have been there several times.
    fn new(program: &Program, layout: &Layout, facts: &Facts, part: Part) -> Result<Coded, bool> {
        let mut notes = Notes::default();
        match Machine::compile(program, layout, facts, part, &mut notes) {
            Some(machine) => Ok(Coded { machine, notes }),
            None => Err(notes.classes + notes.ends > 0),
        }
    }
}

impl Build {
    /// The code for the blocks, whose tables and cells are numbered after those of `wanted`; `None` if the program is for the
    /// interpreter alone. `shares` says that several threads are to run it at once.
    pub(crate) fn new(blocks: Blocks<'_>, part: Part, shares: bool, mut wanted: Wanted) -> Option<Build> {
        let layout = Layout::new(blocks)?;
        let mut facts = Facts::new(blocks, &layout, &mut wanted);
        facts.shares = shares;
        let program = blocks.program();
        let whole = Coded::new(program, &layout, &facts, part).or_else(|has_copies| {
            // The function may be too large only with code for each class of packets.
            facts.has_classes = false;
            if has_copies { Coded::new(program, &layout, &facts, part) } else { Err(false) }
        });
        let whole = whole.ok()?;
        if !facts.frame_externs.is_empty() && !whole.notes.calls_frame_externs(&layout, &facts) {
            return None;
        }
        let zeros = layout.values.iter().map(|ty| Value::zero(program, ty)).collect();
        let [ingress, egress, again, out, deparse] = [const { OnceLock::new() }; 5];
        let resumes = facts.resumes.iter().map(|_| Default::default()).collect();
        let rest = Interpreter::new(program);
        Some(Build {
            whole,
            ingress,
            egress,
            again,
            out,
            deparse,
            resumes,
            facts,
            wanted,
            layout,
            zeros,
            rest,
        })
    }

    /// The tables and cells of a device, in the order that the code knows, for its first worker; `None` if the device runs another
    /// program.
    pub(crate) fn table_replicas(&self, core: &mut Core) -> Option<TableReplicas> {
        TableReplicas::of(&self.wanted, core, 0)
    }

    /// The code for a part that there [`is`](Build::has_all).
    #[inline(always)]
    pub(crate) fn coded(&self, part: Part) -> &Coded {
        self.place(part).and_then(|made| made.get()?.as_ref()).unwrap_or(&self.whole)
    }

    /// True if there is code for all parts; compiles it on first use.
    #[inline(always)]
    pub(crate) fn has_all<const N: usize>(&self, parts: [Part; N], program: &Program) -> bool {
        parts.iter().all(|part| {
            let make = || Coded::new(program, &self.layout, &self.facts, *part).ok();
            self.place(*part).is_none_or(|made| made.get_or_init(make).is_some())
        })
    }

    #[inline(always)]
    fn place(&self, part: Part) -> Option<&OnceLock<Option<Coded>>> {
        match part {
            Part::Whole | Part::Half(_) => None,
            Part::Ingress => Some(&self.ingress),
            Part::Egress => Some(&self.egress),
            Part::Again => Some(&self.again),
            Part::Out => Some(&self.out),
            Part::Deparse => Some(&self.deparse),
            Part::Resume(at, is_fresh) => Some(&self.resumes.get(at)?[usize::from(is_fresh)]),
        }
    }
}
