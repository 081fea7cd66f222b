//! Places to write to.

use super::Gen;
use super::scope::Place;
use super::types::Ty;
use crate::feature::Feature as F;

impl Gen {
    /// A place of this type that may be written.
    pub(super) fn target(&mut self, ty: &Ty) -> Option<String> {
        if let Ty::Bit(width) = ty {
            if self.chance(20)
                && let Some(text) = self.slice_target(*width)
            {
                return Some(text);
            }
            if self.chance(15)
                && let Some(text) = self.run_time_element(*width, 0)
            {
                return Some(text);
            }
        }
        let wanted = ty.clone();
        let place = self.some_place(move |_, p| p.write && p.ty == wanted)?;
        self.note_target(&place);
        Some(place.text)
    }

    /// A place of any type without parts.
    pub(super) fn any_target(&mut self) -> Option<Place> {
        let place = self.some_place(|g, p| p.write && g.is_plain(&p.ty))?;
        self.note_target(&place);
        Some(place)
    }

    fn note_target(&mut self, place: &Place) {
        for union in ["short.", "long.", "other."] {
            if place.header.is_some() && place.text.contains(union) {
                self.note(F::UnionMember);
            }
        }
    }

    /// Some bits of a wider place.
    fn slice_target(&mut self, width: u32) -> Option<String> {
        let place = self.some_place(|_, p| p.write && matches!(p.ty, Ty::Bit(n) if n > width))?;
        let Ty::Bit(from) = place.ty else { return None };
        let low = self.between(0, from - width);
        if self.on(F::PlusSliceAssign) && self.chance(40) {
            self.note(F::PlusSliceAssign);
            let start = match self.run_time_number() {
                Some(start) if !self.config.portable => start,
                _ => low.to_string(),
            };
            return Some(format!("{}[{start}+:{width}]", place.text));
        }
        self.note(F::SliceAssign);
        Some(format!("{}[{}:{low}]", place.text, low + width - 1))
    }

    /// A field of a stack's element, or an array's element, whose index is known at run time only.
    pub(super) fn run_time_element(&mut self, width: u32, depth: u32) -> Option<String> {
        if self.config.portable || !self.on(F::RunTimeIndex) {
            return None;
        }
        let stack = self.some_place(|g, p| match &p.ty {
            Ty::Stack(elem, _) if p.write => {
                **elem == Ty::Bit(width) || g.types.fields(elem).iter().any(|f| f.ty == Ty::Bit(width))
            }
            _ => false,
        })?;
        let Ty::Stack(elem, _) = &stack.ty else { return None };
        let fields = self.types.fields(elem);
        let fit: Vec<String> =
            fields.iter().filter(|f| f.ty == Ty::Bit(width)).map(|f| f.name.clone()).collect();
        let index = self.index(depth);
        self.note(F::RunTimeIndex);
        match self.rng.pick(&fit) {
            Some(field) => Some(format!("{}[{index}].{field}", stack.text)),
            None => Some(format!("{}[{index}]", stack.text)),
        }
    }

    /// A small number at run time: mostly, but not always, an index of a small stack.
    fn index(&mut self, depth: u32) -> String {
        match self.run_time_number() {
            Some(number) if self.chance(20) => match depth {
                0 => number,
                _ => format!("({number} + {})", self.bits(8, depth - 1)),
            },
            Some(number) => format!("{number}[1:0]"),
            None => "0".to_string(),
        }
    }

    /// An expression of type `bit<8>` that is not known at compile time.
    pub(super) fn run_time_number(&mut self) -> Option<String> {
        let constants = self.consts.clone();
        let place = self.some_place(|_, p| {
            matches!(p.ty, Ty::Bit(_))
                && p.text != "bound"
                && constants.iter().all(|(name, _)| *name != p.text)
        })?;
        match place.ty {
            Ty::Bit(8) => Some(place.text),
            _ => Some(format!("((bit<8>){})", place.text)),
        }
    }

    /// Two different header places of one type, the first of which can be written.
    pub(super) fn header_pair(&mut self) -> Option<(String, String)> {
        let to = self.some_place(|g, p| p.write && g.types.is_header(&p.ty))?;
        let ty = to.ty.clone();
        let from = self.some_place(|_, p| p.ty == ty)?;
        Some((to.text, from.text))
    }
}
