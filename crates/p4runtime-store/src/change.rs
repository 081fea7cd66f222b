//! Effect of an update, with the ids of a P4Info for references.

use control_writes as writes;

/// Effect of an update. Doing it and then its inverse restores the former state.
pub type Change = writes::Write<u32>;
/// An entry without its key.
pub type Entry = writes::Entry<u32>;
/// Default entry of a table, as a controller has written it.
pub type DefaultEntry = writes::DefaultEntry<u32>;
/// Action, member or group that an entry runs.
pub type Run = writes::Run<u32>;
/// A group of an entry's own.
pub type OneShot = writes::OneShot<u32>;
/// One of the actions of a group of an entry's own.
pub type OneShotAction = writes::OneShotAction<u32>;
/// An action with a value for each of its parameters, in the order of P4Info.
pub type ActionCall = writes::ActionCall<u32>;
