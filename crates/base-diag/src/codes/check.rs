//! 02xx: names, types and the other rules of the language.

codes! {
    /// A name that nothing declares.
    UNKNOWN_NAME = 0201,
    /// Two declarations of one name in one scope.
    DUPLICATE = 0202,
    /// A name that is no type where a type is wanted.
    NOT_A_TYPE = 0203,
    /// A name that is no value where a value is wanted.
    NOT_A_VALUE = 0204,
    /// A field, method or member that the type lacks.
    UNKNOWN_MEMBER = 0205,
    /// Type arguments that are missing, too many, or of a wrong kind.
    TYPE_ARGUMENTS = 0206,
    /// A width or size outside its range.
    BAD_WIDTH = 0207,
    /// A value that must be known at compile time and is not.
    NOT_CONSTANT = 0208,
    /// A type inside another that cannot hold it.
    BAD_NESTING = 0209,
    /// A value of one type where another is wanted.
    MISMATCH = 0210,
    /// An operator that its operands do not support.
    OPERANDS = 0211,
    /// A type, width or type argument that cannot be inferred.
    CANNOT_INFER = 0212,
    /// A cast between types that do not convert.
    BAD_CAST = 0213,
    /// An assignment to something that is no variable.
    NOT_ASSIGNABLE = 0214,
    /// An index or slice outside its value.
    BAD_INDEX = 0215,
    /// A list or structure-valued expression that does not fit its type.
    BAD_INITIALIZER = 0216,
    /// A declaration that its type or place does not allow.
    BAD_DECLARATION = 0217,
    /// A parameter whose type or direction is not allowed.
    BAD_PARAMETER = 0218,
    /// Arguments that do not fit the parameters.
    BAD_ARGUMENTS = 0220,
    /// None, or more than one, of several functions fits the arguments.
    NO_OVERLOAD = 0221,
    /// A call of something that cannot be called.
    NOT_CALLABLE = 0222,
    /// A call in a place where it is not allowed.
    CALL_PLACE = 0223,
    /// An instance that cannot be made, or not here.
    BAD_CONSTRUCTION = 0224,
    /// A statement that its place does not allow.
    BAD_STATEMENT = 0230,
    /// A `switch` with a wrong subject or label.
    BAD_SWITCH = 0231,
    /// A parser whose states do not work.
    BAD_STATE = 0232,
    /// A `select` whose keys or sets do not fit.
    BAD_SELECT = 0233,
    /// A table whose keys, actions or properties are wrong.
    BAD_TABLE = 0240,
    /// An entry of a table that does not fit.
    BAD_ENTRY = 0241,
    /// A table without default action in a program without `NoAction`.
    NO_NOACTION = 0242,
    /// An annotation with a wrong value.
    BAD_ANNOTATION = 0243,
    /// A function that may end without a result.
    MISSING_RETURN = 0245,
    /// A function or method that calls itself.
    RECURSION = 0246,
    /// A `main` that is no package.
    BAD_MAIN = 0247,
    /// A division that a data plane would have to do.
    RUN_TIME_DIVISION = 0248,
    /// Two objects with one control-plane name.
    CONTROL_NAME = 0249,
    /// A computation that has no value.
    BAD_VALUE = 0250,
    /// A number that does not fit its type.
    OVERFLOW = 0251,
    /// A local declaration that nothing uses.
    UNUSED = 0260,
    /// A variable that may be read before it is set.
    UNSET_USE = 0261,
    /// An `out` parameter that may stay unset.
    UNSET_OUT = 0262,
    /// A field of a header that is or may be invalid here.
    INVALID_HEADER = 0263,
    /// A statement or state that nothing leads to.
    UNREACHABLE = 0264,
    /// A state that rejects silently, or a `select` case that never matches.
    MISSING_TRANSITION = 0265,
    /// An entry that never matches.
    COVERED_ENTRY = 0266,
    /// A call of something deprecated.
    DEPRECATED = 0267,
    /// A local declaration that hides another.
    SHADOW = 0268,
    /// A `switch` or `select` on an enum or `bool` without all its values.
    MISSING_CASE = 0269,
    /// A conditional in the last part of another one, which p4c reads differently.
    NESTED_CONDITIONAL = 0270,
}
