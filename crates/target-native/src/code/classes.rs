//! Classes of packets: what comes after the parser is compiled once for each.
//!
//! ```text
//! Before: state a { meta.app = 1; .. }  state b { meta.app = 2; .. }   -> if (meta.app == 1) A else if (meta.app == 2) B;  emit(a);  emit(b)
//! After:  state a { .. }                                               -> A;  emit(a)
//!         state b { .. }                                               -> B;  emit(b)
//!         no state of them                                             -> as before
//! ```
//!
//! A merged program stores the number of the app in its metadata as soon as it is decided, and asks for it wherever the apps differ. Most headers and fields belong to
//! one app each. In the code for a class the variable is a constant, headers that the parser has not extracted are invalid, and fields that nothing has
//! set are zero, so [`known`](super::known) leaves out what is for others. No class reads or clears the headers of another.
//!
//! A state has code for each class in which it can run:
//!
//! ```text
//! open     no class yet, but it can still be decided      headers in variables
//! class    the variable has its number                    headers in variables
//! rest     no class will be decided                       headers in the frame, as in programs without classes
//! ```
//!
//! In a short program of few headers, all packets are of one class, which has no number, and the end of the parser with the most headers has code of its own: it is
//! known which headers are valid there, and where they lie.
//!
//! Nothing is assumed about the program: constants are stored in the variable by the parser alone, and code that stores other numbers afterwards is
//! compiled as it stands. Only the code of [`Part::Whole`](super::Part) has classes: packets that are cloned, wait or are parsed again are for
//! the other parts.

use super::parser::Targets;
use super::place::Place;
use super::{Code, Made, Unable};
use crate::layout::{Kind, Node};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, InstructionData, Opcode, Value, types};
use device::stage::BlockName;
use ir::{
    BinaryOp, Const, Expr, ExprKind, Keyset, ParserState, Select, SelectCase, StateRef, Stmt, StmtKind,
    Transition, visit,
};
use std::collections::{BTreeMap, BTreeSet};

/// Classes at most, and statements of controls in all copies: code becomes as many times larger.
const MOST_CLASSES: usize = 8;
const MOST_STMTS: usize = 1 << 13;

/// Ends of a class's parser states that stay apart: there it is known which headers are valid, and where they lie.
const MOST_ENDS: usize = 2;

/// Statements of controls where all packets are of one class.
const MOST_STMTS_OF_ONE: usize = 1 << 8;

/// Comparisons of a variable from which on paths with different numbers of it stay apart.
const OFTEN: usize = 4;

/// Classes of a program's packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Classes {
    /// The variable, in the list of scalars; `None` if all packets are of one class.
    scalar: Option<usize>,
    /// For each class, its number.
    numbers: Vec<u64>,
    /// Other variables of the metadata that code often asks for.
    asked: Vec<usize>,
    /// Ends of each class that stay apart at most.
    ends: usize,
}

/// A class, or none.
type Class = Option<usize>;

/// Where the parser ends, for packets of one class.
#[derive(Clone, Copy, Debug)]
struct End {
    class: Class,
    block: Block,
}

