//! The places that the flow analysis follows: single values, and headers as a whole, in the variables of one body.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::typed::{Expr, ExprKind, Program, StructKind, Substitution, Type, VarId};

/// No body is followed in more places.
const MAX_PLACES: usize = 1024;
/// The elements of a longer header stack are not followed.
const MAX_STACK: u32 = 64;

/// A variable or a part of one.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A value, by its number.
    Value(usize),
    /// A header, by its number.
    Header(usize),
    /// The fields of a struct, the headers of a union or the elements of a header stack.
    Fields(Vec<Place>),
    /// Something that is not followed.
    Other,
}

/// All places of one body.
#[derive(Default)]
pub(super) struct Places {
    vars: FxHashMap<VarId, Place>,
    /// The variable of each value.
    pub(super) values: Vec<VarId>,
    /// The variable of each header.
    pub(super) headers: Vec<VarId>,
    /// The headers of each union: at most one of them is valid.
    unions: Vec<Range<usize>>,
}

impl Places {
    /// Follows a variable.
    pub(super) fn add(&mut self, program: &Program, id: VarId) {
        if !self.vars.contains_key(&id) {
            let ty = program.vars[id].ty.clone();
            let place = self.place(program, id, &ty, 0);
            self.vars.insert(id, place);
        }
    }

    fn place(&mut self, program: &Program, id: VarId, ty: &Type, depth: u32) -> Place {
        if self.values.len() + self.headers.len() >= MAX_PLACES || depth > 16 {
            return Place::Other;
        }
        match ty {
            Type::Struct(s, args) => {
                let decl = &program.structs[*s];
                match decl.kind {
                    StructKind::Header => {
                        self.headers.push(id);
                        Place::Header(self.headers.len() - 1)
                    }
                    StructKind::Union | StructKind::Struct => {
                        let first = self.headers.len();
                        let substitution = Substitution::new(&decl.type_params, args);
                        let fields = decl.fields.iter();
                        let fields = fields
                            .map(|f| self.place(program, id, &substitution.apply(&f.ty), depth + 1))
                            .collect();
                        if decl.kind == StructKind::Union {
                            self.unions.push(first..self.headers.len());
                        }
                        Place::Fields(fields)
                    }
                }
            }
            Type::Array(element, n) => match &**element {
                Type::Struct(s, _) if program.structs[*s].kind != StructKind::Struct && *n <= MAX_STACK => {
                    Place::Fields((0..*n).map(|_| self.place(program, id, element, depth + 1)).collect())
                }
                Type::Struct(..) | Type::Var(_) | Type::Extern(..) => Place::Other,
                _ => self.value(id),
            },
            Type::Extern(..) | Type::Error => Place::Other,
            _ => self.value(id),
        }
    }

    fn value(&mut self, id: VarId) -> Place {
        self.values.push(id);
        Place::Value(self.values.len() - 1)
    }

    /// The place of a variable.
    pub(super) fn of_var(&self, id: VarId) -> Option<&Place> {
        self.vars.get(&id)
    }

    /// The place that an expression names, if it is followed. Parts of a value are the value.
    pub(super) fn of(&self, expr: &Expr) -> Option<&Place> {
        match &expr.kind {
            ExprKind::Var(id) => self.vars.get(id),
            ExprKind::Field { base, index, .. } => match self.of(base)? {
                Place::Fields(fields) => fields.get(*index as usize),
                _ => None,
            },
            ExprKind::Index { base, index } => match (self.of(base)?, &index.kind) {
                (place @ Place::Value(_), _) => Some(place),
                (Place::Fields(elements), ExprKind::Int(i)) => elements.get(usize::try_from(i).ok()?),
                _ => None,
            },
            ExprKind::Slice { base, .. } | ExprKind::SliceAt { base, .. } => match self.of(base)? {
                place @ Place::Value(_) => Some(place),
                _ => None,
            },
            _ => None,
        }
    }

    /// The smallest place that certainly contains an expression's place.
    pub(super) fn around(&self, expr: &Expr) -> Option<&Place> {
        self.of(expr).or_else(|| match &expr.kind {
            ExprKind::Field { base, .. }
            | ExprKind::Index { base, .. }
            | ExprKind::Slice { base, .. }
            | ExprKind::SliceAt { base, .. }
            | ExprKind::StackNext(base)
            | ExprKind::StackLast(base) => self.around(base),
            _ => None,
        })
    }

    /// The headers that are invalid where this one is valid: the others of its union.
    pub(super) fn rivals(&self, header: usize) -> impl Iterator<Item = usize> + use<> {
        let union = self.unions.iter().find(|u| u.contains(&header)).cloned().unwrap_or_default();
        union.filter(move |&other| other != header)
    }

    /// The header of which an expression names a field.
    pub(super) fn header_of_field(&self, expr: &Expr) -> Option<usize> {
        match &expr.kind {
            ExprKind::Field { base, .. } => match self.of(base) {
                Some(Place::Header(h)) => Some(*h),
                _ => self.header_of_field(base),
            },
            ExprKind::Slice { base, .. } | ExprKind::SliceAt { base, .. } | ExprKind::Index { base, .. } => {
                self.header_of_field(base)
            }
            _ => None,
        }
    }
}

impl Place {
    /// Calls `value` and `header` for each value and header in the place.
    pub(super) fn each(&self, value: &mut dyn FnMut(usize), header: &mut dyn FnMut(usize)) {
        match self {
            Place::Value(v) => value(*v),
            Place::Header(h) => header(*h),
            Place::Fields(fields) => fields.iter().for_each(|f| f.each(value, header)),
            Place::Other => {}
        }
    }
}
