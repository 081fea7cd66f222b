//! Registers, counters, meters, and value externs with memory.

use super::types::Ty;
use super::{Gen, Where};
use crate::feature::Feature as F;

/// An extern instance.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) kind: ObjectKind,
    /// The type of its index.
    pub(crate) index: u32,
    /// Number of cells.
    pub(crate) size: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ObjectKind {
    Register(Ty),
    Counter,
    Meter,
    DirectCounter,
    DirectMeter,
    Ewma,
    Rtt,
}

impl Gen {
    /// The objects of a control, declared in its body.
    pub(super) fn declare_objects(&mut self) -> Vec<Object> {
        let mut all = vec![];
        for (feature, stem) in [(F::RegisterWrite, "cells"), (F::Counter, "seen"), (F::Meter, "limit")] {
            if !self.on(feature) || self.chance(30) {
                continue;
            }
            let index = if self.features.contains(&F::IndexTypes) { 16 } else { 32 };
            let size = self.between(2, 16);
            let name = self.fresh(stem);
            let typed = if self.features.contains(&F::IndexTypes) { "<bit<16>>" } else { "" };
            let (kind, text) = match feature {
                F::RegisterWrite => {
                    let ty = if self.chance(15) && self.on(F::Signed) {
                        Ty::Int(self.signed_width())
                    } else {
                        Ty::Bit(self.width())
                    };
                    let shown = self.types.show(&ty);
                    let args = if typed.is_empty() { shown } else { format!("{shown}, bit<16>") };
                    (ObjectKind::Register(ty), format!("register<{args}>({size})"))
                }
                F::Counter => {
                    let kind = *self.rng.pick(&["packets", "bytes", "packets_and_bytes"]).unwrap_or(&"bytes");
                    (ObjectKind::Counter, format!("counter{typed}({size}, CounterType.{kind})"))
                }
                _ => {
                    let kind = if self.chance(50) { "packets" } else { "bytes" };
                    (ObjectKind::Meter, format!("meter{typed}({size}, MeterType.{kind})"))
                }
            };
            self.out.line(format!("{text} {name};"));
            all.push(Object { name, kind, index, size });
        }
        all.extend(self.declare_value_objects());
        all
    }

    pub(super) fn use_object(&mut self) -> Option<bool> {
        if !matches!(self.cx.place, Where::Ingress | Where::Egress | Where::Piece) {
            return None;
        }
        let object = self.rng.pick(&self.cx.objects).cloned()?;
        if matches!(object.kind, ObjectKind::Ewma | ObjectKind::Rtt) {
            return self.use_value_object(&object);
        }
        let index = self.cell(&object);
        match &object.kind {
            ObjectKind::Register(ty) => {
                if self.chance(50) {
                    let value = self.value(ty, 2);
                    self.note(F::RegisterWrite);
                    self.out.line(format!("{}.write({index}, {value});", object.name));
                } else {
                    let target = self.target(ty)?;
                    self.note(F::RegisterRead);
                    self.out.line(format!("{}.read({target}, {index});", object.name));
                }
            }
            ObjectKind::Counter => {
                self.note(F::Counter);
                self.out.line(format!("{}.count({index});", object.name));
            }
            ObjectKind::Meter => {
                let target = self.target(&Ty::Bit(8))?;
                self.note(F::Meter);
                self.out.line(format!("{}.execute_meter({index}, {target});", object.name));
            }
            ObjectKind::DirectCounter | ObjectKind::DirectMeter | ObjectKind::Ewma | ObjectKind::Rtt => {
                return None;
            }
        }
        Some(false)
    }

    /// An index: mostly inside.
    fn cell(&mut self, object: &Object) -> String {
        let (width, bits) = (object.index, 31 - object.size.leading_zeros());
        if self.chance(40) || bits == 0 {
            return format!("{width}w{}", self.below(u64::from(object.size)));
        }
        if self.chance(35) && !self.config.portable {
            return self.bits(width, 1);
        }
        format!("((bit<{width}>){})", self.bits(bits, 1))
    }

    /// The statement of an action of the table that has this direct object.
    pub(super) fn use_direct(&mut self, object: &Object) {
        match object.kind {
            ObjectKind::DirectCounter => self.out.line(format!("{}.count();", object.name)),
            ObjectKind::DirectMeter => {
                let target = self.some_place(|_, p| p.write && p.ty == Ty::Bit(8));
                if let Some(target) = target {
                    self.out.line(format!("{}.read({});", object.name, target.text));
                }
            }
            _ => {}
        }
    }
}
