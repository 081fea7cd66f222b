//! A program from a seed.
//!
//! Text is written straight away, from the inside out: an expression of a wanted type is made of what the scope
//! holds, a statement of expressions, a block of statements. Every piece is well typed when it is made, so nothing
//! is thrown away. Each program is keen on some features only and leaves the others out.

mod action;
mod aggregate;
mod block;
mod call;
mod control;
mod effect;
mod expr;
mod function;
mod loops;
mod objects;
mod own_externs;
mod parser;
mod place;
mod scope;
mod stages;
mod stmt;
mod table;
mod types;

use crate::config::Config;
use crate::feature::Feature;
use crate::text::Text;
use base_time::Rng;
use control::Piece;
use function::Function;
use objects::Object;
use scope::Scope;
use std::collections::{BTreeMap, BTreeSet};
use table::Table;
use types::{Ty, Types};

/// A program.
#[derive(Clone, Debug)]
pub struct Generated {
    /// P4-16 for v1model.
    pub source: String,
    /// Features of the program.
    pub features: BTreeSet<Feature>,
}

/// The program that `seed` stands for.
pub fn generate(seed: u64, config: &Config) -> Generated {
    let rng = Rng::new(seed).split("program");
    let mut keen = BTreeSet::new();
    for feature in Feature::ALL {
        if rng.split(feature.name()).chance(1, 2) {
            keen.insert(*feature);
        }
    }
    let plain = rng.split("plain").chance(config.plain, 100);
    let mut g = Gen {
        config: config.clone(),
        rng,
        plain,
        keen,
        features: BTreeSet::new(),
        types: Types::default(),
        typedef: None,
        consts: vec![],
        decls: vec![],
        names: BTreeMap::new(),
        scope: Scope::default(),
        cx: Context::default(),
        functions: vec![],
        pieces: vec![],
        out: Text::default(),
        headers: Ty::Bool,
        metadata: Ty::Bool,
        lists: vec![],
    };
    g.program();
    Generated { source: g.decls.join("\n"), features: g.features }
}

/// Context of code: what it may use.
#[derive(Clone, Debug, Default)]
struct Context {
    place: Where,
    /// In an action.
    action: bool,
    /// Loops around.
    loops: u32,
    /// Blocks around.
    depth: u32,
    /// Return type in a function.
    returns: Option<Ty>,
    /// Tables that may be applied here, and have not been.
    tables: Vec<Table>,
    /// Actions that may be called here.
    actions: Vec<action::Action>,
    /// Registers, counters and meters.
    objects: Vec<Object>,
    /// Instances of sub-controls: name and position in [`Gen::pieces`].
    instances: Vec<(String, usize)>,
    /// Headers that are surely valid: portable programs touch fields of no others.
    valid: Vec<String>,
    /// Statements that may still be made.
    fuel: u32,
    /// No calls: inside of arguments of calls, keys, conditions that are evaluated often.
    pure: bool,
}

/// A kind of block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Where {
    #[default]
    Function,
    Parser,
    Ingress,
    Egress,
    /// A sub-control: may run in ingress and in egress.
    Piece,
    Checksum,
}

pub(crate) struct Gen {
    config: Config,
    rng: Rng,
    /// See [`Config::plain`].
    plain: bool,
    /// Features this program is keen on.
    keen: BTreeSet<Feature>,
    features: BTreeSet<Feature>,
    types: Types,
    /// A `typedef` and the width it stands for.
    typedef: Option<(String, u32)>,
    consts: Vec<(String, Ty)>,
    /// The declarations so far.
    decls: Vec<String>,
    /// Number of times that a name was used.
    names: BTreeMap<String, u32>,
    scope: Scope,
    cx: Context,
    functions: Vec<Function>,
    /// Sub-controls.
    pieces: Vec<Piece>,
    /// The body being written.
    out: Text,
    headers: Ty,
    metadata: Ty,
    /// Field lists of the metadata.
    lists: Vec<u32>,
}

impl Gen {
    /// True if the program is keen on this.
    fn on(&self, feature: Feature) -> bool {
        self.keen.contains(&feature)
    }

    /// The program contains this.
    fn note(&mut self, feature: Feature) {
        self.features.insert(feature);
    }

    /// True in so many of a hundred cases.
    fn chance(&mut self, percent: u64) -> bool {
        self.rng.chance(percent, 100)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    /// Both included.
    fn between(&mut self, low: u32, high: u32) -> u32 {
        self.rng.between(u64::from(low), u64::from(high)) as u32
    }

    /// A name that nothing in the program has.
    fn fresh(&mut self, stem: &str) -> String {
        let count = self.names.entry(stem.to_string()).or_default();
        *count += 1;
        match (*count, stem.strip_suffix("_t")) {
            (1, _) => stem.to_string(),
            (n, Some(stem)) => format!("{stem}{n}_t"),
            (n, None) => format!("{stem}{n}"),
        }
    }

    fn decl(&mut self, text: String) {
        self.decls.push(format!("{}\n", text.trim_end()));
    }

    /// Does `work` in a context of its own, with its own scope and text; gives the text.
    fn within(&mut self, cx: Context, scope: Scope, work: impl FnOnce(&mut Self)) -> String {
        let outer = std::mem::replace(&mut self.cx, cx);
        let scope = std::mem::replace(&mut self.scope, scope);
        let out = std::mem::take(&mut self.out);
        work(self);
        self.cx = outer;
        self.scope = scope;
        std::mem::replace(&mut self.out, out).finish()
    }

    fn program(&mut self) {
        let index_types = self.on(Feature::IndexTypes) && self.on(Feature::Const);
        if index_types {
            self.note(Feature::IndexTypes);
            self.decl("#define V1MODEL_VERSION 20200408".to_string());
        }
        self.decl("#include <core.p4>\n#include <v1model.p4>".to_string());
        self.declare_types();
        self.declare_headers();
        self.declare_metadata();
        self.declare_value_externs();
        if self.on(Feature::Function) {
            for _ in 0..self.between(1, 4) {
                self.declare_function();
            }
        }
        if self.on(Feature::GenericFunction) && !self.config.portable {
            self.declare_generic_functions();
        }
        self.parser();
        if self.on(Feature::SubControl) {
            for _ in 0..self.between(1, 2) {
                self.declare_piece();
            }
        }
        self.stages();
    }
}
