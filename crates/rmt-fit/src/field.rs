//! Fields: the scalars of headers, metadata and local variables, by half of the pipeline, and the code's accesses to them.

use ir::{Const, Expr, ExprKind, Program, Role, Type, TypeKind, Var, VarId, VarKind, visit};
use std::collections::BTreeMap;

/// Wider values count as this wide, and longer stacks as this long: no device has room for them.
const MOST_BITS: u32 = 1 << 15;
const MOST_ELEMENTS: u32 = 256;

/// A half of the pipeline. Both share the stages; each has fields of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Half {
    /// Before the traffic manager.
    Ingress,
    /// After it.
    Egress,
}

impl Half {
    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Half::Ingress => "ingress",
            Half::Egress => "egress",
        }
    }
}

/// Role of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Part of a header of the packet.
    Header,
    /// Whether a header is valid.
    Valid,
    /// Metadata of the program.
    Metadata,
    /// Metadata of the architecture.
    Intrinsic,
    /// A local variable, or a value between two steps of an expression.
    Local,
}

/// A scalar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// As the source names it, from the first block that mentions it.
    pub name: String,
    /// Width.
    pub bits: u32,
    /// Half that it belongs to.
    pub half: Half,
    /// Role.
    pub kind: Kind,
    /// For the validity of an element of a stack: that of the whole stack.
    pub stack: Option<FieldId>,
}

/// In [`Fields`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FieldId(pub u32);

/// Bits `lo..=hi` of a field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Access {
    /// The field.
    pub field: FieldId,
    /// Lowest bit.
    pub lo: u32,
    /// Highest bit.
    pub hi: u32,
}

impl Access {
    /// True if both have a bit in common.
    pub fn meets(&self, other: &Access) -> bool {
        self.field == other.field && self.lo <= other.hi && other.lo <= self.hi
    }

    /// Number of bits.
    pub fn bits(&self) -> u32 {
        self.hi - self.lo + 1
    }
}

/// The first access of `a` that has a bit in common with one of `b`.
pub fn meeting<'a>(a: &'a [Access], b: &[Access]) -> Option<&'a Access> {
    a.iter().find(|x| b.iter().any(|y| x.meets(y)))
}

/// All fields of a pipeline.
#[derive(Default, Debug)]
pub struct Fields {
    list: Vec<Field>,
    by_key: BTreeMap<(Half, String), FieldId>,
}

impl Fields {
    /// The field.
    pub fn get(&self, id: FieldId) -> &Field {
        &self.list[id.0 as usize]
    }

    /// In the order of their first mention.
    pub fn iter(&self) -> impl Iterator<Item = (FieldId, &Field)> {
        self.list.iter().zip(0..).map(|(field, id)| (FieldId(id), field))
    }

    /// The field of this key, made if it is new.
    fn intern(&mut self, key: String, name: String, bits: u32, half: Half, kind: Kind) -> FieldId {
        let next = FieldId(self.list.len() as u32);
        *self.by_key.entry((half, key)).or_insert_with(|| {
            self.list.push(Field { name, bits, half, kind, stack: None });
            next
        })
    }

    /// A value between two steps.
    pub fn temporary(&mut self, bits: u32, half: Half) -> Access {
        let key = format!("temporary {}", self.list.len());
        let field = self.intern(key.clone(), key, bits, half, Kind::Local);
        Access { field, lo: 0, hi: bits.max(1) - 1 }
    }
}

/// A variable as the root of fields.
#[derive(Clone)]
struct Root {
    key: String,
    name: String,
    kind: Kind,
    /// Key and name of the stack, if this is an element of one.
    stack: Option<(String, String)>,
}

impl Root {
    fn new(key: String, name: String, kind: Kind) -> Root {
        Root { key, name, kind, stack: None }
    }

    fn field(&self, name: &str) -> Root {
        Root::new(format!("{}.{name}", self.key), format!("{}.{name}", self.name), self.kind)
    }

