//! Commands about action profiles.

use super::Caller;
use super::calls::{about, done, numbers};
use super::show::{groups, members, scalar};
use super::words::Line;
use crate::wire::Value;
use std::fmt::Write;

pub fn profile<'l>(line: &mut Line<'l>) -> Result<&'l str, String> {
    let program = line.program;
    line.name_among("action profile", program.profiles.iter().map(String::as_str))
}

pub fn create_member(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let profile = profile(line)?;
    let name = line.word()?;
    let action = member_action(line, profile, name)?;
    let data = line.data(&action)?;
    let handle = about(to, "bm_mt_act_prof_add_member", profile, vec![Value::text(&action.name), data])?;
    Ok(format!("Member has been created with handle {}\n", scalar(handle.as_ref())))
}

pub fn modify_member(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let profile = profile(line)?;
    let name = line.word()?;
    let action = member_action(line, profile, name)?;
    let handle = line.int()?;
    let data = line.data(&action)?;
    done(about(
        to,
        "bm_mt_act_prof_modify_member",
        profile,
        vec![Value::I32(handle), Value::text(&action.name), data],
    ))
}

pub fn member_action(line: &Line<'_>, profile: &str, name: &str) -> Result<super::program::Action, String> {
    let among = line.program.actions_of(profile);
    match line.program.action(&among, name) {
        Some(action) => Ok(action.clone()),
        None => Err(format!("`{profile}` has no action `{name}`; there are: {}", among.join(", "))),
    }
}

pub fn create_group(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let profile = profile(line)?;
    line.finish()?;
    let handle = about(to, "bm_mt_act_prof_create_group", profile, vec![])?;
    Ok(format!("Group has been created with handle {}\n", scalar(handle.as_ref())))
}

pub fn profile_call(
    line: &mut Line<'_>,
    to: &mut dyn Caller,
    method: &str,
    count: usize,
) -> Result<String, String> {
    let profile = profile(line)?;
    done(about(to, method, profile, numbers(line, count)?))
}

pub fn profile_text(to: &mut dyn Caller, profile: &str) -> Result<String, String> {
    let found = about(to, "bm_mt_act_prof_get_members", profile, vec![])?;
    let mut text = format!("==========\nMEMBERS\n{}", members(found.as_ref()));
    // A profile without a selector has no groups.
    if let Ok(found) = about(to, "bm_mt_act_prof_get_groups", profile, vec![]) {
        let _ = write!(text, "==========\nGROUPS\n{}", groups(found.as_ref()));
    }
    Ok(text)
}

pub fn act_prof_dump(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let profile = profile(line)?;
    line.finish()?;
    profile_text(to, profile)
}
