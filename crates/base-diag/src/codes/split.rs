//! 05xx: regions, cuts and hand-overs.

codes! {}
