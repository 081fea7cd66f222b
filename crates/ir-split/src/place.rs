//! Places: the scalar leaves of a program's parameters and locals, numbered.
//!
//! Each stage's control has its own variables, but its headers, metadata and standard metadata are the same
//! object from stage to stage. A [`Leaf`] is one scalar of such an object or of a control's local variable:
//! `hdr.ipv4.ttl`, `meta.next_hop`, `ttl`. The validity of a header outside of the packet is one too.

use crate::arch;
use crate::expressions::constant;
use ir::{ControlId, Expr, ExprKind, Name, Program, Role, StageKind, Type, VarId};
use p4_arch::{CutFacts, Meaning};
use std::collections::BTreeMap;

/// Owner of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Root {
    /// A parameter shared by the stages.
    Shared(RoleKey),
    /// A local variable or action parameter of a control.
    Local(ControlId, VarId),
}

/// The shared objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RoleKey {
    /// The headers.
    Headers,
    /// The user's metadata.
    Metadata,
    /// The architecture's metadata.
    Standard,
}

/// The number of a leaf in [`Places`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Leaf(pub u32);

/// The number of a header instance in [`Places::headers`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HeaderIndex(pub u32);

/// One scalar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeafInfo {
    /// The object.
    pub root: Root,
    /// Field indices from the object down to the scalar.
    pub path: Vec<u32>,
    /// As the user would write it: `hdr.ipv4.ttl`.
    pub name: String,
    /// Type of the leaf.
    pub ty: Type,
    /// The header instance of the field or validity.
    pub header: Option<HeaderIndex>,
    /// True if the leaf is the validity of the header.
    pub is_validity: bool,
}

/// One header instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderInfo {
    /// The object.
    pub root: Root,
    /// Field and element indices from the object down to it.
    pub path: Vec<u32>,
    /// `ipv4`; nested structs and elements of stacks are joined by `_`.
    pub name: String,
    /// Type of the header.
    pub ty: Type,
    /// Validity of a header outside of the packet. Validities of the packet's headers always travel.
    pub validity: Option<Leaf>,
    /// The other members of its union.
    pub rivals: Vec<HeaderIndex>,
}

/// All leaves and header instances of a program.
pub struct Places {
    /// Leaves by number.
    pub leaves: Vec<LeafInfo>,
    /// Headers of the packet in declaration order, then headers in metadata and variables.
    pub headers: Vec<HeaderInfo>,
    roots: BTreeMap<Root, Node>,
    shared: BTreeMap<(ControlId, VarId), RoleKey>,
    facts: Option<&'static CutFacts>,
}

/// The tree of leaves below an object.
enum Node {
    Leaf(Leaf),
    Header(HeaderIndex, Option<Leaf>, Vec<Node>),
    /// Structs, unions, stacks.
    Group(Vec<Node>),
}

/// Leaves that a place expression covers.
pub enum Covered {
    /// These leaves, whole: a write to the place overwrites them.
    Whole(Vec<Leaf>),
    /// Some bits or one unknown element of these leaves.
    Part(Vec<Leaf>),
    /// Not something with leaves (a packet, a call's result, ...).
    Nothing,
}

impl Places {
    /// Numbers all leaves of the program's stages.
    pub fn new(program: &Program) -> Places {
        let mut places = Places {
            leaves: vec![],
            headers: vec![],
            roots: BTreeMap::new(),
            shared: BTreeMap::new(),
            facts: arch::facts(program),
        };
        for stage in &program.stages {
            let (StageKind::Control(id) | StageKind::Deparse(id)) = stage.kind else { continue };
            let control = program.control(id);
            for (&var, role) in control.params.iter().zip(&stage.roles) {
                let key = match role {
                    Role::Headers => RoleKey::Headers,
                    Role::Metadata => RoleKey::Metadata,
                    Role::StandardMetadata => RoleKey::Standard,
                    _ => continue,
                };
                places.shared.insert((id, var), key);
                let root = Root::Shared(key);
                if !places.roots.contains_key(&root) {
                    let declared = &control.vars[var.index()];
                    places.add_root(program, root, &declared.name, &declared.ty);
                }
            }
            for (index, var) in control.vars.iter().enumerate() {
                let root = Root::Local(id, VarId::from(index));
                if !places.shared.contains_key(&(id, VarId::from(index))) {
                    places.add_root(program, root, &var.name, &var.ty);
                }
            }
        }
        places
    }

