//! 04xx: running programs: entries, packets, STF.

codes! {
    /// Correct P4, but the interpreter cannot run it.
    NOT_SUPPORTED = 0401,
    /// An entry of the source that does not fit its table.
    BAD_ENTRY = 0402,
    /// A type or an object that is too large to run.
    TOO_LARGE = 0403,
    /// Expressions, statements or calls nested too deeply to run.
    TOO_DEEP = 0404,
    /// A frame extern that the device does not have, or that refuses its arguments.
    FRAME_EXTERN = 0405,
    /// A frame extern called where a packet cannot leave the program.
    FRAME_CALL = 0406,
    /// An elaborated program that breaks a rule of the IR.
    MALFORMED = 0407,
    /// A value extern that the device does not have, or that refuses its arguments.
    VALUE_EXTERN = 0408,
    /// A value extern that does not match the device's declaration.
    VALUE_SIGNATURE = 0409,
    /// A line of an STF test that is no statement.
    STF_SYNTAX = 0420,
    /// An STF statement that names something that the program lacks, or that the device refuses.
    STF_REFUSED = 0421,
    /// An STF test whose packets are not those it expects.
    STF_FAILED = 0422,
    /// A file of entries that cannot be read: TOML, or commands.
    ENTRIES_SYNTAX = 0440,
    /// An entry, or another write before packets come, that does not fit the program.
    ENTRY_REFUSED = 0441,
    /// A capture file that cannot be read.
    CAPTURE = 0442,
    /// A result that cannot be written.
    UNWRITABLE = 0443,
    /// A port that the architecture's type cannot hold.
    BAD_PORT = 0444,
    /// A command that only shows something, or that concerns something that a single device lacks.
    COMMAND_PASSED_OVER = 0445,
}
