//! Layout of a packet's state while compiled code runs it.
//!
//! ```text
//! scalar          a variable of the code generator; a home in the frame for when others look at it
//! header          its bytes as on the wire: in the packet where it was extracted, else at its home in the frame;
//!                 a pointer and a validity, which are variables with homes too (with many headers: only in the frame)
//! stack, array    elements in the frame, one after the other; next is a variable
//! the rest        (wide and variable-length fields on their own, stacks of unions, ...) a value of the interpreter's,
//!                 which only the interpreter touches
//! ```
//!
//! A *frame* is a piece of memory of fixed size that one packet after the other uses.

use device::Blocks;
use device::stage::BlockName;
use ir::{Arch, Carried, Field, InstanceId, Program, Type, TypeKind};
use std::collections::BTreeMap;

/// The greatest frame; programs that need more are left to the interpreter.
const MOST_BYTES: usize = 1 << 20;

/// Bytes that stay zero, and bytes that are never read: the targets of accesses to elements out of range.
const NOWHERE: usize = 4096;

/// Kinds of scalars.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// An unsigned number of this width, at most 128 bits where code computes with it.
    Bits(u32),
    Bool,
    Error,
    Enum,
}

impl Kind {
    /// Bits of its value as a number.
    pub(crate) fn width(self) -> u32 {
        match self {
            Kind::Bits(width) => width,
            Kind::Bool => 1,
            Kind::Error | Kind::Enum => 32,
        }
    }

    /// Bytes of a slot for it.
    pub(crate) fn slot(self) -> usize {
        match self.width() {
            0..=32 => 4,
            33..=64 => 8,
            _ => 16,
        }
    }
}

/// The kind of a scalar type of up to 128 bits.
pub(crate) fn kind_of(program: &Program, ty: &Type) -> Option<Kind> {
    match program.representation(ty) {
        Type::Bit(n) | Type::Int(n) if *n <= 128 => Some(Kind::Bits(*n)),
        Type::Bool => Some(Kind::Bool),
        Type::Error => Some(Kind::Error),
        Type::Named(id) if matches!(program.type_decl(*id).kind, TypeKind::Enum(_)) => Some(Kind::Enum),
        _ => None,
    }
}

/// Location of a value.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// In [`Layout::scalars`].
    Scalar(usize),
    /// In [`Layout::headers`].
    Header(usize),
    /// A struct.
    Struct(Vec<Node>),
    /// A header union.
    Union(Vec<Node>),
    Stack(Stack),
    /// In [`Layout::values`].
    Value(usize),
    /// Stands for a packet.
    Nothing,
}

/// A scalar that is no part of another value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar {
    pub(crate) kind: Kind,
    pub(crate) home: i32,
}

/// A header that is no part of another value.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) shape: Shape,
    /// Offset of the bytes if they are not in the packet.
    pub(crate) home: i32,
    /// Home of the pointer to its bytes.
    pub(crate) pointer: i32,
    /// Home of its validity.
    pub(crate) valid: i32,
    /// Among the scalars, how many bytes its varbit has, if it has one.
    pub(crate) varbit: Option<usize>,
}

/// Layout of a header in its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) parts: Vec<Part>,
    /// Without its varbit.
    pub(crate) bits: u32,
    pub(crate) varbit: Option<Varbit>,
}

/// The varbit of a header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Varbit {
    /// Offset in bits from the header's start.
    pub(crate) at: u32,
    /// Maximum width in bits.
    pub(crate) bits: u32,
}

impl Shape {
    /// Without its varbit.
    pub(crate) fn bytes(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// With its varbit at its longest.
    pub(crate) fn most_bytes(&self) -> usize {
        self.bytes() + self.varbit.map_or(0, |varbit| varbit.bits as usize / 8)
    }

    /// True if where a part begins is always the same.
    pub(crate) fn is_fixed(&self, part: &Part) -> bool {
        let first = part.first();
        self.varbit.is_none_or(|varbit| first.is_some_and(|at| at < varbit.at))
    }

    /// True if it is whole bytes.
    pub(crate) fn is_even(&self) -> bool {
        self.bits.is_multiple_of(8)
    }
}

/// A field of a header, or a struct in it.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Offset in bits from the header's start, not counting varbits, and kind.
    Field(u32, Kind),
    Struct(Vec<Part>),
    /// See [`Shape::varbit`].
    Varbit,
}

impl Part {
    /// Offset of the first field; `None` if that is a varbit.
    fn first(&self) -> Option<u32> {
        match self {
            Part::Field(at, _) => Some(*at),
            Part::Struct(parts) => parts.first()?.first(),
            Part::Varbit => None,
        }
    }
}

