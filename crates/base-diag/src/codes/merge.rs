//! 11xx: several programs as one.

codes! {
    /// A program does something that it could not do beside others.
    NOT_MERGED = 1101,
    /// A packet belongs to two apps.
    CLASSES_OVERLAP = 1102,
    /// A text is no traffic class, or one that a parser cannot decide.
    BAD_CLASS = 1103,
}
