//! Extern instances: counters, meters, registers, action profiles, digests, and those of the user's own (P4Runtime 1.5, sections 6.4.2 to 6.4.10).

use crate::annotation::{has, number, string};
use crate::describe::{Describer, UsedAction};
use crate::symbol::Kind;
use crate::types::enumerator;
use crate::used;
use ir::{Call, Callee, Const, Expr, ExprKind, Instance, InstanceId, Name, Type};
use p4runtime_proto::p4::config::v1::action_profile::{SelectorSizeSemantics, SumOfMembers, SumOfWeights};
use p4runtime_proto::p4::config::v1::{
    self, CounterSpec, MeterSpec, P4NamedType, Preamble, counter_spec, meter_spec,
};

/// The extern objects that control planes know, by what they are in any architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Object {
    Profile {
        selector: bool,
    },
    Counter,
    DirectCounter,
    Meter,
    DirectMeter,
    Register,
    Digest,
    /// A frame extern or value extern, by the kind of its ids.
    Own(Kind),
}

impl Object {
    /// Kind of an extern type: v1model's names, those that PSA and PNA share, and the externs of the user's own.
    pub(crate) fn of(declared: &ir::ExternObject) -> Option<Object> {
        if declared.frame_extern().or_else(|| declared.value_extern()).is_some() {
            return Some(Object::Own(Kind::of_extern(&declared.name)));
        }
        Some(match declared.name.as_str() {
            "action_profile" | "ActionProfile" => Object::Profile { selector: false },
            "action_selector" | "ActionSelector" => Object::Profile { selector: true },
            "counter" | "Counter" => Object::Counter,
            "direct_counter" | "DirectCounter" => Object::DirectCounter,
            "meter" | "Meter" => Object::Meter,
            "direct_meter" | "DirectMeter" => Object::DirectMeter,
            // A parameter is a register of one cell.
            "register" | "Register" | "RegisterParam" => Object::Register,
            "Digest" => Object::Digest,
            _ => return None,
        })
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Object::Profile { .. } => Kind::ActionProfile,
            Object::Counter => Kind::Counter,
            Object::DirectCounter => Kind::DirectCounter,
            Object::Meter => Kind::Meter,
            Object::DirectMeter => Kind::DirectMeter,
            Object::Register => Kind::Register,
            Object::Digest => Kind::Digest,
            Object::Own(kind) => kind,
        }
    }

    /// Position of the index among the type arguments: `counter<I>`, `Counter<W, S>`, `register<T, I>`.
    fn index_argument(object: &str) -> usize {
        match object {
            "Counter" | "register" | "Register" => 1,
            _ => 0,
        }
    }
}

/// Annotations of profiles that P4Info has fields for.
const PROFILE_ANNOTATIONS: [&str; 4] =
    ["max_group_size", "selector_size_semantics", "max_member_weight", "weights_disallowed"];