impl<'a> Code<'a, '_> {
    /// The classes, where code for each is worth it. Frame externs continue at positions in the program's only copy.
    pub(crate) fn classes(&mut self) -> Option<Classes> {
        if !self.facts.has_classes || !self.facts.frame_externs.is_empty() {
            return None;
        }
        let (questions, stmts) = self.questions();
        self.enter(BlockName::Parser);
        let parser = self.program.parser(self.facts.parser);
        if !self.can_parse() || super::parser::is_cyclic(parser) {
            return None;
        }
        if self.has_many_headers() {
            return self.several_classes(parser, &questions, stmts);
        }
        let one = Classes { scalar: None, numbers: vec![0], asked: vec![], ends: 1 };
        (stmts <= MOST_STMTS_OF_ONE).then_some(one)
    }

    /// The classes by the variable with the most questions, of those that could give them. Programs of few headers have no use of them.
    fn several_classes(
        &self,
        parser: &'a ir::Parser,
        questions: &BTreeMap<usize, usize>,
        stmts: usize,
    ) -> Option<Classes> {
        let mut numbers: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for stmt in parser.states.iter().flat_map(|state| &state.stmts) {
            match self.stores_number(stmt) {
                Some((scalar, number)) => drop(numbers.entry(scalar).or_default().insert(number)),
                None => self.written(stmt, &mut others),
            }
        }
        numbers.retain(|scalar, of| (2..=MOST_CLASSES).contains(&of.len()) && !others.contains(scalar));
        let count = |scalar: &usize| questions.get(scalar).copied().unwrap_or(0);
        let of_class =
            *numbers.keys().filter(|scalar| count(scalar) > 1).max_by_key(|scalar| count(scalar))?;
        let numbers: Vec<u64> = numbers.remove(&of_class)?.into_iter().collect();
        let is_small = |ends: usize| stmts * (numbers.len() * (1 + ends) + 1) <= MOST_STMTS;
        let ends = [MOST_ENDS, 0].into_iter().find(|ends| is_small(*ends))?;
        let often = |scalar: &usize| count(scalar) >= OFTEN && *scalar != of_class;
        let asked = questions.keys().copied().filter(often).collect();
        Some(Classes { scalar: Some(of_class), numbers, asked, ends })
    }

    /// For each variable of the metadata, the comparisons with constants in controls; and the number of statements in these.
    fn questions(&mut self) -> (BTreeMap<usize, usize>, usize) {
        let mut metadata = BTreeSet::new();
        scalars(Some(&self.layout.roles[1]), &mut metadata);
        let (mut asked, mut stmts) = (BTreeMap::new(), 0);
        for (block, id) in &self.facts.controls {
            self.enter(*block);
            let control = self.program.control(*id);
            for body in control.actions.iter().map(|action| &action.body).chain([&control.body]) {
                visit::stmts(body, &mut |_| stmts += 1);
                visit::all_exprs(body, &mut |expr| {
                    if let ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, place, with) = &expr.kind
                        && matches!(with.kind, ExprKind::Const(_))
                        && let Some(scalar) = self.variable(place).filter(|scalar| metadata.contains(scalar))
                    {
                        *asked.entry(scalar).or_default() += 1;
                    }
                });
            }
        }
        (asked, stmts)
    }

    /// The scalar that a place is, outside of headers.
    fn variable(&self, place: &Expr) -> Option<usize> {
        match self.places().find(place)? {
            Place::Node(Node::Scalar(index)) => Some(*index),
            _ => None,
        }
    }

    /// `variable = number`
    fn stores_number(&self, stmt: &Stmt) -> Option<(usize, u64)> {
        let StmtKind::Assign(place, value) = &stmt.kind else { return None };
        let ExprKind::Const(Const::Bits(bits)) = &value.kind else { return None };
        let scalar = self.variable(place)?;
        let is_short = matches!(self.layout.scalars[scalar].kind, Kind::Bits(1..=32));
        Some((scalar, bits.to_u64().filter(|_| is_short)?))
    }

    /// The scalars that a statement may write, and perhaps more.
    fn written(&self, stmt: &Stmt, found: &mut BTreeSet<usize>) {
        match &stmt.kind {
            StmtKind::Assign(to, value) => {
                self.scalars_at(to, found);
                if let ExprKind::Call(call) = &value.kind {
                    call.args.iter().flatten().for_each(|arg| self.scalars_at(arg, found));
                }
            }
            StmtKind::Declare(var, _) => scalars(self.nodes.get(var.index()), found),
            StmtKind::Extract { .. }
            | StmtKind::Advance(..)
            | StmtKind::Verify(..)
            | StmtKind::SetValid(..) => {}
            _ => visit::exprs(stmt, &mut |expr| {
                visit::subexprs(expr, &mut |expr| self.scalars_at(expr, found))
            }),
        }
        visit::blocks(stmt, &mut |block| block.stmts.iter().for_each(|stmt| self.written(stmt, found)));
    }

    fn scalars_at(&self, place: &Expr, found: &mut BTreeSet<usize>) {
        match &place.kind {
            ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => self.scalars_at(base, found),
            _ => {
                if let Some(Place::Node(node)) = self.places().find(place) {
                    scalars(Some(node), found);
                }
            }
        }
    }

    /// A packet of a program with classes.
    pub(crate) fn each_class(&mut self, classes: &Classes) -> Made<()> {
        self.notes.classes = classes.scalar.map_or(0, |_| classes.numbers.len());
        let without = std::mem::replace(&mut self.is_in_frame, false);
        if self.has_many_headers() {
            let (touched, no) = (self.b.declare_var(types::I8), self.number(types::I8, 0));
            self.b.def_var(touched, no);
            self.touched = Some(touched);
        }
        self.begin();
        self.enter(BlockName::Parser);
        self.locals(BlockName::Parser);
        for End { class, block } in self.parse_classes(classes)? {
            self.b.seal_block(block);
            self.b.switch_to_block(block);
            let error = self.b.block_params(block)[0];
            self.set_field("parser_error", error);
            self.is_in_frame = class.is_none();
            self.stored.clear();
            let Some(class) = class else {
                self.pass(&[])?;
                continue;
            };
            if let Some(scalar) = classes.scalar {
                let number = self.number(types::I32, classes.numbers[class]);
                self.set_scalar(scalar, number);
            }
            self.pass(&classes.asked)?;
        }
        self.is_in_frame = without;
        Ok(())
    }

    fn parse_classes(&mut self, classes: &Classes) -> Made<Vec<End>> {
        let parser = self.program.parser(self.facts.parser);
        self.stmts(&parser.locals)?;
        let homes = self.header_pointers();
        let only = classes.scalar.is_none().then_some(0);
        let runs = Runs::new(parser, only, |stmt| {
            let (scalar, number) = self.stores_number(stmt)?;
            (Some(scalar) == classes.scalar).then(|| classes.numbers.iter().position(|of| *of == number))?
        });
        let ends: Vec<Block> = classes.numbers.iter().map(|_| self.end_block()).collect();
        let rest = only.map_or_else(|| self.end_block(), |class| ends[class]);
        let blocks: BTreeMap<(usize, Class), Block> =
            runs.order.iter().map(|run| (*run, self.b.create_block())).collect();
        // From open states to those of the rest and to its end: headers go to the frame on the way.
        let ways: BTreeMap<usize, Block> = runs.rest().map(|state| (state, self.b.create_block())).collect();
        let way_out = only.map_or_else(|| self.end_block(), |class| ends[class]);
        let targets = |class: Class, is_rest: bool| {
            let block = |run: (usize, Class)| match ways.get(&run.0) {
                Some(way) if class.is_none() && !is_rest => *way,
                _ => blocks.get(&run).copied().unwrap_or(rest),
            };
            let done = match class {
                Some(class) => ends[class],
                None if is_rest => rest,
                None => way_out,
            };
            Targets { states: (0..parser.states.len()).map(|state| block((state, class))).collect(), done }
        };
        let first = targets(only, false).states.first().copied();
        self.b.ins().jump(first.ok_or(Unable("a parser without states"))?, &[]);
        let mut found = Found::default();
        let (last, before): (Vec<_>, Vec<_>) = runs.order.iter().copied().partition(|run| runs.is_rest(*run));
        for run in before {
            self.room = Some(found.rooms.get(&run).copied().unwrap_or(0));
            self.parse_state(run, &runs, blocks[&run], &|class| targets(class, false), &mut found)?;
        }
        self.room = None;
        if only.is_none() {
            for (state, way) in &ways {
                self.move_headers_to_frame(*way, blocks[&(*state, None)], &homes);
            }
            self.move_headers_to_frame(way_out, rest, &homes);
            self.is_in_frame = true;
        }
        for run in last {
            self.parse_state(run, &runs, blocks[&run], &|class| targets(class, true), &mut found)?;
        }
        self.reject = None;
        let apart = self.ends_apart(found.apart, classes.ends, &ends);
        self.notes.ends = apart.len();
        let ends = ends.into_iter().enumerate().map(|(class, block)| End { class: Some(class), block });
        let rest = only.is_none().then_some(End { class: None, block: rest });
        Ok(apart.into_iter().chain(ends).chain(rest).collect())
    }

    /// For each class, those of its ends with the most headers, `most` of them. The others join the end of their class.
    fn ends_apart(&mut self, mut found: Vec<(usize, End)>, most: usize, ends: &[Block]) -> Vec<End> {
        found.sort_by_key(|(headers, _)| std::cmp::Reverse(*headers));
        let mut apart: Vec<End> = vec![];
        for (_, end) in found {
            let joined = end.class.and_then(|class| ends.get(class));
            let Some(joined) =
                joined.filter(|_| apart.iter().filter(|of| of.class == end.class).count() >= most)
            else {
                apart.push(end);
                continue;
            };
            self.b.seal_block(end.block);
            self.b.switch_to_block(end.block);
            let error = self.b.block_params(end.block)[0];
            self.b.ins().jump(*joined, &[error.into()]);
        }
        apart
    }

    /// The number of valid headers, where it is known of each whether it is valid.
    fn known_headers(&mut self) -> Option<usize> {
        let mut count = 0;
        for header in 0..self.valids.len() {
            let valid = self.header_valid(header);
            count += usize::from(self.is_known(valid)?);
        }
        Some(count)
    }

    /// The states after one, each with the number of bytes that the packet has there by ranges of its length that the state selects on.
    fn least_lengths(&mut self, state: &'a ParserState) -> Vec<(usize, i64)> {
        let Transition::Select(Select { exprs, cases }) = &state.transition else {
            return successors(state).map(|next| (next, 0)).collect();
        };
        let lengths = exprs.iter().map(|expr| self.variable(expr)).collect::<Vec<_>>();
        let lengths = lengths.into_iter().map(|scalar| scalar.is_some_and(|scalar| self.is_length(scalar)));
        let lengths: Vec<bool> = lengths.collect();
        let least = |case: &SelectCase| {
            let keys = case.keys.iter().zip(&lengths).filter(|_| case.keys.len() == lengths.len());
            keys.filter(|(_, is_length)| **is_length).filter_map(|(key, _)| least_of(key)).max().unwrap_or(0)
        };
        let next = |case: &SelectCase| match case.next {
            StateRef::State(next) => Some((next.index(), least(case))),
            StateRef::Accept | StateRef::Reject => None,
        };
        cases.iter().filter_map(next).collect()
    }

    /// True for a variable that has the number of bytes between the packet's start and its end.
    fn is_length(&mut self, scalar: usize) -> bool {
        let registers = self.layout.registers;
        let [value, start, end, length] =
            [scalar, registers.start, registers.end, registers.length].map(|index| self.scalar(index));
        let made = &self.b.func.dfg;
        let [value, start, end, length] = [value, start, end, length].map(|of| made.resolve_aliases(of));
        let inst = |of: Value| made.value_def(of).inst().map(|inst| made.insts[inst]);
        let is_value = matches!(inst(length), Some(InstructionData::Unary { opcode: Opcode::Uextend, arg })
            if made.resolve_aliases(arg) == value);
        is_value
            && matches!(inst(end), Some(InstructionData::Binary { opcode: Opcode::Iadd, args })
                if args.map(|of| made.resolve_aliases(of)) == [start, length])
    }

    /// A block with the parser's error.
    fn end_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.append_block_param(block, types::I32);
        block
    }

    /// The block `way` brings headers to the frame, and goes on.
    fn move_headers_to_frame(&mut self, way: Block, to: Block, homes: &[Value]) {
        self.b.seal_block(way);
        self.b.switch_to_block(way);
        let args: Vec<BlockArg> = self.b.block_params(way).iter().map(|arg| (*arg).into()).collect();
        self.is_in_frame = false;
        self.headers_to_frame(homes);
        self.b.ins().jump(to, &args);
    }

    /// Code of a state.
    fn parse_state(
        &mut self,
        (at, mut class): (usize, Class),
        runs: &Runs,
        block: Block,
        targets: &dyn Fn(Class) -> Targets,
        found: &mut Found,
    ) -> Made<()> {
        let state = &self.program.parser(self.facts.parser).states[at];
        self.b.seal_block(block);
        self.b.switch_to_block(block);
        self.reject = Some(targets(class).done);
        for (number, stmt) in state.stmts.iter().enumerate() {
            // Nothing is known about the packet's length on only one of the ways through a statement.
            let room = self.room.filter(|_| has_blocks(stmt));
            self.room = self.room.filter(|_| room.is_none());
            self.stmts(std::slice::from_ref(stmt))?;
            self.room = room.or(self.room);
            if let Some(decided) = runs.decided.get(&(at, number)) {
                class = Some(*decided);
                self.reject = Some(targets(class).done);
            }
        }
        if let Some(room) = self.room {
            for (next, least) in self.least_lengths(state) {
                let room = room.max(least);
                let known = found.rooms.entry((next, class)).or_insert(room);
                *known = room.min(*known);
            }
        }
        let mut targets = targets(class);
        // Where it is known which headers are valid, packets may have an end of their own.
        if class.is_some()
            && accepts(state)
            && let Some(headers) = self.known_headers()
        {
            targets.done = self.end_block();
            found.apart.push((headers, End { class, block: targets.done }));
        }
        match &state.transition {
            Transition::Goto(next) => self.go(*next, &targets),
            Transition::Select(select) => self.select(select, &targets)?,
        }
        Ok(())
    }
}

