//! Values of any type, for cells of registers.

use base_bits::Bits;

/// A value. Enumerations and errors go by their members' names, since numbers of members differ between forms of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Data {
    /// A `bit<N>`, `int<N>` or type represented by one, with the type's width.
    Bits(Bits),
    /// A `bool`.
    Bool(bool),
    /// A member of an enumeration without underlying type, or an error.
    Member(String),
    /// A struct or tuple, field by field.
    Fields(Vec<Data>),
    /// A header. An invalid one may have no fields.
    Header {
        /// The header is valid.
        valid: bool,
        /// One for each field.
        fields: Vec<Bits>,
    },
}
