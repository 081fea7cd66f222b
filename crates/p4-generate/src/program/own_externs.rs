//! Value externs: functions that are called as the program's own are, and objects.

use super::Gen;
use super::function::{Dir, Function, Param};
use super::objects::{Object, ObjectKind};
use super::types::Ty;
use crate::feature::Feature as F;

impl Gen {
    /// Functions; and the types of objects.
    pub(super) fn declare_value_externs(&mut self) {
        if self.config.portable {
            return;
        }
        if self.on(F::ValueFunction) {
            self.declare_value_functions();
        }
        if self.on(F::ValueObject) {
            self.decl("struct rtt_t { bit<32> smoothed; bit<32> variation; bit<32> timeout; }".to_string());
            self.decl(
                "@value_extern(\"ewma\") extern Ewma {
    Ewma(bit<8> shift);
    bit<32> update(in bit<32> sample);
    @noSideEffects bit<32> value();
}"
                .to_string(),
            );
            self.decl(
                "@value_extern(\"rtt\") extern Rtt {
    Rtt(bit<32> least);
    void sample(in bit<32> measured, out rtt_t estimate);
    @noSideEffects bool known();
}"
                .to_string(),
            );
        }
    }

    fn declare_value_functions(&mut self) {
        self.note(F::ValueFunction);
        let width = self.width();
        let data = Param { dir: Dir::In, name: "data".into(), ty: Ty::Bit(width) };
        let name = self.fresh("crc");
        self.decl(format!("@value_extern(\"crc7\") extern bit<7> {name}(in bit<{width}> data);"));
        self.functions.push(Function { name, params: vec![data], returns: Some(Ty::Bit(7)), generic: false });
        let param = |dir, name: &str, width| Param { dir, name: name.into(), ty: Ty::Bit(width) };
        let params =
            vec![param(Dir::InOut, "number", 64), param(Dir::In, "by", 32), param(Dir::Out, "rest", 32)];
        let name = self.fresh("divide");
        let shown = self.show_params(&params);
        self.decl(format!("@value_extern(\"divide\") extern bool {name}({shown});"));
        self.functions.push(Function { name, params, returns: Some(Ty::Bool), generic: false });
    }

    /// Objects of a control, declared in its body.
    pub(super) fn declare_value_objects(&mut self) -> Vec<Object> {
        let mut all = vec![];
        if self.config.portable || !self.on(F::ValueObject) {
            return all;
        }
        for (kind, ty, stem, most) in
            [(ObjectKind::Ewma, "Ewma", "mean", 8), (ObjectKind::Rtt, "Rtt", "path", 500)]
        {
            if self.chance(30) {
                continue;
            }
            let (name, arg) = (self.fresh(stem), self.below(most));
            self.out.line(format!("{ty}({arg}) {name};"));
            all.push(Object { name, kind, index: 0, size: 0 });
        }
        all
    }

    /// A call of a method.
    pub(super) fn use_value_object(&mut self, object: &Object) -> Option<bool> {
        let target = self.target(&Ty::Bit(32))?;
        let (name, sample) = (&object.name, self.bits(32, 1));
        self.note(F::ValueObject);
        match (&object.kind, self.below(3)) {
            (ObjectKind::Ewma, 0) => self.out.line(format!("{target} = {name}.value();")),
            (ObjectKind::Ewma, 1) => {
                // The operand before the call is read first.
                let before = self.bits(32, 1);
                self.note(F::EffectInOperand);
                self.out.line(format!("{target} = {before} ^ {name}.update({sample});"));
            }
            (ObjectKind::Ewma, _) => self.out.line(format!("{target} = {name}.update({sample});")),
            (_, 0) => self.out.line(format!("if ({name}.known()) {{ {target} = {sample}; }}")),
            _ => {
                let estimate = self.fresh("estimate");
                self.out.line(format!(
                    "{{ rtt_t {estimate}; {name}.sample({sample}, {estimate}); {target} = {estimate}.variation ^ {estimate}.timeout; }}"
                ));
            }
        }
        Some(false)
    }
}