    fn add_root(&mut self, program: &Program, root: Root, name: &Name, ty: &Type) {
        let node = self.node(program, &mut Walk { root, path: vec![] }, name.as_str(), ty, None);
        self.roots.insert(root, node);
    }

    fn node(
        &mut self,
        program: &Program,
        at: &mut Walk,
        name: &str,
        ty: &Type,
        header: Option<HeaderIndex>,
    ) -> Node {
        if let Type::Stack(elem, size) = ty {
            let elements = (0..*size).map(|n| (format!("{name}[{n}]"), elem.as_ref().clone())).collect();
            return Node::Group(self.children(program, at, elements, header));
        }
        let fields =
            program.fields(ty).iter().map(|f| (format!("{name}.{}", f.name), f.ty.clone())).collect();
        if program.is_header(ty) {
            return self.header_node(program, at, name, ty, fields);
        }
        let first = self.headers.len();
        match is_group(program, ty) {
            Some(is_union) => {
                let children = self.children(program, at, fields, header);
                if is_union {
                    self.note_rivals(first);
                }
                Node::Group(children)
            }
            None => Node::Leaf(self.leaf(at, name, ty, header, false)),
        }
    }

    fn header_node(
        &mut self,
        program: &Program,
        at: &mut Walk,
        name: &str,
        ty: &Type,
        fields: Vec<(String, Type)>,
    ) -> Node {
        let index = HeaderIndex(self.headers.len() as u32);
        let short = self.short_name(name);
        self.headers.push(HeaderInfo {
            root: at.root,
            path: at.path.clone(),
            name: short,
            ty: ty.clone(),
            validity: None,
            rivals: vec![],
        });
        let outside = at.root != Root::Shared(RoleKey::Headers);
        let validity =
            outside.then(|| self.leaf(at, &format!("{name}.isValid()"), &Type::Bool, Some(index), true));
        self.headers[index.0 as usize].validity = validity;
        Node::Header(index, validity, self.children(program, at, fields, Some(index)))
    }

    /// The header's name without its object, unique.
    fn short_name(&self, name: &str) -> String {
        let inner = name.split_once('.').map_or(name, |(_, rest)| rest);
        let base = identifier(inner.strip_prefix("program.").unwrap_or(inner));
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let free = |candidate: &String| !self.headers.iter().any(|h| h.name == *candidate);
        std::iter::once(base.clone()).chain(numbered).find(free).unwrap_or(base)
    }

    fn children(
        &mut self,
        program: &Program,
        at: &mut Walk,
        parts: Vec<(String, Type)>,
        header: Option<HeaderIndex>,
    ) -> Vec<Node> {
        let mut children = vec![];
        for (step, (name, ty)) in (0..).zip(parts) {
            at.path.push(step);
            children.push(self.node(program, at, &name, &ty, header));
            at.path.pop();
        }
        children
    }

    fn leaf(
        &mut self,
        at: &Walk,
        name: &str,
        ty: &Type,
        header: Option<HeaderIndex>,
        is_validity: bool,
    ) -> Leaf {
        let (path, name, ty) = (at.path.clone(), name.to_string(), ty.clone());
        self.leaves.push(LeafInfo { root: at.root, path, name, ty, header, is_validity });
        Leaf(self.leaves.len() as u32 - 1)
    }

    /// The headers from number `first` on are members of one union.
    fn note_rivals(&mut self, first: usize) {
        let members: Vec<_> = (first..self.headers.len()).map(|i| HeaderIndex(i as u32)).collect();
        for &member in &members {
            self.headers[member.0 as usize].rivals =
                members.iter().copied().filter(|m| *m != member).collect();
        }
    }

    /// The packet's headers, in declaration order.
    pub fn of_packet(&self) -> impl Iterator<Item = (HeaderIndex, &HeaderInfo)> {
        let all = self.headers.iter().enumerate().map(|(i, h)| (HeaderIndex(i as u32), h));
        all.filter(|(_, h)| h.root == Root::Shared(RoleKey::Headers))
    }

    /// The packet's header that contains the leaf.
    pub fn packet_header(&self, leaf: Leaf) -> Option<HeaderIndex> {
        let info = self.info(leaf);
        info.header.filter(|_| info.root == Root::Shared(RoleKey::Headers))
    }

    /// The object a variable of a control belongs to.
    pub fn root(&self, control: ControlId, var: VarId) -> Root {
        match self.shared.get(&(control, var)) {
            Some(&key) => Root::Shared(key),
            None => Root::Local(control, var),
        }
    }