fn has_blocks(stmt: &Stmt) -> bool {
    let mut found = false;
    visit::blocks(stmt, &mut |_| found = true);
    found
}

/// Facts about the runs of states before.
#[derive(Default)]
struct Found {
    /// Ends of single runs, each with the number of headers that are valid there.
    apart: Vec<(usize, End)>,
    /// Bytes that a packet has at least, from its start on, where a run begins.
    rooms: BTreeMap<(usize, Class), i64>,
}

/// The states of a parser, for each class in which they run.
struct Runs {
    /// Before those that come after them.
    order: Vec<(usize, Class)>,
    /// Statements that decide the class.
    decided: BTreeMap<(usize, usize), usize>,
    /// States without a class from which one can be decided.
    open: BTreeSet<usize>,
}

impl Runs {
    /// The runs of a parser without cycles, of packets that begin in the class `first`.
    fn new(parser: &ir::Parser, first: Class, decides: impl Fn(&Stmt) -> Class) -> Runs {
        let mut runs = Runs { order: vec![], decided: BTreeMap::new(), open: BTreeSet::new() };
        for (at, state) in parser.states.iter().enumerate() {
            for (number, stmt) in state.stmts.iter().enumerate() {
                runs.decided.extend(decides(stmt).map(|class| ((at, number), class)));
            }
        }
        runs.visit(parser, (0, first), &mut BTreeSet::new());
        runs.order.reverse();
        for (state, class) in runs.order.clone().into_iter().rev().filter(|(_, class)| class.is_none()) {
            let after = runs.class_after(state, class);
            let goes_on = successors(&parser.states[state]).any(|next| runs.open.contains(&next));
            if after.is_some() || goes_on {
                runs.open.insert(state);
            }
        }
        runs
    }

