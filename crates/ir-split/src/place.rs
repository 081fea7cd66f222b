//! Places: the scalar leaves of a program's parameters and locals, numbered.
//!
//! Each stage's control has its own variables, but its headers, metadata and standard metadata are the same
//! object from stage to stage. A [`Leaf`] is one scalar of such an object or of a control's local variable:
//! `hdr.ipv4.ttl`, `meta.next_hop`, `ttl`. Sets of leaves are what the dataflow works on.

use ir::{ControlId, Expr, ExprKind, Name, Program, Role, StageKind, Type, VarId};
use std::collections::BTreeMap;

/// What a leaf belongs to.
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
    /// Its type.
    pub ty: Type,
    /// The header instance it is a field of.
    pub header: Option<HeaderIndex>,
}

/// One header instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderInfo {
    /// Field indices from the headers struct down to it.
    pub path: Vec<u32>,
    /// `ipv4`; nested structs are joined by `_`.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its fields' leaves.
    pub leaves: Vec<Leaf>,
}

/// All leaves and header instances of a program.
pub struct Places {
    /// By number.
    pub leaves: Vec<LeafInfo>,
    /// In declaration order.
    pub headers: Vec<HeaderInfo>,
    roots: BTreeMap<Root, Node>,
    shared: BTreeMap<(ControlId, VarId), RoleKey>,
}

/// The tree of leaves below an object.
enum Node {
    Leaf(Leaf),
    Header(HeaderIndex, Vec<Node>),
    Struct(Vec<Node>),
}

/// A set of leaves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LeafSet {
    words: Vec<u64>,
}

impl LeafSet {
    /// Adds a leaf; true if it was not there.
    pub fn insert(&mut self, leaf: Leaf) -> bool {
        let (word, bit) = (leaf.0 as usize / 64, 1u64 << (leaf.0 % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Removes a leaf.
    pub fn remove(&mut self, leaf: Leaf) {
        if let Some(word) = self.words.get_mut(leaf.0 as usize / 64) {
            *word &= !(1u64 << (leaf.0 % 64));
        }
    }

    /// True if the leaf is in it.
    pub fn contains(&self, leaf: Leaf) -> bool {
        self.words.get(leaf.0 as usize / 64).is_some_and(|w| w & (1u64 << (leaf.0 % 64)) != 0)
    }

    /// Adds all of `other`.
    pub fn union(&mut self, other: &LeafSet) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// The leaves, by number.
    pub fn iter(&self) -> impl Iterator<Item = Leaf> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            (0..64).filter(move |bit| word & (1u64 << bit) != 0).map(move |bit| Leaf(i as u32 * 64 + bit))
        })
    }
}

/// What a place expression covers.
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
        let mut places =
            Places { leaves: vec![], headers: vec![], roots: BTreeMap::new(), shared: BTreeMap::new() };
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
        let node = self.node(program, root, &mut vec![], name.as_str(), ty, None);
        self.roots.insert(root, node);
    }

    fn node(
        &mut self,
        program: &Program,
        root: Root,
        path: &mut Vec<u32>,
        name: &str,
        ty: &Type,
        header: Option<HeaderIndex>,
    ) -> Node {
        let fields = program.fields(ty);
        let is_header = program.is_header(ty);
        if fields.is_empty() && !is_header && !is_struct(program, ty) {
            let leaf = Leaf(self.leaves.len() as u32);
            let info = LeafInfo { root, path: path.clone(), name: name.to_string(), ty: ty.clone(), header };
            self.leaves.push(info);
            return Node::Leaf(leaf);
        }
        let own_header = (is_header && root == Root::Shared(RoleKey::Headers)).then(|| {
            let base = name.split_once('.').map_or(name, |(_, rest)| rest).replace('.', "_");
            let numbered = (2..).map(|n| format!("{base}_{n}"));
            let free = |candidate: &String| !self.headers.iter().any(|h| h.name == *candidate);
            let short = std::iter::once(base.clone()).chain(numbered).find(free).unwrap_or(base.clone());
            self.headers.push(HeaderInfo { path: path.clone(), name: short, ty: ty.clone(), leaves: vec![] });
            HeaderIndex(self.headers.len() as u32 - 1)
        });
        let first = self.leaves.len() as u32;
        let mut children = vec![];
        for (index, field) in fields.iter().enumerate() {
            path.push(index as u32);
            let child = format!("{name}.{}", field.name);
            children.push(self.node(program, root, path, &child, &field.ty, own_header.or(header)));
            path.pop();
        }
        match own_header {
            Some(index) => {
                self.headers[index.0 as usize].leaves = (first..self.leaves.len() as u32).map(Leaf).collect();
                Node::Header(index, children)
            }
            None => Node::Struct(children),
        }
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
                Node::Header(_, children) | Node::Struct(children) => children.get(index as usize)?,
            };
        }
        match node {
            Node::Leaf(leaf) => Some(*leaf),
            _ => None,
        }
    }

    /// The standard metadata's field of that name.
    pub fn standard(&self, name: &str) -> Option<Leaf> {
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

    /// What a leaf is.
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
            ExprKind::Var(_) | ExprKind::Field(..) => match self.resolve(control, place) {
                Some(node) => {
                    let mut out = vec![];
                    collect(node, &mut out);
                    Covered::Whole(out)
                }
                None => match &place.kind {
                    ExprKind::Field(base, _) => self.part(control, base),
                    _ => Covered::Nothing,
                },
            },
            ExprKind::Index(base, _) | ExprKind::Next(base) | ExprKind::Last(base) => {
                self.part(control, base)
            }
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
            Node::Header(index, _) => Some(*index),
            _ => None,
        }
    }

    fn resolve(&self, control: ControlId, place: &Expr) -> Option<&Node> {
        match &place.kind {
            ExprKind::Var(var) => self.roots.get(&self.root(control, *var)),
            ExprKind::Field(base, index) => match self.resolve(control, base)? {
                Node::Leaf(_) => None,
                Node::Header(_, children) | Node::Struct(children) => children.get(*index as usize),
            },
            _ => None,
        }
    }
}

/// True for struct types.
pub fn is_struct(program: &Program, ty: &Type) -> bool {
    matches!(ty, Type::Named(id) if matches!(program.type_decl(*id).kind, ir::TypeKind::Struct(_)))
}

fn collect(node: &Node, out: &mut Vec<Leaf>) {
    match node {
        Node::Leaf(leaf) => out.push(*leaf),
        Node::Header(_, children) | Node::Struct(children) => {
            for child in children {
                collect(child, out);
            }
        }
    }
}
