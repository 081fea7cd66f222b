//! A program as machine code, without any state: what engines of the same program share.

use crate::engine::Report;
use crate::facts::Facts;
use crate::halves::HalfBuilds;
use crate::layout::Layout;
use crate::machine::{Machine, Part};
use crate::notes::Notes;
use crate::tables::{Mirrors, Wanted};
use dataplane_api::Port;
use device::{Blocks, Blueprint, Host};
use ir::Program;
use ir_value::Value;
use std::sync::{Arc, OnceLock};

/// See the module. A clone is the same code. [`Engine::of`](crate::Engine::of) makes engines of it.
#[derive(Clone)]
pub struct Compiled {
    /// Lowered; as it stands if that makes it too large.
    pub(crate) program: Arc<Program>,
    /// The port that means "drop".
    pub(crate) drop_port: Port,
    pub(crate) code: Made,
    /// It was made for threads that run it at once: see [`Shared`](crate::Shared).
    pub(crate) shares: bool,
}

impl Compiled {
    /// How the program was compiled.
    pub fn report(&self) -> Report {
        let builds = || self.code.builds();
        Report {
            compiled: builds().next().is_some(),
            fallbacks: builds().flat_map(|build| build.whole.notes.left()).collect(),
            frame_bytes: builds().map(|build| build.layout.bytes).max().unwrap_or(0),
        }
    }

    /// The code of a lowered program that can be run; no device is asked.
    pub(crate) fn new(program: Arc<Program>, drop_port: Port, shares: bool) -> Compiled {
        let code = match Blueprint::new(Arc::clone(&program), drop_port) {
            Ok(blueprint) => Made::new(blueprint.blocks(), shares),
            Err(_) => Made::Nothing,
        };
        Compiled { program, drop_port, code, shares }
    }
}

/// What there is of code.
#[derive(Clone)]
pub(crate) enum Made {
    /// The interpreter runs the program.
    Nothing,
    /// Of a program for v1model.
    Whole(Arc<Build>),
    /// Of a program for PSA.
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

    /// What there is of code: one, or that of each half.
    pub(crate) fn builds(&self) -> impl Iterator<Item = &Arc<Build>> {
        let (one, halves) = match self {
            Made::Nothing => (None, None),
            Made::Whole(build) => (Some(build), None),
            Made::Halves(builds) => (None, Some([&builds.ingress, &builds.egress])),
        };
        one.into_iter().chain(halves.into_iter().flatten())
    }
}

/// The code of a program with what is known of it.
pub(crate) struct Build {
    pub(crate) whole: Coded,
    /// The parts: made when somebody wants them first.
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
}

/// Code, and what it speaks of by number.
pub(crate) struct Coded {
    pub(crate) machine: Machine,
    pub(crate) notes: Notes,
}

impl Coded {
    fn new(program: &Program, layout: &Layout, facts: &Facts, part: Part) -> Option<Coded> {
        let mut notes = Notes::default();
        let machine = Machine::compile(program, layout, facts, part, &mut notes)?;
        Some(Coded { machine, notes })
    }
}

impl Build {
    /// The code for the blocks, whose tables and cells are numbered behind those of `wanted`; `None` if the program is for the
    /// interpreter alone. `shares` says that several threads are to run it at once.
    pub(crate) fn new(blocks: Blocks<'_>, part: Part, shares: bool, mut wanted: Wanted) -> Option<Build> {
        let layout = Layout::new(blocks)?;
        let mut facts = Facts::new(blocks, &layout, &mut wanted);
        facts.shares = shares;
        let program = blocks.program();
        let whole = Coded::new(program, &layout, &facts, part)?;
        if !facts.frame_externs.is_empty() && !whole.notes.calls_frame_externs(&layout, &facts) {
            return None;
        }
        let zeros = layout.values.iter().map(|ty| Value::zero(program, ty)).collect();
        let [ingress, egress, again, out, deparse] = [const { OnceLock::new() }; 5];
        let resumes = facts.resumes.iter().map(|_| Default::default()).collect();
        Some(Build { whole, ingress, egress, again, out, deparse, resumes, facts, wanted, layout, zeros })
    }

    /// The tables and cells of a device, in the order that the code knows, for its first worker; `None` if the device runs another
    /// program.
    pub(crate) fn mirrors(&self, host: &mut Host) -> Option<Mirrors> {
        Mirrors::of(&self.wanted, host, 0)
    }

    /// The code for a part that there [`is`](Build::has_all).
    #[inline(always)]
    pub(crate) fn coded(&self, part: Part) -> &Coded {
        self.place(part).and_then(|made| made.get()?.as_ref()).unwrap_or(&self.whole)
    }

    /// True if there is code for the parts: it is made when somebody wants it first.
    #[inline(always)]
    pub(crate) fn has_all<const N: usize>(&self, parts: [Part; N], program: &Program) -> bool {
        parts.iter().all(|part| {
            let make = || Coded::new(program, &self.layout, &self.facts, *part);
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
