//! Fields of messages whose values are strings for the control plane.

use crate::catalog::Described;
use crate::fault::{Result, Within, fault};
use p4runtime_proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use p4runtime_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use p4runtime_proto::p4::config::v1::{
    MatchField, P4DataTypeSpec, P4Info, P4NamedType, P4TypeInfo, p4_new_type_spec::Representation,
    p4_new_type_translation::SdnType,
};
use p4runtime_proto::p4::v1::field_match::FieldMatchType;
use p4runtime_proto::p4::v1::{
    Action, Entity, FieldMatch, P4Data, TableEntry, entity::Entity as Kind, p4_data::Data, table_action,
};
use std::collections::{BTreeMap, BTreeSet};

/// The types of fields that are strings, by place.
#[derive(Clone, Default, Debug)]
pub(crate) struct Places {
    types: BTreeSet<String>,
    /// By (table or value set, field).
    fields: BTreeMap<(u32, u32), String>,
    /// By (action, parameter).
    params: BTreeMap<(u32, u32), String>,
    packet_in: BTreeMap<u32, String>,
    packet_out: BTreeMap<u32, String>,
    registers: BTreeMap<u32, P4DataTypeSpec>,
    digests: BTreeMap<u32, P4DataTypeSpec>,
    info: P4TypeInfo,
}

/// Callback for a string value: type name and value.
pub(crate) type Each<'e> = dyn FnMut(&str, &mut Vec<u8>) -> Result<()> + 'e;

