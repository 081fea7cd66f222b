//! The tests of this crate as one program: linking one takes longer than compiling it.

mod block;
mod cli;
mod experiments;
mod explanations;
mod explode;
#[path = "../../state-etcd/tests/server/mod.rs"]
mod fake_etcd;
mod groups;
mod job;
mod job_hosts;
mod lab;
mod mistakes;
mod plan;
mod plan_flows;
mod plan_rack;
mod ptf;
mod python;
mod real;
mod run;
mod support;
mod sweep;
mod tutorial;
