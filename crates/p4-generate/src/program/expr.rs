//! Expressions of numbers and truth values.

use super::types::{Kind, Ty};
use super::{Gen, Where};
use crate::feature::Feature as F;

/// Makes an expression of a width, with so many levels below it.
type Make = fn(&mut Gen, u32, u32) -> Option<String>;

const BITS: &[(u32, Make)] = &[
    (8, Gen::arithmetic),
    (3, Gen::bitwise),
    (2, Gen::saturating),
    (4, Gen::shift),
    (2, Gen::signed_shift),
    (4, Gen::slice),
    (2, Gen::plus_slice),
    (4, Gen::concat),
    (5, Gen::cast_to_bits),
    (3, Gen::conditional_bits),
    (3, Gen::complement),
    (4, Gen::call_bits),
    (4, Gen::run_time_element),
    (3, Gen::parser_value),
    (1, Gen::const_division),
];

impl Gen {
    /// An expression of type `bit<width>`.
    pub(super) fn bits(&mut self, width: u32, depth: u32) -> String {
        if depth > 0 && self.chance(75) {
            let total: u32 = BITS.iter().map(|(weight, _)| weight).sum();
            for _ in 0..3 {
                let mut at = self.below(u64::from(total)) as u32;
                let make = BITS.iter().find(|(weight, _)| {
                    let here = at < *weight;
                    at = at.saturating_sub(*weight);
                    here
                });
                if let Some(text) = make.and_then(|(_, make)| make(self, width, depth - 1)) {
                    return text;
                }
            }
        }
        self.bit_leaf(width)
    }

    fn bit_leaf(&mut self, width: u32) -> String {
        if self.chance(75) {
            if let Some(place) = self.some_place(|_, p| p.ty == Ty::Bit(width)) {
                return place.text.clone();
            }
            if let Some(place) = self.some_place(|_, p| matches!(p.ty, Ty::Bit(_))) {
                self.note(F::Cast);
                return format!("((bit<{width}>){})", place.text.clone());
            }
        }
        self.literal(width)
    }

    /// A literal with its width.
    pub(super) fn literal(&mut self, width: u32) -> String {
        let value = self.value_of_width(width);
        if self.chance(30) && value > 9 { format!("{width}w{value:#x}") } else { format!("{width}w{value}") }
    }

    /// Small numbers, powers of two, all ones, and any number; up to 128 bits of it.
    pub(super) fn value_of_width(&mut self, width: u32) -> u128 {
        let ones = if width >= 128 { u128::MAX } else { (1 << width) - 1 };
        let value = match self.below(6) {
            0..=2 => u128::from(self.below(12)),
            3 => 1 << self.below(u64::from(width.min(127))),
            4 => ones,
            _ => self.rng.next_u128(),
        };
        value & ones
    }

    fn arithmetic(&mut self, width: u32, depth: u32) -> Option<String> {
        self.note(F::Arithmetic);
        let op = *self.rng.pick(&["+", "-", "*"])?;
        Some(self.binary(width, op, depth))
    }

    fn bitwise(&mut self, width: u32, depth: u32) -> Option<String> {
        let op = *self.rng.pick(&["&", "|", "^"])?;
        Some(self.binary(width, op, depth))
    }

    fn saturating(&mut self, width: u32, depth: u32) -> Option<String> {
        self.note(F::Saturating);
        let op = *self.rng.pick(&["|+|", "|-|"])?;
        Some(self.binary(width, op, depth))
    }

    fn binary(&mut self, width: u32, op: &str, depth: u32) -> String {
        let left = self.bits(width, depth);
        let right =
            if self.chance(15) && width >= 4 { self.below(15).to_string() } else { self.bits(width, depth) };
        format!("({left} {op} {right})")
    }

    fn shift(&mut self, width: u32, depth: u32) -> Option<String> {
        let value = self.bits(width, depth);
        let op = if self.chance(50) { "<<" } else { ">>" };
        let amount = self.shift_amount(width, depth);
        Some(format!("({value} {op} {amount})"))
    }

    fn shift_amount(&mut self, width: u32, depth: u32) -> String {
        if self.chance(60) {
            self.note(F::VariableShift);
            let amount = if self.config.portable || self.chance(50) { 8 } else { self.width() };
            self.bits(amount, depth.min(1))
        } else {
            self.below(u64::from(width) + 3).to_string()
        }
    }

    /// The sign of any number is what a right shift fills with.
    fn signed_shift(&mut self, width: u32, depth: u32) -> Option<String> {
        if width < 2 || !self.on(F::Signed) {
            return None;
        }
        self.note(F::Signed);
        self.note(F::Cast);
        let value = self.bits(width, depth);
        let amount = self.shift_amount(width, depth);
        Some(format!("((bit<{width}>)((int<{width}>){value} >> {amount}))"))
    }

