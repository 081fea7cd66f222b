//! Statements.

use super::types::{Kind, Ty};
use super::{Gen, Where};
use crate::feature::Feature as F;

/// Writes a statement; `None` if it cannot be made here, true if nothing may follow it in its block.
type Make = fn(&mut Gen) -> Option<bool>;

const STATEMENTS: &[(u32, Make)] = &[
    (20, Gen::assign),
    (5, Gen::compound),
    (6, Gen::declare_variable),
    (3, Gen::declare_empty),
    (9, Gen::if_else),
    (4, Gen::switch_value),
    (4, Gen::for_loop),
    (4, Gen::for_in),
    (5, Gen::call_function),
    (5, Gen::call_action),
    (8, Gen::apply_table),
    (5, Gen::apply_piece),
    (4, Gen::set_valid),
    (4, Gen::shift_stack),
    (4, Gen::assign_aggregate),
    (2, Gen::inner_block),
    (5, Gen::if_valid),
    (4, Gen::leave),
    (14, Gen::effect),
    (9, Gen::use_object),
];

impl Gen {
    /// Writes one; true if nothing may follow it.
    pub(super) fn statement(&mut self) -> bool {
        let total: u32 = STATEMENTS.iter().map(|(weight, _)| weight).sum();
        for _ in 0..6 {
            let mut at = self.below(u64::from(total)) as u32;
            for (weight, make) in STATEMENTS {
                if at < *weight {
                    if let Some(ends) = make(self) {
                        return ends;
                    }
                    break;
                }
                at -= weight;
            }
        }
        false
    }

    /// Maximum depth of expressions here.
    fn depth(&mut self) -> u32 {
        if self.config.portable { self.between(1, 2) } else { self.between(1, 3) }
    }

    fn assign(&mut self) -> Option<bool> {
        let place = self.any_target()?;
        let depth = self.depth();
        let target = if matches!(place.ty, Ty::Bit(_)) { self.target(&place.ty)? } else { place.text };
        let value = self.value(&place.ty, depth);
        self.out.line(format!("{target} = {value};"));
        Some(false)
    }

    fn compound(&mut self) -> Option<bool> {
        if !self.on(F::CompoundAssign) {
            return None;
        }
        let width = self.width();
        let target = self.target(&Ty::Bit(width))?;
        let depth = self.depth();
        let op = *self.rng.pick(&["+", "-", "*", "&", "|", "^", "|+|", "|-|", "<<", ">>"])?;
        let value = match op {
            "<<" | ">>" => self.bits(8, 1),
            _ => self.bits(width, depth),
        };
        self.note(F::CompoundAssign);
        self.out.line(format!("{target} {op}= {value};"));
        Some(false)
    }

    fn declare_variable(&mut self) -> Option<bool> {
        let ty = match self.below(8) {
            0 if self.on(F::Tuple) => {
                self.note(F::Tuple);
                Ty::Tuple(vec![Ty::Bit(self.width()), self.any_scalar()])
            }
            1 | 2 => self.named(|k| matches!(k, Kind::Struct(_) | Kind::Header(_)))?,
            3 if self.on(F::Array) && self.cx.place != Where::Parser && !self.config.portable => {
                self.note(F::Array);
                Ty::Stack(Box::new(Ty::Bit(self.width())), self.between(2, 3))
            }
            _ => self.any_scalar(),
        };
        if ty == self.headers || ty == self.metadata || self.types.varbit(&ty).is_some() {
            return None;
        }
        let stem = *self.rng.pick(&["x", "y", "n", "tmp", "total", "old"])?;
        let name = self.fresh(stem);
        let shown = self.shown(&ty);
        let uninitialised = !self.config.portable && self.chance(25);
        if uninitialised {
            self.note(F::Uninitialised);
            self.out.line(format!("{shown} {name};"));
        } else {
            let value = self.value(&ty, 2);
            self.out.line(format!("{shown} {name} = {value};"));
        }
        self.add(&name, &ty, true);
        Some(false)
    }

