//! Mistakes in the affinity of an app.

use super::check_with;
use expect_test::expect;

const DEVICES: &str = "[device.nic1]\nclass = \"smartnic\"\n[device.nic2]\nclass = \"smartnic\"\n";
const APP: &str = "[[app]]\nprogram = \"a.p4\"\norigin = \"tor\"\n";

#[test]
fn an_affinity_needs_what_it_says() {
    check_with(&format!("{DEVICES}{APP}affinity = \"medium\"\n"), expect![[""]]);
    check_with(
        &format!("{DEVICES}{APP}affinity = \"high\"\nflows = 10\ndevices = [\"nic1\"]\n"),
        expect![[""]],
    );
    check_with(
        &format!("{DEVICES}{APP}affinity = \"middle\"\nflows = 0\ndevices = [\"nic1\"]\n"),
        expect![[""]],
    );
    check_with(
        &format!(
            "{DEVICES}{APP}affinity = \"low\"\ndevices = [\"nic1\"]\nmap = {{ R = \"nic1\" }}\npolicy = \"call\"\n"
        ),
        expect![[""]],
    );
}

#[test]
fn keys_and_sizes_need_an_affinity() {
    check_with(
        &format!(
            "{DEVICES}{APP}shard_key = [[\"a\", \"b\", \"c\"], 3]\nshards = 0\nobjects = {{ t = {{ entries = 0, resident = \"most\" }}, u = 3 }}\n"
        ),
        expect![[""]],
    );
    check_with(&format!("{DEVICES}{APP}flows = 10\nflow_key = [\"hdr.h.a\"]\n"), expect![[""]]);
}

#[test]
fn a_region_is_divided_among_devices() {
    check_with(
        &format!(
            "{DEVICES}{APP}map = {{ R = {{ device = \"nic1\", policy = \"shard\" }}, S = {{ devices = [\"nic1\", \"nic3\"], policy = \"shard\" }} }}\n"
        ),
        expect![[""]],
    );
    check_with(&format!("{DEVICES}{APP}map = {{ R = \"nic1\" }}\npolicy = \"shard\"\n"), expect![[""]]);
}
