//! Table properties that architectures define, bound to the objects they name.

use ir::InstanceId;
use p4_arch::{TableObject, TableUse};
use p4_check::typed::{self, Expr, ExprKind};
use smol_str::SmolStr;

use crate::instance::Site;
use crate::names::qualify;
use crate::priorities::Counting;
use crate::refuse;
use crate::stmt::Body;
use crate::value::{Object, Value};

/// Properties of a table.
pub(crate) struct Properties {
    pub(crate) implementation: Option<InstanceId>,
    pub(crate) counters: Option<InstanceId>,
    pub(crate) meters: Option<InstanceId>,
    pub(crate) counting: Counting,
    pub(crate) others: Vec<(ir::Name, ir::Expr)>,
}

impl Body<'_, '_> {
    /// Reads the properties of `decl`.
    pub(crate) fn properties(&mut self, decl: &typed::Table, table: &SmolStr) -> Properties {
        let mut found = Properties {
            implementation: None,
            counters: None,
            meters: None,
            counting: Counting { largest_wins: true, delta: 1 },
            others: vec![],
        };
        for property in &decl.properties {
            if let Some(call) = &property.action {
                self.el
                    .refuse(&format!("an action as the table property `{}`", property.name.text), call.span);
                continue;
            }
            let Some(value) = &property.value else { continue };
            let name = property.name.text.as_str();
            if let Some(takes) = self.el.arch.and_then(|a| a.table_property(name)) {
                let object = self.table_object(property, value, table);
                match takes {
                    TableObject::Implementation => match object.filter(|id| !self.has_members(*id)) {
                        // `Alpm` and `Atcam` of TNA store the table. Its entries run actions.
                        Some(id) => {
                            let (kind, ty) = self.el.instance_value(id);
                            let object = self.el.out.instance(id).object;
                            let name = self.el.out.extern_object(object).name.to_lowercase();
                            found.others.push((name.into(), ir::Expr { kind, ty, span: value.span }));
                        }
                        None => found.implementation = object,
                    },
                    TableObject::Counters => found.counters = object,
                    TableObject::Meters => found.meters = object,
                }
                continue;
            }
            match name {
                "largest_priority_wins" => {
                    found.counting.largest_wins = self.flag(property, value).unwrap_or(true);
                }
                "priority_delta" => found.counting.delta = self.delta(property, value).unwrap_or(1),
                _ => {
                    if let Some(constant) = self.property_constant(property, value, table) {
                        found.others.push((property.name.text.clone(), constant));
                    }
                }
            }
        }
        found
    }

    /// Entries of a table with this object name members or groups. So do those of objects of unknown architectures.
    fn has_members(&self, id: InstanceId) -> bool {
        let object = self.el.out.instance(id).object;
        let name = &self.el.out.extern_object(object).name;
        self.el.arch.is_none_or(|a| a.object(name).is_some())
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

    fn property_constant(
        &mut self,
        property: &typed::Property,
        value: &Expr,
        table: &SmolStr,
    ) -> Option<ir::Expr> {
        let name = &property.name.text;
        if matches!(value.ty, typed::Type::Extern(..)) {
            let id = self.table_object(property, value, table)?;
            let (kind, ty) = self.el.instance_value(id);
            return Some(ir::Expr { kind, ty, span: value.span });
        }
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
                let fitting = self.el.arch.into_iter().flat_map(|a| a.objects);
                let fitting = fitting.filter(|o| match o.table {
                    TableUse::Direct(wanted) | TableUse::Implementation(wanted) => wanted == property,
                    TableUse::None => false,
                });
                let names: Vec<&str> = fitting.map(|o| o.name).collect();
                let wants = &names.join(" or ");
                self.el.report(refuse::table_property(property, wants, value.span));
                false
            }
        }
    }
}
