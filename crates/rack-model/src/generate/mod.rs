//! Whole racks from a few numbers: the text of `RACK.toml`, the router that its switches run, and their entries.
//!
//! ```
//! let files = rack_model::generate::fat_tree(4).unwrap();
//! let (rack, diagnostics) = rack_model::read_rack(&files[0].text, 1);
//! assert!(diagnostics.is_empty());
//! assert_eq!(rack.unwrap().devices.len(), 20);
//! ```

mod fat_tree;
mod router;
mod star;

pub use fat_tree::fat_tree;
pub use star::star;

/// The router that generated racks run.
const ROUTER: &str = include_str!("../../../../examples/fat-tree/router.p4");

/// A file of a generated rack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Path below the rack's directory.
    pub path: String,
    /// Content.
    pub text: String,
}

impl File {
    fn new(path: impl Into<String>, text: impl Into<String>) -> File {
        File { path: path.into(), text: text.into() }
    }
}

/// A link of a generated rack.
fn link(ends: [String; 2], rate: &str, delay: &str) -> String {
    format!("[[link]]\nends = [\"{}\", \"{}\"]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\n", ends[0], ends[1])
}