/// A header stack or an array.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) base: i32,
    pub(crate) stride: i32,
    pub(crate) size: u32,
    /// Among the scalars.
    pub(crate) next: usize,
    pub(crate) elem: Elem,
}

/// An element.
#[derive(Clone, Debug)]
pub(crate) enum Elem {
    /// Bytes of the header, followed at the end of the element by its validity in one byte.
    Header(Shape),
    Scalar(Kind),
}

impl Stack {
    /// Offset of the validity in an element.
    pub(crate) fn valid(&self) -> i32 {
        self.stride - 1
    }
}

/// Memory that every program has beside its variables. Homes only; see [`Layout`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Homes {
    /// Not 0 if a home of a header may have a byte that is not zero; see [`Code::zero_roles`](crate::code::Code::zero_roles).
    pub(crate) touched: i32,
    /// The validity of each header, one after the other.
    pub(crate) valids: i32,
    /// A byte for each header; 1: its pointer is to its home, where pointers are only in the frame.
    pub(crate) at_home: i32,
    /// Words in which keys of tables and value sets, and arguments for the interpreter, are put together.
    pub(crate) keys: i32,
    /// Bytes in which data for hashes, and headers to be emitted, are put together.
    pub(crate) scratch: i32,
    /// Bytes that are always zero.
    pub(crate) zeros: i32,
    /// Bytes that are never read.
    pub(crate) trash: i32,
}

/// A frame, and where the variables of each block are in it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) headers: Vec<Header>,
    /// Types of the values that only the interpreter touches.
    pub(crate) values: Vec<Type>,
    /// Headers, metadata, standard metadata.
    pub(crate) roles: [Node; 3],
    /// The variables of each block.
    pub(crate) blocks: Vec<(BlockName, Vec<Node>)>,
    /// Stacks and arrays: from, to. They are zero when a packet comes.
    pub(crate) arrays: (i32, i32),
    pub(crate) registers: Registers,
    /// The scalar that gives the length for counters in ingress and egress; `None` for the packet's length.
    pub(crate) counted: Option<usize>,
    /// State of half of PSA or TNA.
    pub(crate) half: Option<HalfHomes>,
    pub(crate) homes: Homes,
    pub(crate) bytes: usize,
    /// Bytes of the scratch.
    pub(crate) scratch_bytes: usize,
}

/// State of half of PSA or TNA, most of it among the scalars.
#[derive(Clone, Debug)]
pub(crate) struct HalfHomes {
    /// Metadata that packets carry, for each path that has any.
    pub(crate) carried: Vec<(Carried, Node)>,
    /// Ones' complement sums of `InternetChecksum`s, and of TNA's `Checksum`s.
    pub(crate) sums: BTreeMap<InstanceId, usize>,
    /// TNA's `ParserCounter`s.
    pub(crate) counters: BTreeMap<InstanceId, usize>,
    /// TNA's intrinsic metadata, each by its type: one for all blocks.
    pub(crate) intrinsic: Vec<(Type, Node)>,
    /// The address of the direct counter of the last table application in the block, of the entry or of the default
    /// action; 0 if there is none.
    pub(crate) counter: usize,
    /// The parser's error.
    pub(crate) error: usize,
    /// Requested effects, indexed as in [`asked`]; `None` for those that this half cannot request.
    pub(crate) asked: [Option<usize>; asked::FIELDS.len()],
}

/// Effects that a half of PSA may request: the fields of `psa_ingress_output_metadata_t` and
/// `psa_egress_output_metadata_t`.
pub(crate) mod asked {
    pub(crate) const FIELDS: [&str; 6] =
        ["clone", "drop", "resubmit", "multicast_group", "egress_port", "class_of_service"];
}

/// Scalars that every program has, by their positions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Registers {
    /// The packet's first byte, the next to be taken by the parser, and the one after the last: addresses.
    pub(crate) start: usize,
    pub(crate) cursor: usize,
    pub(crate) end: usize,
    /// See [`device::stage::Effects`]; all ones stand for `None`.
    pub(crate) length: usize,
    pub(crate) truncate: usize,
    pub(crate) clone: usize,
    pub(crate) resubmit: usize,
    pub(crate) recirculate: usize,
    pub(crate) checksum_error: usize,
    /// Remaining number of loop iterations.
    pub(crate) fuel: usize,
    pub(crate) ingress_port: usize,
    pub(crate) egress_port: usize,
    /// Length at the start of the pass, in bytes.
    pub(crate) pass_length: usize,
}