    /// A header or a stack that is empty wherever it is declared, however often that is run: in loops and actions.
    fn declare_empty(&mut self) -> Option<bool> {
        let again = self.cx.loops > 0 || self.cx.action;
        if !again || self.cx.depth > 3 || self.config.portable {
            return None;
        }
        let (name, ty) = self.empty_variable()?;
        self.fill_empty(&name, &ty);
        Some(false)
    }

    /// Declares a header or stack without a value.
    pub(super) fn empty_variable(&mut self) -> Option<(String, Ty)> {
        let fields = self.types.fields(&self.headers).to_vec();
        let fit = fields.into_iter().map(|field| field.ty).filter(|ty| match ty {
            Ty::Stack(elem, _) => self.types.is_header(elem),
            ty => self.types.is_header(ty) && self.types.varbit(ty).is_none(),
        });
        let ty = self.rng.pick(&fit.collect::<Vec<_>>()).cloned()?;
        self.note(F::EmptyAgain);
        let name = self.fresh("empty");
        self.out.line(format!("{} {name};", self.types.show(&ty)));
        Some((name, ty))
    }

    /// Shows that it is empty, and fills it.
    pub(super) fn fill_empty(&mut self, name: &str, ty: &Ty) {
        let header = match ty {
            Ty::Stack(_, size) => format!("{name}[{}]", self.below((*size).into())),
            _ => name.to_string(),
        };
        self.block(&format!("if ({header}.isValid())"), 2);
        self.out.line(format!("{header}.setValid();"));
        self.add(name, ty, true);
    }

    fn if_else(&mut self) -> Option<bool> {
        if self.cx.depth > 3 || self.cx.place == Where::Parser {
            return None;
        }
        let depth = self.depth();
        let condition = self.bools(depth);
        self.block(&format!("if ({condition})"), 3);
        if self.chance(40) {
            self.block("else", 3);
        }
        Some(false)
    }

    /// A block in which the fields of a header mean something.
    fn if_valid(&mut self) -> Option<bool> {
        if self.cx.depth > 3 || self.cx.place == Where::Parser {
            return None;
        }
        let header = self.some_place(|g, p| g.types.is_header(&p.ty))?;
        self.note(F::IsValid);
        self.cx.valid.push(header.text.clone());
        self.block(&format!("if ({}.isValid())", header.text), 3);
        self.cx.valid.pop();
        Some(false)
    }

    fn inner_block(&mut self) -> Option<bool> {
        if self.cx.depth > 3 {
            return None;
        }
        self.block("", 2);
        Some(false)
    }

    fn switch_value(&mut self) -> Option<bool> {
        let portable_here = !self.config.portable || !self.cx.action;
        if self.cx.depth > 2 || self.cx.place == Where::Parser || !portable_here || !self.on(F::SwitchValue) {
            return None;
        }
        let ty = match self.below(3) {
            0 => self.named(|k| matches!(k, Kind::Enum(_) | Kind::SerEnum(..)))?,
            _ => Ty::Bit(8),
        };
        let subject = self.value(&ty, 1);
        let mut labels: Vec<String> = (0..4).map(|_| self.plain_literal(&ty)).collect();
        labels.sort_by_key(|l| number_of(l));
        labels.dedup_by_key(|l| number_of(l));
        self.note(F::SwitchValue);
        self.out.open(format!("switch ({subject}) {{"));
        self.cases(labels);
        self.out.close("}");
        Some(false)
    }

    /// The cases of a `switch`, one for each label or for several.
    pub(super) fn cases(&mut self, labels: Vec<String>) {
        let last = labels.len();
        for (at, label) in labels.into_iter().enumerate() {
            if at + 1 < last && self.chance(20) {
                self.note(F::FallThrough);
                self.out.line(format!("{label}:"));
            } else {
                self.block(&format!("{label}:"), 2);
            }
        }
        if self.chance(60) {
            self.block("default:", 2);
        }
    }

    fn call_function(&mut self) -> Option<bool> {
        if self.cx.pure {
            return None;
        }
        let text = self.call_statement()?;
        self.out.line(text);
        Some(false)
    }