    fn visit(&mut self, parser: &ir::Parser, run: (usize, Class), seen: &mut BTreeSet<(usize, Class)>) {
        if !seen.insert(run) {
            return;
        }
        let state = &parser.states[run.0];
        let class = self.class_after(run.0, run.1);
        for next in successors(state) {
            self.visit(parser, (next, class), seen);
        }
        self.order.push(run);
    }

    fn class_after(&self, state: usize, before: Class) -> Class {
        let mut decided = self.decided.range((state, 0)..(state + 1, 0)).map(|(_, class)| *class);
        decided.next_back().or(before)
    }

    fn is_rest(&self, (state, class): (usize, Class)) -> bool {
        class.is_none() && !self.open.contains(&state)
    }

    fn rest(&self) -> impl Iterator<Item = usize> {
        self.order.iter().filter(|run| self.is_rest(**run)).map(|(state, _)| *state)
    }
}

/// The least number of a range.
fn least_of(key: &Keyset) -> Option<i64> {
    match key {
        Keyset::Range(Expr { kind: ExprKind::Const(Const::Bits(bits)), .. }, _) => {
            bits.to_u64().and_then(|least| i64::try_from(least).ok())
        }
        _ => None,
    }
}

/// True if the parser may end after the state.
fn accepts(state: &ParserState) -> bool {
    match &state.transition {
        Transition::Goto(next) => *next == StateRef::Accept,
        Transition::Select(select) => select.cases.iter().any(|case| case.next == StateRef::Accept),
    }
}

fn successors(state: &ParserState) -> impl Iterator<Item = usize> {
    let refs: Vec<StateRef> = match &state.transition {
        Transition::Goto(next) => vec![*next],
        Transition::Select(select) => select.cases.iter().map(|case| case.next).collect(),
    };
    refs.into_iter().filter_map(|next| match next {
        StateRef::State(state) => Some(state.index()),
        StateRef::Accept | StateRef::Reject => None,
    })
}

fn scalars(node: Option<&Node>, found: &mut BTreeSet<usize>) {
    match node {
        Some(Node::Scalar(index)) => drop(found.insert(*index)),
        Some(Node::Struct(nodes) | Node::Union(nodes)) => {
            nodes.iter().for_each(|node| scalars(Some(node), found));
        }
        Some(Node::Header(_) | Node::Stack(_) | Node::Value(_) | Node::Nothing) | None => {}
    }
}
