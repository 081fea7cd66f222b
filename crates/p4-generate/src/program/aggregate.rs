//! Values of all other types.

use super::Gen;
use super::scope::Place;
use super::types::{Kind, Ty};
use crate::feature::Feature as F;

impl Gen {
    /// A value of type `ty`, where the context determines the type.
    pub(super) fn value(&mut self, ty: &Ty, depth: u32) -> String {
        match ty {
            Ty::Bit(n) => return self.bits(*n, depth),
            Ty::Int(n) => return self.ints(*n, depth),
            Ty::Bool => return self.bools(depth),
            _ => {}
        }
        let is_struct = matches!(ty, Ty::Named(_)) && matches!(self.types.kind(ty), Some(Kind::Struct(_)));
        if is_struct
            && self.chance(30)
            && let Some(call) = self.call_of_type(ty, depth)
        {
            return call;
        }
        let wanted = ty.clone();
        let place = self.some_place(move |_, p| p.ty == wanted);
        if let Some(place) = place
            && (depth == 0 && !matches!(ty, Ty::Error) || self.chance(45))
        {
            return place.text.clone();
        }
        self.made(ty, depth.saturating_sub(1))
    }

    /// A new value, not a place's.
    fn made(&mut self, ty: &Ty, depth: u32) -> String {
        match ty {
            Ty::Error => self.error(),
            Ty::Tuple(types) => {
                self.note(F::ListExpr);
                let values: Vec<String> = types.iter().map(|t| self.value(t, depth)).collect();
                format!("{{ {} }}", values.join(", "))
            }
            Ty::Stack(elem, size) => {
                let elem = elem.clone();
                let values: Vec<String> = (0..*size).map(|_| self.value(&elem, depth.min(1))).collect();
                format!("{{ {} }}", values.join(", "))
            }
            Ty::Named(_) => self.made_named(ty, depth),
            Ty::Bit(_) | Ty::Int(_) | Ty::Bool | Ty::Varbit(_) => self.plain_literal(ty),
        }
    }

    fn made_named(&mut self, ty: &Ty, depth: u32) -> String {
        let name = self.types.show(ty);
        match self.types.kind(ty).cloned() {
            Some(Kind::Enum(members)) => {
                self.note(F::Enum);
                format!("{name}.{}", self.rng.pick(&members).map_or("", String::as_str))
            }
            Some(Kind::SerEnum(width, members)) => {
                self.note(F::SerEnum);
                if self.chance(30) && !self.config.portable {
                    return format!("(({name}){})", self.bits(width, depth));
                }
                format!("{name}.{}", self.rng.pick(&members).map_or("", String::as_str))
            }
            Some(Kind::New(width)) => {
                self.note(F::NewType);
                format!("(({name}){})", self.bits(width, depth))
            }
            // A varbit has no literal.
            Some(Kind::Header(_)) if self.types.varbit(ty).is_some() => format!("(({name}){{#}})"),
            Some(Kind::Header(_)) if self.chance(15) && self.on(F::InvalidHeader) => {
                self.note(F::InvalidHeader);
                format!("(({name}){{#}})")
            }
            Some(Kind::Struct(fields) | Kind::Header(fields)) => {
                let list = self.chance(30);
                let mut parts = vec![];
                let dots = !list && self.on(F::Dots) && self.chance(30);
                let kept = if dots { fields.len() / 2 } else { fields.len() };
                for field in &fields[..kept] {
                    let value = self.value(&field.ty, depth.min(1));
                    parts.push(if list { value } else { format!("{} = {value}", field.name) });
                }
                if dots {
                    self.note(F::Dots);
                    parts.push("...".to_string());
                }
                self.note(if list { F::ListExpr } else { F::StructExpr });
                format!("({name}){{ {} }}", parts.join(", "))
            }
            Some(Kind::Union(_)) => format!("(({name}){{#}})"),
            None => String::new(),
        }
    }

    pub(super) fn error(&mut self) -> String {
        let mut names = vec!["NoError".to_string(), "PacketTooShort".to_string(), "NoMatch".to_string()];
        names.extend(self.types.errors.iter().cloned());
        let name = self.rng.pick(&names).cloned().unwrap_or_default();
        if self.types.errors.contains(&name) {
            self.note(F::UserError);
        }
        format!("error.{name}")
    }

    /// A value that is known at compile time, of a type without parts.
    pub(super) fn plain_literal(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Bit(n) => self.literal(*n),
            Ty::Int(n) => format!("{n}s{}", self.below(1 << (n - 1).min(6))),
            Ty::Bool => if self.chance(50) { "true" } else { "false" }.to_string(),
            Ty::Error => self.error(),
            Ty::Named(_) => match self.types.kind(ty).cloned() {
                Some(Kind::Enum(members) | Kind::SerEnum(_, members)) => {
                    let name = self.types.show(ty);
                    format!("{name}.{}", self.rng.pick(&members).map_or("", String::as_str))
                }
                Some(Kind::New(width)) => format!("(({}){})", self.types.show(ty), self.literal(width)),
                _ => String::new(),
            },
            _ => String::new(),
        }
    }

    /// True for types that [`plain_literal`](Gen::plain_literal) knows.
    pub(super) fn is_plain(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Bit(_) | Ty::Int(_) | Ty::Bool | Ty::Error => true,
            Ty::Named(_) => {
                matches!(self.types.kind(ty), Some(Kind::Enum(_) | Kind::SerEnum(..) | Kind::New(_)))
            }
            _ => false,
        }
    }

    /// A list of numbers for a hash, a checksum or a digest. Whole bytes if `bytes`.
    pub(super) fn data_list(&mut self, bytes: bool) -> String {
        let mut parts = vec![];
        for _ in 0..self.between(1, 4) {
            let place = self.some_place(|g, p| {
                let fits = match p.ty {
                    Ty::Bit(n) => !bytes || n % 8 == 0,
                    _ => !bytes && g.types.is_number(&p.ty),
                };
                fits && !p.text.ends_with("timestamp")
            });
            match place {
                Some(place) => parts.push(place.text),
                None => parts.push(self.literal(16)),
            }
        }
        self.note(F::ListExpr);
        format!("{{ {} }}", parts.join(", "))
    }

    /// All numbers of a header, one after the other, as real checksums are over.
    pub(super) fn header_list(&mut self) -> Option<String> {
        let header = self.some_place(|g, p| g.types.is_header(&p.ty) && !p.text.contains('['))?;
        let fields = self.types.fields(&header.ty).iter();
        let portable = self.config.portable;
        let parts: Vec<String> = fields
            .filter(|field| matches!(field.ty, Ty::Bit(n) if !portable || n % 8 == 0))
            .map(|field| format!("{}.{}", header.text, field.name))
            .collect();
        self.note(F::ListExpr);
        (!parts.is_empty()).then(|| format!("{{ {} }}", parts.join(", ")))
    }

    /// A header stack.
    pub(super) fn header_stack(&mut self) -> Option<Place> {
        self.some_place(|g, p| matches!(&p.ty, Ty::Stack(elem, _) if g.types.is_header(elem)) && p.write)
    }
}
