//! 03xx: compile-time evaluation, elaboration, architectures.

codes! {
    /// In the language, but not in the elaborated IR yet.
    NOT_SUPPORTED = 0301,
    /// No package instance named `main`.
    NO_MAIN = 0302,
    /// The program's architecture is not one that this can be done for.
    ARCHITECTURE = 0303,
    /// A value that must be known at compile time is not.
    NOT_CONSTANT = 0304,
    /// A parameter of a stage whose type its architecture does not allow there.
    STAGE_PARAMETER = 0305,
    /// Calls or instances nested too deeply.
    TOO_DEEP = 0306,
    /// Two things with one control-plane name.
    DUPLICATE_NAME = 0307,
    /// A priority that an entry cannot have.
    PRIORITY = 0308,
    /// A table property with a value that is not its kind.
    TABLE_PROPERTY = 0309,
    /// A `static_assert` that constructor arguments make false.
    STATIC_ASSERT = 0310,
    /// A program that P4 source for v1model cannot say.
    NOT_PRINTABLE = 0311,
    /// A `@tick` with wrong values.
    BAD_TICK = 0312,
    /// A program that grows beyond bounds when its calls are inlined.
    INLINED_TOO_LARGE = 0320,
    /// An `@id` that is taken, or is one of another kind of thing.
    P4RUNTIME_ID = 0330,
    /// An entry in the source that P4Runtime cannot say.
    P4RUNTIME_ENTRY = 0331,
}
