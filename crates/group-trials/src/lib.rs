//! Server groups under traffic, and beside them CLIP's Bloom filters. All from seeds, in ticks.
//!
//! | module | runs |
//! |---|---|
//! | [`simulation`] | a switch, servers and links; counts packets at wrong servers, out of order, lost |
//! | [`rack`] | printed programs for the switch and the servers, the real fronts and controller |
//! | [`churn`] | many short flows, and changes of the members all the time |
//! | [`autoscale`] | load that rises and falls, and a group that follows it |
//! | [`transition`] | from one server to another under long flows |
//! | [`bloom`] | the Bloom filters under the same traffic as `churn` |

pub mod autoscale;
pub mod bloom;
pub mod churn;
pub mod rack;
pub mod simulation;
pub mod transition;
