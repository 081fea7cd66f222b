//! 02xx: names, types and the other rules of the language.

codes! {}
