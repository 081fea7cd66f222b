//! Methods about action profiles and selectors: `bm_mt_act_prof_*`. A handle is P4Runtime's id of the member or
//! group less 1: BMv2 counts from 0, P4Runtime from 1.

use crate::call::{Answer, Args, VOID, code, declared, why};
use crate::catalog::{Named, actions, find};
use crate::entry::{action, action_value, error};
use crate::services::Services;
use crate::switch::Switch;
use crate::wire::{Type, Value};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::ActionProfile;
use p4runtime_proto::p4::v1::action_profile_group::Member;
use p4runtime_proto::p4::v1::{
    Action, ActionProfileGroup, ActionProfileMember, entity::Entity as Of, update,
};
use p4runtime_server::Status;

/// The name of the profile is the second argument of all methods.
const PROFILE: i16 = 2;

impl<S: Switch> Services<S> {
    pub(crate) fn profiles(&mut self, method: &str, args: &Args<'_>) -> Option<Answer> {
        Some(match method.strip_prefix("bm_mt_act_prof_")? {
            "add_member" => self.add_member(args),
            "modify_member" => self.modify_member(args),
            "delete_member" => self.delete_member(args),
            "create_group" => self.create_group(args),
            "delete_group" => self.delete_group(args),
            "add_member_to_group" => self.membership(args, true),
            "remove_member_from_group" => self.membership(args, false),
            "get_members" => self.get_members(args),
            "get_member" => self.get_member(args),
            "get_groups" => self.get_groups(args),
            "get_group" => self.get_group(args),
            _ => return None,
        })
    }

    fn profile(&self, args: &Args<'_>) -> Answer<ActionProfile> {
        let name = args.text(PROFILE)?;
        match find(&self.info.action_profiles, name) {
            Some(profile) => Ok(profile.clone()),
            None => {
                declared(error::INVALID_ACTION_PROFILE_NAME, format!("there is no action profile `{name}`"))
            }
        }
    }

    fn selector(&self, args: &Args<'_>) -> Answer<ActionProfile> {
        match self.profile(args)? {
            profile if profile.with_selector => Ok(profile),
            profile => {
                declared(error::NO_ACTION_PROFILE_SELECTION, format!("`{}` has no groups", profile.name()))
            }
        }
    }

    fn members(&mut self, profile: &ActionProfile) -> Answer<Vec<ActionProfileMember>> {
        let query = ActionProfileMember { action_profile_id: profile.id(), ..ActionProfileMember::default() };
        let found = self.read(Of::ActionProfileMember(query)).or_else(|status| member_error(&status))?;
        let member = |of| match of {
            Of::ActionProfileMember(member) => Some(member),
            _ => None,
        };
        Ok(found.into_iter().filter_map(member).collect())
    }

    fn groups(&mut self, profile: &ActionProfile) -> Answer<Vec<ActionProfileGroup>> {
        let query = ActionProfileGroup { action_profile_id: profile.id(), ..ActionProfileGroup::default() };
        let found = self.read(Of::ActionProfileGroup(query)).or_else(|status| group_error(&status))?;
        let group = |of| match of {
            Of::ActionProfileGroup(group) => Some(group),
            _ => None,
        };
        Ok(found.into_iter().filter_map(group).collect())
    }

    /// The action is one of a table that uses the profile.
    fn action_in(&self, profile: &ActionProfile, name: &str, data: &[&[u8]]) -> Answer<Action> {
        let tables = self.info.tables.iter().filter(|table| table.implementation_id == profile.id());
        action(tables.flat_map(|table| actions(&self.info, table)), &self.info, name, data)
    }

    fn add_member(&mut self, args: &Args<'_>) -> Answer {
        let profile = self.profile(args)?;
        let action = self.action_in(&profile, args.text(3)?, &args.strings(4)?)?;
        let handle =
            smallest_free(self.members(&profile)?.iter().map(|member| handle_of(member.member_id)).collect());
        let member_id = id_of(handle);
        let member = ActionProfileMember { action_profile_id: profile.id(), member_id, action: Some(action) };
        self.write(update::Type::Insert, Of::ActionProfileMember(member))
            .or_else(|status| member_error(&status))?;
        Ok(Value::I32(handle as i32))
    }

    fn modify_member(&mut self, args: &Args<'_>) -> Answer {
        let profile = self.profile(args)?;
        let action = self.action_in(&profile, args.text(4)?, &args.strings(5)?)?;
        let member_id = id_of(args.index(3)?);
        let member = ActionProfileMember { action_profile_id: profile.id(), member_id, action: Some(action) };
        self.write(update::Type::Modify, Of::ActionProfileMember(member))
            .or_else(|status| member_error(&status))?;
        VOID
    }

    fn delete_member(&mut self, args: &Args<'_>) -> Answer {
        let (profile, member_id) = (self.profile(args)?, id_of(args.index(3)?));
        let member = ActionProfileMember { action_profile_id: profile.id(), member_id, action: None };
        self.write(update::Type::Delete, Of::ActionProfileMember(member))
            .or_else(|status| member_error(&status))?;
        VOID
    }

