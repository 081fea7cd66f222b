//! 06xx: `RACK.toml` and plans.

codes! {}
