//! Controls: what is declared in them, and their bodies.

use super::action::Action;
use super::function::{Dir, Param};
use super::objects::{Object, ObjectKind};
use super::scope::Scope;
use super::types::Ty;
use super::{Context, Gen, Where};
use crate::feature::Feature as F;

/// A sub-control.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    /// True if the control has a constructor parameter.
    pub(crate) limit: bool,
}

impl Gen {
    /// Declares what a control has beside its body, and fills the context with it.
    pub(super) fn members(&mut self, most_tables: u32, top: Vec<Action>) {
        let objects = self.declare_objects();
        self.cx.objects.extend(objects);
        self.instances();
        for _ in 0..self.below(3) {
            self.member_variable();
        }
        let mut actions = vec![];
        for _ in 0..self.between(1, 4) {
            let action = self.declare_action(None);
            // Declared later, an action can call those before it.
            self.cx.actions.push(action.clone());
            actions.push(action);
        }
        actions.extend(top);
        for _ in 0..self.between(0, most_tables) {
            let direct = self.direct_objects();
            let table = self.declare_table(&actions, &direct);
            self.cx.tables.push(table);
        }
    }

    fn member_variable(&mut self) {
        let ty = match self.below(5) {
            0 if self.on(F::Array) && !self.config.portable => {
                self.note(F::Array);
                Ty::Stack(Box::new(Ty::Bit(self.width())), self.between(2, 4))
            }
            1 => self.named(|k| matches!(k, super::types::Kind::Struct(_))).unwrap_or(Ty::Bit(8)),
            _ => self.any_scalar(),
        };
        if ty == self.headers || ty == self.metadata {
            return;
        }
        let name = self.fresh("local");
        let shown = self.shown(&ty);
        if self.is_plain(&ty) && (self.config.portable || self.chance(50)) {
            let value = self.plain_literal(&ty);
            self.out.line(format!("{shown} {name} = {value};"));
        } else if self.config.portable {
            return;
        } else {
            self.note(F::Uninitialised);
            self.out.line(format!("{shown} {name};"));
        }
        self.add(&name, &ty, true);
    }

    /// A direct counter or meter with an action that uses it.
    fn direct_objects(&mut self) -> Vec<(Object, Action)> {
        let mut all = vec![];
        for (feature, kind, stem) in [
            (F::DirectCounter, ObjectKind::DirectCounter, "hits"),
            (F::DirectMeter, ObjectKind::DirectMeter, "rate"),
        ] {
            if !self.on(feature) || !self.chance(25) || self.cx.place == Where::Piece && self.config.portable
            {
                continue;
            }
            let name = self.fresh(stem);
            match kind {
                ObjectKind::DirectCounter => {
                    self.out.line(format!("direct_counter(CounterType.packets_and_bytes) {name};"));
                }
                _ => self.out.line(format!("direct_meter<bit<8>>(MeterType.packets) {name};")),
            }
            let object = Object { name, kind, index: 0, size: 0 };
            let action = self.declare_action(Some(&object));
            all.push((object, action));
        }
        if self.config.portable {
            all.truncate(1);
        }
        all
    }

    /// Instances of the sub-controls.
    fn instances(&mut self) {
        if self.cx.place == Where::Piece {
            return;
        }
        for at in 0..self.pieces.len() {
            let piece = self.pieces[at].clone();
            let count = if self.chance(30) { 2 } else { 1 };
            if count == 2 {
                self.note(F::SubControlTwice);
            }
            for _ in 0..count {
                let name = self.fresh("inner");
                let arg = if piece.limit { self.below(60).to_string() } else { String::new() };
                self.out.line(format!("{}({arg}) {name};", piece.name));
                self.cx.instances.push((name, at));
            }
        }
    }

    pub(super) fn apply_piece(&mut self) -> Option<bool> {
        if self.cx.instances.is_empty() || self.cx.action || self.cx.loops > 0 && self.config.portable {
            return None;
        }
        let at = self.below(self.cx.instances.len() as u64) as usize;
        let (name, piece) = self.cx.instances[at].clone();
        let params = self.pieces[piece].params.clone();
        let args = self.arguments(&params, 2)?;
        if self.config.portable || self.chance(70) {
            self.cx.instances.remove(at);
        } else {
            self.note(F::AppliedAgain);
        }
        self.note(F::SubControl);
        self.out.line(format!("{name}.apply({});", args.join(", ")));
        Some(false)
    }

    pub(super) fn declare_piece(&mut self) {
        let name = self.fresh("Piece");
        let mut params = self.some_params(false);
        if self.chance(40) && !self.config.portable {
            let ty = self.headers.clone();
            params.push(Param { dir: Dir::InOut, name: "hdr".to_string(), ty });
        }
        let limit = self.on(F::ConstructorParam) && self.chance(50);
        let constructor = if limit {
            self.note(F::ConstructorParam);
            "(bit<16> bound)"
        } else {
            ""
        };
        let head = format!("control {name}({}){constructor} {{", self.show_params(&params));
        let cx = Context { place: Where::Piece, fuel: 8, ..Context::default() };
        let text = self.within(cx, Scope::default(), |g| {
            g.add_params(&params);
            if limit {
                g.add("bound", &Ty::Bit(16), false);
            }
            g.out.open(head);
            g.members(1, vec![]);
            let empty = if g.chance(30) && !g.config.portable { g.empty_variable() } else { None };
            g.out.open("apply {");
            g.initialise_outs(&params);
            if let Some((name, ty)) = empty {
                g.fill_empty(&name, &ty);
            }
            g.statements(6);
            g.apply_rest();
            g.log_values();
            g.out.close("}");
            g.out.close("}");
        });
        self.decl(text);
        self.pieces.push(Piece { name, params, limit });
    }

    /// Applies the tables and sub-controls that nothing has applied, so that all of them are seen.
    pub(super) fn apply_rest(&mut self) {
        while !self.cx.tables.is_empty() {
            self.cx.fuel += 2;
            self.apply_table();
        }
        for _ in 0..8 {
            if self.apply_piece().is_none() {
                break;
            }
        }
    }
}
