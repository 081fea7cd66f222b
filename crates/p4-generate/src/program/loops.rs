//! `for` loops, all of few rounds.

use super::types::Ty;
use super::{Gen, Where};
use crate::feature::Feature as F;

impl Gen {
    fn may_loop(&self) -> bool {
        // p4c unrolls loops: it takes long, and not all kinds are supported everywhere.
        if self.config.portable && (self.cx.loops > 0 || self.cx.action || self.cx.place == Where::Function) {
            return false;
        }
        self.cx.depth < 3 && self.cx.loops < 2 && self.cx.place != Where::Parser && self.on(F::For)
    }

    /// The body of a loop: tables are applied once, so not in here.
    fn round(&mut self, head: &str, variable: &str, ty: &Ty) {
        let tables = if self.config.portable { std::mem::take(&mut self.cx.tables) } else { vec![] };
        // Calls of what has loops itself, in loops, in what is called in loops, would take too long.
        let calls = self.cx.place == Where::Function || self.cx.action || self.cx.loops > 0;
        let pure = self.cx.pure;
        self.cx.pure |= calls;
        let places = self.scope.places.len();
        self.cx.loops += 1;
        self.add(variable, ty, false);
        self.block(head, 3);
        self.cx.loops -= 1;
        self.scope.places.truncate(places);
        self.cx.pure = pure;
        self.cx.tables.extend(tables);
    }

    pub(super) fn for_loop(&mut self) -> Option<bool> {
        if !self.may_loop() {
            return None;
        }
        self.note(F::For);
        let name = self.fresh("i");
        let ty = Ty::Bit(8);
        let most = self.between(1, 5);
        let (start, test, step) = match self.below(3) {
            0 => (most.to_string(), format!("{name} > 0"), format!("{name} = {name} - 1")),
            1 if self.on(F::CompoundAssign) => {
                ("0".to_string(), format!("{name} < {most}"), format!("{name} += 1"))
            }
            _ => ("0".to_string(), format!("{name} < {most}"), format!("{name} = {name} + 1")),
        };
        self.round(&format!("for (bit<8> {name} = {start}; {test}; {step})"), &name, &ty);
        Some(false)
    }

    pub(super) fn for_in(&mut self) -> Option<bool> {
        if !self.may_loop() || self.config.portable {
            return None;
        }
        let name = self.fresh("each");
        let array =
            self.some_place(|_, p| matches!(&p.ty, Ty::Stack(elem, _) if matches!(**elem, Ty::Bit(_))));
        if let Some(array) = array
            && self.chance(70)
        {
            let Ty::Stack(elem, _) = array.ty else { return None };
            self.note(F::ForInValues);
            self.round(&format!("for ({} {name} in {})", self.types.show(&elem), array.text), &name, &elem);
            return Some(false);
        }
        let width = 8;
        let ty = Ty::Bit(width);
        if self.chance(30) && !self.config.portable {
            self.note(F::ForInValues);
            let values: Vec<String> = (0..self.between(1, 3)).map(|_| self.literal(width)).collect();
            let head = format!("for (bit<8> {name} in (list<bit<8>>){{ {} }})", values.join(", "));
            self.round(&head, &name, &ty);
            return Some(false);
        }
        self.note(F::ForInRange);
        let low = self.below(5);
        let high = low + self.below(4);
        self.round(&format!("for (bit<8> {name} in {width}w{low} .. {high})"), &name, &ty);
        Some(false)
    }
}
