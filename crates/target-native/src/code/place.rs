//! Places: where a read or write goes, worked out before any code is made.

use crate::layout::{Elem, Kind, Layout, Node, Part, Shape, Stack, kind_of};
use ir::{Const, Expr, ExprKind, Program};

/// A place that compiled code can reach.
#[derive(Clone, Debug)]
pub(crate) enum Place<'l> {
    Node(&'l Node),
    /// An element of a stack or array.
    Element(&'l Stack, Index<'l>),
    /// A field of a header, or a struct in it.
    Part(HeaderAt<'l>, &'l Part),
    /// A slice: a place, its lowest bit, and its width.
    Slice(Box<Place<'l>>, u32, u32),
}

/// A header.
#[derive(Clone, Debug)]
pub(crate) enum HeaderAt<'l> {
    /// In [`Layout::headers`].
    Own(usize),
    Element(&'l Stack, Index<'l>),
}

/// Index of an element.
#[derive(Clone, Debug)]
pub(crate) enum Index<'l> {
    /// In range.
    Known(u32),
    /// A scalar.
    Computed(&'l Expr),
    Next,
}

/// Finds places in a block.
#[derive(Clone, Copy)]
pub(crate) struct Places<'l> {
    pub(crate) program: &'l Program,
    pub(crate) layout: &'l Layout,
    /// Variables of the running block.
    pub(crate) nodes: &'l [Node],
}