    fn slice(&mut self, width: u32, depth: u32) -> Option<String> {
        let place = self.some_place(|_, p| match p.ty {
            Ty::Bit(n) | Ty::Int(n) => n > width,
            _ => false,
        });
        let (base, from) = match place {
            Some(place) => {
                let (Ty::Bit(n) | Ty::Int(n)) = place.ty else { return None };
                (place.text.clone(), n)
            }
            None => (self.bits(width + 5, depth), width + 5),
        };
        self.note(F::Slice);
        let low = self.between(0, from - width);
        Some(format!("{base}[{}:{low}]", low + width - 1))
    }

    fn plus_slice(&mut self, width: u32, _depth: u32) -> Option<String> {
        if !self.on(F::PlusSlice) {
            return None;
        }
        let place = self.some_place(|_, p| matches!(p.ty, Ty::Bit(n) if n > width))?;
        let Ty::Bit(from) = place.ty else { return None };
        self.note(F::PlusSlice);
        let base = place.text.clone();
        let start = match self.run_time_number() {
            Some(start) if !self.config.portable && self.chance(50) => start,
            _ => self.between(0, from - width).to_string(),
        };
        Some(format!("{base}[{start}+:{width}]"))
    }

    fn concat(&mut self, width: u32, depth: u32) -> Option<String> {
        if width < 2 {
            return None;
        }
        self.note(F::Concat);
        let low = self.between(1, width - 1);
        Some(format!("({} ++ {})", self.bits(width - low, depth), self.bits(low, depth)))
    }

    fn cast_to_bits(&mut self, width: u32, depth: u32) -> Option<String> {
        self.note(F::Cast);
        match self.below(6) {
            0 | 1 => {
                let from = self.width();
                Some(format!("((bit<{width}>){})", self.bits(from, depth)))
            }
            2 if self.on(F::Signed) => Some(format!("((bit<{width}>){})", self.widened(width, depth)?)),
            2 | 3 if width > 1 => Some(format!("((bit<{width}>){})", self.ints(width, depth))),
            4 if width == 1 => Some(format!("((bit<1>){})", self.bools(depth))),
            _ => {
                let named = self.named(|k| matches!(k, Kind::SerEnum(n, _) | Kind::New(n) if *n == width))?;
                let value = self.value(&named, depth);
                Some(format!("((bit<{width}>){value})"))
            }
        }
    }

    fn conditional_bits(&mut self, width: u32, depth: u32) -> Option<String> {
        self.note(F::Conditional);
        let (yes, no) = (self.bits(width, depth), self.bits(width, depth));
        Some(format!("({} ? {yes} : {no})", self.bools(depth)))
    }

    fn complement(&mut self, width: u32, depth: u32) -> Option<String> {
        let op = if self.chance(50) { "~" } else { "-" };
        Some(format!("({op}{})", self.bits(width, depth)))
    }

    fn call_bits(&mut self, width: u32, depth: u32) -> Option<String> {
        let call = self.call_of_type(&Ty::Bit(width), depth)?;
        Some(call)
    }

    fn const_division(&mut self, width: u32, _depth: u32) -> Option<String> {
        if !(8..=64).contains(&width) {
            return None;
        }
        self.note(F::ConstDivision);
        let op = if self.chance(50) { "/" } else { "%" };
        Some(format!("({width}w{} {op} {})", self.between(20, 255), self.between(1, 19)))
    }

    /// An expression that only parsers may use.
    fn parser_value(&mut self, width: u32, _depth: u32) -> Option<String> {
        if self.cx.place != Where::Parser {
            return None;
        }
        match self.below(4) {
            0 if self.on(F::PacketLength) && !self.config.portable => {
                self.note(F::PacketLength);
                Some(format!("((bit<{width}>)packet.length())"))
            }
            1 | 2 if self.on(F::Lookahead) && width <= 64 => {
                self.note(F::Lookahead);
                Some(format!("packet.lookahead<bit<{width}>>()"))
            }
            _ => {
                let stack = self.header_stack()?;
                self.note(F::LastIndex);
                Some(format!("((bit<{width}>){}.lastIndex)", stack.text))
            }
        }
    }

