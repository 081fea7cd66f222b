//! The parser's states for hand-overs.
//!
//! ```text
//! start                 select(ingress_port) { p4rack_links: p4rack_peek; default: p4rack_own | the program's start }
//! p4rack_own            select(instance_type) { recirculated: p4rack_peek; default: the program's start }
//! p4rack_peek           select(lookahead EtherType) { ours: p4rack_hand_over; default: the program's start }
//! p4rack_hand_over      region = unknown; extract(p4rack)
//!                       select(version, app, epoch, region) { known: p4rack_at_SECTION; default: accept }
//!                                                                 sent on from here: p4rack_sent_on;
//! p4rack_sent_on        region = p4rack.region; leaving = 1; accept: all that follows is payload
//! p4rack_at_SECTION     extract(p4rack_SECTION)
//! p4rack_has_HEADER     select(p4rack.has_HEADER) { 1: p4rack_get_HEADER; default: the next }
//! p4rack_done           region = p4rack.region
//! ```

use crate::arch;
use crate::generate::Generator;
use crate::layout::{EPOCH_BITS, ETHER_TYPE, ETHERNET_BITS, VERSION};
use crate::place::HeaderIndex;
use crate::policy::OwnFrame;
use crate::routes::Leg;
use crate::runtime::parser::{case, select};
use crate::section::SectionId;
use base_diag::Span;
use ir::{
    Expr, ExprKind, Keyset, ParserState, Role, SelectCase, StateId, StateRef, Stmt, StmtKind, Transition,
    Type, ValueSetId, VarId, build,
};
use p4_arch::v1model::instance_type::{RECIRCULATED, RESUBMITTED};
use p4_arch::{Duty, Meaning};

