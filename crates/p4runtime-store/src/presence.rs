//! Existence rules of updates (P4Runtime 1.5, section 12.1).

use crate::fault::{Result, Within, fault};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::update::Type;

/// INSERT requires that the entity does not exist, MODIFY and DELETE that it does.
pub(crate) fn presence(how: Type, known: bool) -> Result<()> {
    match how {
        Type::Insert if known => {
            fault("the entity exists already", "INSERT needs a new one").code(Code::AlreadyExists)
        }
        Type::Modify | Type::Delete if !known => {
            fault("the entity does not exist", "no update has inserted it").code(Code::NotFound)
        }
        _ => Ok(()),
    }
}

/// Refuses INSERT and DELETE for entities that exist as long as the program.
pub(crate) fn only_modified(how: Type) -> Result<()> {
    match how {
        Type::Modify => Ok(()),
        _ => fault("the entity can only be modified", "it exists as long as the program").within("type"),
    }
}
