//! The states that find the app of a packet, from the bytes that all classes look at.
//!
//! ```text
//! start ──> class_start ──> class_ethernet ──┬──> class_vlan ──> ...
//!           (length)        (type)           ├──> class_ipv4 ──> class_of_ipv4_tcp   select(ingress_port, ...) { rows }
//!                                            └──> class_of_other
//! ```
//!
//! Nothing is extracted: fields are read by lookahead, and each lookahead follows a test of the packet's length. Where
//! all further states would lead to one and the same, they are left out.

use base_bits::Bits;
use base_diag::Span;
use ir::{
    Expr, ExprKind, Keyset, Name, ParserState, Select, SelectCase, StateId, StateRef, Stmt, Transition, Type,
    Var, VarId, build,
};
use std::collections::BTreeMap;
use traffic_classes::{Class, Field, L3, L4, Layer, Row, Shape, TooComplex};

/// The classifier under construction.
pub struct Classifier<'a> {
    /// The parser's states; the classifier appends its own.
    pub states: &'a mut Vec<ParserState>,
    /// The parser's variables, likewise.
    pub vars: &'a mut Vec<Var>,
    /// Declarations of the variables.
    pub locals: &'a mut Vec<Stmt>,
    pub packet: VarId,
    /// `standard_metadata.ingress_port` and `standard_metadata.packet_length`.
    pub port: Expr,
    pub length: Expr,
    /// Classes in the order in which they are asked, each with the state to go to.
    pub classes: Vec<(Class, StateRef)>,
    /// Where packets of no class go.
    pub none: StateRef,
    /// Decisions that exist: statements and cases by state.
    known: BTreeMap<String, StateRef>,
}

/// Position of headers in the packet, in bytes. The EtherType is in the two bytes before the network header, behind a VLAN tag if there is one.
#[derive(Clone, Copy)]
struct Offsets {
    network: u32,
    transport: u32,
}

impl Offsets {
    /// Offsets for a decision that looks at nothing behind the EtherType.
    const fn link(network: u32) -> Offsets {
        Offsets { network, transport: network }
    }
}

