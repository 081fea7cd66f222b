//! The codes of this crate's diagnostics.

macro_rules! codes {
    ($($name:ident = $number:literal,)*) => { $( pub(crate) const $name: base_diag::Code = base_diag::Code($number); )* };
}

codes! {
    // Names.
    UNKNOWN_NAME = 201,
    DUPLICATE = 202,
    NOT_A_TYPE = 203,
    NOT_A_VALUE = 204,
    UNKNOWN_MEMBER = 205,
    // Types.
    TYPE_ARGUMENTS = 206,
    BAD_WIDTH = 207,
    NOT_CONSTANT = 208,
    BAD_NESTING = 209,
    MISMATCH = 210,
    OPERANDS = 211,
    CANNOT_INFER = 212,
    BAD_CAST = 213,
    NOT_ASSIGNABLE = 214,
    BAD_INDEX = 215,
    BAD_INITIALIZER = 216,
    BAD_DECLARATION = 217,
    BAD_PARAMETER = 218,
    // Calls.
    BAD_ARGUMENTS = 220,
    NO_OVERLOAD = 221,
    NOT_CALLABLE = 222,
    CALL_PLACE = 223,
    BAD_CONSTRUCTION = 224,
    // Statements and parsers.
    BAD_STATEMENT = 230,
    BAD_SWITCH = 231,
    BAD_STATE = 232,
    BAD_SELECT = 233,
    // Tables.
    BAD_TABLE = 240,
    BAD_ENTRY = 241,
    NO_NOACTION = 242,
    BAD_ANNOTATION = 243,
    MISSING_RETURN = 245,
    RECURSION = 246,
    BAD_MAIN = 247,
    RUN_TIME_DIVISION = 248,
    CONTROL_NAME = 249,
    BAD_VALUE = 250,
    OVERFLOW = 251,
    UNUSED = 260,
    UNSET_USE = 261,
    UNSET_OUT = 262,
    INVALID_HEADER = 263,
    UNREACHABLE = 264,
    MISSING_TRANSITION = 265,
    COVERED_ENTRY = 266,
    DEPRECATED = 267,
    SHADOW = 268,
}
