//! P4Runtime's rules on a switch, without a network: requests as text in, answers as text out.

mod default_members;
mod entities;
mod entry_edges;
mod faults;
mod group_agents;
mod groups;
mod histories;
mod kept;
mod limits;
mod misses;
mod names;
#[path = "../parts/mod.rs"]
mod parts;
mod planner;
mod queues;
mod readings;
mod remote;
mod requests;
mod sessions;
mod setup;
mod spares;
mod steer;
mod steps;
mod streams;
mod tofino;
