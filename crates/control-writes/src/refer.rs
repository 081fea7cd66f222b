//! From one way of referring to things to another.

use crate::{ActionCall, DefaultEntry, Entry, OneShot, OneShotAction, Run, Write};

/// The kinds of things that writes refer to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Table,
    Action,
    Profile,
    ValueSet,
    Digest,
    Meter,
    Counter,
    Register,
    /// A frame extern or a value extern.
    Extern,
}

impl<R> Write<R> {
    /// Replaces the references of the write by those that `refer` returns. An error of `refer` is returned.
    pub fn refer<S, E>(&self, mut refer: impl FnMut(Kind, &R) -> Result<S, E>) -> Result<Write<S>, E> {
        let refer = &mut refer;
        Ok(match self {
            Write::Entry { table, key, to, count } => Write::Entry {
                table: refer(Kind::Table, table)?,
                key: key.clone(),
                to: to.as_ref().map(|entry| entry.refer(refer).map(Box::new)).transpose()?,
                count: *count,
            },
            Write::Default { table, to, count } => Write::Default {
                table: refer(Kind::Table, table)?,
                to: Box::new(to.refer(refer)?),
                count: *count,
            },
            Write::Member { profile, member, to } => Write::Member {
                profile: refer(Kind::Profile, profile)?,
                member: *member,
                to: to.as_ref().map(|call| call.refer(refer)).transpose()?,
            },
            Write::Group { profile, group, to } => {
                Write::Group { profile: refer(Kind::Profile, profile)?, group: *group, to: to.clone() }
            }
            Write::Multicast { group, to } => Write::Multicast { group: *group, to: to.clone() },
            Write::CloneSession { session, to } => Write::CloneSession { session: *session, to: to.clone() },
            Write::ValueSet { set, members } => {
                Write::ValueSet { set: refer(Kind::ValueSet, set)?, members: members.clone() }
            }
            Write::Digest { digest, to } => Write::Digest { digest: refer(Kind::Digest, digest)?, to: *to },
            Write::Meter { meter, index, to } => {
                Write::Meter { meter: refer(Kind::Meter, meter)?, index: *index, to: *to }
            }
            Write::MeterArray { meter, to } => {
                Write::MeterArray { meter: refer(Kind::Meter, meter)?, to: *to }
            }
            Write::CounterReset { counter } => {
                Write::CounterReset { counter: refer(Kind::Counter, counter)? }
            }
            Write::RegisterReset { register } => {
                Write::RegisterReset { register: refer(Kind::Register, register)? }
            }
            Write::Counter { counter, index, to } => {
                Write::Counter { counter: refer(Kind::Counter, counter)?, index: *index, to: *to }
            }
            Write::Register { register, index, to } => {
                Write::Register { register: refer(Kind::Register, register)?, index: *index, to: to.clone() }
            }
            Write::DirectCounter { table, key, to } => {
                Write::DirectCounter { table: refer(Kind::Table, table)?, key: key.clone(), to: *to }
            }
            Write::Memory { object, to } => {
                Write::Memory { object: refer(Kind::Extern, object)?, to: to.clone() }
            }
            Write::CustomCrc { calculation, width, to } => {
                Write::CustomCrc { calculation: calculation.clone(), width: *width, to: *to }
            }
        })
    }
}

impl<R> Entry<R> {
    fn refer<S, E>(&self, refer: &mut impl FnMut(Kind, &R) -> Result<S, E>) -> Result<Entry<S>, E> {
        let run = match &self.run {
            Run::Action(call) => Run::Action(call.refer(refer)?),
            Run::Member(member) => Run::Member(*member),
            Run::Group(group) => Run::Group(*group),
            Run::OneShot(set) => Run::OneShot(set.refer(refer)?),
        };
        let metadata = self.metadata.clone();
        let Entry { controller_metadata, idle_timeout_ns, meter, is_const, .. } = *self;
        Ok(Entry { run, metadata, controller_metadata, idle_timeout_ns, meter, is_const })
    }
}

impl<R> DefaultEntry<R> {
    fn refer<S, E>(&self, refer: &mut impl FnMut(Kind, &R) -> Result<S, E>) -> Result<DefaultEntry<S>, E> {
        Ok(DefaultEntry {
            call: self.call.as_ref().map(|call| call.refer(refer)).transpose()?,
            member: self.member,
            metadata: self.metadata.clone(),
            controller_metadata: self.controller_metadata,
            meter: self.meter,
        })
    }
}

impl<R> ActionCall<R> {
    fn refer<S, E>(&self, refer: &mut impl FnMut(Kind, &R) -> Result<S, E>) -> Result<ActionCall<S>, E> {
        Ok(ActionCall { action: refer(Kind::Action, &self.action)?, args: self.args.clone() })
    }
}

impl<R> OneShot<R> {
    fn refer<S, E>(&self, refer: &mut impl FnMut(Kind, &R) -> Result<S, E>) -> Result<OneShot<S>, E> {
        let action = |action: &OneShotAction<R>| {
            let call = action.call.refer(refer)?;
            Ok(OneShotAction { call, weight: action.weight, watch: action.watch })
        };
        let actions = self.actions.iter().map(action).collect::<Result<_, E>>()?;
        Ok(OneShot { actions, size_semantics: self.size_semantics, selection_mode: self.selection_mode })
    }
}
