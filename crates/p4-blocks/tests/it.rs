//! The tests of this crate as one program: linking one takes longer than compiling it.

mod flowlets;
mod models;
mod paper;
mod properties;
mod purposes;
mod rates;
mod tables;