impl Places {
    /// Nothing of a program that has no strings is looked at.
    pub(crate) fn new(info: &P4Info) -> Places {
        let known = info.type_info.clone().unwrap_or_default();
        let is_string =
            |name: &&String| match known.new_types.get(*name).and_then(|t| t.representation.as_ref()) {
                Some(Representation::TranslatedType(to)) => {
                    matches!(to.sdn_type, Some(SdnType::SdnString(_)))
                }
                _ => false,
            };
        let types: BTreeSet<String> = known.new_types.keys().filter(is_string).cloned().collect();
        if types.is_empty() {
            return Places::default();
        }
        let named = |ty: &Option<P4NamedType>| {
            ty.as_ref().map(|ty| &ty.name).filter(|name| types.contains(*name)).cloned()
        };
        let of = |id: u32, fields: &[MatchField]| -> Vec<_> {
            fields.iter().filter_map(|field| Some(((id, field.id), named(&field.type_name)?))).collect()
        };
        let tables = info.tables.iter().flat_map(|table| of(table.id(), &table.match_fields));
        let sets = info.value_sets.iter().flat_map(|set| of(set.id(), &set.r#match));
        let params = info.actions.iter().flat_map(|action| {
            let param = |p: &p4runtime_proto::p4::config::v1::action::Param| {
                Some(((action.id(), p.id), named(&p.type_name)?))
            };
            action.params.iter().filter_map(param).collect::<Vec<_>>()
        });
        let packet = |name: &str| {
            let header = info.controller_packet_metadata.iter();
            let header = header.filter(|h| h.preamble.as_ref().is_some_and(|p| p.name == name));
            let metadata = header.flat_map(|header| &header.metadata);
            metadata.filter_map(|m| Some((m.id, named(&m.type_name)?))).collect()
        };
        Places {
            fields: tables.chain(sets).collect(),
            params: params.collect(),
            packet_in: packet("packet_in"),
            packet_out: packet("packet_out"),
            registers: info.registers.iter().filter_map(|r| Some((r.id(), r.type_spec.clone()?))).collect(),
            digests: info.digests.iter().filter_map(|d| Some((d.id(), d.type_spec.clone()?))).collect(),
            types,
            info: known,
        }
    }

    /// The types of strings.
    pub(crate) fn types(&self) -> impl Iterator<Item = &String> {
        self.types.iter()
    }

    pub(crate) fn param(&self, action: u32, param: u32) -> Option<&String> {
        self.params.get(&(action, param))
    }

    pub(crate) fn packet_in(&self, metadata: u32) -> Option<&String> {
        self.packet_in.get(&metadata)
    }

    pub(crate) fn packet_out(&self, metadata: u32) -> Option<&String> {
        self.packet_out.get(&metadata)
    }

    pub(crate) fn digest(&self, digest: u32) -> Option<&P4DataTypeSpec> {
        self.digests.get(&digest)
    }
}

/// The bits of a type whose values are numbers.
pub(crate) fn bits(plain: &P4Info, name: &str) -> u32 {
    let new_type = plain.type_info.as_ref().and_then(|types| types.new_types.get(name));
    let Some(Representation::OriginalType(spec)) = new_type.and_then(|ty| ty.representation.as_ref()) else {
        return 0;
    };
    match &spec.type_spec {
        Some(TypeSpec::Bitstring(spec)) => match &spec.type_spec {
            Some(Bitstring::Bit(bit)) => u32::try_from(bit.bitwidth).unwrap_or(0),
            _ => 0,
        },
        _ => 0,
    }
}

/// Does `each` to every string of an entity. Faults have the path from the entity on.
pub(crate) fn visit(places: &Places, entity: &mut Entity, each: &mut Each<'_>) -> Result<()> {
    match &mut entity.entity {
        Some(Kind::TableEntry(e)) => entry(places, e, each).within("table_entry"),
        Some(Kind::ActionProfileMember(e)) => e
            .action
            .as_mut()
            .map_or(Ok(()), |a| action(places, a, each).within("action"))
            .within("action_profile_member"),
        Some(Kind::DirectCounterEntry(e)) => {
            let of = e.table_entry.as_mut().map_or(Ok(()), |e| entry(places, e, each));
            of.within("table_entry").within("direct_counter_entry")
        }
        Some(Kind::DirectMeterEntry(e)) => {
            let of = e.table_entry.as_mut().map_or(Ok(()), |e| entry(places, e, each));
            of.within("table_entry").within("direct_meter_entry")
        }
        Some(Kind::RegisterEntry(e)) => {
            let spec = places.registers.get(&e.register_id);
            let data = e.data.as_mut().map_or(Ok(()), |data| visit_data(places, spec, data, each));
            data.within("data").within("register_entry")
        }
        Some(Kind::ValueSetEntry(e)) => {
            for (index, member) in e.members.iter_mut().enumerate() {
                let done = matches(places, e.value_set_id, &mut member.r#match, each);
                done.at("members", index).within("value_set_entry")?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn entry(places: &Places, entry: &mut TableEntry, each: &mut Each<'_>) -> Result<()> {
    matches(places, entry.table_id, &mut entry.r#match, each)?;
    match entry.action.as_mut().and_then(|action| action.r#type.as_mut()) {
        Some(table_action::Type::Action(one)) => action(places, one, each).within("action").within("action"),
        Some(table_action::Type::ActionProfileActionSet(set)) => {
            for (index, one) in set.action_profile_actions.iter_mut().enumerate() {
                let Some(one) = &mut one.action else { continue };
                let done = action(places, one, each).within("action").at("action_profile_actions", index);
                done.within("action_profile_action_set").within("action")?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn matches(places: &Places, of: u32, fields: &mut [FieldMatch], each: &mut Each<'_>) -> Result<()> {
    for (index, field) in fields.iter_mut().enumerate() {
        let Some(ty) = places.fields.get(&(of, field.field_id)) else { continue };
        match &mut field.field_match_type {
            Some(FieldMatchType::Exact(m)) => each(ty, &mut m.value).within("value").within("exact"),
            Some(FieldMatchType::Optional(m)) => each(ty, &mut m.value).within("value").within("optional"),
            None => Ok(()),
            Some(_) => {
                fault("a string must be matched as a whole", "its match field must be exact or optional")
            }
        }
        .at("match", index)?;
    }
    Ok(())
}

fn action(places: &Places, action: &mut Action, each: &mut Each<'_>) -> Result<()> {
    for (index, param) in action.params.iter_mut().enumerate() {
        if let Some(ty) = places.params.get(&(action.action_id, param.param_id)) {
            each(ty, &mut param.value).within("value").at("params", index)?;
        }
    }
    Ok(())
}

/// Calls `each` for every string in a value of a type. Values of other types are not changed.
pub(crate) fn visit_data(
    places: &Places,
    spec: Option<&P4DataTypeSpec>,
    data: &mut P4Data,
    each: &mut Each<'_>,
) -> Result<()> {
    let mut open = vec![(spec, data)];
    while let Some((spec, data)) = open.pop() {
        match (spec.and_then(|spec| spec.type_spec.as_ref()), &mut data.data) {
            (Some(TypeSpec::NewType(name)), Some(Data::Bitstring(bytes)))
                if places.types.contains(&name.name) =>
            {
                each(&name.name, bytes).within("bitstring")?;
            }
            (Some(TypeSpec::Struct(name)), Some(Data::Struct(value))) => {
                let members = places.info.structs.get(&name.name).map_or(&[][..], |spec| &spec.members);
                open.extend(members.iter().map(|member| member.type_spec.as_ref()).zip(&mut value.members));
            }
            (Some(TypeSpec::Tuple(tuple)), Some(Data::Tuple(value))) => {
                open.extend(tuple.members.iter().map(Some).zip(&mut value.members));
            }
            _ => {}
        }
    }
    Ok(())
}