/// `None` of the registers that stand for options.
pub(crate) const NONE: i64 = -1;

/// Puts things into the frame.
struct Builder<'p> {
    program: &'p Program,
    scalars: Vec<Scalar>,
    headers: Vec<Header>,
    values: Vec<Type>,
    /// Stacks; their places are assigned at the end.
    arrays: usize,
    bytes: usize,
}

impl Layout {
    /// The layout of a program; `None` if it is too large.
    pub(crate) fn new(blocks_of: Blocks<'_>) -> Option<Layout> {
        let program = blocks_of.program();
        let mut builder =
            Builder { program, scalars: vec![], headers: vec![], values: vec![], arrays: 0, bytes: 0 };
        let registers = builder.registers();
        let roles = blocks_of.types().map(|ty| builder.node(&ty));
        let mut half = blocks_of.half().map(|_| builder.half(&roles[2], &blocks_of.types()[2]));
        let counted = match blocks_of.counted_length() {
            None => None,
            Some(field) => Some(builder.word_of(&roles[1], field)?),
        };
        let is_tna = blocks_of.reads_parser_error().is_some();
        let mut blocks = vec![];
        for block in BlockName::ALL {
            let (params, vars) = match blocks_of.control(block) {
                Some(id) => (&program.control(id).params, &program.control(id).vars),
                None => {
                    (&program.parser(blocks_of.parser()).params, &program.parser(blocks_of.parser()).vars)
                }
            };
            let mut nodes: Vec<Option<Node>> = vec![None; vars.len()];
            for (param, role) in params.iter().zip(blocks_of.roles(block)) {
                let node = match role {
                    ir::Role::Input | ir::Role::Output if is_tna => {
                        let ty = &vars.get(param.index())?.ty;
                        let known = half.as_mut()?;
                        if params.iter().any(|other| other != param && vars[other.index()].ty == *ty) {
                            return None;
                        }
                        builder.intrinsic(known, ty)
                    }
                    ir::Role::Headers => roles[0].clone(),
                    ir::Role::Metadata => roles[1].clone(),
                    ir::Role::StandardMetadata | ir::Role::Output => roles[2].clone(),
                    ir::Role::Input => builder.node(&vars.get(param.index())?.ty),
                    ir::Role::Carried(way) => {
                        let ty = &vars.get(param.index())?.ty;
                        half.as_mut().map_or(Node::Nothing, |half| builder.carried(half, way, ty))
                    }
                    _ => Node::Nothing,
                };
                *nodes.get_mut(param.index())? = Some(node);
            }
            let of = |(node, var): (Option<Node>, &ir::Var)| node.unwrap_or_else(|| builder.node(&var.ty));
            blocks.push((block, nodes.into_iter().zip(vars).map(of).collect()));
        }
        let most_key = 64 + 2 * most_key_words(program);
        let scratch_bytes =
            2 * builder.headers.iter().map(|h| h.shape.most_bytes()).sum::<usize>() + builder.arrays + 4096;
        let Builder { scalars, mut headers, values, arrays, mut bytes, .. } = builder;
        let mut place = |size: usize| {
            let at = bytes.next_multiple_of(64);
            // Bytes after the end may be read where a load is wider than a field.
            bytes = at + size + 32;
            at as i32
        };
        let first = place(arrays);
        let homes = Homes {
            touched: place(1),
            valids: place(headers.len()),
            at_home: place(headers.len()),
            keys: place(8 * most_key),
            scratch: place(scratch_bytes),
            zeros: place(NOWHERE),
            trash: place(NOWHERE),
        };
        for (at, header) in headers.iter_mut().enumerate() {
            header.valid = homes.valids + at as i32;
        }
        let mut layout = Layout {
            scalars,
            headers,
            values,
            roles,
            blocks,
            arrays: (first, first + arrays as i32),
            registers,
            counted,
            half,
            homes,
            bytes,
            scratch_bytes,
        };
        layout.move_arrays();
        (layout.bytes <= MOST_BYTES).then_some(layout)
    }

    /// Locations of a block's variables.
    pub(crate) fn block(&self, block: BlockName) -> &[Node] {
        self.blocks.iter().find(|(name, _)| *name == block).map_or(&[], |(_, nodes)| nodes)
    }

    /// Locations of the metadata that packets carry, by path.
    pub(crate) fn carried(&self) -> impl Iterator<Item = (Carried, &Node)> {
        self.half.iter().flat_map(|homes| &homes.carried).map(|(way, node)| (*way, node))
    }

