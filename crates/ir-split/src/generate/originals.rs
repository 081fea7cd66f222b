//! The packet as it came in, for clones and resubmission after a cut of ingress.
//!
//! ```text
//! ingress, first pass        p4rack_orig_X := X, for each header the parser extracts; they travel with every hand-over
//! ingress, last pass         gone, unless the packet starts again
//! egress of a clone          X := p4rack_orig_X, where the traffic manager has cloned a hand-over
//! egress, to start again     all X invalid: what is emitted is the packet as it came in; recirculated
//! ```

use super::Generator;
use crate::place::HeaderIndex;
use crate::section::Half;
use ir::{Callee, Expr, Stmt, Type, build};
use p4_arch::v1model::instance_type;
use p4_arch::{Duty, Meaning};

impl Generator<'_> {
    /// The copy of a header as received.
    fn original(&self, stage: Duty, index: HeaderIndex) -> Expr {
        self.header_field(stage, self.originals[&index])
    }

    /// The field with the length of an original's varbit.
    pub fn original_length(&self, stage: Duty, index: HeaderIndex) -> Option<Expr> {
        let field = self.original_lengths.get(&index)?;
        Some(build::field(self.metadata(stage), *field, Type::Bit(32)))
    }

    /// The header and its copy, in the order in which the parser extracts them.
    pub fn original_pairs(&self, stage: Duty) -> Vec<(HeaderIndex, Expr, Expr)> {
        let all = self.cut.originals.iter();
        all.map(|&i| (i, self.program_header(stage, i), self.original(stage, i))).collect()
    }

    /// At the start of ingress: an ordinary packet's headers are kept.
    pub fn keep_originals(&self) -> Vec<Stmt> {
        let mut stmts = vec![];
        for (index, own, copy) in self.original_pairs(Duty::Ingress) {
            let mut kept = vec![build::set_valid(copy.clone(), true), build::assign(copy, own.clone())];
            if let (Some(to), Some(from)) =
                (self.original_length(Duty::Ingress, index), self.varbit_length(Duty::Ingress, index))
            {
                kept.push(build::assign(to, from));
            }
            stmts.push(build::if_then(build::is_valid(own), kept));
        }
        if stmts.is_empty() {
            return stmts;
        }
        let ordinary = build::equals(self.region_of(Duty::Ingress), self.region_value(0));
        vec![build::if_then(ordinary, stmts)]
    }

    /// A packet that starts again shows as resubmitted.
    pub fn show_resubmitted(&self) -> Option<Stmt> {
        let restart = self.cut.effects.restart.as_ref()?;
        let restarted = build::field(self.metadata(Duty::Ingress), restart.restarted, Type::Bit(1));
        let kind = self.standard(Duty::Ingress, Meaning::Kind);
        let resubmitted = build::bits(32, u64::from(instance_type::RESUBMITTED));
        let stmts =
            vec![build::assign(kind, resubmitted), build::assign(restarted.clone(), build::bits(1, 0))];
        Some(build::if_then(build::equals(restarted, build::bits(1, 1)), stmts))
    }

    /// Removes the originals at the end of ingress, except from a packet that is resubmitted.
    pub fn forget_originals(&mut self) -> Option<Stmt> {
        let pairs = self.original_pairs(Duty::Ingress);
        if pairs.is_empty() {
            return None;
        }
        let stmts = pairs.into_iter().map(|(_, _, copy)| build::set_valid(copy, false)).collect();
        let forget = self.add_own_action(self.cut.ingress, "forget", vec![], stmts);
        let first = self.region_value(u64::from(self.cut.sections.first(Half::Egress).0));
        let mut done = build::equals(self.region_of(Duty::Ingress), first);
        if let Some(starts) = self.starts_again(Duty::Ingress) {
            done = build::and(done, build::not(starts));
        }
        Some(build::if_then(done, vec![build::run(forget)]))
    }

    /// The packet starts again.
    pub fn starts_again(&self, stage: Duty) -> Option<Expr> {
        let restart = self.cut.effects.restart.as_ref()?;
        let field = build::field(self.metadata(stage), restart.restart, Type::Bit(restart.width));
        Some(build::not(build::equals(field, build::bits(restart.width, 0))))
    }

    /// In egress: recirculates the packet as received, with the field list of its resubmission.
    pub fn start_again(&mut self) -> Vec<Stmt> {
        let Some(restart) = self.cut.effects.restart.clone() else { return vec![] };
        let unknown = self.region_value(self.cut.layout.unknown_region);
        let mut stmts = vec![build::assign(self.region_of(Duty::Egress), unknown)];
        let restarted = build::field(self.metadata(Duty::Egress), restart.restarted, Type::Bit(1));
        stmts.push(build::assign(restarted, build::bits(1, 1)));
        stmts.extend(self.packet_headers(Duty::Egress).into_iter().map(|h| build::set_valid(h, false)));
        let back = self.add_own_action(self.cut.egress, "take_back", vec![], stmts);
        let recirculate = self.recirculate_function();
        let field = build::field(self.metadata(Duty::Egress), restart.restart, Type::Bit(restart.width));
        let variants = (1..).zip(restart.lists).map(|(number, list)| {
            let call = build::call(Callee::ExternFunction(recirculate), vec![], vec![list]);
            let is_it = build::equals(field.clone(), build::bits(restart.width, number));
            build::if_then(is_it, vec![build::run(back), call])
        });
        variants.collect()
    }

    fn packet_headers(&self, stage: Duty) -> Vec<Expr> {
        self.cut.places.of_packet().map(|(index, _)| self.program_header(stage, index)).collect()
    }

    /// A clone starts in egress with its metadata zero: it begins at egress' first section. Where a hand-over was
    /// cloned it becomes the packet as it came in.
    pub fn start_clone(&mut self) -> Vec<Stmt> {
        if !self.cut.effects.copies {
            return vec![];
        }
        let kind = self.standard(Duty::Egress, Meaning::Kind);
        let is = |number: u32| build::equals(kind.clone(), build::bits(32, u64::from(number)));
        let mut stmts = vec![];
        if !self.cut.originals.is_empty() {
            let hand_over = build::is_valid(self.header_field(Duty::Egress, self.common));
            let cloned = build::and(is(instance_type::INGRESS_CLONE), hand_over);
            stmts.push(build::if_then(cloned, self.become_original()));
        }
        let first = self.region_value(u64::from(self.cut.sections.first(Half::Egress).0));
        let begin = build::assign(self.region_of(Duty::Egress), first);
        let mut begins = vec![begin];
        begins.extend(self.clone_is_short());
        let clone = build::or(is(instance_type::INGRESS_CLONE), is(instance_type::EGRESS_CLONE));
        stmts.push(build::if_then(clone, begins));
        stmts
    }

    /// Hand-over to original: validity by `setValid` and `setInvalid`, so that the length that the device tracks is
    /// that of the packet.
    fn become_original(&mut self) -> Vec<Stmt> {
        let length = self.standard(Duty::Egress, Meaning::Length);
        let mut stmts = vec![];
        let less = |header: &Expr, bytes: Expr| {
            let rest = build::subtract(length.clone(), bytes);
            build::if_then(build::is_valid(header.clone()), vec![build::assign(length.clone(), rest)])
        };
        let mut ours = vec![self.header_field(Duty::Egress, self.common)];
        ours.extend(
            self.entered_here_by(true)
                .iter()
                .filter_map(|id| self.of_section.get(id))
                .map(|&n| self.header_field(Duty::Egress, n)),
        );
        ours.extend(self.pad.map(|n| self.header_field(Duty::Egress, n)));
        if self.cut.reads_length {
            for header in ours.iter() {
                stmts.push(less(header, build::bits(32, self.bits_of(&header.ty) / 8)));
            }
            for (index, _) in self.cut.places.of_packet() {
                let header = self.program_header(Duty::Egress, index);
                stmts.push(less(&header, self.header_bytes(&header, self.sent_length(index))));
            }
        }
        for header in self.packet_headers(Duty::Egress) {
            stmts.push(build::set_valid(header.clone(), false));
            // A header that becomes valid has zero fields: what the hand-over left in them cannot be read afterwards.
            if self.cut.reads_hidden {
                stmts.push(build::set_valid(header.clone(), true));
                stmts.push(build::set_valid(header, false));
            }
        }
        for (index, own, copy) in self.original_pairs(Duty::Egress) {
            let mut back = vec![
                build::set_valid(own.clone(), true),
                build::assign(own, copy.clone()),
                build::set_valid(copy.clone(), false),
            ];
            if let (Some(to), Some(from)) =
                (self.varbit_length(Duty::Egress, index), self.sent_original_length(index))
            {
                back.push(build::assign(to, build::cast(from, Type::Bit(32))));
            }
            stmts.push(build::if_then(build::is_valid(copy), back));
        }
        stmts.extend(ours.into_iter().map(|header| build::set_valid(header, false)));
        stmts
    }

    /// The bytes of a valid header, with the length of its varbit.
    fn header_bytes(&self, header: &Expr, varbit: Option<Expr>) -> Expr {
        let most = crate::layout::varbit_bits(&self.out, &header.ty).unwrap_or(0);
        let fixed = build::bits(32, (self.bits_of(&header.ty) - most) / 8);
        match varbit {
            Some(bits) => build::add(fixed, build::shift_right(build::cast(bits, Type::Bit(32)), 3)),
            None => fixed,
        }
    }

    fn sent_length(&self, index: HeaderIndex) -> Option<Expr> {
        self.varbit_length(Duty::Egress, index)?;
        let name = format!("len_{}", self.cut.places.header(index).name);
        Some(self.named_field(self.header_field(Duty::Egress, self.common), &name))
    }

    fn sent_original_length(&self, index: HeaderIndex) -> Option<Expr> {
        self.original_length(Duty::Egress, index)?;
        let name = format!("orig_len_{}", self.cut.places.header(index).name);
        Some(self.named_field(self.header_field(Duty::Egress, self.common), &name))
    }
}