    fn create_group(&mut self, args: &Args<'_>) -> Answer {
        let profile = self.selector(args)?;
        let handle =
            smallest_free(self.groups(&profile)?.iter().map(|group| handle_of(group.group_id)).collect());
        let group_id = id_of(handle);
        let group =
            ActionProfileGroup { action_profile_id: profile.id(), group_id, ..ActionProfileGroup::default() };
        self.write(update::Type::Insert, Of::ActionProfileGroup(group))
            .or_else(|status| group_error(&status))?;
        Ok(Value::I32(handle as i32))
    }

    fn delete_group(&mut self, args: &Args<'_>) -> Answer {
        let (profile, group_id) = (self.selector(args)?, id_of(args.index(3)?));
        let group =
            ActionProfileGroup { action_profile_id: profile.id(), group_id, ..ActionProfileGroup::default() };
        self.write(update::Type::Delete, Of::ActionProfileGroup(group))
            .or_else(|status| group_error(&status))?;
        VOID
    }

    fn group(&mut self, profile: &ActionProfile, handle: u32) -> Answer<ActionProfileGroup> {
        match self.groups(profile)?.into_iter().find(|group| handle_of(group.group_id) == handle) {
            Some(group) => Ok(group),
            None => {
                declared(error::INVALID_GRP_HANDLE, format!("`{}` has no group {handle}", profile.name()))
            }
        }
    }

    pub(crate) fn member(&mut self, profile: &ActionProfile, handle: u32) -> Answer<ActionProfileMember> {
        match self.members(profile)?.into_iter().find(|member| handle_of(member.member_id) == handle) {
            Some(member) => Ok(member),
            None => {
                declared(error::INVALID_MBR_HANDLE, format!("`{}` has no member {handle}", profile.name()))
            }
        }
    }

    fn membership(&mut self, args: &Args<'_>, is_added: bool) -> Answer {
        let profile = self.selector(args)?;
        let handle = args.index(4)?;
        let member_id = self.member(&profile, args.index(3)?)?.member_id;
        let mut group = self.group(&profile, handle)?;
        let is_there = group.members.iter().any(|member| member.member_id == member_id);
        match (is_added, is_there) {
            (true, true) => return declared(error::MBR_ALREADY_IN_GRP, "the group has this member"),
            (false, false) => return declared(error::MBR_NOT_IN_GRP, "the group does not have this member"),
            (true, false) => group.members.push(Member { member_id, weight: 1, watch_kind: None }),
            (false, true) => group.members.retain(|member| member.member_id != member_id),
        }
        self.write(update::Type::Modify, Of::ActionProfileGroup(group))
            .or_else(|status| group_error(&status))?;
        VOID
    }

    fn get_members(&mut self, args: &Args<'_>) -> Answer {
        let profile = self.profile(args)?;
        let members = self.members(&profile)?;
        Ok(Value::List(Type::Struct, members.iter().map(|member| self.member_value(member)).collect()))
    }

    fn get_member(&mut self, args: &Args<'_>) -> Answer {
        let profile = self.profile(args)?;
        let member = self.member(&profile, args.index(3)?)?;
        Ok(self.member_value(&member))
    }

    fn get_groups(&mut self, args: &Args<'_>) -> Answer {
        let profile = self.selector(args)?;
        Ok(Value::List(Type::Struct, self.groups(&profile)?.iter().map(group_value).collect()))
    }

    fn get_group(&mut self, args: &Args<'_>) -> Answer {
        let profile = self.selector(args)?;
        Ok(group_value(&self.group(&profile, args.index(3)?)?))
    }

    /// `BmMtActProfMember`.
    fn member_value(&self, member: &ActionProfileMember) -> Value {
        let (name, data) = action_value(&self.info, &member.action.clone().unwrap_or_default());
        Value::Struct(vec![(1, Value::I32(handle_of(member.member_id) as i32)), (2, name), (3, data)])
    }
}

/// `BmMtActProfGroup`.
fn group_value(group: &ActionProfileGroup) -> Value {
    let members = group.members.iter().map(|member| Value::I32(handle_of(member.member_id) as i32));
    Value::Struct(vec![
        (1, Value::I32(handle_of(group.group_id) as i32)),
        (2, Value::List(Type::I32, members.collect())),
    ])
}

/// The id of a handle.
pub fn id_of(handle: u32) -> u32 {
    handle.wrapping_add(1)
}

/// The handle of an id.
pub fn handle_of(id: u32) -> u32 {
    id.wrapping_sub(1)
}

fn smallest_free(mut used: Vec<u32>) -> u32 {
    used.sort_unstable();
    (0..).zip(used).take_while(|(free, used)| free == used).count() as u32
}

fn member_error<T>(status: &Status) -> Answer<T> {
    status_error(status, error::INVALID_MBR_HANDLE, error::MBR_STILL_USED)
}

fn group_error<T>(status: &Status) -> Answer<T> {
    status_error(status, error::INVALID_GRP_HANDLE, error::GRP_STILL_USED)
}

fn status_error<T>(status: &Status, missing: i32, used: i32) -> Answer<T> {
    let code = match code(status) {
        Code::NotFound => missing,
        Code::FailedPrecondition => used,
        Code::ResourceExhausted => error::TABLE_FULL,
        _ => error::ERROR,
    };
    declared(code, why(status))
}
