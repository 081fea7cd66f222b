//! Labs as data: hosts with a real network stack, P4 switches, and links between them.
//!
//! Three formats give one [`Lab`]:
//!
//! | file | reader |
//! |---|---|
//! | `topology.json` of p4lang's tutorials | [`read_tutorial`] |
//! | `p4app.json` of p4-utils | [`read_p4app`] |
//! | `RACK.toml` | [`from_rack`] |
//!
//! [`to_rack_text`] writes a lab as a `RACK.toml`, for virtual time. Nothing here opens a file: paths stay as they are written, with their places.
//!
//! ```
//! let text = r#"{
//!   "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11" } },
//!   "switches": { "s1": {} },
//!   "links": [["h1", "s1-p1", "5ms", 0.5]]
//! }"#;
//! let (lab, diagnostics) = lab_model::read_tutorial(text, 1);
//! assert!(diagnostics.is_empty());
//! assert_eq!(lab.unwrap().links[0].rate.to_string(), "500kbit/s");
//! ```

mod assign;
mod check;
mod form;
mod from_rack;
mod lab;
mod p4app;
mod quantity;
mod runtime;
mod to_rack;
mod tutorial;

pub use form::{Form, form};
pub use from_rack::{from_rack, shape};
pub use lab::{Entries, Gateway, Host, Lab, Neighbour, Origin, Script, Switch, UNLIMITED};
pub use p4app::read_p4app;
pub use runtime::program_of;
pub use to_rack::{Capture, to_rack_text};
pub use tutorial::read_tutorial;
