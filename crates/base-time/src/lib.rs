//! Virtual time, data rates, probabilities and seeded randomness as plain values.
//!
//! Nothing here reads a clock or an entropy source, and nothing is a float: the same inputs give the same
//! events in the same order on every machine.
//!
//! ```
//! use base_time::{Duration, Rate, Time};
//! let link: Rate = "100Gbit/s".parse().unwrap();
//! let arrival = Time::ZERO + link.time_for(1500) + "2us".parse().unwrap();
//! assert_eq!(arrival.to_string(), "2.12us");
//! ```

mod probability;
mod rate;
mod rng;
mod time;
mod units;
mod zipf;

pub use probability::{Probability, scaled_decimal};
pub use rate::Rate;
pub use rng::Rng;
pub use time::{Duration, Time};
pub use units::ParseUnitError;
pub use zipf::Zipf;
