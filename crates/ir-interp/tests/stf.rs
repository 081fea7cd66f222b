//! Every program in `testdata` with an STF test beside it, but for those that are filled from a file.

use crate::common;

use common::{Test, check_stf};

macro_rules! tests {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check_stf(stringify!($name));
        }
    )*};
}

tests! {
    asserts
    checksums
    clones
    drops
    hash
    headers
    language
    log
    meters
    multicast
    objects
    parser
    passes
    priority
    psa_externs
    psa_paths
    queueing
    random
    recirculate
    resubmit
    sessions
    shared_actions
    shared_names
    t2na_math
    t2na_paths
    t2na_pktgen
    tables
    tna_externs
    tna_filters
    tna_lookup
    tna_math
    tna_parser
    tna_paths
    tna_pktgen
    tna_registers
    truncate
    values
    vectors
}

/// No test file is forgotten above.
#[test]
fn every_test_file_is_listed() {
    let listed = include_str!("stf.rs");
    for name in Test::names() {
        assert!(listed.lines().any(|l| l.trim() == name), "{name} is not run");
    }
}
