//! Source text -> parse -> check -> elaborate -> IR text.
