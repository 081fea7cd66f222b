//! Runs the stages of a program by the language's meaning: [`StageRunner`] for a device.

use crate::machine::{Arch, Flow, Frame, Machine, Scope};
use crate::packet_in::Input;
use crate::plan::Plan;
use crate::psa::PsaArch;
use crate::stage_arch::{Begin, StageArch};
use crate::tna::TnaArch;
use crate::v1model::V1;
use base_bits::BitWriter;
use base_time::Time;
use device::stage::{Amid, Block, End, FrameCall, Stage, Start, Stop, Visit};
use device::{Core, StageRunner};
use ir::{Program, Stmt, VarId};
use ir_value::Value;
use std::sync::Arc;

/// The reference interpreter at work on the stages of one program. A clone is the same.
#[derive(Clone)]
pub struct Interpreter {
    plan: Arc<Plan>,
}

impl Interpreter {
    /// For a device that runs this program.
    pub fn new(program: &Program) -> Interpreter {
        Interpreter { plan: Arc::new(Plan::new(program)) }
    }

    fn visit<A: StageArch>(&self, core: &mut Core, stage: &Stage, visit: &mut Visit, now: Time) {
        let program = Arc::clone(&core.program);
        let (path, saved) = match std::mem::replace(&mut visit.start, Start::Begin) {
            Start::Begin => (None, None),
            Start::At(path, saved) => (Some(path), saved),
        };
        let arch = A::begin(Begin {
            effects: std::mem::take(&mut visit.effects),
            payload: std::mem::take(&mut visit.payload),
            now,
            drop_port: core.drop_port().unwrap_or(0),
            counted_length: stage.counted_length.map(|(var, field)| (stage.block, var, field)),
        });
        let scope = scope(&program, stage.block);
        let vars = saved.unwrap_or_else(|| match stage.block {
            Block::Parser(id) => self.plan.parser_vars(id, &visit.values),
            Block::Control(id) => self.plan.control_vars(id, &visit.values),
        });
        let mut machine = Machine {
            program: &program,
            plan: &self.plan,
            arch,
            state: &mut core.state,
            frame: Frame { scope, vars },
            input: Input::at(std::mem::take(&mut visit.frame), 0),
            output: BitWriter::new(),
            fuel: visit.fuel,
        };
        let result = machine.enter(&mut visit.values).and_then(|()| match scope {
            Scope::Parser(id, parser) => machine.run_parser(id, parser).map(|()| Flow::Next),
            Scope::Control(_, control) => match &path {
                None => machine.run(&control.locals).and_then(|_| machine.run_block(&control.body)),
                Some(path) => machine.run_from(&control.body, path),
            },
            Scope::Function(_) => Err(Stop::Broken("a function as a stage")),
        });
        // After an error, too: what was written before it stays.
        machine.leave(&mut visit.values);
        let rest = matches!(scope, Scope::Parser(..)).then(|| machine.input.rest().to_vec());
        machine.output.pad();
        visit.emitted = std::mem::take(&mut machine.output).finish();
        visit.frame = std::mem::take(&mut machine.input).into_parts().0;
        visit.fuel = machine.fuel;
        let vars = std::mem::take(&mut machine.frame.vars);
        let (effects, payload, call) = machine.arch.end();
        visit.effects = effects;
        visit.payload = rest.unwrap_or(payload);
        visit.end = match (result, call) {
            (Ok(Flow::Next | Flow::Return(_)) | Err(Stop::Exit), _) => Ok(End::Done),
            (Ok(_), _) => Err(Stop::Broken("break or continue outside a loop")),
            (Err(Stop::FrameCall(instance)), Some(call)) => {
                Ok(End::Called(FrameCall { instance, vars, ..call }))
            }
            (Err(stop), _) => Err(stop),
        };
    }

    fn amid<A: StageArch>(
        &self,
        core: &mut Core,
        block: Block,
        stmt: &Stmt,
        at: &mut Amid,
        now: Time,
    ) -> Result<(), Stop> {
        let program = Arc::clone(&core.program);
        let scope = scope(&program, block);
        let fuel = core.new_budget().steps();
        let arch = A::begin(Begin {
            effects: std::mem::take(&mut at.effects),
            payload: std::mem::take(&mut at.payload),
            now,
            drop_port: core.drop_port().unwrap_or(0),
            counted_length: None,
        });
        let mut machine = Machine {
            program: &program,
            plan: &self.plan,
            arch,
            state: &mut core.state,
            frame: Frame { scope, vars: std::mem::take(&mut at.vars) },
            input: Input::at(std::mem::take(&mut at.frame), at.position),
            output: BitWriter::new(),
            fuel,
        };
        let result = machine.run(std::slice::from_ref(stmt)).map(drop);
        at.vars = machine.frame.vars;
        (at.frame, at.position) = machine.input.into_parts();
        (at.effects, at.payload, _) = machine.arch.end();
        result
    }
}

fn scope(program: &Program, block: Block) -> Scope<'_> {
    match block {
        Block::Parser(id) => Scope::Parser(id, program.parser(id)),
        Block::Control(id) => Scope::Control(id, program.control(id)),
    }
}

impl StageRunner for Interpreter {
    fn stage(&mut self, core: &mut Core, stage: &Stage, visits: &mut [Visit], now: Time) {
        for visit in visits {
            match core.program.arch {
                ir::Arch::Psa { .. } => self.visit::<PsaArch>(core, stage, visit, now),
                ir::Arch::Tna(_) | ir::Arch::T2na => self.visit::<TnaArch>(core, stage, visit, now),
                _ => self.visit::<V1>(core, stage, visit, now),
            }
        }
    }

    fn statement(
        &mut self,
        core: &mut Core,
        block: Block,
        stmt: &Stmt,
        at: &mut Amid,
        now: Time,
    ) -> Result<(), Stop> {
        match core.program.arch {
            ir::Arch::Psa { .. } => self.amid::<PsaArch>(core, block, stmt, at, now),
            ir::Arch::Tna(_) | ir::Arch::T2na => self.amid::<TnaArch>(core, block, stmt, at, now),
            _ => self.amid::<V1>(core, block, stmt, at, now),
        }
    }
}

impl<A: Arch> Machine<'_, A> {
    /// Binds the block's parameters, which are the machine's until [`leave`](Machine::leave).
    fn enter(&mut self, values: &mut [(VarId, Value)]) -> Result<(), Stop> {
        for (var, value) in values {
            self.set_var(*var, std::mem::replace(value, Value::Void))?;
        }
        self.spend(1)
    }

    fn leave(&mut self, values: &mut [(VarId, Value)]) {
        for (var, value) in values {
            *value = self.take_var(*var);
        }
    }
}