impl<'a> Classifier<'a> {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        states: &'a mut Vec<ParserState>,
        vars: &'a mut Vec<Var>,
        locals: &'a mut Vec<Stmt>,
        packet: VarId,
        (port, length): (Expr, Expr),
        classes: Vec<(Class, StateRef)>,
        none: StateRef,
    ) -> Classifier<'a> {
        Classifier { states, vars, locals, packet, port, length, classes, none, known: BTreeMap::new() }
    }

    /// The state to begin with.
    pub fn build(&mut self) -> Result<StateRef, TooComplex> {
        let layer = self.classes.iter().map(|(class, _)| class.layer()).max().unwrap_or(Layer::Port);
        let short = Shape { ethernet: false, vlan: false, l3: L3::Other, l4: L4::Other };
        let short = self.decide(short, Offsets::link(14), "short")?;
        if layer == Layer::Port {
            return Ok(short);
        }
        let link = self.link(false, layer)?;
        if link == short {
            return Ok(link);
        }
        let cases = vec![(vec![self.at_least(14)], link), (vec![Keyset::DontCare], short)];
        Ok(self.state("class_start", vec![], vec![self.length.clone()], cases))
    }

    /// Looks at the EtherType.
    fn link(&mut self, vlan: bool, layer: Layer) -> Result<StateRef, TooComplex> {
        // Bytes of the Ethernet header, with and without an 802.1Q tag.
        let start = if vlan { 18 } else { 14 };
        let shape = |l3, l4| Shape { ethernet: true, vlan, l3, l4 };
        let prefix = if vlan { "vlan_" } else { "" };
        let other =
            self.decide(shape(L3::Other, L4::Other), Offsets::link(start), &format!("{prefix}other"))?;
        let mut cases = vec![];
        let case = |ether_type: u64, least: u32| vec![value(16, ether_type), self.at_least(least)];
        if !vlan {
            let keys = case(0x8100, 18);
            cases.push((keys, self.link(true, layer)?));
        }
        if layer >= Layer::Network {
            for (l3, name, ether_type, length) in
                [(L3::Ipv4, "ipv4", 0x0800, 20), (L3::Ipv6, "ipv6", 0x86dd, 40)]
            {
                let keys = vec![value(16, ether_type), self.at_least(start + length)];
                let network = format!("{prefix}{name}");
                cases.push((keys, self.network(shape(l3, L4::Other), layer, start, &network)?));
            }
        }
        cases.retain(|(_, next)| *next != other);
        if cases.is_empty() {
            return Ok(other);
        }
        cases.push((vec![Keyset::DontCare], other));
        let ether_type = self.read(start - 2, 16);
        let name = if vlan { "class_vlan" } else { "class_ethernet" };
        Ok(self.state(name, vec![], vec![ether_type, self.length.clone()], cases))
    }

    /// Looks for the ports of TCP and UDP.
    fn network(
        &mut self,
        shape: Shape,
        layer: Layer,
        start: u32,
        name: &str,
    ) -> Result<StateRef, TooComplex> {
        let at = |transport: u32| Offsets { network: start, transport };
        let other = self.decide(shape, at(start), name)?;
        if layer < Layer::Transport {
            return Ok(other);
        }
        let mut cases = vec![];
        // Length of the network header in words, or nothing where it is fixed.
        let lengths: Vec<Option<u32>> =
            if shape.l3 == L3::Ipv4 { (5..=15).map(Some).collect() } else { vec![None] };
        for words in lengths {
            let transport = start + words.map_or(40, |words| 4 * words);
            for (l4, l4_name, protocol) in [(L4::Tcp, "tcp", 6), (L4::Udp, "udp", 17)] {
                let options =
                    words.filter(|words| *words > 5).map_or(String::new(), |words| format!("_{words}"));
                let name = format!("{name}_{l4_name}{options}");
                let next = self.decide(Shape { l4, ..shape }, at(transport), &name)?;
                let mut keys = vec![value(8, protocol), self.at_least(transport + 4)];
                if let Some(words) = words {
                    keys.insert(0, Keyset::Mask(build::bits(8, words.into()), build::bits(8, 0xf)));
                    keys.insert(1, Keyset::Mask(build::bits(16, 0), build::bits(16, 0x1fff)));
                }
                cases.push((keys, next));
            }
        }
        cases.retain(|(_, next)| *next != other);
        if cases.is_empty() {
            return Ok(other);
        }
        cases.push((vec![Keyset::DontCare], other));
        let exprs = match shape.l3 {
            L3::Ipv4 => {
                vec![
                    self.read(start, 8),
                    self.read(start + 6, 16),
                    self.read(start + 9, 8),
                    self.length.clone(),
                ]
            }
            _ => vec![self.read(start + 6, 8), self.length.clone()],
        };
        Ok(self.state(&format!("class_{name}"), vec![], exprs, cases))
    }

    /// The decision for packets of one shape: an app, or a state that selects on the fields that classes look at.
    fn decide(&mut self, shape: Shape, at: Offsets, name: &str) -> Result<StateRef, TooComplex> {
        let mut rows: Vec<(Row, StateRef)> = vec![];
        for (class, next) in &self.classes {
            rows.extend(class.rows(shape)?.into_iter().map(|row| (row, *next)));
        }
        if let Some(all) = rows.iter().position(|(row, _)| row.0.is_empty()) {
            rows.truncate(all + 1);
        }
        // The last rows need not differ from the rows after them.
        let rest = match rows.last() {
            Some((row, next)) if row.0.is_empty() => *next,
            _ => self.none,
        };
        while rows.last().is_some_and(|(_, next)| *next == rest) {
            rows.pop();
        }
        if rows.is_empty() {
            return Ok(rest);
        }
        let mut fields: Vec<Field> = rows.iter().flat_map(|(row, _)| row.0.keys().copied()).collect();
        fields.sort_unstable();
        fields.dedup();
        let key = format!("{:?}", (fields.iter().map(|f| place(*f, at)).collect::<Vec<_>>(), &rows, rest));
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let (mut stmts, mut exprs) = (vec![], vec![]);
        for field in &fields {
            exprs.push(match place(*field, at) {
                None => build::cast(self.port.clone(), Type::Bit(9)),
                Some((byte, shift)) => {
                    let read = self.read_bits(byte * 8 + shift, field.width());
                    let local = self.local(*field);
                    stmts.push(build::assign(local.clone(), read));
                    local
                }
            });
        }
        let keys = |row: &Row| fields.iter().map(|field| keyset(*field, row.0.get(field).copied())).collect();
        let mut cases: Vec<(Vec<Keyset>, StateRef)> =
            rows.iter().map(|(row, next)| (keys(row), *next)).collect();
        cases.push((vec![Keyset::DontCare], rest));
        let state = self.state(&format!("class_of_{name}"), stmts, exprs, cases);
        self.known.insert(key, state);
        Ok(state)
    }

    /// The variable of a field.
    fn local(&mut self, field: Field) -> Expr {
        let name = Name::from(format!("class_{}", field.name().replace('.', "_")));
        let known = self.vars.iter().position(|var| var.name == name);
        let var = match known {
            Some(known) => VarId::from(known),
            None => {
                let var = build::local(self.vars, &name, Type::Bit(field.width()), Span::NONE);
                self.locals.push(build::declare(var, None));
                var
            }
        };
        build::var_of(self.vars, var)
    }

    /// Bits of the packet from a byte on.
    fn read(&self, byte: u32, width: u32) -> Expr {
        self.read_bits(byte * 8, width)
    }

    fn read_bits(&self, start: u32, width: u32) -> Expr {
        let all = build::expr(ExprKind::Lookahead(self.packet), Type::Bit(start + width));
        if start == 0 {
            return all;
        }
        build::expr(ExprKind::Slice { base: Box::new(all), hi: width - 1, lo: 0 }, Type::Bit(width))
    }

    fn at_least(&self, bytes: u32) -> Keyset {
        Keyset::Range(build::bits(32, bytes.into()), build::bits(32, u32::MAX.into()))
    }

    fn state(
        &mut self,
        name: &str,
        stmts: Vec<Stmt>,
        exprs: Vec<Expr>,
        cases: Vec<(Vec<Keyset>, StateRef)>,
    ) -> StateRef {
        let case = |(keys, next)| SelectCase { keys, next, span: Span::NONE };
        let transition = Transition::Select(Select { exprs, cases: cases.into_iter().map(case).collect() });
        StateRef::State(add_state(self.states, name, stmts, transition))
    }
}

