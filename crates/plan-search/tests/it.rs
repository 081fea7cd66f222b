//! The tests of this crate as one program: linking one takes longer than compiling it.

mod bounds;
mod definition;
mod dominance;
#[path = "../examples/measure/drawn.rs"]
mod drawn;
mod enumerate;
#[path = "../examples/measure/fabric.rs"]
mod fabric;
mod home;
mod ordered;
mod plans;
mod random;
mod tiers;
mod why;