impl Generator<'_> {
    /// Adds the states above and makes the program's own start one of them.
    pub fn add_parser_states(&mut self) {
        let entered = self.entered_here_by(true);
        let sent_on = self.sent_on();
        let parser_id = self.cut.parser;
        let links = self.links();
        if entered.is_empty() && sent_on.is_empty() {
            return;
        }
        let set = self.add_link_set("links", &links);
        let own_start = if self.parses_packets() { self.rename_start() } else { StateRef::Accept };
        let mut states = States { first: self.out.parser(parser_id).states.len() as u32, list: vec![] };
        let headers: Vec<_> = self.cut.places.of_packet().map(|(index, _)| index).collect();
        // Numbers are given out in this order below.
        let peek = states.reserve();
        let hand_over = states.reserve();
        let at: Vec<_> = entered.iter().map(|_| states.reserve()).collect();
        let has: Vec<_> = headers.iter().map(|_| states.reserve()).collect();
        let get: Vec<_> = headers.iter().map(|_| states.reserve()).collect();
        let originals = self.cut.originals.to_vec();
        let has_original: Vec<_> = originals.iter().map(|_| states.reserve()).collect();
        let get_original: Vec<_> = originals.iter().map(|_| states.reserve()).collect();
        let pads = self.pad.map(|_| (states.reserve(), states.reserve()));
        let done = states.reserve();
        let passes = (!sent_on.is_empty()).then(|| states.reserve());
        let ended = self.own_frame().map(|_| states.reserve());
        let last = pads.map_or(done, |(has, _)| has);
        let behind = has_original.first().copied().unwrap_or(last);
        states.list.push(self.peek_state(hand_over, own_start));
        states.list.push(self.hand_over_state(&entered, &at, &sent_on, passes, ended));
        let first_header = has.first().copied().unwrap_or(behind);
        for &id in &entered {
            states.list.push(self.section_state(id, first_header));
        }
        let next_of = |n: usize| has.get(n + 1).copied().unwrap_or(behind);
        for (n, &index) in headers.iter().enumerate() {
            let state = self.has_state(index, get[n], next_of(n));
            states.list.push(state);
        }
        for (n, &index) in headers.iter().enumerate() {
            let state = self.get_state(index, next_of(n));
            states.list.push(state);
        }
        let next_of = |n: usize| has_original.get(n + 1).copied().unwrap_or(last);
        for (n, &index) in originals.iter().enumerate() {
            let state = self.has_original_state(index, get_original[n], next_of(n));
            states.list.push(state);
        }
        for (n, &index) in originals.iter().enumerate() {
            let state = self.get_original_state(index, next_of(n));
            states.list.push(state);
        }
        if let (Some((_, get)), Some(pad)) = (pads, self.pad) {
            states.list.push(self.has_one("has_pad", "has_pad", get, done));
            let mut stmts = vec![self.extract(self.header_field(Duty::Parse, pad))];
            if let Some(short) = self.short {
                let short = build::field(self.metadata(Duty::Parse), short, Type::Bit(1));
                stmts.push(build::assign(short, build::bits(1, 1)));
            }
            states.list.push(self.state("get_pad", stmts, Transition::Goto(done)));
        }
        states.list.push(self.done_state());
        states.list.extend(passes.map(|_| self.sent_on_state()));
        states.list.extend(ended.map(|_| self.ended_state()));
        let start = self.start_state(set, peek, own_start, &mut states);
        let parser = &mut self.out.parsers[parser_id.index()];
        parser.states.extend(states.list);
        parser.states[0] = start;
    }

    /// Ordinary frames are dropped at a helper, but frames returned by a frame extern and hand-overs without a header must be parsed.
    fn parses_packets(&self) -> bool {
        self.is_origin() || self.has_frame_externs() || !self.entered_here_by(false).is_empty()
    }

    fn has_frame_externs(&self) -> bool {
        arch::first_frame_extern(&self.out).is_some()
    }

    /// Ports by which hand-overs come to this device.
    fn links(&self) -> Vec<u64> {
        let is_into = |leg: &&Leg| leg.to == self.device && self.cut.placement.has_header(leg.from, leg.to);
        let into = self.cut.routes.legs.iter().filter(is_into);
        let port = |leg: &Leg| self.cut.placement.ports.get(&(self.device, leg.from)).copied();
        let mut ports: Vec<u64> = into.filter_map(port).collect();
        let (sections, placement) = (self.cut.sections, self.cut.placement);
        let hears =
            |id: &SectionId| self.cut.policies.iter().any(|policy| policy.hears(*id, sections, placement));
        let back = self.entered_from_here().into_iter().filter(hears);
        let back = back.flat_map(|id| placement.players(sections.get(id).device));
        ports.extend(back.filter_map(|target| placement.ports.get(&(self.device, target)).copied()));
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// The parser's start state: recognises frames from a link, and frames that egress has packed. A packet that the
    /// program recirculates shows port 0 and is never a hand-over.
    fn start_state(
        &self,
        set: ValueSetId,
        peek: StateRef,
        own: StateRef,
        states: &mut States,
    ) -> ParserState {
        let kind = || self.standard(Duty::Parse, Meaning::Kind);
        let number = |n: u32| Keyset::Value(build::bits(32, u64::from(n)));
        let again = self.recirculates().then(|| {
            let (value, expected) = match self.packed {
                Some((field, _)) => {
                    (build::field(self.metadata(Duty::Parse), field, Type::Bit(1)), build::bits(1, 1))
                }
                None => (kind(), build::bits(32, u64::from(RECIRCULATED))),
            };
            let cases = vec![case(Keyset::Value(expected), peek), case(Keyset::DontCare, own)];
            let state = self.state("own", vec![], select(vec![value], cases));
            (states.reserve(), states.list.push(state)).0
        });
        let port = self.standard(Duty::Parse, Meaning::InPort);
        let around = self.is_origin() && self.sends_around();
        let otherwise = if around { own } else { again.unwrap_or(own) };
        let cases = vec![case(Keyset::ValueSet(set), peek), case(Keyset::DontCare, otherwise)];
        let by_port = self.state("port", vec![], select(vec![port], cases));
        let start = match around {
            false => by_port,
            true => {
                let by_port = (states.reserve(), states.list.push(by_port)).0;
                let cases = vec![
                    case(number(RECIRCULATED), again.unwrap_or(own)),
                    case(number(RESUBMITTED), own),
                    case(Keyset::DontCare, by_port),
                ];
                self.state("start", vec![], select(vec![kind()], cases))
            }
        };
        let passes_again = self.cut.policies.iter().any(|policy| policy.passes_again(self.cut, self.device));
        let start = match passes_again {
            false => start,
            true => {
                let by_port = (states.reserve(), states.list.push(start)).0;
                let cases = vec![case(number(RESUBMITTED), peek), case(Keyset::DontCare, by_port)];
                self.state("start", vec![], select(vec![kind()], cases))
            }
        };
        // A packet that a frame extern gives back comes through here in the middle of a section.
        let start = match self.has_frame_externs() {
            false => start,
            true => {
                let named = ParserState { name: self.own("frame"), ..start };
                let start = (states.reserve(), states.list.push(named)).0;
                let fresh = Keyset::Value(self.region_value(0));
                let cases = vec![case(fresh, start), case(Keyset::DontCare, own)];
                self.state("start", vec![], select(vec![self.region_of(Duty::Parse)], cases))
            }
        };
        ParserState { name: "start".into(), ..start }
    }

    fn peek_state(&self, hand_over: StateRef, own: StateRef) -> ParserState {
        let lookahead = build::expr(ExprKind::Lookahead(self.packet()), Type::Bit(ETHERNET_BITS));
        let ether_type =
            build::expr(ExprKind::Slice { base: Box::new(lookahead), hi: 15, lo: 0 }, Type::Bit(16));
        let ours = build::bits(16, u64::from(ETHER_TYPE));
        let cases = vec![case(Keyset::Value(ours), hand_over), case(Keyset::DontCare, own)];
        self.state("peek", vec![], select(vec![ether_type], cases))
    }

    fn hand_over_state(
        &self,
        entered: &[SectionId],
        at: &[StateRef],
        sent_on: &[(SectionId, Option<u64>)],
        passes: Option<StateRef>,
        ended: Option<StateRef>,
    ) -> ParserState {
        let unknown = self.region_value(self.cut.layout.unknown_region);
        let stmts = vec![
            build::assign(self.region_of(Duty::Parse), unknown),
            self.extract(self.header_field(Duty::Parse, self.common)),
        ];
        let field = |name: &str| self.named_field(self.header_field(Duty::Parse, self.common), name);
        let mut exprs = vec![field("version"), field("app"), field("epoch"), field("region")];
        // Only an origin that forwards to other origins reads the origin's number.
        let has_origin = sent_on.iter().any(|(_, origin)| origin.is_some());
        exprs.extend(has_origin.then(|| field("origin")));
        let own = self.own_frame();
        exprs.extend(own.map(|own| field(own.field)));
        let placement = self.cut.placement;
        let known = |id: SectionId, origin: Option<u64>, kind: Option<u64>, next: StateRef| {
            let values = [VERSION, placement.app, placement.epoch % (1 << EPOCH_BITS), u64::from(id.0)];
            let values = values.map(Some).into_iter().chain(has_origin.then_some(origin)).chain([kind]);
            let widths = exprs.iter().map(|e| if let Type::Bit(n) = e.ty { n } else { 0 });
            let key = |(value, width): (Option<u64>, u32)| {
                value.map_or(Keyset::DontCare, |value| Keyset::Value(build::bits(width, value)))
            };
            SelectCase { keys: values.zip(widths).map(key).collect(), next, span: Span::NONE }
        };
        let others = sent_on.iter().filter_map(|&(id, origin)| Some(known(id, origin, None, passes?)));
        let mine = placement.origin_number(self.device).filter(|_| has_origin);
        let packet = own.map(|own| own.packet);
        let frames = entered.iter().filter_map(|&id| Some(known(id, mine, Some(own?.own), ended?)));
        let entered = entered.iter().zip(at).map(|(&id, &next)| known(id, mine, packet, next));
        let mut cases: Vec<_> = entered.chain(frames).chain(others).collect();
        cases.push(case(Keyset::DontCare, StateRef::Accept));
        self.state("hand_over", stmts, select(exprs, cases))
    }

    fn section_state(&self, id: SectionId, next: StateRef) -> ParserState {
        let header = self.of_section.get(&id).map(|&number| self.header_field(Duty::Parse, number));
        let extract = header.map(|header| self.extract(header)).into_iter().collect();
        self.state(&format!("at_{}", self.identifier(id)), extract, Transition::Goto(next))
    }

    fn has_state(&self, index: HeaderIndex, get: StateRef, next: StateRef) -> ParserState {
        let name = format!("has_{}", self.cut.places.header(index).name);
        self.has_one(&name, &name, get, next)
    }

    fn has_original_state(&self, index: HeaderIndex, get: StateRef, next: StateRef) -> ParserState {
        let name = &self.cut.places.header(index).name;
        self.has_one(&format!("has_original_{name}"), &format!("orig_{name}"), get, next)
    }

    /// `select(p4rack.FIELD) { 1: get; default: next }`
    fn has_one(&self, state: &str, field: &str, get: StateRef, next: StateRef) -> ParserState {
        let has = self.named_field(self.header_field(Duty::Parse, self.common), field);
        let cases = vec![case(Keyset::Value(build::bits(1, 1)), get), case(Keyset::DontCare, next)];
        self.state(state, vec![], select(vec![has], cases))
    }

    fn get_state(&self, index: HeaderIndex, next: StateRef) -> ParserState {
        let of = &self.cut.places.header(index).name;
        let header = self.program_header(Duty::Parse, index);
        let length = self.varbit_length(Duty::Parse, index);
        let stmts = self.extract_sent(header, length, &format!("len_{of}"));
        self.state(&format!("get_{of}"), stmts, Transition::Goto(next))
    }

    fn get_original_state(&self, index: HeaderIndex, next: StateRef) -> ParserState {
        let of = &self.cut.places.header(index).name;
        let header = self.header_field(Duty::Parse, self.originals[&index]);
        let length = self.original_length(Duty::Parse, index);
        let stmts = self.extract_sent(header, length, &format!("orig_len_{of}"));
        self.state(&format!("get_original_{of}"), stmts, Transition::Goto(next))
    }

    /// Extracts a header; one with a varbit as long as the hand-over says in `field`, which goes to `length`.
    fn extract_sent(&self, header: Expr, length: Option<Expr>, field: &str) -> Vec<Stmt> {
        let Some(length) = length else { return vec![self.extract(header)] };
        let sent = self.named_field(self.header_field(Duty::Parse, self.common), field);
        let sent = build::cast(sent, Type::Bit(32));
        let extract = StmtKind::Extract { packet: self.packet(), header, varbit_bits: Some(sent.clone()) };
        vec![build::stmt(extract), build::assign(length, sent)]
    }

    fn sent_on_state(&self) -> ParserState {
        let region = self.named_field(self.header_field(Duty::Parse, self.common), "region");
        let stmts = vec![
            build::assign(self.region_of(Duty::Parse), region),
            build::assign(self.leaving_of(Duty::Parse), build::bits(1, 1)),
        ];
        self.state("sent_on", stmts, Transition::Goto(StateRef::Accept))
    }

    /// A frame of a policy's own: nothing of the program runs.
    fn ended_state(&self) -> ParserState {
        let ended = self.region_value(self.cut.layout.ended_region);
        let stmts = vec![build::assign(self.region_of(Duty::Parse), ended)];
        self.state("ended", stmts, Transition::Goto(StateRef::Accept))
    }

    fn own_frame(&self) -> Option<OwnFrame> {
        self.cut.policies.iter().find_map(|policy| policy.own_frame(self.cut.placement, self.device))
    }

    fn done_state(&self) -> ParserState {
        let region = self.named_field(self.header_field(Duty::Parse, self.common), "region");
        let mut stmts = vec![build::assign(self.region_of(Duty::Parse), region)];
        if let Some(restart) = &self.cut.effects.restart {
            let resumed = build::field(self.metadata(Duty::Parse), restart.resumed, Type::Bit(1));
            stmts.push(build::assign(resumed, build::bits(1, 1)));
        }
        self.state("done", stmts, Transition::Goto(StateRef::Accept))
    }

    fn extract(&self, header: Expr) -> Stmt {
        build::stmt(StmtKind::Extract { packet: self.packet(), header, varbit_bits: None })
    }

    fn packet(&self) -> VarId {
        self.sure_role_var(Duty::Parse, Role::Packet)
    }
}

/// New states, numbered as they are reserved and listed in the same order.
struct States {
    first: u32,
    list: Vec<ParserState>,
}

impl States {
    fn reserve(&mut self) -> StateRef {
        let id = StateRef::State(StateId(self.first));
        self.first += 1;
        id
    }
}