/// Appends a state.
pub fn add_state(
    states: &mut Vec<ParserState>,
    name: &str,
    stmts: Vec<Stmt>,
    transition: Transition,
) -> StateId {
    let is_free = |name: &String| !states.iter().any(|state| state.name == *name);
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    let name = std::iter::once(name.to_string()).chain(numbered).find(is_free).unwrap_or_default();
    states.push(ParserState { name: name.into(), stmts, transition, annotations: vec![], span: Span::NONE });
    StateId::from(states.len() - 1)
}

fn value(width: u32, value: u64) -> Keyset {
    Keyset::Value(build::bits(width, value))
}

/// Byte and bit at which a field begins; `None` for the port.
fn place(field: Field, at: Offsets) -> Option<(u32, u32)> {
    let network = at.network;
    Some(match field {
        Field::Port => return None,
        Field::EthernetDst => (0, 0),
        Field::EthernetSrc => (6, 0),
        Field::EthernetType => (network - 2, 0),
        Field::VlanPriority => (14, 0),
        Field::VlanId => (14, 4),
        Field::Ipv4Protocol => (network + 9, 0),
        Field::Ipv4Src => (network + 12, 0),
        Field::Ipv4Dst => (network + 16, 0),
        Field::Ipv6Protocol => (network + 6, 0),
        Field::Ipv6Src => (network + 8, 0),
        Field::Ipv6Dst => (network + 24, 0),
        Field::L4Src => (at.transport, 0),
        Field::L4Dst => (at.transport + 2, 0),
    })
}

/// The shortest keyset for a range.
fn keyset(field: Field, range: Option<(u128, u128)>) -> Keyset {
    let bits = |value: u128| {
        let bits = Bits::new(field.width(), value);
        build::expr(ExprKind::Const(ir::Const::Bits(bits)), Type::Bit(field.width()))
    };
    match range {
        None => Keyset::DontCare,
        Some((lo, hi)) if lo == hi => Keyset::Value(bits(lo)),
        Some((lo, hi)) => {
            let host = hi ^ lo;
            let is_prefix = host & (host + 1) == 0 && lo & host == 0;
            match is_prefix {
                true => Keyset::Mask(bits(lo), bits(field.max() & !host)),
                false => Keyset::Range(bits(lo), bits(hi)),
            }
        }
    }
}