impl Describer<'_> {
    pub(crate) fn objects(&mut self) {
        for (id, instance, object) in self.described_objects() {
            let elsewhere = match object {
                Object::Profile { .. } => &PROFILE_ANNOTATIONS[..],
                _ => &[],
            };
            let name = &instance.control_plane_name;
            let preamble = self.preamble(object.kind(), name, &instance.annotations, elsewhere);
            if let Some(preamble) = preamble {
                self.object(id, instance, object, preamble);
            }
        }
    }

    fn object(&mut self, id: InstanceId, instance: &Instance, object: Object, preamble: Preamble) {
        let preamble = Some(preamble);
        match object {
            Object::Profile { selector } => self.profile(id, instance, selector, preamble),
            Object::Counter => {
                let (spec, size) = (Some(self.counter_spec(instance)), self.size(instance));
                let index_type_name = self.index_type(instance);
                self.info.counters.push(v1::Counter { preamble, spec, size, index_type_name });
            }
            Object::Meter => {
                let (spec, size) = (Some(self.meter_spec(instance)), self.size(instance));
                let index_type_name = self.index_type(instance);
                self.info.meters.push(v1::Meter { preamble, spec, size, index_type_name });
            }
            Object::DirectCounter => {
                let Some(direct_table_id) = self.table_of(|t| t.counters == Some(id)) else { return };
                let spec = Some(self.counter_spec(instance));
                self.info.direct_counters.push(v1::DirectCounter { preamble, spec, direct_table_id });
            }
            Object::DirectMeter => {
                let Some(direct_table_id) = self.table_of(|t| t.meters == Some(id)) else { return };
                let spec = Some(self.meter_spec(instance));
                self.info.direct_meters.push(v1::DirectMeter { preamble, spec, direct_table_id });
            }
            Object::Register => {
                let type_spec = instance.type_args.first().map(|ty| self.types.spec(ty));
                let size = i32::try_from(self.size(instance)).unwrap_or(i32::MAX);
                let index_type_name = self.index_type(instance);
                self.info.registers.push(v1::Register { preamble, type_spec, size, index_type_name });
            }
            Object::Digest => {
                let type_spec = instance.type_args.first().map(|ty| self.types.spec(ty));
                self.info.digests.push(v1::Digest { preamble, type_spec });
            }
            Object::Own(kind) => {
                let type_name = &self.program.extern_object(instance.object).name;
                let instance = v1::ExternInstance { preamble, info: None };
                match self.info.externs.iter_mut().find(|known| known.extern_type_name == *type_name) {
                    Some(known) => known.instances.push(instance),
                    None => self.info.externs.push(v1::Extern {
                        extern_type_id: kind.byte().into(),
                        extern_type_name: type_name.to_string(),
                        instances: vec![instance],
                    }),
                }
            }
        }
    }

    fn profile(&mut self, id: InstanceId, instance: &Instance, selector: bool, preamble: Option<Preamble>) {
        let mut tables: Vec<&Name> = vec![];
        for (_, table) in self.used_tables() {
            if table.implementation == Some(id) {
                tables.push(&table.control_plane_name);
            }
        }
        tables.sort();
        let table_ids = tables.into_iter().map(|name| self.symbols.id(Kind::Table, name)).collect();
        let annotations = &instance.annotations;
        let semantics = match string(annotations, "selector_size_semantics").map(str::to_ascii_lowercase) {
            Some(text) if text == "sum_of_weights" => {
                Some(SelectorSizeSemantics::SumOfWeights(SumOfWeights {}))
            }
            Some(text) if text == "sum_of_members" => {
                let max_member_weight = number(annotations, "max_member_weight").unwrap_or(0);
                Some(SelectorSizeSemantics::SumOfMembers(SumOfMembers { max_member_weight }))
            }
            _ => None,
        };
        self.info.action_profiles.push(v1::ActionProfile {
            preamble,
            table_ids,
            with_selector: selector,
            size: self.size(instance),
            max_group_size: if selector { self.max_group_size(instance) } else { 0 },
            selector_size_semantics: semantics.filter(|_| selector),
            weights_disallowed: selector && has(annotations, "weights_disallowed"),
        });
    }

    fn table_of(&self, has: impl Fn(&ir::Table) -> bool) -> Option<u32> {
        let (_, table) = self.used_tables().into_iter().find(|(_, table)| has(table))?;
        Some(self.symbols.id(Kind::Table, &table.control_plane_name))
    }

    /// The constructor argument of one of these names.
    fn argument<'i>(&self, instance: &'i Instance, names: &[&str]) -> Option<&'i Expr> {
        let params = self.program.constructor(instance)?;
        instance.args.get(params.iter().position(|p| names.contains(&p.name.as_str()))?)
    }

    /// TNA's constructor argument, or the annotation of other architectures.
    fn max_group_size(&self, instance: &Instance) -> i32 {
        match self.argument(instance, &["max_group_size"]).map(|arg| &arg.kind) {
            Some(ExprKind::Const(Const::Bits(bits))) => {
                bits.to_u64().and_then(|n| i32::try_from(n).ok()).unwrap_or(i32::MAX)
            }
            _ => number(&instance.annotations, "max_group_size").unwrap_or(0),
        }
    }

    /// The size of an object; that of a selector of TNA is its profile's.
    fn size(&self, instance: &Instance) -> i64 {
        if self.program.extern_object(instance.object).name == "RegisterParam" {
            return 1;
        }
        let size = &["size", "n_counters", "n_meters", "action_profile"];
        match self.argument(instance, size).map(|arg| &arg.kind) {
            Some(ExprKind::Const(Const::Instance(profile))) => {
                self.program.instances.get(profile.index()).map_or(0, |profile| self.size(profile))
            }
            Some(ExprKind::Const(Const::Bits(bits))) => {
                bits.to_u64().and_then(|n| i64::try_from(n).ok()).unwrap_or(i64::MAX)
            }
            _ => 0,
        }
    }

    fn unit(&self, instance: &Instance) -> &str {
        match self.argument(instance, &["type"]) {
            Some(Expr { ty, kind: ExprKind::Const(Const::Enum(index)), .. }) => {
                enumerator(self.program, ty, *index).unwrap_or("")
            }
            _ => "",
        }
    }

    fn counter_spec(&self, instance: &Instance) -> CounterSpec {
        let unit = match self.unit(instance) {
            "packets" | "PACKETS" => counter_spec::Unit::Packets,
            "bytes" | "BYTES" => counter_spec::Unit::Bytes,
            "packets_and_bytes" | "PACKETS_AND_BYTES" => counter_spec::Unit::Both,
            _ => counter_spec::Unit::Unspecified,
        };
        CounterSpec { unit: unit as i32 }
    }

    fn meter_spec(&self, instance: &Instance) -> MeterSpec {
        let unit = match self.unit(instance) {
            "packets" | "PACKETS" => meter_spec::Unit::Packets,
            "bytes" | "BYTES" => meter_spec::Unit::Bytes,
            _ => meter_spec::Unit::Unspecified,
        };
        MeterSpec { unit: unit as i32, r#type: meter_spec::Type::TwoRateThreeColor as i32 }
    }

    fn index_type(&mut self, instance: &Instance) -> Option<P4NamedType> {
        let argument = Object::index_argument(&self.program.extern_object(instance.object).name);
        self.types.type_name(instance.type_args.get(argument)?)
    }

    /// v1model's calls of `digest<T>`: each type is a digest of its name; what has no name gets a number.
    pub(crate) fn called_digests(&self) -> Vec<(Name, Type)> {
        let mut found: Vec<(Name, Type)> = vec![];
        let mut unnamed = 0;
        let mut note = |call: &Call| {
            let Callee::ExternFunction(id) = call.callee else { return };
            let function = &self.program.extern_functions[id.index()];
            let ([ty], "digest", false) = (call.type_args.as_slice(), function.name.as_str(), function.user)
            else {
                return;
            };
            let name = match ty {
                Type::Named(id) => Name::from(crate::types::type_name(self.program.type_decl(*id))),
                _ => {
                    unnamed += 1;
                    Name::from(format!("digest_{}", unnamed - 1))
                }
            };
            if !found.iter().any(|(known, _)| *known == name) {
                found.push((name, ty.clone()));
            }
        };
        let actions = self.used_actions();
        for control in self.used_controls() {
            for UsedAction { action, .. } in actions.iter().filter(|used| std::ptr::eq(used.control, control))
            {
                used::reachable(&action.body, &mut |stmt| used::each_call(stmt, &mut note));
            }
            used::reachable(&control.body, &mut |stmt| used::each_call(stmt, &mut note));
        }
        found
    }

    pub(crate) fn digest_calls(&mut self) {
        for (name, ty) in self.called_digests() {
            let preamble = self.preamble(Kind::Digest, &name, &vec![], &[]);
            let type_spec = Some(self.types.spec(&ty));
            self.info.digests.push(v1::Digest { preamble, type_spec });
        }
    }
}
