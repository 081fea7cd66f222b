//! Functions.

use super::scope::Scope;
use super::types::{Kind, Ty};
use super::{Context, Gen, Where};
use crate::feature::Feature as F;

/// How a parameter passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dir {
    In,
    Out,
    InOut,
    /// An action's data.
    None,
}

impl Dir {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Dir::In => "in ",
            Dir::Out => "out ",
            Dir::InOut => "inout ",
            Dir::None => "",
        }
    }
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) dir: Dir,
    pub(crate) name: String,
    pub(crate) ty: Ty,
}

/// A function that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) returns: Option<Ty>,
    pub(crate) generic: bool,
}

const NAMES: &[&str] = &["fold", "mix", "next", "clip", "spread", "score", "step"];
const PARAMS: &[&str] = &["a", "b", "c", "d"];
const ACTION_PARAMS: &[&str] = &["p", "q", "r"];

impl Gen {
    pub(super) fn declare_function(&mut self) {
        self.note(F::Function);
        let stem = *self.rng.pick(NAMES).unwrap_or(&"fold");
        let name = self.fresh(stem);
        let params = self.some_params(false);
        let returns = if self.chance(85) { Some(self.return_type()) } else { None };
        let shown = returns.as_ref().map_or("void".to_string(), |t| self.types.show(t));
        let head = format!("{shown} {name}({}) {{", self.show_params(&params));
        let cx = Context { place: Where::Function, returns: returns.clone(), fuel: 6, ..Context::default() };
        let text = self.within(cx, Scope::default(), |g| {
            for (name, ty) in g.consts.clone() {
                g.add(&name, &ty, false);
            }
            g.add_params(&params);
            g.out.open(head);
            g.initialise_outs(&params);
            g.statements(5);
            g.log_values();
            if let Some(ty) = &returns {
                let value = g.value(ty, 2);
                g.out.line(format!("return {value};"));
            }
            g.out.close("}");
        });
        self.decl(text);
        self.functions.push(Function { name, params, returns, generic: false });
    }

    /// Portable programs read nothing that was not written.
    pub(super) fn initialise_outs(&mut self, params: &[Param]) {
        for param in params.iter().filter(|p| p.dir == Dir::Out) {
            if self.config.portable && self.is_plain(&param.ty) {
                let value = self.plain_literal(&param.ty);
                self.out.line(format!("{} = {value};", param.name));
            }
        }
    }

    fn return_type(&mut self) -> Ty {
        match self.below(8) {
            0 => Ty::Bool,
            1 if self.on(F::Signed) => Ty::Int(self.signed_width()),
            2 => self.named(|k| matches!(k, Kind::Struct(_))).unwrap_or(Ty::Bit(8)),
            3 | 4 => Ty::Bit(8),
            _ => Ty::Bit(self.width()),
        }
    }

    /// One to three parameters of a function or control, or the leading ones of an action.
    pub(super) fn some_params(&mut self, action: bool) -> Vec<Param> {
        let mut params = vec![];
        let alike = if self.chance(50) { Some(Ty::Bit(self.width())) } else { None };
        let names = if action { ACTION_PARAMS } else { PARAMS };
        for name in names.iter().take(self.between(1, 3) as usize) {
            let dir = match self.below(5) {
                0 => Dir::Out,
                1 | 2 => Dir::InOut,
                _ => Dir::In,
            };
            let ty = match &alike {
                Some(ty) if self.chance(80) => ty.clone(),
                _ if self.chance(15) && !action => {
                    self.named(|k| matches!(k, Kind::Struct(_))).unwrap_or(Ty::Bit(8))
                }
                _ => self.any_scalar(),
            };
            params.push(Param { dir, name: (*name).to_string(), ty });
        }
        params
    }

    pub(super) fn show_params(&self, params: &[Param]) -> String {
        let shown: Vec<String> =
            params.iter().map(|p| format!("{}{} {}", p.dir.text(), self.types.show(&p.ty), p.name)).collect();
        shown.join(", ")
    }

    pub(super) fn add_params(&mut self, params: &[Param]) {
        for param in params {
            let write = matches!(param.dir, Dir::Out | Dir::InOut);
            if param.dir == Dir::Out {
                self.note(F::Uninitialised);
            }
            self.add(&param.name, &param.ty, write);
        }
    }

    pub(super) fn declare_generic_functions(&mut self) {
        let param = |dir, name: &str, ty: &Ty| Param { dir, name: name.to_string(), ty: ty.clone() };
        let t = Ty::Bit(0);
        let choose = self.fresh("choose");
        self.decl(format!(
            "T {choose}<T>(in bool first, in T a, in T b) {{\n    if (first) {{\n        return a;\n    }}\n    return b;\n}}"
        ));
        let params =
            vec![param(Dir::In, "first", &Ty::Bool), param(Dir::In, "a", &t), param(Dir::In, "b", &t)];
        self.functions.push(Function { name: choose, params, returns: Some(t.clone()), generic: true });
        let swap = self.fresh("swap");
        self.decl(format!(
            "void {swap}<T>(inout T a, inout T b) {{\n    T old = a;\n    a = b;\n    b = old;\n}}"
        ));
        let params = vec![param(Dir::InOut, "a", &t), param(Dir::InOut, "b", &t)];
        self.functions.push(Function { name: swap, params, returns: None, generic: true });
    }
}
