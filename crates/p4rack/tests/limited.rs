//! Examples that say that a limited switch can run them.

use crate::support::example;
use device_classes::DeviceClass;

#[test]
fn protocols_use_nothing_that_a_limited_switch_lacks() {
    for name in ["rcp", "xcp", "pias", "detect", "dctcp", "hull", "pfabric", "hedera", "qcn", "d3"] {
        let racked = example(name);
        let found = ir_limits::check(&racked.apps[0].whole, DeviceClass::FlexSwitch);
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
    // CoDel's state depends on a table that it is a key of.
    let codel = example("codel");
    assert!(!ir_limits::check(&codel.apps[0].whole, DeviceClass::FlexSwitch).is_empty());
}
