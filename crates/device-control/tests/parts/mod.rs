//! Programs and machine code that tests make once: devices start with the same parts again and again.

use base_diag::SourceMap;
use compiler::reparse;
use controller::Rollout;
use dataplane_api::Registry;
use device_control::Known;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The program of a text; each text is compiled once.
pub fn compiled_text(text: &str) -> Arc<ir::Program> {
    static COMPILED: Mutex<BTreeMap<String, Arc<ir::Program>>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compile =
        || reparse("test.p4", text, &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    Arc::clone(compiled.entry(text.to_string()).or_insert_with(compile))
}

/// Code of the parts of all racks of a test.
pub static PARTS: LazyLock<Known> = LazyLock::new(Known::default);

/// Adds the parts of a rack to [`PARTS`].
pub fn know_parts(rollout: &Rollout, registry: &Registry) {
    for part in rollout.parts.iter().flatten() {
        let text = std::str::from_utf8(&part.config.p4_device_config).expect("a text");
        PARTS.engine(text, &compiled_text(text), registry).expect("it runs");
    }
}