    /// Carried metadata of one path.
    pub(crate) fn carried_by(&self, by: Carried) -> Option<&Node> {
        self.carried().find_map(|(way, node)| (way == by).then_some(node))
    }

    /// Says where arrays are, which was counted from 0 on before.
    fn move_arrays(&mut self) {
        fn shift(node: &mut Node, by: i32) {
            match node {
                Node::Stack(stack) => stack.base += by,
                Node::Struct(nodes) | Node::Union(nodes) => nodes.iter_mut().for_each(|n| shift(n, by)),
                _ => {}
            }
        }
        let by = self.arrays.0;
        self.roles.iter_mut().for_each(|node| shift(node, by));
        self.blocks.iter_mut().flat_map(|(_, nodes)| nodes).for_each(|node| shift(node, by));
        if let Some(half) = &mut self.half {
            half.carried.iter_mut().for_each(|(_, node)| shift(node, by));
            half.intrinsic.iter_mut().for_each(|(_, node)| shift(node, by));
        }
    }
}

fn most_key_words(program: &Program) -> usize {
    let keys = program.controls.iter().flat_map(|c| &c.tables).map(|t| t.keys.len());
    let selects = program.parsers.iter().flat_map(|p| &p.states).map(|state| match &state.transition {
        ir::Transition::Select(select) => select.exprs.len(),
        ir::Transition::Goto(_) => 0,
    });
    keys.chain(selects).max().unwrap_or(0) * 2
}

impl Builder<'_> {
    fn registers(&mut self) -> Registers {
        let mut word = || self.scalar(Kind::Bits(64));
        let mut registers = Registers {
            start: word(),
            cursor: word(),
            end: word(),
            length: word(),
            truncate: word(),
            clone: word(),
            resubmit: word(),
            recirculate: word(),
            ..Registers::default()
        };
        registers.checksum_error = self.scalar(Kind::Bool);
        registers.fuel = self.scalar(Kind::Bits(32));
        registers.ingress_port = self.scalar(Kind::Bits(32));
        registers.egress_port = self.scalar(Kind::Bits(32));
        registers.pass_length = self.scalar(Kind::Bits(64));
        registers
    }

    fn half(&mut self, output: &Node, ty: &Type) -> HalfHomes {
        let program = self.program;
        let fields = program.fields(ty);
        let asked = asked::FIELDS
            .map(|name| self.word_of(output, fields.iter().position(|field| field.name.as_str() == name)?));
        let mut of = |name: &str, width: u32| -> BTreeMap<InstanceId, usize> {
            let is_it = |at: &usize| program.extern_object(program.instances[*at].object).name == name;
            let found = (0..program.instances.len()).filter(is_it);
            found.map(|at| (InstanceId::from(at), self.scalar(Kind::Bits(width)))).collect()
        };
        let is_tna = matches!(program.arch, Arch::Tna(_) | Arch::T2na);
        HalfHomes {
            carried: vec![],
            sums: of(if is_tna { "Checksum" } else { "InternetChecksum" }, 16),
            counters: of("ParserCounter", 8),
            intrinsic: vec![],
            counter: self.scalar(Kind::Bits(64)),
            error: self.scalar(Kind::Error),
            asked,
        }
    }

    /// Location of intrinsic metadata: one for all blocks.
    fn intrinsic(&mut self, half: &mut HalfHomes, ty: &Type) -> Node {
        if let Some((_, node)) = half.intrinsic.iter().find(|(of, _)| of == ty) {
            return node.clone();
        }
        let node = self.node(ty);
        half.intrinsic.push((ty.clone(), node.clone()));
        node
    }

    /// Location of the metadata carried on a path: one for all blocks.
    fn carried(&mut self, half: &mut HalfHomes, way: Carried, ty: &Type) -> Node {
        if let Some((_, node)) = half.carried.iter().find(|(of, _)| *of == way) {
            return node.clone();
        }
        let node = self.node(ty);
        if !matches!(&node, Node::Struct(nodes) if nodes.is_empty()) {
            half.carried.push((way, node.clone()));
        }
        node
    }

    fn scalar(&mut self, kind: Kind) -> usize {
        let home = self.place(kind.slot(), kind.slot());
        self.scalars.push(Scalar { kind, home });
        self.scalars.len() - 1
    }

    /// A field of a struct, if it is a scalar of up to 64 bits.
    fn word_of(&self, node: &Node, field: usize) -> Option<usize> {
        match node {
            Node::Struct(nodes) => match nodes.get(field)? {
                Node::Scalar(index) if self.scalars[*index].kind.width() <= 64 => Some(*index),
                _ => None,
            },
            _ => None,
        }
    }

    fn place(&mut self, size: usize, align: usize) -> i32 {
        let at = self.bytes.next_multiple_of(align);
        self.bytes = at + size;
        at as i32
    }

    fn node(&mut self, ty: &Type) -> Node {
        if let Some(kind) = kind_of(self.program, ty) {
            return Node::Scalar(self.scalar(kind));
        }
        match self.program.representation(ty) {
            Type::Extern(..) | Type::Void => Node::Nothing,
            Type::Stack(elem, size) => self.stack(ty, elem, *size),
            Type::Tuple(types) => Node::Struct(types.iter().map(|ty| self.node(ty)).collect()),
            Type::Named(id) => match &self.program.type_decl(*id).kind {
                TypeKind::Struct(fields) => Node::Struct(self.fields(fields)),
                TypeKind::Union(fields) => Node::Union(self.fields(fields)),
                TypeKind::Header(fields) => match shape(self.program, fields) {
                    Some(shape) => self.header(shape),
                    None => self.value(ty),
                },
                _ => self.value(ty),
            },
            _ => self.value(ty),
        }
    }

    fn fields(&mut self, fields: &[Field]) -> Vec<Node> {
        fields.iter().map(|field| self.node(&field.ty)).collect()
    }

    fn value(&mut self, ty: &Type) -> Node {
        self.values.push(ty.clone());
        Node::Value(self.values.len() - 1)
    }

    fn header(&mut self, shape: Shape) -> Node {
        // Up to 16 bytes after its end are read or written where an access is wider than a field.
        let home = self.place(shape.most_bytes() + 16, 16);
        let pointer = self.place(8, 8);
        let varbit = shape.varbit.map(|_| self.scalar(Kind::Bits(32)));
        // `Layout::new` says where the validity is.
        self.headers.push(Header { shape, home, pointer, valid: 0, varbit });
        Node::Header(self.headers.len() - 1)
    }

    fn stack(&mut self, ty: &Type, elem: &Type, size: u32) -> Node {
        let header = match self.program.representation(elem) {
            Type::Named(id) => match &self.program.type_decl(*id).kind {
                TypeKind::Header(fields) => shape(self.program, fields).filter(|s| s.varbit.is_none()),
                _ => None,
            },
            _ => None,
        };
        let (elem, stride) = match (kind_of(self.program, elem), header) {
            (Some(kind), _) => (Elem::Scalar(kind), kind.slot()),
            (None, Some(shape)) => {
                let stride = (shape.bytes() + 16 + 1).next_multiple_of(16);
                (Elem::Header(shape), stride)
            }
            (None, None) => return self.value(ty),
        };
        let total = stride.saturating_mul(size as usize);
        if stride > NOWHERE || total > MOST_BYTES {
            return self.value(ty);
        }
        let base = self.arrays.next_multiple_of(16);
        self.arrays = base + total;
        let next = self.scalar(Kind::Bits(32));
        Node::Stack(Stack { base: base as i32, stride: stride as i32, size, next, elem })
    }
}