    fn set_valid(&mut self) -> Option<bool> {
        if self.cx.place == Where::Function && self.chance(50) {
            return None;
        }
        let header = self.some_place(|g, p| p.write && g.types.is_header(&p.ty))?;
        let set = self.must_stay(&header.text) || self.chance(65);
        self.note(if set { F::SetValid } else { F::SetInvalid });
        if [".short", ".long", ".other"].iter().any(|m| header.text.ends_with(m)) {
            self.note(F::UnionMember);
        }
        self.out.line(format!("{}.{}();", header.text, if set { "setValid" } else { "setInvalid" }));
        Some(false)
    }

    fn shift_stack(&mut self) -> Option<bool> {
        if self.cx.place == Where::Parser {
            return None;
        }
        let stack = self.header_stack()?;
        let Ty::Stack(_, size) = stack.ty else { return None };
        if self.must_stay(&stack.text) {
            return None;
        }
        let push = self.chance(50);
        self.note(if push { F::PushFront } else { F::PopFront });
        let count = self.between(1, size);
        self.out.line(format!("{}.{}({count});", stack.text, if push { "push_front" } else { "pop_front" }));
        Some(false)
    }

    fn assign_aggregate(&mut self) -> Option<bool> {
        match self.below(5) {
            0 | 1 => {
                let (to, from) = self.header_pair()?;
                if self.must_stay(&to) || self.config.portable && to == from {
                    return None;
                }
                self.note(F::HeaderAssign);
                self.out.line(format!("{to} = {from};"));
            }
            2 => {
                let stack = self.header_stack()?;
                let ty = stack.ty.clone();
                let from = self.some_place(move |_, p| p.ty == ty)?;
                if from.text == stack.text || self.must_stay(&stack.text) {
                    return None;
                }
                self.note(F::StackAssign);
                self.out.line(format!("{} = {};", stack.text, from.text));
            }
            3 if self.on(F::InvalidHeader) => {
                let header = self.some_place(|g, p| p.write && g.types.is_header(&p.ty))?;
                if self.must_stay(&header.text) {
                    return None;
                }
                self.note(F::InvalidHeader);
                self.out.line(format!("{} = {{#}};", header.text));
            }
            _ => {
                let (headers, metadata) = (self.headers.clone(), self.metadata.clone());
                let place = self.some_place(|g, p| {
                    let whole = p.ty == headers || p.ty == metadata;
                    p.write && !whole && g.types.is_struct(&p.ty)
                })?;
                let value = self.value(&place.ty, 2);
                self.out.line(format!("{} = {value};", place.text));
            }
        }
        Some(false)
    }

    /// `return`, `exit`, `break`, `continue`: only inside of something.
    fn leave(&mut self) -> Option<bool> {
        if self.cx.depth < 2 || self.cx.place == Where::Parser {
            return None;
        }
        if self.cx.loops > 0 && self.chance(70) {
            let (word, feature) =
                if self.chance(50) { ("break;", F::Break) } else { ("continue;", F::Continue) };
            self.note(feature);
            self.out.line(word);
            return Some(true);
        }
        if self.cx.place == Where::Function {
            let returns = self.cx.returns.clone();
            let value = returns.map(|ty| format!(" {}", self.value(&ty, 1))).unwrap_or_default();
            self.note(F::FunctionReturn);
            self.out.line(format!("return{value};"));
            return Some(true);
        }
        if !matches!(self.cx.place, Where::Ingress | Where::Egress | Where::Piece) {
            return None;
        }
        let exit = self.chance(45);
        self.note(match (exit, self.cx.action) {
            (true, true) => F::ActionExit,
            (true, false) => F::ControlExit,
            (false, true) => F::ActionReturn,
            (false, false) => F::ControlReturn,
        });
        self.out.line(if exit { "exit;" } else { "return;" });
        Some(true)
    }
}

/// The value of a literal, whatever its base; labels of a switch differ in it.
fn number_of(literal: &str) -> String {
    let digits = literal.split_once('w').map_or(literal, |(_, digits)| digits);
    match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).map_or(digits.to_string(), |n| n.to_string()),
        None => digits.to_string(),
    }
}
