//! Mistakes in the affinity of an app.

use super::check_with;
use expect_test::expect;

const DEVICES: &str = "[device.nic1]\nclass = \"smartnic\"\n[device.nic2]\nclass = \"smartnic\"\n";
const APP: &str = "[[app]]\nprogram = \"a.p4\"\norigin = \"tor\"\n";

#[test]
fn an_affinity_needs_what_it_says() {
    check_with(
        &format!("{DEVICES}{APP}affinity = \"medium\"\n"),
        expect![[r#"
        error[P4R0604]: `flows` is missing
          --> RACK.toml:20:1
           |
        20 | [[app]]
           | ^^^^^^^ this app has no `flows`
           |
           = help: for example: `flows = 1024`

        error[P4R0605]: no helper
          --> RACK.toml:23:12
           |
        23 | affinity = "medium"
           |            ^^^^^^^^ name devices for the flows that are not at the switch: `devices = ["nic"]`
    "#]],
    );
    check_with(
        &format!("{DEVICES}{APP}affinity = \"high\"\nflows = 10\ndevices = [\"nic1\"]\n"),
        expect![[r#"
            error[P4R0605]: all flows are at the switch
              --> RACK.toml:23:12
               |
            23 | affinity = "high"
               |            ^^^^^^ leave `devices` out, or take another affinity

            error[P4R0605]: no flow manager
              --> RACK.toml:24:9
               |
            24 | flows = 10
               |         ^^ only `affinity = "medium"` has one
        "#]],
    );
    check_with(
        &format!("{DEVICES}{APP}affinity = \"middle\"\nflows = 0\ndevices = [\"nic1\"]\n"),
        expect![[r#"
            error[P4R0606]: unknown word `middle`
              --> RACK.toml:23:12
               |
            23 | affinity = "middle"
               |            ^^^^^^^^ not known here
               |
               = note: known are `high`, `medium` and `low`

            error[P4R0605]: number out of range
              --> RACK.toml:24:9
               |
            24 | flows = 0
               |         ^ allowed are 1 to 4294967296
        "#]],
    );
    check_with(
        &format!(
            "{DEVICES}{APP}affinity = \"low\"\ndevices = [\"nic1\"]\nmap = {{ R = \"nic1\" }}\npolicy = \"call\"\n"
        ),
        expect![[r#"
            error[P4R0605]: regions of an app with an affinity
              --> RACK.toml:25:7
               |
            25 | map = { R = "nic1" }
               |       ^^^^^^^^^^^^^^ the affinity already determines what runs at the helpers: remove one of the two

            error[P4R0605]: regions of an app with an affinity
              --> RACK.toml:26:10
               |
            26 | policy = "call"
               |          ^^^^^^ the affinity already determines what runs at the helpers: remove one of the two
        "#]],
    );
}

#[test]
fn keys_and_sizes_need_an_affinity() {
    check_with(
        &format!(
            "{DEVICES}{APP}shard_key = [[\"a\", \"b\", \"c\"], 3]\nshards = 0\nobjects = {{ t = {{ entries = 0, resident = \"most\" }}, u = 3 }}\n"
        ),
        expect![[r#"
            error[P4R0605]: flows of an app without affinity
              --> RACK.toml:23:13
               |
            23 | shard_key = [["a", "b", "c"], 3]
               |             ^^^^^^^^^^^^^^^^^^^^ write `affinity = "medium"` to pin them

            error[P4R0605]: not a pair
              --> RACK.toml:23:14
               |
            23 | shard_key = [["a", "b", "c"], 3]
               |              ^^^^^^^^^^^^^^^ two parts change places in the other direction of a connection

            error[P4R0603]: expected a string, found an integer
              --> RACK.toml:23:31
               |
            23 | shard_key = [["a", "b", "c"], 3]
               |                               ^ this is an integer

            error[P4R0605]: number out of range
              --> RACK.toml:24:10
               |
            24 | shards = 0
               |          ^ allowed are 1 to 4096

            error[P4R0605]: flows of an app without affinity
              --> RACK.toml:25:11
               |
            25 | objects = { t = { entries = 0, resident = "most" }, u = 3 }
               |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ write `affinity = "medium"` to pin them

            error[P4R0605]: number out of range
              --> RACK.toml:25:29
               |
            25 | objects = { t = { entries = 0, resident = "most" }, u = 3 }
               |                             ^ allowed are 1 to 4294967296

            error[P4R0603]: expected a number of entries or "all", found a string
              --> RACK.toml:25:43
               |
            25 | objects = { t = { entries = 0, resident = "most" }, u = 3 }
               |                                           ^^^^^^ this is a string
               |
               = help: for example: 1024

            error[P4R0603]: expected a table, found an integer
              --> RACK.toml:25:57
               |
            25 | objects = { t = { entries = 0, resident = "most" }, u = 3 }
               |                                                         ^ this is an integer
        "#]],
    );
    check_with(
        &format!("{DEVICES}{APP}flows = 10\nflow_key = [\"hdr.h.a\"]\n"),
        expect![[r#"
        error[P4R0605]: flows of an app without affinity
          --> RACK.toml:23:9
           |
        23 | flows = 10
           |         ^^ write `affinity = "medium"` to pin them

        error[P4R0605]: flows of an app without affinity
          --> RACK.toml:24:12
           |
        24 | flow_key = ["hdr.h.a"]
           |            ^^^^^^^^^^^ write `affinity = "medium"` to pin them
    "#]],
    );
    // It is misspelt, not missing.
    check_with(
        &format!("{DEVICES}{APP}affinity = \"middle\"\nflows = 10\nflow_key = [\"hdr.h.a\"]\n"),
        expect![[r#"
        error[P4R0606]: unknown word `middle`
          --> RACK.toml:23:12
           |
        23 | affinity = "middle"
           |            ^^^^^^^^ not known here
           |
           = note: known are `high`, `medium` and `low`
    "#]],
    );
}

#[test]
fn a_region_is_divided_among_devices() {
    check_with(
        &format!(
            "{DEVICES}{APP}map = {{ R = {{ device = \"nic1\", policy = \"shard\" }}, S = {{ devices = [\"nic1\", \"nic3\"], policy = \"shard\" }} }}\n"
        ),
        expect![[r#"
            error[P4R0602]: unknown key `device`
              --> RACK.toml:23:15
               |
            23 | map = { R = { device = "nic1", policy = "shard" }, S = { devices = ["nic1", "nic3"], policy = "shard" } }
               |               ^^^^^^ region `R` has no such key
               |
               = help: did you mean `devices`?

            error[P4R0606]: unknown device `nic3`
              --> RACK.toml:23:77
               |
            23 | map = { R = { device = "nic1", policy = "shard" }, S = { devices = ["nic1", "nic3"], policy = "shard" } }
               |                                                                             ^^^^^^ not known
               |
               = help: did you mean `nic1`?
        "#]],
    );
    check_with(
        &format!("{DEVICES}{APP}map = {{ R = \"nic1\" }}\npolicy = \"shard\"\n"),
        expect![[r#"
        error[P4R0605]: nothing to divide flows among
          --> RACK.toml:24:10
           |
        24 | policy = "shard"
           |          ^^^^^^^ write `R = { devices = [...], policy = "shard" }`
    "#]],
    );
}

#[test]
fn a_shard_is_on_some_of_the_devices() {
    let helpers = "affinity = \"low\"\ndevices = [\"nic1\", \"nic2\"]\n";
    check_with(
        &format!("{DEVICES}{APP}{helpers}replicas = 3\n"),
        expect![[r#"
        error[P4R0605]: more replicas than devices
          --> RACK.toml:25:12
           |
        25 | replicas = 3
           |            ^ a shard is on each of `devices` once at most: write 1 to 2
    "#]],
    );
    check_with(
        &format!("{DEVICES}{APP}{helpers}replicas = 0\n"),
        expect![[r#"
        error[P4R0605]: number out of range
          --> RACK.toml:25:12
           |
        25 | replicas = 0
           |            ^ allowed are 1 to 32
    "#]],
    );
    check_with(
        &format!("{DEVICES}{APP}replicas = 2\n"),
        expect![[r#"
        error[P4R0605]: flows of an app without affinity
          --> RACK.toml:23:12
           |
        23 | replicas = 2
           |            ^ write `affinity = "medium"` to pin them
    "#]],
    );
    check_with(
        &format!(
            "{DEVICES}{APP}map = {{ R = {{ devices = [\"nic1\", \"nic2\"], policy = \"shard\", replicas = 3 }}, S = {{ device = \"nic1\", replicas = 2 }} }}\n"
        ),
        expect![[r#"
            error[P4R0605]: more replicas than devices
              --> RACK.toml:23:72
               |
            23 | map = { R = { devices = ["nic1", "nic2"], policy = "shard", replicas = 3 }, S = { device = "nic1", replicas = 2 } }
               |                                                                        ^ a shard is on each of `devices` once at most: write 1 to 2

            error[P4R0602]: unknown key `replicas`
              --> RACK.toml:23:100
               |
            23 | map = { R = { devices = ["nic1", "nic2"], policy = "shard", replicas = 3 }, S = { device = "nic1", replicas = 2 } }
               |                                                                                                    ^^^^^^^^ region `S` has no such key
               |
               = note: its keys are `policy`, `device` and `spares`
        "#]],
    );
}

#[test]
fn planned_flows_need_a_distribution() {
    let helpers = "affinity = \"medium\"\ndevices = [\"nic1\"]\n";
    let planned = format!("{DEVICES}{APP}{helpers}flows = \"plan\"\n");
    check_with(
        &planned,
        expect![[r#"
        error[P4R0605]: nothing to plan flows by
          --> RACK.toml:25:9
           |
        25 | flows = "plan"
           |         ^^^^^^ describe the traffic: `distribution = { zipf = 0.99, flows = 10000 }`
    "#]],
    );
    check_with(
        &format!("{DEVICES}{APP}{helpers}flows = \"many\"\nshare = 0.5\n"),
        expect![[r#"
        error[P4R0603]: expected a number of flows or "plan", found a string
          --> RACK.toml:25:9
           |
        25 | flows = "many"
           |         ^^^^^^ this is a string
           |
           = help: for example: 1024

        error[P4R0605]: a share without flows
          --> RACK.toml:26:9
           |
        26 | share = 0.5
           |         ^^^ describe the flows, too: `distribution = { zipf = 0.99, flows = 10000 }`
    "#]],
    );
    check_with(
        &format!("{planned}distribution = {{ zipf = 0.99, classes = [[1, 2]] }}\n"),
        expect![[r#"
        error[P4R0605]: not a distribution
          --> RACK.toml:26:16
           |
        26 | distribution = { zipf = 0.99, classes = [[1, 2]] }
           |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ write `{ zipf = 0.99, flows = 10000 }` or `{ classes = [[10, 60], [990, 40]] }`
    "#]],
    );
    check_with(
        &format!("{planned}distribution = {{ classes = [[1, 2, 3]] }}\n"),
        expect![[r#"
        error[P4R0605]: not a class of flows
          --> RACK.toml:26:29
           |
        26 | distribution = { classes = [[1, 2, 3]] }
           |                             ^^^^^^^^^ the number of flows, and their weight: `[10, 60]`
    "#]],
    );
    check_with(
        &format!("{planned}distribution = {{ classes = [[4294967296, 1], [1, 0]] }}\n"),
        expect![[r#"
        error[P4R0605]: no distribution
          --> RACK.toml:26:28
           |
        26 | distribution = { classes = [[4294967296, 1], [1, 0]] }
           |                            ^^^^^^^^^^^^^^^^^^^^^^^^^ one class at least, 65536 classes and 2^32 flows at most
    "#]],
    );
    check_with(
        &format!("{planned}distribution = {{ classes = [[7, 0]] }}\n"),
        expect![[r#"
        error[P4R0605]: no flow has traffic
          --> RACK.toml:26:28
           |
        26 | distribution = { classes = [[7, 0]] }
           |                            ^^^^^^^^ the weight of one class at least is positive
    "#]],
    );
    check_with(
        &format!("{DEVICES}{APP}distribution = {{ zipf = 5, flows = 0 }}\n"),
        expect![[r#"
        error[P4R0605]: number out of range
          --> RACK.toml:23:25
           |
        23 | distribution = { zipf = 5, flows = 0 }
           |                         ^ allowed are 0 to 4

        error[P4R0605]: number out of range
          --> RACK.toml:23:36
           |
        23 | distribution = { zipf = 5, flows = 0 }
           |                                    ^ allowed are 1 to 4294967296
    "#]],
    );
}
