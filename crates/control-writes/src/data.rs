//! Values of any type, for cells of registers.

use base_bits::Bits;

/// A value. Enumerations and errors go by their members' names, since numbers of members differ between forms of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Data {
    /// Of `bit<N>`, `int<N>` and what is represented by these, with the type's width.
    Bits(Bits),
    /// Of `bool`.
    Bool(bool),
    /// A member of an enumeration without underlying type, or an error.
    Member(String),
    /// Of a struct or tuple, field by field.
    Fields(Vec<Data>),
    /// Of a header. An invalid one may have no fields.
    Header {
        /// The header is valid.
        valid: bool,
        /// One for each field.
        fields: Vec<Bits>,
    },
}
