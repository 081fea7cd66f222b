//! All frame externs and value externs by name.

use dataplane_api::Registry;

/// All of them.
pub fn all() -> Registry {
    let mut registry = Registry::default();
    netfn_beacon::register(&mut registry);
    netfn_cache::register(&mut registry);
    netfn_compress::register(&mut registry);
    netfn_fec::register(&mut registry);
    netfn_values::register(&mut registry);
    registry
}
