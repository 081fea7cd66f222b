//! Parsers: states, transitions and `select` (P4-16 §12).

use crate::machine::{Arch, Machine, Scope};
use crate::packet_in::NO_MATCH;
use device::stage::Stop;
use device::trace::{EventKind, shown};
use ir::{
    ErrorId, Expr, Keyset, Parser, ParserId, ParserState, Select, SelectCase, StateId, StateRef, Transition,
    ValueSetId,
};
use ir_value::{Value, equal};

/// States in a row that take nothing from the packet before the parser counts as stuck.
const IDLE_STATES: u32 = 1024;

impl<'a, A: Arch> Machine<'a, A> {
    /// Runs the parser that the frame is set up for, from `start` to accept. An explicit `reject` has the error
    /// NoError.
    pub(crate) fn run_parser(&mut self, parser_id: ParserId, parser: &'a Parser) -> Result<(), Stop> {
        self.run(&parser.locals)?;
        // A loop of states is bounded twice: by the packet's budget, and by the number of states in a row that take no byte.
        let mut at = StateRef::State(StateId(0));
        let mut idle = 0;
        loop {
            let id = match at {
                StateRef::Accept => return A::parsed(self, parser_id),
                StateRef::Reject => return Err(Stop::Reject(ErrorId(0))),
                StateRef::State(id) => id,
            };
            let state = parser.states.get(id.index()).ok_or(Stop::Broken("an unknown state"))?;
            self.state.trace.add_at(state.span, || EventKind::State {
                parser: parser.name.clone(),
                state: state.name.clone(),
            });
            let before = self.input.position();
            self.spend(1)?;
            self.run(&state.stmts)?;
            at = match &state.transition {
                Transition::Goto(next) => {
                    if self.state.trace.on() {
                        self.trace_transition(parser, &state.name, *next, vec![], None);
                    }
                    *next
                }
                Transition::Select(select) => self.select(parser, state, select)?,
            };
            idle = if self.input.position() == before { idle + 1 } else { 0 };
            if idle > IDLE_STATES {
                return Err(Stop::ParserLoop);
            }
        }
    }

    fn select(
        &mut self,
        parser: &'a Parser,
        state: &'a ParserState,
        select: &'a Select,
    ) -> Result<StateRef, Stop> {
        let values = select.exprs.iter().map(|e| self.eval(e)).collect::<Result<Vec<_>, _>>()?;
        let mut fitting = None;
        for case in &select.cases {
            self.spend(1)?;
            if self.case_matches(case, &values)? {
                fitting = Some(case);
                break;
            }
        }
        if self.state.trace.on() {
            let shown = |(e, v): (&Expr, &Value)| (e.span, shown(self.program, &e.ty, v));
            let keys = select.exprs.iter().zip(&values).map(shown).collect();
            let next = fitting.map_or(StateRef::Reject, |case| case.next);
            self.trace_transition(parser, &state.name, next, keys, fitting.map(|case| case.span));
        }
        fitting.map(|case| case.next).ok_or(Stop::Reject(NO_MATCH))
    }

    fn case_matches(&mut self, case: &SelectCase, values: &[Value]) -> Result<bool, Stop> {
        if let [Keyset::DontCare] = case.keys.as_slice() {
            return Ok(true);
        }
        let mut rest = values;
        for key in &case.keys {
            let width = match key {
                Keyset::ValueSet(set) => self.value_set_width(*set)?,
                _ => 1,
            };
            let Some((now, later)) = rest.split_at_checked(width) else {
                return Err(Stop::Broken("a select case with too many keys"));
            };
            if !self.keyset_matches(key, now)? {
                return Ok(false);
            }
            rest = later;
        }
        if rest.is_empty() { Ok(true) } else { Err(Stop::Broken("a select case with too few keys")) }
    }

    fn keyset_matches(&mut self, key: &Keyset, values: &[Value]) -> Result<bool, Stop> {
        if let Keyset::ValueSet(set) = key {
            return self.value_set_has(*set, values);
        }
        let [value] = values else { return Err(Stop::Broken("a key without a value")) };
        match key {
            Keyset::DontCare | Keyset::ValueSet(_) => Ok(true),
            Keyset::Value(expr) => Ok(equal(&self.eval(expr)?, value)),
            Keyset::Mask(want, mask) => {
                let (want, mask) = (self.eval_bits(want)?, self.eval_bits(mask)?);
                let bits = value.as_bits().ok_or(Stop::Broken("a mask on what has no bits"))?;
                let width = bits.width();
                Ok(bits.matches(&want.resize(width), &mask.resize(width)))
            }
            Keyset::Range(lo, hi) => {
                use ir::BinaryOp::{Ge, Le};
                let (low, high) = (self.eval(lo)?, self.eval(hi)?);
                let above = self.operate(Ge, &lo.ty, value, &low)?;
                let below = self.operate(Le, &lo.ty, value, &high)?;
                Ok(above == Value::Bool(true) && below == Value::Bool(true))
            }
        }
    }

    fn running_parser(&self) -> Result<ParserId, Stop> {
        match self.frame.scope {
            Scope::Parser(id, _) => Ok(id),
            _ => Err(Stop::Broken("a value set outside a parser")),
        }
    }

    fn value_set_width(&self, set: ValueSetId) -> Result<usize, Stop> {
        let parser = self.running_parser()?;
        self.state.value_set_width(parser, set)
    }

    fn value_set_has(&self, set: ValueSetId, values: &[Value]) -> Result<bool, Stop> {
        let parser = self.running_parser()?;
        let keys: Option<Vec<_>> = values.iter().map(Value::to_key).collect();
        let keys = keys.ok_or(Stop::Broken("a value set of what has no bits"))?;
        self.state.value_set_has(parser, set, &keys)
    }
}
