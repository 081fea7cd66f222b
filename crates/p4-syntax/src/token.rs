//! Tokens (P4-16 §6, appendix A): a kind and a span. The text stays in the source map.

use base_diag::{ExpansionId, Span};

/// A token of P4 or of a preprocessor directive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    /// White space before the token, and how the preprocessor treats the token: the `Token::*` bits.
    pub flags: u8,
    pub span: Span,
}

impl Token {
    /// First of its line.
    pub const LINE_START: u8 = 1;
    /// White space or a comment stands before it.
    pub const SPACE: u8 = 2;
    /// A comment before it runs over several lines: ends an `@pragma`, but no directive.
    pub const COMMENT_LINES: u8 = 4;
    /// The name of a macro that must not be expanded again.
    pub const NO_EXPAND: u8 = 8;
    /// A backslash-newline stands in it, which is not part of its text. Only between lexer and preprocessor.
    pub const SPLICED: u8 = 16;

    pub fn new(kind: TokenKind, flags: u8, lo: u32, hi: u32) -> Token {
        Token { kind, flags, span: Span { lo, hi, expansion: ExpansionId(0) } }
    }

    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Declares the kinds with a spelling of their own and the two tables that lead from one to the other.
macro_rules! kinds {
    ($($(#[$doc:meta])* $symbol:ident $spelling:literal,)* ; $($keyword:ident $word:literal,)*) => {
        /// The kind of a token.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub(crate) enum TokenKind {
            /// The end of the program.
            Eof,
            /// A name; in the preprocessor, keywords too.
            Ident,
            /// A number, well-formed or not.
            Int,
            /// `"..."`
            String,
            /// A character that begins no token.
            Unknown,
            $($(#[$doc])* $symbol,)*
            $($keyword,)*
        }

        impl TokenKind {
            /// Spelling of the token, if it has only one.
            pub fn spelling(self) -> Option<&'static str> {
                match self {
                    $(TokenKind::$symbol => Some($spelling),)*
                    $(TokenKind::$keyword => Some($word),)*
                    _ => None,
                }
            }

            /// The keyword that a name is, or `Ident`.
            pub fn of_word(word: &str) -> TokenKind {
                match word {
                    $($word => TokenKind::$keyword,)*
                    _ => TokenKind::Ident,
                }
            }

            /// True for the words of the language.
            pub fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$keyword)|*)
            }
        }

        /// All keywords, for suggestions.
        pub(crate) const KEYWORDS: &[&str] = &[$($word),*];
    };
}

kinds! {
    Hash "#",
    HashHash "##",
    LParen "(",
    RParen ")",
    LBracket "[",
    RBracket "]",
    LBrace "{",
    RBrace "}",
    Lt "<",
    /// Also one half of a shift: `>>` is two of them.
    Gt ">",
    Le "<=",
    Ge ">=",
    Shl "<<",
    AndAnd "&&",
    OrOr "||",
    Ne "!=",
    EqEq "==",
    Plus "+",
    Minus "-",
    PlusSat "|+|",
    MinusSat "|-|",
    Star "*",
    Slash "/",
    Percent "%",
    Or "|",
    And "&",
    Caret "^",
    Tilde "~",
    Not "!",
    Colon ":",
    PlusColon "+:",
    Comma ",",
    Question "?",
    Dot ".",
    DotDot "..",
    Dots "...",
    Assign "=",
    PlusAssign "+=",
    MinusAssign "-=",
    StarAssign "*=",
    SlashAssign "/=",
    PercentAssign "%=",
    AndAssign "&=",
    OrAssign "|=",
    CaretAssign "^=",
    ShlAssign "<<=",
    ShrAssign ">>=",
    PlusSatAssign "|+|=",
    MinusSatAssign "|-|=",
    Semicolon ";",
    At "@",
    PlusPlus "++",
    Mask "&&&",
    Invalid "{#}",
    ;
    Underscore "_",
    Abstract "abstract",
    Action "action",
    Actions "actions",
    Apply "apply",
    Bool "bool",
    Bit "bit",
    Break "break",
    Const "const",
    Continue "continue",
    Control "control",
    Default "default",
    Else "else",
    Entries "entries",
    Enum "enum",
    Error "error",
    Exit "exit",
    Extern "extern",
    False "false",
    For "for",
    Header "header",
    HeaderUnion "header_union",
    If "if",
    In "in",
    Inout "inout",
    IntWord "int",
    Key "key",
    List "list",
    MatchKind "match_kind",
    Out "out",
    Package "package",
    Parser "parser",
    Priority "priority",
    Return "return",
    Select "select",
    State "state",
    StringWord "string",
    Struct "struct",
    Switch "switch",
    Table "table",
    This "this",
    Transition "transition",
    True "true",
    Tuple "tuple",
    Type "type",
    Typedef "typedef",
    ValueSet "value_set",
    Varbit "varbit",
    Void "void",
}
