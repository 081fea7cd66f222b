//! Sizes of types (P4-16 §9.1), for generic code whose types are known only here.

use p4_check::typed::{SizeOf, StructKind, Substitution, Type};

use crate::elaborator::Elaborator;

impl Elaborator<'_> {
    /// `T.minSizeInBits()` and its relatives; `None` where the type has no size.
    pub(crate) fn size_of(&self, which: SizeOf, ty: &Type) -> Option<u64> {
        let (min, max) = self.bits_range(ty)?;
        Some(match which {
            SizeOf::MinBits => min,
            SizeOf::MaxBits => max,
            SizeOf::MinBytes => min.div_ceil(8),
            SizeOf::MaxBytes => max.div_ceil(8),
        })
    }

    /// The fewest and the most bits of a value: a varbit may be empty, a union holds one member.
    fn bits_range(&self, ty: &Type) -> Option<(u64, u64)> {
        match self.representation(ty) {
            Type::Bool => Some((1, 1)),
            Type::Bit(width) | Type::Signed(width) => Some((width.into(), width.into())),
            Type::Varbit(width) => Some((0, width.into())),
            Type::Array(element, size) => {
                let (min, max) = self.bits_range(&element)?;
                Some((min.checked_mul(size.into())?, max.checked_mul(size.into())?))
            }
            Type::Tuple(members) => self.sum(members.iter()),
            Type::Struct(id, args) => {
                let decl = &self.typed.structs[id];
                let subst = Substitution::new(&decl.type_params, &args);
                let fields: Vec<Type> = decl.fields.iter().map(|f| subst.apply(&f.ty)).collect();
                match decl.kind {
                    StructKind::Union => {
                        let ranges = fields.iter().map(|f| self.bits_range(f)).collect::<Option<Vec<_>>>()?;
                        let min = ranges.iter().map(|r| r.0).min().unwrap_or(0);
                        Some((min, ranges.iter().map(|r| r.1).max().unwrap_or(0)))
                    }
                    _ => self.sum(fields.iter()),
                }
            }
            _ => None,
        }
    }

    fn sum<'a>(&self, mut types: impl Iterator<Item = &'a Type>) -> Option<(u64, u64)> {
        types.try_fold((0u64, 0u64), |(min, max), ty| {
            let (more_min, more_max) = self.bits_range(ty)?;
            Some((min.checked_add(more_min)?, max.checked_add(more_max)?))
        })
    }
}
