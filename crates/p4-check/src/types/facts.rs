//! Properties of types, computed once for each type: size, whether values are compared, defaulted, emitted.
//!
//! Records nest, so that a type of a few lines can have more parts than there are atoms: every part is looked at
//! once, and types with too many leaves are refused where they are declared.

use base_diag::Span;

use crate::codes;
use crate::cx::Checker;
use crate::typed::{StructKind, Type};

/// No type has more single values than this.
pub(crate) const MAX_LEAVES: u64 = 1 << 20;

/// No type has more nodes than this in its own text, typedefs written out.
pub(crate) const MAX_NODES: u32 = 2_000;

/// No type has parts in parts deeper than this.
pub(crate) const MAX_NESTING: u32 = 64;

/// Facts of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Least and greatest size in bits (P4-16 §9.1); `None` if it has no size or depends on type variables.
    pub(crate) size: Option<(u64, u64)>,
    /// Number of scalars of a value.
    pub(crate) leaves: u64,
    /// Nesting depth of the type's parts and type arguments: 0 for a type without.
    pub(crate) nesting: u32,
    /// Some part is a `varbit`.
    pub(crate) varbit: bool,
    /// Values can be compared with `==`.
    pub(crate) comparable: bool,
    /// `...` can stand for a value (P4-16 §7.3).
    pub(crate) has_default: bool,
    /// `packet_out.emit` takes it.
    pub(crate) emitted: bool,
}

impl Facts {
    fn leaf(size: Option<u32>, comparable: bool, has_default: bool) -> Facts {
        let size = size.map(|w| (w.into(), w.into()));
        Facts { size, leaves: 1, nesting: 0, varbit: false, comparable, has_default, emitted: false }
    }

    /// Facts of a value made of parts; `emitted` if all parts are.
    fn of_parts(parts: impl Iterator<Item = Facts>) -> Facts {
        let none = Facts {
            size: Some((0, 0)),
            leaves: 0,
            nesting: 0,
            varbit: false,
            comparable: true,
            has_default: true,
            emitted: true,
        };
        parts.fold(none, |all, part| Facts {
            size: all
                .size
                .zip(part.size)
                .and_then(|((a, b), (c, d))| Some((a.checked_add(c)?, b.checked_add(d)?))),
            leaves: all.leaves.saturating_add(part.leaves),
            nesting: all.nesting.max(part.nesting + 1),
            varbit: all.varbit || part.varbit,
            comparable: all.comparable && part.comparable,
            has_default: all.has_default && part.has_default,
            emitted: all.emitted && part.emitted,
        })
    }

    fn times(self, n: u32) -> Facts {
        let size = self.size.and_then(|(a, b)| Some((a.checked_mul(n.into())?, b.checked_mul(n.into())?)));
        Facts { size, leaves: self.leaves.saturating_mul(n.into()), ..self.inside() }
    }

    /// One level deeper, inside something.
    fn inside(self) -> Facts {
        Facts { nesting: self.nesting + 1, ..self }
    }
}

impl Checker {
    pub(crate) fn facts(&self, ty: &Type) -> Facts {
        let ty = self.infer.shallow(ty);
        let memo = matches!(ty, Type::Struct(..) | Type::Tuple(_) | Type::Array(..) | Type::NewType(_));
        if memo && let Some(facts) = self.facts.borrow().get(&ty) {
            return *facts;
        }
        let facts = self.work_out(&ty);
        if memo && !self.infer.is_open(&ty) {
            self.facts.borrow_mut().insert(ty, facts);
        }
        facts
    }

    fn work_out(&self, ty: &Type) -> Facts {
        match ty {
            Type::Error => Facts::leaf(None, true, true),
            Type::Bool => Facts::leaf(Some(1), true, true),
            Type::Int | Type::String | Type::ErrorCode => Facts::leaf(None, true, true),
            Type::MatchKind => Facts::leaf(None, true, false),
            Type::Bit(w) | Type::Signed(w) => Facts::leaf(Some(*w), true, true),
            Type::Varbit(w) => {
                Facts { varbit: true, size: Some((0, (*w).into())), ..Facts::leaf(None, true, true) }
            }
            Type::NewType(id) => {
                Facts { emitted: false, ..self.facts(&self.program.new_types[*id].of).inside() }
            }
            Type::Enum(id) => match &self.program.enums[*id].underlying {
                Some(under) => self.facts(under),
                None => Facts::leaf(None, true, true),
            },
            Type::Struct(id, args) => {
                let fields = self.field_types(*id, args);
                let whole = Facts::of_parts(fields.iter().map(|t| self.facts(t)));
                let whole = Facts { nesting: whole.nesting.max(self.nesting_of(args)), ..whole };
                match self.program.structs[*id].kind {
                    StructKind::Struct => whole,
                    StructKind::Header => Facts { has_default: true, emitted: true, ..whole },
                    StructKind::Union => {
                        let sizes: Option<Vec<(u64, u64)>> =
                            fields.iter().map(|t| self.facts(t).size).collect();
                        // One member at a time.
                        let size = sizes.map(|s| {
                            let least = s.iter().map(|s| s.0).min().unwrap_or(0);
                            (least, s.iter().map(|s| s.1).max().unwrap_or(0))
                        });
                        Facts { size, has_default: true, emitted: true, ..whole }
                    }
                }
            }
            Type::Tuple(members) => Facts::of_parts(members.iter().map(|t| self.facts(t))),
            Type::Array(element, n) => self.facts(element).times(*n),
            Type::List(element) => {
                Facts { size: None, has_default: false, emitted: false, ..self.facts(element).inside() }
            }
            Type::Var(_) => Facts { emitted: true, ..Facts::leaf(None, false, true) },
            Type::Extern(_, args)
            | Type::ParserType(_, args)
            | Type::ControlType(_, args)
            | Type::Parser(_, args)
            | Type::Control(_, args)
            | Type::Package(_, args) => {
                Facts { nesting: self.nesting_of(args), ..Facts::leaf(None, false, false) }
            }
            _ => Facts::leaf(None, false, false),
        }
    }

    fn nesting_of(&self, args: &[Type]) -> u32 {
        args.iter().map(|t| self.facts(t).nesting + 1).max().unwrap_or(0)
    }

    /// Reports a type that is larger or nested deeper than any program needs.
    pub(crate) fn refuse_excess(&mut self, ty: &Type, span: Span) -> bool {
        let facts = self.facts(ty);
        let (title, why) = if facts.nesting > MAX_NESTING {
            ("this type is nested too deeply", format!("types nest at most {MAX_NESTING} levels deep"))
        } else if facts.leaves > MAX_LEAVES {
            ("this type is too large", format!("a type has at most {MAX_LEAVES} single values"))
        } else if self.is_huge(ty) {
            ("this type is too large", format!("a type is written with at most {MAX_NODES} others"))
        } else {
            return false;
        };
        self.error(codes::BAD_WIDTH, span, title, why);
        true
    }

    /// True if the type's own text has more than [`MAX_NODES`] nodes.
    fn is_huge(&self, ty: &Type) -> bool {
        let mut nodes = 0;
        ty.any(&mut |_| {
            nodes += 1;
            nodes > MAX_NODES
        })
    }
}