impl<'l> Places<'l> {
    /// The place of `expr`; `None` if only the interpreter can reach it.
    pub(crate) fn find(&self, expr: &'l Expr) -> Option<Place<'l>> {
        match &expr.kind {
            ExprKind::Var(var) => Some(Place::Node(self.nodes.get(var.index())?)),
            ExprKind::Field(base, field) => self.field(self.find(base)?, *field as usize),
            ExprKind::Index(base, index) => match self.find(base)? {
                Place::Node(Node::Stack(stack)) => Some(Place::Element(stack, self.index(stack, index)?)),
                _ => None,
            },
            ExprKind::Next(base) => match self.find(base)? {
                Place::Node(Node::Stack(stack)) => Some(Place::Element(stack, Index::Next)),
                _ => None,
            },
            ExprKind::Slice { base, hi, lo } => {
                let base = self.find(base)?;
                let width = self.kind(&base)?.width();
                (*lo <= *hi && *hi < width).then(|| Place::Slice(Box::new(base), *hi, *lo))
            }
            _ => None,
        }
    }

    fn field(&self, base: Place<'l>, field: usize) -> Option<Place<'l>> {
        Some(match base {
            Place::Node(Node::Struct(nodes) | Node::Union(nodes)) => Place::Node(nodes.get(field)?),
            Place::Node(Node::Header(header)) => {
                let shape = &self.layout.headers[*header].shape;
                let part = shape.parts.get(field).filter(|part| shape.is_fixed(part))?;
                Place::Part(HeaderAt::Own(*header), part)
            }
            Place::Element(stack, index) => match &stack.elem {
                Elem::Header(shape) => Place::Part(HeaderAt::Element(stack, index), shape.parts.get(field)?),
                Elem::Scalar(_) => return None,
            },
            Place::Part(HeaderAt::Own(header), Part::Struct(parts)) => {
                let shape = &self.layout.headers[header].shape;
                Place::Part(HeaderAt::Own(header), parts.get(field).filter(|part| shape.is_fixed(part))?)
            }
            Place::Part(header, Part::Struct(parts)) => Place::Part(header, parts.get(field)?),
            _ => return None,
        })
    }

    fn index(&self, stack: &Stack, index: &'l Expr) -> Option<Index<'l>> {
        match &index.kind {
            ExprKind::Const(value) => {
                let at = match value {
                    Const::Bits(bits) => bits.to_u32()?,
                    Const::Int(n) => u32::try_from(n).ok()?,
                    _ => return None,
                };
                (at < stack.size).then_some(Index::Known(at))
            }
            _ => {
                let kind = kind_of(self.program, &index.ty)?;
                let fits = kind.width() <= 64 && matches!(kind, Kind::Bits(_)) && self.is_read(index);
                fits.then_some(Index::Computed(index))
            }
        }
    }

    fn is_read(&self, index: &'l Expr) -> bool {
        self.find(index).is_some_and(|place| self.kind(&place).is_some())
    }

    /// The kind of a scalar place of any width; `None` if it is no scalar.
    pub(crate) fn kind(&self, place: &Place<'l>) -> Option<Kind> {
        match place {
            Place::Node(Node::Scalar(index)) => Some(self.layout.scalars[*index].kind),
            Place::Element(Stack { elem: Elem::Scalar(kind), .. }, _) => Some(*kind),
            Place::Part(_, Part::Field(_, kind)) => Some(*kind),
            Place::Slice(_, hi, lo) => Some(Kind::Bits(hi - lo + 1)),
            _ => None,
        }
    }

    /// A scalar place that code can read and write: not too wide, and in few enough bytes of its header.
    pub(crate) fn scalar(&self, expr: &'l Expr) -> Option<(Place<'l>, Kind)> {
        let place = self.find(expr)?;
        let kind = self.kind(&place)?;
        (kind.width() <= 128 && is_near(&place)).then_some((place, kind))
    }

    /// A field, or a part of one, of a header that is in no stack: the header, and the offset and width in bits.
    pub(crate) fn own_field(&self, expr: &'l Expr) -> Option<(usize, (u32, u32))> {
        let (place, kind) = self.scalar(expr)?;
        match header_of(&place)? {
            HeaderAt::Own(header) if kind != Kind::Bool => Some((*header, span(&place)?)),
            _ => None,
        }
    }

    /// A header place, and its shape.
    pub(crate) fn header(&self, expr: &'l Expr) -> Option<(HeaderAt<'l>, &'l Shape)> {
        match self.find(expr)? {
            Place::Node(Node::Header(index)) => {
                Some((HeaderAt::Own(*index), &self.layout.headers[*index].shape))
            }
            Place::Element(stack, index) => match &stack.elem {
                Elem::Header(shape) => Some((HeaderAt::Element(stack, index), shape)),
                Elem::Scalar(_) => None,
            },
            _ => None,
        }
    }

    /// A stack of headers or array.
    pub(crate) fn stack(&self, expr: &'l Expr) -> Option<&'l Stack> {
        match self.find(expr)? {
            Place::Node(Node::Stack(stack)) => Some(stack),
            _ => None,
        }
    }

    /// The members of the union that `expr` is a member of; none if it is in no union.
    pub(crate) fn siblings(&self, expr: &'l Expr) -> &'l [Node] {
        match &expr.kind {
            ExprKind::Field(base, _) => match self.find(base) {
                Some(Place::Node(Node::Union(members))) => members,
                _ => &[],
            },
            _ => &[],
        }
    }
}

/// Offset and width in bits of a header's scalar, from the header's start.
pub(crate) fn span(place: &Place) -> Option<(u32, u32)> {
    match place {
        Place::Part(_, Part::Field(at, kind)) => Some((*at, kind.width())),
        Place::Slice(base, hi, lo) => {
            let (at, width) = span(base)?;
            Some((at + width - 1 - hi, hi - lo + 1))
        }
        _ => None,
    }
}

pub(crate) fn header_of<'p, 'l>(place: &'p Place<'l>) -> Option<&'p HeaderAt<'l>> {
    match place {
        Place::Part(header, _) => Some(header),
        Place::Slice(base, ..) => header_of(base),
        _ => None,
    }
}

/// True if the place is not in a header, or in 16 bytes of one. Slices are of values that code can hold, or in a
/// header.
pub(crate) fn is_near(place: &Place) -> bool {
    match span(place) {
        Some((at, width)) => (at + width).div_ceil(8) - at / 8 <= 16,
        None => match place {
            Place::Slice(base, ..) => is_near(base),
            _ => true,
        },
    }
}
