//! 07xx: emulation and bring-up.

codes! {}