    /// An expression of type `int<width>`, at least two bits wide.
    pub(super) fn ints(&mut self, width: u32, depth: u32) -> String {
        self.note(F::Signed);
        if depth == 0 || self.chance(25) {
            if let Some(place) = self.some_place(|_, p| p.ty == Ty::Int(width))
                && self.chance(70)
            {
                return place.text.clone();
            }
            return self.int_literal(width);
        }
        match self.below(6) {
            0 | 1 => {
                self.note(F::SignedArithmetic);
                let op = *self.rng.pick(&["+", "-", "*", "|+|", "|-|", "&", "^"]).unwrap_or(&"+");
                if op.len() > 1 {
                    self.note(F::Saturating);
                }
                format!("({} {op} {})", self.ints(width, depth - 1), self.ints(width, depth - 1))
            }
            2 => {
                let op = if self.chance(30) { "<<" } else { ">>" };
                self.note(F::VariableShift);
                format!("({} {op} {})", self.ints(width, depth - 1), self.bits(8, 1))
            }
            3 => format!("(-{})", self.ints(width, depth - 1)),
            4 => self.widened(width, depth - 1).unwrap_or_else(|| self.int_literal(width)),
            _ => {
                self.note(F::Cast);
                format!("((int<{width}>){})", self.bits(width, depth - 1))
            }
        }
    }

    /// A number of fewer bits, with its sign.
    fn widened(&mut self, width: u32, depth: u32) -> Option<String> {
        let narrow: Vec<u32> = self.types.widths.iter().copied().filter(|n| (2..width).contains(n)).collect();
        let narrow = *self.rng.pick(&narrow)?;
        self.note(F::Signed);
        self.note(F::Cast);
        Some(format!("((int<{width}>)((int<{narrow}>){}))", self.bits(narrow, depth)))
    }

    fn int_literal(&mut self, width: u32) -> String {
        let most = if width >= 63 { 1 << 60 } else { (1u64 << (width - 1)) - 1 };
        let value = if self.chance(60) { self.below(most.min(20) + 1) } else { self.below(most + 1) };
        if value > 0 && self.chance(40) { format!("(-{width}s{value})") } else { format!("{width}s{value}") }
    }

    /// An expression of type `bool`.
    pub(super) fn bools(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.bool_leaf();
        }
        let depth = depth - 1;
        match self.below(12) {
            0 | 1 => {
                let op = if self.chance(50) { "&&" } else { "||" };
                format!("({} {op} {})", self.bools(depth), self.bools(depth))
            }
            2 => self.short_circuit(depth),
            3 => format!("(!{})", self.bools(depth)),
            4 if self.config.portable => self.comparison(depth),
            4 => self.compare_aggregates().unwrap_or_else(|| self.comparison(depth)),
            5 => {
                let ty = self.any_scalar();
                let op = if self.chance(50) { "==" } else { "!=" };
                format!("({} {op} {})", self.value(&ty, depth), self.value(&ty, depth))
            }
            6 | 7 => self.validity().unwrap_or_else(|| self.bool_leaf()),
            8 => self.bool_leaf(),
            _ => self.comparison(depth),
        }
    }

    /// A call that is made only now and then.
    fn short_circuit(&mut self, depth: u32) -> String {
        let Some(call) = self.call_of_type(&Ty::Bit(8), depth) else { return self.comparison(depth) };
        self.note(F::ShortCircuit);
        let op = if self.chance(50) { "&&" } else { "||" };
        let left = self.bool_leaf();
        format!("({left} {op} ({call} == {}))", self.literal(8))
    }

    fn comparison(&mut self, depth: u32) -> String {
        let op = *self.rng.pick(&["==", "!=", "<", "<=", ">", ">="]).unwrap_or(&"==");
        if self.on(F::Signed) && self.chance(20) {
            let width = self.signed_width();
            return format!("({} {op} {})", self.ints(width, depth), self.ints(width, depth));
        }
        let width = self.width();
        format!("({} {op} {})", self.bits(width, depth), self.bits(width, depth))
    }

    fn bool_leaf(&mut self) -> String {
        match self.some_place(|_, p| p.ty == Ty::Bool) {
            Some(place) if self.chance(60) => place.text.clone(),
            _ => {
                let width = self.width();
                format!("({} == {})", self.bit_leaf(width), self.literal(width))
            }
        }
    }

    /// `h.isValid()`
    pub(super) fn validity(&mut self) -> Option<String> {
        let portable = self.config.portable;
        let place =
            self.some_place(|g, p| g.types.is_header(&p.ty) || (!portable && g.types.is_union(&p.ty)))?;
        self.note(F::IsValid);
        Some(format!("{}.isValid()", place.text))
    }

    fn compare_aggregates(&mut self) -> Option<String> {
        let one = self.some_place(|g, p| {
            matches!(p.ty, Ty::Stack(..) | Ty::Tuple(_))
                || g.types.is_header(&p.ty)
                || g.types.is_struct(&p.ty)
        })?;
        if one.text == "hdr" || one.text == "meta" {
            return None;
        }
        let ty = one.ty.clone();
        let other = self.some_place(move |_, p| p.ty == ty)?;
        self.note(F::CompareAggregates);
        let op = if self.chance(50) { "==" } else { "!=" };
        Some(format!("({} {op} {})", one.text, other.text))
    }
}
