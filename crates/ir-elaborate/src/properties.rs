//! Table properties that architectures define, bound to what they name.

use ir::InstanceId;
use p4_arch::TableUse;
use p4_check::typed::{self, Expr, ExprKind};
use smol_str::SmolStr;

use crate::instance::Site;
use crate::names::qualify;
use crate::priorities::Counting;
use crate::refuse;
use crate::stmt::Body;
use crate::value::{Object, Value};

/// What a table's properties say.
pub(crate) struct Properties {
    pub(crate) implementation: Option<InstanceId>,
    pub(crate) counters: Option<InstanceId>,
    pub(crate) meters: Option<InstanceId>,
    pub(crate) counting: Counting,
    pub(crate) others: Vec<(ir::Name, ir::Expr)>,
}

impl Body<'_, '_> {
    /// What the properties of `decl` say.
    pub(crate) fn properties(&mut self, decl: &typed::Table, table: &SmolStr) -> Properties {
        let mut found = Properties {
            implementation: None,
            counters: None,
            meters: None,
            counting: Counting { largest_wins: true, delta: 1 },
            others: vec![],
        };
        for property in &decl.properties {
            let Some(value) = &property.value else { continue };
            match property.name.text.as_str() {
                "implementation" | "psa_implementation" | "pna_implementation" => {
                    found.implementation = self.table_object(property, value, table)
                }
                "counters" | "psa_direct_counter" | "pna_direct_counter" => {
                    found.counters = self.table_object(property, value, table)
                }
                "meters" | "psa_direct_meter" | "pna_direct_meter" => {
                    found.meters = self.table_object(property, value, table)
                }
                "largest_priority_wins" => {
                    found.counting.largest_wins = self.flag(property, value).unwrap_or(true);
                }
                "priority_delta" => found.counting.delta = self.delta(property, value).unwrap_or(1),
                _ => {
                    if let Some(constant) = self.property_constant(property, value) {
                        found.others.push((property.name.text.clone(), constant));
                    }
                }
            }
        }
        found
    }

    fn flag(&mut self, property: &typed::Property, value: &Expr) -> Option<bool> {
        let flag = self.el.known(&self.env, value, "this property")?.as_bool();
        if flag.is_none() {
            self.el.report(refuse::table_property(&property.name.text, "true or false", value.span));
        }
        flag
    }

    fn delta(&mut self, property: &typed::Property, value: &Expr) -> Option<u32> {
        let known = self.el.known(&self.env, value, "this property")?;
        let delta = known.as_int().and_then(|v| u32::try_from(v).ok()).filter(|d| *d > 0);
        if delta.is_none() {
            self.el.report(refuse::table_property(&property.name.text, "a positive number", value.span));
        }
        delta
    }

    fn property_constant(&mut self, property: &typed::Property, value: &Expr) -> Option<ir::Expr> {
        let name = &property.name.text;
        let known = match &value.kind {
            ExprKind::New(_) => None,
            _ => self.el.eval(&self.env, value),
        };
        let ty = self.env.close(&value.ty);
        let constant = known.and_then(|v| self.el.constant(&v, &ty, value.span));
        if constant.is_none() {
            self.el.refuse(&format!("the table property `{name}` with such a value"), value.span);
        }
        constant
    }

    /// The extern object that a property names, or makes. It has to be of the kind that belongs there, and a
    /// direct one belongs to one table only.
    fn table_object(
        &mut self,
        property: &typed::Property,
        value: &Expr,
        table: &SmolStr,
    ) -> Option<InstanceId> {
        let name = &property.name.text;
        let object = match &value.kind {
            ExprKind::New(call) => {
                let control_plane_name = match property.annotations.control_name() {
                    Some(given) => given.trim_start_matches('.').into(),
                    None => qualify(table, name),
                };
                let site = Site {
                    name: name.clone(),
                    control_plane_name,
                    is_global: false,
                    package: SmolStr::default(),
                    annotations: &property.annotations,
                    span: property.span,
                    declared: None,
                };
                Value::Object(self.el.construct(&mut self.env, call, site))
            }
            _ => self.el.known(&self.env, value, "this property")?,
        };
        let id = match object {
            Value::Object(Object::Extern(id)) => id,
            Value::Object(Object::Broken) => return None,
            _ => {
                self.el.report(refuse::table_property(name, "an extern object", value.span));
                return None;
            }
        };
        self.check_table_object(id, name, value, table).then_some(id)
    }

    fn check_table_object(&mut self, id: InstanceId, property: &str, value: &Expr, table: &SmolStr) -> bool {
        let instance = self.el.out.instance(id);
        let object = self.el.out.extern_object(instance.object).name.clone();
        let name = instance.name.clone();
        let Some(facts) = self.el.arch.and_then(|a| a.object(&object)) else { return true };
        match facts.table {
            TableUse::Direct(wanted) if wanted == property => {
                let first = self.el.direct_owners.entry(id).or_insert_with(|| table.clone()).clone();
                if first != *table {
                    self.el.report(refuse::shared_direct_object(&name, &first, value.span));
                }
                first == *table
            }
            TableUse::Implementation(wanted) if wanted == property => true,
            _ => {
                let wants = match property {
                    "counters" => "a direct_counter",
                    "meters" => "a direct_meter",
                    "psa_direct_counter" | "pna_direct_counter" => "a DirectCounter",
                    "psa_direct_meter" | "pna_direct_meter" => "a DirectMeter",
                    "psa_implementation" | "pna_implementation" => "an ActionProfile or ActionSelector",
                    _ => "an action_profile or action_selector",
                };
                self.el.report(refuse::table_property(property, wants, value.span));
                false
            }
        }
    }
}
