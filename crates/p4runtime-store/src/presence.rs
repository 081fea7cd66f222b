//! What an update may do to something that is there, or is not (P4Runtime 1.5, section 12.1).

use crate::fault::{Result, Within, fault};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::update::Type;

/// What is inserted may not be there, what is modified or deleted has to be.
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

/// What is always there can be modified only.
pub(crate) fn only_modified(how: Type) -> Result<()> {
    match how {
        Type::Modify => Ok(()),
        _ => fault("the entity can only be modified", "it exists as long as the program").within("type"),
    }
}
