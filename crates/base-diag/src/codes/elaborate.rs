//! 03xx: compile-time evaluation, elaboration, architectures.

codes! {}