    /// The leaf with this path in a shared object.
    pub fn leaf_at(&self, key: RoleKey, path: &[u32]) -> Option<Leaf> {
        let mut node = self.roots.get(&Root::Shared(key))?;
        for &index in path {
            node = match node {
                Node::Leaf(_) => return None,
                Node::Header(_, _, children) | Node::Group(children) => children.get(index as usize)?,
            };
        }
        match node {
            Node::Leaf(leaf) => Some(*leaf),
            _ => None,
        }
    }

    /// The standard metadata's field with that meaning.
    pub fn standard(&self, meaning: Meaning) -> Option<Leaf> {
        self.standard_named(self.facts?.field(meaning)?)
    }

    /// The standard metadata's field of that name.
    pub fn standard_named(&self, name: &str) -> Option<Leaf> {
        self.leaves
            .iter()
            .position(|l| {
                l.root == Root::Shared(RoleKey::Standard)
                    && l.name.rsplit('.').next() == Some(name)
                    && l.path.len() == 1
            })
            .map(|i| Leaf(i as u32))
    }

    /// All leaves of a shared object.
    pub fn all_of(&self, key: RoleKey) -> Vec<Leaf> {
        let mut out = vec![];
        if let Some(node) = self.roots.get(&Root::Shared(key)) {
            collect(node, &mut out);
        }
        out
    }

    /// Description of a leaf.
    pub fn info(&self, leaf: Leaf) -> &LeafInfo {
        &self.leaves[leaf.0 as usize]
    }

    /// A header instance.
    pub fn header(&self, index: HeaderIndex) -> &HeaderInfo {
        &self.headers[index.0 as usize]
    }

    /// The leaves a place expression covers.
    pub fn covered(&self, control: ControlId, place: &Expr) -> Covered {
        match &place.kind {
            ExprKind::Var(_) | ExprKind::Field(..) | ExprKind::Index(..) => {
                match self.resolve(control, place) {
                    Some(node) => {
                        let mut out = vec![];
                        collect(node, &mut out);
                        Covered::Whole(out)
                    }
                    None => match &place.kind {
                        ExprKind::Field(base, _) | ExprKind::Index(base, _) => self.part(control, base),
                        _ => Covered::Nothing,
                    },
                }
            }
            ExprKind::Next(base) | ExprKind::Last(base) => self.part(control, base),
            ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => self.part(control, base),
            _ => Covered::Nothing,
        }
    }

    fn part(&self, control: ControlId, base: &Expr) -> Covered {
        match self.covered(control, base) {
            Covered::Whole(leaves) | Covered::Part(leaves) => Covered::Part(leaves),
            Covered::Nothing => Covered::Nothing,
        }
    }

    /// The header instance a place expression names, if it names one.
    pub fn header_of(&self, control: ControlId, place: &Expr) -> Option<HeaderIndex> {
        match self.resolve(control, place)? {
            Node::Header(index, ..) => Some(*index),
            _ => None,
        }
    }

    fn resolve(&self, control: ControlId, place: &Expr) -> Option<&Node> {
        match &place.kind {
            ExprKind::Var(var) => self.roots.get(&self.root(control, *var)),
            ExprKind::Field(base, index) => self.resolve(control, base)?.child(*index),
            ExprKind::Index(base, index) => self.resolve(control, base)?.child(constant(index)?),
            _ => None,
        }
    }
}

impl Node {
    fn child(&self, index: u32) -> Option<&Node> {
        match self {
            Node::Leaf(_) => None,
            Node::Header(_, _, children) | Node::Group(children) => children.get(index as usize),
        }
    }
}

/// Position of a walk over an object.
struct Walk {
    root: Root,
    path: Vec<u32>,
}

/// A place's name as an identifier: `s[1].isValid()` is `s_1_isValid`.
pub fn identifier(name: &str) -> String {
    name.replace(['.', '['], "_").replace([']', '(', ')'], "")
}

/// For structs and unions: whether it is a union.
fn is_group(program: &Program, ty: &Type) -> Option<bool> {
    let Type::Named(id) = ty else { return None };
    match program.type_decl(*id).kind {
        ir::TypeKind::Struct(_) => Some(false),
        ir::TypeKind::Union(_) => Some(true),
        _ => None,
    }
}

fn collect(node: &Node, out: &mut Vec<Leaf>) {
    match node {
        Node::Leaf(leaf) => out.push(*leaf),
        Node::Header(_, validity, children) => {
            out.extend(*validity);
            children.iter().for_each(|child| collect(child, out));
        }
        Node::Group(children) => children.iter().for_each(|child| collect(child, out)),
    }
}
