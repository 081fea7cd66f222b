//! 10xx: several programs as one.

codes! {
    /// A program does something that it could not do beside others.
    NOT_MERGED = 1001,
    /// A packet belongs to two apps.
    CLASSES_OVERLAP = 1002,
    /// A text is no traffic class, or one that a parser cannot decide.
    BAD_CLASS = 1003,
}
