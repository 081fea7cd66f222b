//! 01xx: preprocessing, lexing, parsing.

codes! {
    /// A character that begins no token.
    INVALID_CHARACTER = 0101,
    /// `/*` without `*/`.
    UNTERMINATED_COMMENT = 0102,
    /// `"` without its partner.
    UNTERMINATED_STRING = 0103,
    /// A number that lacks digits or has digits of another base.
    MALFORMED_NUMBER = 0104,
    /// A width prefix that is too large.
    LITERAL_WIDTH = 0105,
    /// `#include` of a file that is not there.
    INCLUDE_NOT_FOUND = 0110,
    /// `#error` in a taken branch.
    ERROR_DIRECTIVE = 0111,
    /// A directive that lacks its operand.
    MALFORMED_DIRECTIVE = 0112,
    /// `#if` and `#endif` do not pair up.
    UNBALANCED_CONDITIONAL = 0113,
    /// The expression of an `#if` cannot be evaluated.
    CONDITION = 0114,
    /// A macro called with the wrong number of arguments.
    MACRO_CALL = 0115,
    /// Includes or expansions beyond every reason.
    PREPROCESSOR_LIMIT = 0116,
    /// A macro defined again, differently.
    MACRO_REDEFINED = 0117,
    /// `#warning` in a taken branch.
    WARNING_DIRECTIVE = 0118,
    /// Something else was expected here.
    UNEXPECTED = 0120,
    /// Nested too deeply.
    TOO_DEEP = 0121,
    /// A statement or declaration that may not stand here.
    MISPLACED = 0123,
}