/// Layout of a header with these fields in its bytes; `None` if it is too large, or has varbits that code cannot handle.
fn shape(program: &Program, fields: &[Field]) -> Option<Shape> {
    let mut shape = Shape { parts: vec![], bits: 0, varbit: None };
    shape.parts = parts(program, fields, &mut shape)?;
    (shape.most_bytes() <= NOWHERE / 2).then_some(shape)
}

fn parts(program: &Program, fields: &[Field], shape: &mut Shape) -> Option<Vec<Part>> {
    fields
        .iter()
        .map(|field| {
            let kind = match program.representation(&field.ty) {
                Type::Bit(n) | Type::Int(n) => Kind::Bits(*n),
                Type::Bool => Kind::Bool,
                Type::Varbit(most) => {
                    // One of whole bytes, that begins with one; its length then is of whole bytes, too.
                    let is_even = shape.bits.is_multiple_of(8) && most.is_multiple_of(8);
                    let varbit = Varbit { at: shape.bits, bits: *most };
                    let is_only = shape.varbit.replace(varbit).is_none();
                    return (is_even && is_only).then_some(Part::Varbit);
                }
                struct_type => {
                    let inner = program.fields(struct_type);
                    return (!inner.is_empty()).then(|| parts(program, inner, shape))?.map(Part::Struct);
                }
            };
            let at = shape.bits;
            shape.bits = at.checked_add(kind.width())?;
            Some(Part::Field(at, kind))
        })
        .collect()
}
