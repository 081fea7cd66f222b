//! Inference variables: unknown types, local to one call, constructor call or instance.

use crate::typed::Type;

/// Values of inference variables.
#[derive(Default)]
pub(crate) struct InferTable {
    known: Vec<Option<Type>>,
}

impl InferTable {
    /// A new unknown type.
    pub(crate) fn fresh(&mut self) -> Type {
        self.known.push(None);
        Type::Infer(self.known.len() as u32 - 1)
    }

    /// `ty` with every [`Type::Any`] an unknown of its own.
    pub(crate) fn open_any(&mut self, ty: Type) -> Type {
        if !ty.any(&mut |t| *t == Type::Any) {
            return ty;
        }
        ty.map(&mut |t| (*t == Type::Any).then(|| self.fresh()))
    }

    pub(crate) fn get(&self, var: u32) -> Option<&Type> {
        self.known.get(var as usize).and_then(|t| t.as_ref())
    }

    pub(crate) fn set(&mut self, var: u32, ty: Type) {
        if let Some(slot) = self.known.get_mut(var as usize) {
            *slot = Some(ty);
        }
    }

    /// Replaces unknown parts of `ty` by `as_type`.
    pub(crate) fn close(&mut self, ty: &Type, as_type: &Type) {
        let mut open = vec![];
        self.resolve(ty).any(&mut |t| {
            if let Type::Infer(var) = t {
                open.push(*var);
            }
            false
        });
        for var in open {
            self.set(var, as_type.clone());
        }
    }

    /// A point to come back to with [`InferTable::undo`].
    pub(crate) fn mark(&self) -> Vec<Option<Type>> {
        self.known.clone()
    }

    /// Undoes everything learnt since the mark.
    pub(crate) fn undo(&mut self, mark: Vec<Option<Type>>) {
        self.known = mark;
    }

    /// Forgets all variables. Only where no call is being checked.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }

    /// True if there are variables at all.
    pub(crate) fn has_any(&self) -> bool {
        !self.known.is_empty()
    }

    /// The type behind a chain of known variables.
    pub(crate) fn shallow(&self, ty: &Type) -> Type {
        let mut ty = ty;
        while let Type::Infer(var) = ty {
            match self.get(*var) {
                Some(known) => ty = known,
                None => break,
            }
        }
        ty.clone()
    }

    /// `ty` with every known variable replaced.
    pub(crate) fn resolve(&self, ty: &Type) -> Type {
        if self.known.is_empty() {
            return ty.clone();
        }
        ty.map(&mut |t| match t {
            Type::Infer(var) => self.get(*var).map(|known| self.resolve(known)),
            _ => None,
        })
    }

    /// True if unknown variables are left in `ty`.
    pub(crate) fn is_open(&self, ty: &Type) -> bool {
        ty.any(&mut |t| match t {
            Type::Infer(var) => self.get(*var).is_none_or(|known| self.is_open(known)),
            _ => false,
        })
    }
}
