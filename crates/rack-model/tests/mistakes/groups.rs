//! Mistakes in groups of servers and in changes of their members.

use super::check_with;
use expect_test::expect;

const DEVICES: &str =
    "[device.s1]\nclass = \"cpu\"\n[device.s2]\nclass = \"cpu\"\n[device.s3]\nclass = \"cpu\"\n";
const GROUP: &str = "[[group]]\nname = \"nat\"\nservers = [\"s1\", \"s2\"]\nidle = \"10s\"\n";

fn check(more: &str, expected: expect_test::Expect) {
    check_with(&format!("{DEVICES}{more}"), expected);
}

/// After `GROUP`.
fn check_change(more: &str, expected: expect_test::Expect) {
    check(&format!("{GROUP}{more}"), expected);
}

#[test]
fn a_group_has_servers_and_members() {
    check(
        "[[group]]\nname = \"nat\"\nservers = []\nidle = \"10s\"\n",
        expect![[r#"
        error[P4R0605]: the group has no servers
          --> RACK.toml:24:11
           |
        24 | servers = []
           |           ^^ no server would get its packets
           |
           = help: name the devices that may be members: `servers = ["s1", "s2"]`
    "#]],
    );
    // Its members and changes are not refused once more.
    check(
        "[[group]]\nname = \"nat\"\nservers = []\nmembers = [\"s1\"]\nidle = \"10s\"\n[[membership]]\ngroup = \"nat\"\nat = \"5ms\"\nremove = \"s1\"\n",
        expect![[r#"
        error[P4R0605]: the group has no servers
          --> RACK.toml:24:11
           |
        24 | servers = []
           |           ^^ no server would get its packets
           |
           = help: name the devices that may be members: `servers = ["s1", "s2"]`
    "#]],
    );
    check(
        "[[group]]\nname = \"nat\"\nservers = [\"s1\", \"s9\"]\nidle = \"10s\"\n",
        expect![[r#"
        error[P4R0606]: unknown device `s9`
          --> RACK.toml:24:18
           |
        24 | servers = ["s1", "s9"]
           |                  ^^^^ not known
           |
           = note: known are `tor`, `s1`, `s2` and `s3`
    "#]],
    );
    check(
        "[[group]]\nname = \"nat\"\nservers = [\"s1\", \"s1\"]\nidle = \"10s\"\n",
        expect![[r#"
        error[P4R0605]: a server is named twice
          --> RACK.toml:24:18
           |
        24 | servers = ["s1", "s1"]
           |            ----  ^^^^ again
           |            |
           |            first named here
    "#]],
    );
    check_change(
        "members = []\n",
        expect![[r#"
        error[P4R0605]: the group has no members
          --> RACK.toml:26:11
           |
        26 | members = []
           |           ^^ no server would get its packets at first
           |
           = help: name at least one server, or leave `members` out: all are members then
    "#]],
    );
    check_change(
        "members = [\"s1\", \"s3\", \"s1\"]\n",
        expect![[r#"
        error[P4R0605]: `s3` is no server of this group
          --> RACK.toml:26:18
           |
        26 | members = ["s1", "s3", "s1"]
           |                  ^^^^ only servers can be members
           |
           = help: add it to `servers`

        error[P4R0605]: member `s1` is named twice
          --> RACK.toml:26:24
           |
        26 | members = ["s1", "s3", "s1"]
           |                        ^^^^ again
    "#]],
    );
    check(
        "[[group]]\nservers = [\"s1\"]\n",
        expect![[r#"
        error[P4R0604]: `name` is missing
          --> RACK.toml:22:1
           |
        22 | [[group]]
           | ^^^^^^^^^ this group has no `name`
           |
           = help: for example: `name = "nat"`

        error[P4R0604]: `idle` is missing
          --> RACK.toml:22:1
           |
        22 | [[group]]
           | ^^^^^^^^^ this group has no `idle`
           |
           = help: for example: `idle = "10s"`
    "#]],
    );
}

#[test]
fn its_values_are_in_range() {
    check_change(
        "buckets = 1000\n",
        expect![[r#"
        error[P4R0605]: not a power of two
          --> RACK.toml:26:11
           |
        26 | buckets = 1000
           |           ^^^^ flows are divided by the lowest bits of a hash
    "#]],
    );
    check_change(
        "cells = 4096\n",
        expect![[r#"
        error[P4R0605]: `cells` of a group without filters
          --> RACK.toml:26:9
           |
        26 | cells = 4096
           |         ^^^^ only `variant = "bloom"` has some
    "#]],
    );
    check_change(
        "buckets = 131072\nvariant = \"bloom\"\ncells = 100\nhold = \"0s\"\n",
        expect![[r#"
            error[P4R0605]: number out of range
              --> RACK.toml:26:11
               |
            26 | buckets = 131072
               |           ^^^^^^ allowed are 1 to 65536

            error[P4R0605]: not a power of two
              --> RACK.toml:28:9
               |
            28 | cells = 100
               |         ^^^ the index of a cell is bits of a hash

            error[P4R0605]: a duration of zero
              --> RACK.toml:29:8
               |
            29 | hold = "0s"
               |        ^^^^ must be more than 0
        "#]],
    );
    check_change(
        "variant = \"exactly\"\nidl = 3\n",
        expect![[r#"
        error[P4R0606]: unknown word `exactly`
          --> RACK.toml:26:11
           |
        26 | variant = "exactly"
           |           ^^^^^^^^^ not known here
           |
           = help: did you mean `exact`?

        error[P4R0602]: unknown key `idl`
          --> RACK.toml:27:1
           |
        27 | idl = 3
           | ^^^ this group has no such key
           |
           = help: did you mean `idle`?
    "#]],
    );
}

#[test]
fn a_group_that_keeps_no_flows_has_no_idle_time() {
    check_change(
        "variant = \"pin\"\n",
        expect![[r#"
        error[P4R0605]: `idle` of a group that remembers no flows
          --> RACK.toml:25:8
           |
        25 | idle = "10s"
           |        ^^^^^ leave it out
    "#]],
    );
}

#[test]
fn a_group_that_scales_has_bounds_that_can_be() {
    check_change(
        "scale = { up = 0.5 }\n",
        expect![[r#"
        error[P4R0604]: `capacity` is missing
          --> RACK.toml:26:9
           |
        26 | scale = { up = 0.5 }
           |         ^^^^^^^^^^^^ this `scale` has no `capacity`
           |
           = help: for example: `capacity = 100000`
    "#]],
    );
    check_change(
        "scale = { capacity = 1000, up = 0.3, down = 0.3 }\n",
        expect![[r#"
        error[P4R0605]: `down` is not less than `up`
          --> RACK.toml:26:45
           |
        26 | scale = { capacity = 1000, up = 0.3, down = 0.3 }
           |                                             ^^^ it would grow and shrink for ever: let `down` be less
    "#]],
    );
    check_change(
        "scale = { capacity = 1000, min = 3 }\n",
        expect![[r#"
        error[P4R0605]: the group can never have `min` members
          --> RACK.toml:26:9
           |
        26 | scale = { capacity = 1000, min = 3 }
           |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ it has 2 servers
    "#]],
    );
    check_change(
        "scale = { capacity = 0, upfor = \"1s\" }\n",
        expect![[r#"
        error[P4R0605]: number out of range
          --> RACK.toml:26:22
           |
        26 | scale = { capacity = 0, upfor = "1s" }
           |                      ^ allowed are 1 to 1000000000000

        error[P4R0602]: unknown key `upfor`
          --> RACK.toml:26:25
           |
        26 | scale = { capacity = 0, upfor = "1s" }
           |                         ^^^^^ this `scale` has no such key
           |
           = help: did you mean `up_for`?
    "#]],
    );
}

#[test]
fn names_and_servers_are_of_one_group() {
    check(
        "[[group]]\nname = \"s1\"\nservers = [\"s2\"]\nidle = \"10s\"\n",
        expect![[r#"
        error[P4R0605]: `s1` is both a group and a device or host
          --> RACK.toml:23:8
           |
        23 | name = "s1"
           |        ^^^^ handlers and maps name groups and devices alike
    "#]],
    );
    check_change(
        "[[group]]\nname = \"nat\"\nservers = [\"s3\"]\nidle = \"10s\"\n",
        expect![[r#"
        error[P4R0605]: group `nat` is described twice
          --> RACK.toml:27:8
           |
        23 | name = "nat"
           |        ----- first used here
        ...
        27 | name = "nat"
           |        ^^^^^ used again here
    "#]],
    );
    check_change(
        "[[group]]\nname = \"wall\"\nservers = [\"s3\", \"s1\"]\nidle = \"10s\"\n",
        expect![[r#"
        error[P4R0605]: this server is also of group `nat`
          --> RACK.toml:28:18
           |
        28 | servers = ["s3", "s1"]
           |                  ^^^^ a device is of one group
           |
           = help: place what both groups run on one group
    "#]],
    );
}

#[test]
fn a_change_is_of_one_server_of_the_group() {
    check_change(
        "[[membership]]\ngroup = \"nad\"\nat = \"1ms\"\nadd = \"s1\"\n",
        expect![[r#"
        error[P4R0606]: unknown group `nad`
          --> RACK.toml:27:9
           |
        27 | group = "nad"
           |         ^^^^^ not known
           |
           = help: did you mean `nat`?
    "#]],
    );
    check_change(
        "[[membership]]\ngroup = \"nat\"\nat = \"1ms\"\n",
        expect![[r#"
        error[P4R0605]: no server comes or goes
          --> RACK.toml:26:1
           |
        26 | [[membership]]
           | ^^^^^^^^^^^^^^ this changes nothing
           |
           = help: write `add = "SERVER"`, `remove = "SERVER"` or `drain = "SERVER"`
    "#]],
    );
    check_change(
        "[[membership]]\ngroup = \"nat\"\nat = \"1ms\"\nadd = \"s1\"\ndrain = \"s2\"\n",
        expect![[r#"
            error[P4R0605]: one change at a time
              --> RACK.toml:30:9
               |
            30 | drain = "s2"
               |         ^^^^ this is another change
               |
               = help: write another `[[membership]]`; it may have the same time
        "#]],
    );
    check_change(
        "[[membership]]\ngroup = \"nat\"\nat = \"1ms\"\nremove = \"s3\"\n",
        expect![[r#"
        error[P4R0605]: `s3` is no server of group `nat`
          --> RACK.toml:29:10
           |
        22 | [[group]]
           | --------- this group
        ...
        29 | remove = "s3"
           |          ^^^^ not named by the group
           |
           = help: add it to the group's `servers`
    "#]],
    );
    check_change(
        "[[membership]]\ngroup = \"nat\"\nat = \"1ms\"\nremove = \"s2\"\nweight = 2\n",
        expect![[r#"
            error[P4R0605]: a weight of a server that is not added
              --> RACK.toml:30:10
               |
            30 | weight = 2
               |          ^ leave it out
        "#]],
    );
}

#[test]
fn members_come_and_go_in_order() {
    check_change(
        "[[membership]]\ngroup = \"nat\"\nat = \"1ms\"\nadd = \"s1\"\n",
        expect![[r#"
        error[P4R0605]: `s1` is a member already
          --> RACK.toml:29:7
           |
        29 | add = "s1"
           |       ^^^^ added again
    "#]],
    );
    // The later one is before it in the file.
    check_change(
        "[[membership]]\ngroup = \"nat\"\nat = \"2ms\"\nremove = \"s2\"\n[[membership]]\ngroup = \"nat\"\nat = \"1ms\"\ndrain = \"s1\"\n",
        expect![[r#"
            error[P4R0605]: the last member of group `nat` cannot go
              --> RACK.toml:29:10
               |
            29 | remove = "s2"
               |          ^^^^ no server would be left that takes new flows
               |
               = help: add another server before
        "#]],
    );
    check_change(
        "members = [\"s1\"]\n[[membership]]\ngroup = \"nat\"\nat = \"2ms\"\nremove = \"s2\"\n",
        expect![[r#"
            error[P4R0605]: `s2` is no member then
              --> RACK.toml:30:10
               |
            30 | remove = "s2"
               |          ^^^^ it cannot go
        "#]],
    );
    check_change(
        "[[membership]]\ngroup = \"nat\"\nat = \"1ms\"\nremove = \"s2\"\n[[membership]]\ngroup = \"nat\"\nat = \"2ms\"\nadd = \"s2\"\n",
        expect![[""]],
    );
}

#[test]
fn regions_name_a_group() {
    let app = "[[app]]\nprogram = \"a.p4\"\norigin = \"tor\"\n";
    check_change(
        &format!("{app}map = {{ Count = \"nat\", Other = \"nad\" }}\n"),
        expect![[r#"
        error[P4R0606]: unknown device `nad`
          --> RACK.toml:29:32
           |
        29 | map = { Count = "nat", Other = "nad" }
           |                                ^^^^^ not known
           |
           = note: known are `tor`, `s1`, `s2` and `s3`
    "#]],
    );
    check_change(
        &format!("{app}map = {{ Count = {{ device = \"s1\", policy = \"group\" }} }}\n"),
        expect![[r#"
            error[P4R0605]: no group
              --> RACK.toml:29:43
               |
            29 | map = { Count = { device = "s1", policy = "group" } }
               |                                           ^^^^^^^ write `Count = "GROUP"`, with the name of a `[[group]]`
        "#]],
    );
}