    fn element(&self, at: u64) -> Root {
        let element = Root::new(format!("{}[{at}]", self.key), format!("{}[{at}]", self.name), self.kind);
        Root { stack: Some((self.key.clone(), self.name.clone())), ..element }
    }
}

/// The variables of one block, as fields.
pub struct Scope<'a> {
    program: &'a Program,
    vars: &'a [Var],
    /// `None` for action data and for expressions that are not fields.
    roots: Vec<Option<Root>>,
    half: Half,
}

impl<'a> Scope<'a> {
    /// The variables of the block `name`, whose parameters have these roles.
    pub fn new(
        program: &'a Program,
        name: &str,
        vars: &'a [Var],
        params: &[VarId],
        roles: &[Role],
        half: Half,
    ) -> Scope<'a> {
        let mut roots: Vec<Option<Root>> = vars
            .iter()
            .enumerate()
            .map(|(at, var)| match var.kind {
                VarKind::Local => Some(Root::new(format!("{name} {at}"), var.name.to_string(), Kind::Local)),
                VarKind::Param(_) => None,
            })
            .collect();
        for (at, param) in params.iter().enumerate() {
            let var = &vars[param.index()];
            let (key, kind) = match roles.get(at) {
                Some(Role::Headers) => ("headers".to_string(), Kind::Header),
                Some(Role::Metadata) => ("metadata".to_string(), Kind::Metadata),
                Some(Role::Packet) => continue,
                _ => match &var.ty {
                    Type::Named(id) => (program.type_decl(*id).name.to_string(), Kind::Intrinsic),
                    _ => (format!("{name} {at} parameter"), Kind::Intrinsic),
                },
            };
            roots[param.index()] = Some(Root::new(key, var.name.to_string(), kind));
        }
        Scope { program, vars, roots, half }
    }

    /// The half of the pipeline that the block belongs to.
    pub fn half(&self) -> Half {
        self.half
    }

    /// Width of a type's values. Nothing that a stage does has more than [`MOST_BITS`].
    pub fn bits(&self, ty: &Type) -> u32 {
        let bits: u32 = match self.program.representation(ty) {
            Type::Error => 16,
            Type::Named(id) => match &self.program.type_decl(*id).kind {
                TypeKind::Enum(members) => usize::BITS - members.len().saturating_sub(1).leading_zeros(),
                _ => 0,
            },
            ty => self.program.bits(ty).map_or(0, |bits| u32::try_from(bits).unwrap_or(u32::MAX)),
        };
        bits.min(MOST_BITS)
    }

    /// The bits of a place, one access for each scalar in it.
    pub fn place(&self, fields: &mut Fields, place: &Expr) -> Vec<Access> {
        let mut found = vec![];
        match &place.kind {
            ExprKind::Slice { base, hi, lo } => {
                // Of a slice of a slice, or of an operator's result, the whole is taken.
                found = self.place(fields, base);
                if let [whole] = found[..]
                    && !matches!(base.kind, ExprKind::Slice { .. })
                {
                    found = vec![Access { lo: *lo, hi: *hi, ..whole }];
                }
            }
            ExprKind::SlicePlus { base, .. } => found = self.place(fields, base),
            // An index that only the run knows may name any element: the whole stack is taken.
            ExprKind::Field(base, _) | ExprKind::Index(base, _) if self.root(place).is_none() => {
                found = self.place(fields, base);
            }
            _ => {
                if let Some(root) = self.root(place) {
                    self.leaves(fields, root, &place.ty, &mut found);
                }
            }
        }
        found
    }

    /// The bits that an expression reads.
    pub fn reads(&self, fields: &mut Fields, expr: &Expr) -> Vec<Access> {
        let mut found = vec![];
        self.add_reads(fields, expr, &mut found);
        found
    }

    fn add_reads(&self, fields: &mut Fields, expr: &Expr, found: &mut Vec<Access>) {
        match &expr.kind {
            ExprKind::IsValid(header) => {
                if let Some(root) = self.root(header) {
                    found.push(self.shared_validity(fields, root));
                }
            }
            ExprKind::Var(_) | ExprKind::Field(..) | ExprKind::Index(..) => {
                found.extend(self.place(fields, expr));
            }
            ExprKind::Slice { base, .. } if self.root(base).is_some() => {
                found.extend(self.place(fields, expr))
            }
            _ => visit::parts(expr, &mut |part| self.add_reads(fields, part, found)),
        }
    }

    /// The bit that says whether a header is valid, as stages use it. All elements of a stack have one: their bits are
    /// one field in one container, on which tables depend as a whole.
    pub fn shared_valid(&self, fields: &mut Fields, header: &Expr) -> Option<Access> {
        self.root(header).map(|root| self.shared_validity(fields, root))
    }

    fn shared_validity(&self, fields: &mut Fields, root: Root) -> Access {
        let own = self.validity(fields, root);
        Access { field: fields.get(own.field).stack.unwrap_or(own.field), ..own }
    }

    /// The bit that says whether a header is valid.
    pub fn valid(&self, fields: &mut Fields, header: &Expr) -> Option<Access> {
        self.root(header).map(|root| self.validity(fields, root))
    }

    fn validity(&self, fields: &mut Fields, root: Root) -> Access {
        let key = format!("{}.$valid", root.key);
        let name = format!("{}.$valid", root.name);
        let kind = if root.kind == Kind::Header { Kind::Valid } else { root.kind };
        let field = fields.intern(key, name, 1, self.half, kind);
        if let Some((key, name)) = root.stack {
            let stack = fields.intern(format!("{key}.$valid"), format!("{name}.$valid"), 1, self.half, kind);
            fields.list[field.0 as usize].stack = Some(stack);
        }
        Access { field, lo: 0, hi: 0 }
    }

    /// The variable with the fields and elements that lead to a place.
    fn root(&self, place: &Expr) -> Option<Root> {
        match &place.kind {
            ExprKind::Var(id) => self.roots[id.index()].clone(),
            ExprKind::Field(base, index) => {
                let name = match self.program.fields(&base.ty).get(*index as usize) {
                    Some(field) => field.name.to_string(),
                    None => index.to_string(),
                };
                Some(self.root(base)?.field(&name))
            }
            ExprKind::Index(base, index) => {
                let ExprKind::Const(Const::Bits(index)) = &index.kind else { return None };
                Some(self.root(base)?.element(index.to_u64()?))
            }
            _ => None,
        }
    }

    fn leaves(&self, fields: &mut Fields, root: Root, ty: &Type, found: &mut Vec<Access>) {
        if self.program.is_header(ty) && root.kind != Kind::Intrinsic {
            found.push(self.shared_validity(fields, root.clone()));
        }
        match ty {
            Type::Stack(element, size) => {
                (0..(*size).min(MOST_ELEMENTS))
                    .for_each(|at| self.leaves(fields, root.element(u64::from(at)), element, found));
            }
            Type::Tuple(types) => {
                types
                    .iter()
                    .enumerate()
                    .for_each(|(at, ty)| self.leaves(fields, root.field(&at.to_string()), ty, found));
            }
            ty => match self.program.fields(ty) {
                [] => {
                    let bits = self.bits(ty);
                    if bits > 0 {
                        let field = fields.intern(root.key, root.name, bits, self.half, root.kind);
                        found.push(Access { field, lo: 0, hi: bits - 1 });
                    }
                }
                parts => parts.iter().for_each(|f| self.leaves(fields, root.field(&f.name), &f.ty, found)),
            },
        }
    }

    /// True if the variable is a parameter that an entry gives.
    pub fn is_data(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Var(id) if self.roots[id.index()].is_none()
            && matches!(self.vars[id.index()].kind, VarKind::Param(_)))
    }
}
