//! Hand-overs in the controls: packing before leaving, and unpacking where control continues.

use crate::generate::{Generator, Moved};
use crate::layout::{EPOCH_BITS, ETHER_TYPE, Form, LiveField, VERSION};
use crate::runtime::{ADDRESS, At, sender_address};
use crate::section::SectionId;
use ir::{Const, ControlId, ErrorId, Expr, ExprKind, Stmt, Type, build};
use p4_arch::Duty;

impl Generator<'_> {
    /// `if (hdr.p4rack_S.isValid()) { p4rack_restore_S(); }`, if the section is entered over a cut. Validity and
    /// members of enums need an `if` each and stand in front of the call.
    pub fn restore(&mut self, at: At, id: SectionId) -> Option<Stmt> {
        let At { stage, control, moved } = at;
        if !self.entered_here_by(true).contains(&id) {
            return None;
        }
        let header = self.header_field(stage, *self.of_section.get(&id)?);
        let (mut first, mut stmts) = (vec![], vec![]);
        for live in self.cut.layout.sections.get(&id)? {
            let value = self.named_field(header.clone(), &live.name);
            match live.form {
                Form::Bits => {
                    let place = self.place(stage, live.leaf, moved);
                    stmts.push(build::assign(place.clone(), build::cast(value, place.ty)));
                }
                Form::Validity => {
                    let place = self.place(stage, live.leaf, moved);
                    let one = build::equals(value, build::bits(1, 1));
                    first.push(build::if_then(one, vec![build::set_valid(place, true)]));
                }
                Form::Member(count) => {
                    let place = self.place(stage, live.leaf, moved);
                    first.extend((1..count).map(|n| {
                        let is_it = build::equals(value.clone(), build::bits(live.width, u64::from(n)));
                        build::if_then(is_it, vec![build::assign(place.clone(), member(&place.ty, n))])
                    }));
                }
            }
        }
        stmts.push(build::set_valid(header.clone(), false));
        let name = format!("restore_{}", self.identifier(id));
        first.push(build::run(self.add_own_action(control, &name, vec![], stmts)));
        Some(build::if_then(build::is_valid(header), first))
    }

    /// `p4rack_save_S();`
    pub fn save_section(&mut self, at: At, id: SectionId) -> Vec<Stmt> {
        let At { stage, control, moved } = at;
        let (mut stmts, mut members) = (vec![], vec![]);
        if let Some(&number) = self.of_section.get(&id) {
            let header = self.header_field(stage, number);
            stmts.push(build::set_valid(header.clone(), true));
            for live in self.cut.layout.sections.get(&id).into_iter().flatten() {
                let place = self.named_field(header.clone(), &live.name);
                match live.form {
                    Form::Member(count) => members.extend(self.pack_member(stage, live, count, place, moved)),
                    _ => stmts.push(build::assign(place, self.packed(stage, live, moved))),
                }
            }
            if self.cut.layout.section_bits(id) > self.live_bits(id) {
                let padding = self.named_field(header, "padding");
                let width = self.cut.layout.section_bits(id) - self.live_bits(id);
                stmts.push(build::assign(padding, build::bits(width, 0)));
            }
        }
        stmts.push(build::assign(self.leaving_of(stage), build::bits(1, 1)));
        let name = format!("save_{}", self.identifier(id));
        let action = self.add_own_action(control, &name, vec![], stmts);
        members.insert(0, build::run(action));
        members
    }

    /// A member's number goes to `place`.
    fn pack_member(&self, stage: Duty, live: &LiveField, count: u32, place: Expr, moved: Moved) -> Vec<Stmt> {
        let value = self.place(stage, live.leaf, moved);
        let mut stmts = vec![build::assign(place.clone(), build::bits(live.width, 0))];
        stmts.extend((1..count).map(|n| {
            let is_it = build::equals(value.clone(), member(&value.ty, n));
            build::if_then(is_it, vec![build::assign(place.clone(), build::bits(live.width, u64::from(n)))])
        }));
        stmts
    }

    /// A live value as bits.
    fn packed(&self, stage: Duty, live: &LiveField, moved: Moved) -> Expr {
        let place = self.place(stage, live.leaf, moved);
        match live.form {
            Form::Validity => build::cast(build::is_valid(place), Type::Bit(1)),
            _ => build::cast(place, Type::Bit(live.width)),
        }
    }

    fn live_bits(&self, id: SectionId) -> u32 {
        self.cut.layout.sections.get(&id).into_iter().flatten().map(|f| f.width).sum()
    }

    /// The call that packs headers into a hand-over.
    pub fn send(&mut self, stage: Duty, control: ControlId) -> Vec<Stmt> {
        let common = self.header_field(stage, self.common);
        let mut stmts = vec![build::set_valid(common.clone(), true)];
        let placement = self.cut.placement;
        let values = [
            ("dst_addr", ADDRESS),
            ("src_addr", sender_address(self.device)),
            ("ether_type", u64::from(ETHER_TYPE)),
            ("version", VERSION),
            ("app", placement.app),
            ("epoch", placement.epoch % (1 << EPOCH_BITS)),
            ("has_pad", 0),
            ("padding", 0),
        ];
        for (name, value) in values {
            let width = self.cut.layout.width_of(name);
            if width > 0 {
                stmts.push(build::assign(self.named_field(common.clone(), name), build::bits(width, value)));
            }
        }
        stmts.push(build::assign(self.named_field(common.clone(), "region"), self.region_of(stage)));
        for policy in self.cut.policies {
            stmts.extend(policy.send(self, stage));
        }
        for (&index, &copy) in &self.sent {
            let name = &self.cut.places.header(index).name;
            let own = self.program_header(stage, index);
            let has = self.named_field(common.clone(), &format!("has_{name}"));
            stmts.push(build::assign(has, build::cast(build::is_valid(own.clone()), Type::Bit(1))));
            if let Some(length) = self.varbit_length(stage, index) {
                let field = format!("len_{name}");
                let width = self.cut.layout.width_of(&field);
                let place = self.named_field(common.clone(), &field);
                stmts.push(build::assign(place, build::cast(length, Type::Bit(width))));
            }
            stmts.push(build::assign(self.header_field(stage, copy), own.clone()));
            stmts.push(build::set_valid(own, false));
        }
        for (index, _, copy) in self.original_pairs(stage) {
            let name = &self.cut.places.header(index).name;
            let has = self.named_field(common.clone(), &format!("orig_{name}"));
            stmts.push(build::assign(has, build::cast(build::is_valid(copy), Type::Bit(1))));
            if let Some(length) = self.original_length(stage, index) {
                let field = format!("orig_len_{name}");
                let width = self.cut.layout.width_of(&field);
                let place = self.named_field(common.clone(), &field);
                stmts.push(build::assign(place, build::cast(length, Type::Bit(width))));
            }
        }
        let mut calls = vec![build::run(self.add_own_action(control, "send", vec![], stmts))];
        calls.extend(self.add_pad(stage));
        calls
    }
}

/// The `n`-th member of an enum or of `error`.
fn member(ty: &Type, n: u32) -> Expr {
    let value = match ty {
        Type::Error => Const::Error(ErrorId(n)),
        _ => Const::Enum(n),
    };
    build::expr(ExprKind::Const(value), ty.clone())
}
