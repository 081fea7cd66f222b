//! 04xx: running programs: entries, packets, STF.

codes! {}
