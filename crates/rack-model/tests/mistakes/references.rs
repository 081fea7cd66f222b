//! Mistakes in references: names, links, workloads; and unsupported features.

use crate::{GOOD, check, check_changed, check_with, reported};
use expect_test::expect;

#[test]
fn names() {
    check_changed(
        "\"tor:2\"",
        "\"tro:2\"",
        expect![[r#"
        error[P4R0606]: unknown node `tro`
          --> RACK.toml:14:15
           |
        14 | ends = ["h2", "tro:2"]
           |               ^^^^^^^ not known
           |
           = help: did you mean `tor`?
    "#]],
    );
    check_changed(
        "\"switch\"",
        "\"smartnik\"",
        expect![[r#"
        error[P4R0606]: unknown word `smartnik`
         --> RACK.toml:3:9
          |
        3 | class = "smartnik"
          |         ^^^^^^^^^^ not known here
          |
          = help: did you mean `smartnic`?
    "#]],
    );
    check_with(
        "[[app]]\nprogram = \"a.p4\"\norigin = \"h1\"\nmap = { Acl = \"nic\" }\ndefines = { 1A = 1.5 }\n",
        expect![[r#"
            error[P4R0606]: `h1` is not a device
              --> RACK.toml:18:10
               |
             4 | [host.h1]
               |       -- declared here
            ...
            18 | origin = "h1"
               |          ^^^^ a device is needed

            error[P4R0606]: unknown device `nic`
              --> RACK.toml:19:15
               |
            19 | map = { Acl = "nic" }
               |               ^^^^^ not known
               |
               = note: known are `tor`

            error[P4R0603]: expected a string or an integer, found a float
              --> RACK.toml:20:18
               |
            20 | defines = { 1A = 1.5 }
               |                  ^^^ this is a float
        "#]],
    );
    check_with(
        "[[workload]]\nkind = \"pign\"\nfrom = \"h1\"\n",
        expect![[r#"
        error[P4R0606]: unknown word `pign`
          --> RACK.toml:17:8
           |
        17 | kind = "pign"
           |        ^^^^^^ not known here
           |
           = help: did you mean `ping`?
    "#]],
    );
    check_with(
        "[[workload]]\nkind = \"ping\"\nfrom = \"tor\"\nto = \"h3\"\ncount = 1\n",
        expect![[r#"
        error[P4R0606]: `tor` is not a host
          --> RACK.toml:18:8
           |
         2 | [device.tor]
           |         --- declared here
        ...
        18 | from = "tor"
           |        ^^^^^ a host is needed

        error[P4R0606]: unknown host `h3`
          --> RACK.toml:19:6
           |
        19 | to = "h3"
           |      ^^^^ not known
           |
           = note: known are `h1` and `h2`
    "#]],
    );
}

#[test]
fn duplicates() {
    check(
        "[device.x]\nclass = \"cpu\"\n[host.x]\nmac = \"02:00:00:00:00:01\"\nip = \"10.0.0.1/8\"\n",
        expect![[r#"
            error[P4R0607]: `x` is both a device and a host
             --> RACK.toml:3:7
              |
            1 | [device.x]
              |         - first used here
            2 | class = "cpu"
            3 | [host.x]
              |       ^ used again here

            error[P4R0609]: host `x` is not linked
             --> RACK.toml:3:7
              |
            3 | [host.x]
              |       ^ no link ends here
              |
              = help: add a `[[link]]` with `ends = ["x", "DEVICE:PORT"]`
        "#]],
    );
    check_changed(
        "02:00:00:00:02:01",
        "02:00:00:00:01:01",
        expect![[r#"
        error[P4R0607]: MAC address `02:00:00:00:01:01` is used twice
         --> RACK.toml:8:7
          |
        5 | mac = "02:00:00:00:01:01"
          |       ------------------- first used here
        ...
        8 | mac = "02:00:00:00:01:01"
          |       ^^^^^^^^^^^^^^^^^^^ used again here
    "#]],
    );
    check_changed(
        "10.0.2.1/24",
        "10.0.1.1/16",
        expect![[r#"
        error[P4R0607]: IP address `10.0.1.1` is used twice
         --> RACK.toml:9:6
          |
        6 | ip = "10.0.1.1/24"
          |      ------------- first used here
        ...
        9 | ip = "10.0.1.1/16"
          |      ^^^^^^^^^^^^^ used again here
    "#]],
    );
}

#[test]
fn links() {
    check_changed(
        "\"tor:2\"",
        "\"tor:1\"",
        expect![[r#"
        error[P4R0608]: a port takes one link
          --> RACK.toml:14:15
           |
        11 | ends = ["h1", "tor:1"]
           |               ------- first linked here
        ...
        14 | ends = ["h2", "tor:1"]
           |               ^^^^^^^ used again here
    "#]],
    );
    check_changed(
        "\"tor:1\"",
        "\"tor\"",
        expect![[r#"
        error[P4R0608]: the port is missing
          --> RACK.toml:11:15
           |
        11 | ends = ["h1", "tor"]
           |               ^^^^^ cannot plug in here
           |
           = help: write "tor:1" for port 1
    "#]],
    );
    check_changed(
        "\"tor:1\"",
        "\"tor:one\"",
        expect![[r#"
        error[P4R0608]: not a port number
          --> RACK.toml:11:15
           |
        11 | ends = ["h1", "tor:one"]
           |               ^^^^^^^^^ cannot plug in here
           |
           = help: write "tor:1" for port 1
    "#]],
    );
    check_changed(
        "\"h1\", ",
        "\"h1:0\", ",
        expect![[r#"
        error[P4R0608]: a host has no port numbers
          --> RACK.toml:11:9
           |
        11 | ends = ["h1:0", "tor:1"]
           |         ^^^^^^ cannot plug in here
           |
           = help: write "h1"
    "#]],
    );
    check_changed(
        "\"h1\", ",
        "",
        expect![[r#"
        error[P4R0605]: a link has two ends
          --> RACK.toml:11:8
           |
        11 | ends = ["tor:1"]
           |        ^^^^^^^^^ write two: ["h1", "tor:1"]
    "#]],
    );
    check_with(
        "[[link]]\nends = [\"tor:5\", \"tor:5\"]\nrate = \"1Gbit/s\"\n",
        expect![[r#"
        error[P4R0608]: a port takes one link
          --> RACK.toml:17:18
           |
        17 | ends = ["tor:5", "tor:5"]
           |         -------  ^^^^^^^ used again here
           |         |
           |         first linked here
    "#]],
    );
    check_with(
        "[[link]]\nends = [\"h1\", \"tor:5\"]\nrate = \"1Gbit/s\"\n",
        expect![[r#"
        error[P4R0611]: a second link of a host is not supported yet
          --> RACK.toml:17:9
           |
        11 | ends = ["h1", "tor:1"]
           |         ---- first linked here
        ...
        17 | ends = ["h1", "tor:5"]
           |         ^^^^ linked again here
    "#]],
    );
    check_with(
        "[host.h3]\nmac = \"02:00:00:00:03:01\"\nip = \"10.0.1.3/24\"\n",
        expect![[r#"
        error[P4R0609]: host `h3` is not linked
          --> RACK.toml:16:7
           |
        16 | [host.h3]
           |       ^^ no link ends here
           |
           = help: add a `[[link]]` with `ends = ["h3", "DEVICE:PORT"]`
    "#]],
    );
}

#[test]
fn workloads() {
    let ping = "[[workload]]\nkind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\ncount = 1\n";
    check_with(
        ping,
        expect![[r#"
        error[P4R0610]: host `h1` has no gateway
          --> RACK.toml:18:8
           |
        18 | from = "h1"
           |        ^^^^ cannot reach `h2`
           |
           = note: 10.0.2.1 is in none of its networks
           = help: give host `h1` a `gateway`: the MAC address of its router

        error[P4R0610]: host `h2` has no gateway
          --> RACK.toml:19:6
           |
        19 | to = "h2"
           |      ^^^^ cannot reach `h1`
           |
           = note: 10.0.1.1 is in none of its networks
           = help: give host `h2` a `gateway`: the MAC address of its router
    "#]],
    );
    check_with(
        &ping.replace("h2", "h1"),
        expect![[r#"
        error[P4R0610]: a host cannot send to itself
          --> RACK.toml:19:6
           |
        19 | to = "h1"
           |      ^^^^ `h1` is also the sender
    "#]],
    );
    let gateways = GOOD.replace("mac =", "gateway = \"02:00:00:00:00:01\"\nmac =");
    assert_eq!(reported(&format!("{gateways}{ping}")), "");
    check(
        &format!("{gateways}{ping}size = 2000\ninterval = \"0\"\n"),
        expect![[r#"
        error[P4R0610]: the packets are too long for the sender's link
          --> RACK.toml:18:1
           |
        18 | [[workload]]
           | ^^^^^^^^^^^^ 2000 bytes of payload do not fit
           |
           = note: the link's MTU is 1500 bytes, and headers take 28 of them
           = help: set `size` to at most 1472, or raise the link's `mtu`

        error[P4R0605]: a duration of zero
          --> RACK.toml:24:12
           |
        24 | interval = "0"
           |            ^^^ must be more than 0
    "#]],
    );
    check(
        &format!("{gateways}{ping}start = \"3000h\"\n"),
        expect![[r#"
        error[P4R0610]: the workload lasts too long
          --> RACK.toml:18:1
           |
        18 | [[workload]]
           | ^^^^^^^^^^^^ 1 packets would exceed the end of virtual time
           |
           = note: the last packet must be sent within 106 days
           = help: lower `count` or `start`, or send faster
    "#]],
    );
    check(
        &format!("{gateways}{ping}size = 3\n"),
        expect![[r#"
        error[P4R0605]: number out of range
          --> RACK.toml:23:8
           |
        23 | size = 3
           |        ^ allowed are 20 to 65507
    "#]],
    );
    check(
        &format!("{}{ping}", gateways.replace("10.0.2.1/24", "fd00::1/64")),
        expect![[r#"
            error[P4R0611]: workloads over IPv6 are not supported yet
              --> RACK.toml:21:6
               |
            21 | to = "h2"
               |      ^^^^ not supported yet
               |
               = help: give it an IPv4 and an IPv6 address: `ip = ["10.0.0.1/24", "fd00::1/64"]`
        "#]],
    );
    check(
        &format!("{gateways}{ping}name = \"p\"\n{ping}name = \"p\"\n"),
        expect![[r#"
        error[P4R0607]: workload name `p` is used twice
          --> RACK.toml:29:8
           |
        23 | name = "p"
           |        --- first used here
        ...
        29 | name = "p"
           |        ^^^ used again here
    "#]],
    );
}

#[test]
fn policies() {
    let app = "[[app]]\nprogram = \"a.p4\"\norigin = \"tor\"\n";
    check_with(
        &format!(
            "{app}policy = \"col\"\nmap = {{ A = {{ device = \"tor\", policy = \"shard\" }}, B = {{ policy = \"call\" }}, C = 3 }}\n"
        ),
        expect![[r#"
            error[P4R0606]: unknown word `col`
              --> RACK.toml:19:10
               |
            19 | policy = "col"
               |          ^^^^^ not known here
               |
               = note: known are `direct`, `call`, `failover`, `shard` and `group`

            error[P4R0602]: unknown key `device`
              --> RACK.toml:20:15
               |
            20 | map = { A = { device = "tor", policy = "shard" }, B = { policy = "call" }, C = 3 }
               |               ^^^^^^ region `A` has no such key
               |
               = help: did you mean `devices`?

            error[P4R0604]: `device` is missing
              --> RACK.toml:20:51
               |
            20 | map = { A = { device = "tor", policy = "shard" }, B = { policy = "call" }, C = 3 }
               |                                                   ^ region `B` has no `device`
               |
               = help: for example: `device = "nic"`

            error[P4R0603]: expected a string, found an integer
              --> RACK.toml:20:80
               |
            20 | map = { A = { device = "tor", policy = "shard" }, B = { policy = "call" }, C = 3 }
               |                                                                                ^ this is an integer
        "#]],
    );
    check_with(
        &format!("{app}policy = \"call\"\nmap = \"plan\"\n"),
        expect![[r#"
        error[P4R0605]: planned regions cannot be called
          --> RACK.toml:19:10
           |
        19 | policy = "call"
           |          ^^^^^^ plans support the policies `direct` and `failover`
    "#]],
    );
}

#[test]
fn apps_have_names_of_their_own_and_entries_a_device_that_runs_something() {
    let app = |name: &str, more: &str| format!("[[app]]\nname = \"{name}\"\nprogram = \"a.p4\"\n{more}\n");
    let other =
        "[device.nic]\nclass = \"smartnic\"\n[device.idle]\nclass = \"cpu\"\nentries = \"idle.stf\"\n";
    check_with(
        &[app("a", "origin = \"tor\""), app("b", "origin = \"nic\""), other.to_string()].concat(),
        expect![[r#"
            error[P4R0605]: entries of a device that runs no program
              --> RACK.toml:28:11
               |
            28 | entries = "idle.stf"
               |           ^^^^^^^^^^ no app names `idle`
               |
               = help: add it to the `devices` of an app
        "#]],
    );
    let one = app("a", "origin = \"tor\"");
    check_with(
        &format!("{one}{one}"),
        expect![[r#"
            error[P4R0607]: app name `a` is used twice
              --> RACK.toml:21:8
               |
            17 | name = "a"
               |        --- first used here
            ...
            21 | name = "a"
               |        ^^^ used again here
        "#]],
    );
}

#[test]
fn runtimes() {
    let app = "[[app]]\nprogram = \"x/a.p4\"\norigin = \"tor\"\n";
    check_with(
        &format!("{app}runtime = \"headless\"\n"),
        expect![[r#"
        error[P4R0606]: unknown word `headless`
          --> RACK.toml:19:11
           |
        19 | runtime = "headless"
           |           ^^^^^^^^^^ not known here
           |
           = help: did you mean `headerless`?
    "#]],
    );
    check_with(
        &format!("{app}map = \"plan\"\nruntime = \"headerless\"\n"),
        expect![[r#"
        error[P4R0605]: planned regions need hand-overs with a header
          --> RACK.toml:20:11
           |
        20 | runtime = "headerless"
           |           ^^^^^^^^^^^^ say in `map` where they run, or use `runtime = "auto"`: the planner knows no links for positions
    "#]],
    );
}

#[test]
fn devices_with_a_header() {
    let app = "[[app]]\nprogram = \"x/a.p4\"\norigin = \"tor\"\nmap = {}\n";
    check_with(
        &format!("{app}with_header = []\n"),
        expect![[r#"
        error[P4R0605]: all hand-overs of this runtime have a header
          --> RACK.toml:20:15
           |
        20 | with_header = []
           |               ^^ name devices only with `runtime = "headerless"` or "headerless-ipv4"; "auto" finds them itself
    "#]],
    );
    check_with(
        &format!("{app}runtime = \"headerless\"\nwith_header = [\"tor\", \"nix\"]\n"),
        expect![[r#"
        error[P4R0605]: no region of the app runs there
          --> RACK.toml:21:16
           |
        21 | with_header = ["tor", "nix"]
           |                ^^^^^ name devices of `map`

        error[P4R0606]: unknown device `nix`
          --> RACK.toml:21:23
           |
        21 | with_header = ["tor", "nix"]
           |                       ^^^^^ not known
           |
           = note: known are `tor`
    "#]],
    );
}

#[test]
fn faults() {
    let fault = |text: &str, expected| check_with(&format!("[[fault]]\n{text}\n"), expected);
    fault(
        "kind = \"link-dwon\"",
        expect![[r#"
        error[P4R0606]: unknown word `link-dwon`
          --> RACK.toml:17:8
           |
        17 | kind = "link-dwon"
           |        ^^^^^^^^^^^ not known here
           |
           = help: did you mean `link-down`?
    "#]],
    );
    fault(
        "kind = \"link-down\"\nlink = [\"h1\", \"tor:2\"]\nat = \"1ms\"",
        expect![[r#"
        error[P4R0606]: there is no such link
          --> RACK.toml:18:8
           |
        18 | link = ["h1", "tor:2"]
           |        ^^^^^^^^^^^^^^^ no link joins these
           |
           = note: h1 is linked to tor:1
           = note: tor:2 is linked to h2
    "#]],
    );
    fault(
        "kind = \"link-down\"\nlink = [\"h1\", \"tor:1\"]\nfor = \"0\"",
        expect![[r#"
        error[P4R0604]: `at` is missing
          --> RACK.toml:16:1
           |
        16 | [[fault]]
           | ^^^^^^^^^ this fault has no `at`
           |
           = help: for example: `at = "5ms"`

        error[P4R0605]: a duration of zero
          --> RACK.toml:19:7
           |
        19 | for = "0"
           |       ^^^ must be more than 0
    "#]],
    );
    fault(
        "kind = \"loss\"\nlink = [\"h1\", \"tor:1\"]\nat = \"1ms\"\nfrom = \"h2\"\nshare = 2",
        expect![[r#"
        error[P4R0606]: `h2` is at no end of this link
          --> RACK.toml:20:8
           |
        20 | from = "h2"
           |        ^^^^ not an end
           |
           = help: write `h1` or `tor`

        error[P4R0605]: not a probability
          --> RACK.toml:21:9
           |
        21 | share = 2
           |         ^ more than 1: write "1%" or 0.01
    "#]],
    );
    fault(
        "kind = \"loss\"\nlink = [\"h1\", \"tor:1\"]\nat = \"1ms\"\nfrom = \"h2\"\nshare = 0.1",
        expect![[r#"
        error[P4R0606]: `h2` is at no end of this link
          --> RACK.toml:20:8
           |
        20 | from = "h2"
           |        ^^^^ not an end
           |
           = help: write `h1` or `tor`
    "#]],
    );
    fault(
        "kind = \"slow\"\ndevice = \"h1\"\nfactor = 1\nat = \"1ms\"",
        expect![[r#"
        error[P4R0606]: `h1` is not a device
          --> RACK.toml:18:10
           |
         4 | [host.h1]
           |       -- declared here
        ...
        18 | device = "h1"
           |          ^^^^ a device is needed

        error[P4R0605]: number out of range
          --> RACK.toml:19:10
           |
        19 | factor = 1
           |          ^ allowed are 2 to 1000000
    "#]],
    );
    fault(
        "kind = \"partition\"\nnodes = [\"torr\"]\nat = \"1ms\"",
        expect![[r#"
        error[P4R0606]: unknown node `torr`
          --> RACK.toml:18:10
           |
        18 | nodes = ["torr"]
           |          ^^^^^^ not known
           |
           = help: did you mean `tor`?
    "#]],
    );
}

#[test]
fn workloads_of_many_kinds() {
    let load = |text: &str, expected| {
        check_with(&format!("[[workload]]\nfrom = \"h1\"\nto = \"h2\"\n{text}\n"), expected);
    };
    load(
        "kind = \"zipf\"\ncount = 10\nrate = \"1Mbit/s\"\nflows = 1\nskew = 5",
        expect![[r#"
        error[P4R0605]: number out of range
          --> RACK.toml:22:9
           |
        22 | flows = 1
           |         ^ allowed are 2 to 60000

        error[P4R0605]: number out of range
          --> RACK.toml:23:8
           |
        23 | skew = 5
           |        ^ allowed are 0 to 4
    "#]],
    );
    load(
        "kind = \"onoff\"\ncount = 10\nrate = \"1Mbit/s\"\nof = \"1ms\"",
        expect![[r#"
            error[P4R0610]: host `h1` has no gateway
              --> RACK.toml:17:8
               |
            17 | from = "h1"
               |        ^^^^ cannot reach `h2`
               |
               = note: 10.0.2.1 is in none of its networks
               = help: give host `h1` a `gateway`: the MAC address of its router

            error[P4R0610]: host `h2` has no gateway
              --> RACK.toml:18:6
               |
            18 | to = "h2"
               |      ^^^^ cannot reach `h1`
               |
               = note: 10.0.1.1 is in none of its networks
               = help: give host `h2` a `gateway`: the MAC address of its router

            error[P4R0602]: unknown key `of`
              --> RACK.toml:22:1
               |
            22 | of = "1ms"
               | ^^ this workload has no such key
               |
               = note: its keys are `kind`, `name`, `from`, `to`, `start`, `stagger`, `count`, `size`, `expect`, `watch`, `on`, `off` and 2 more
        "#]],
    );
    load(
        "kind = \"pcap\"\nsize = 5",
        expect![[r#"
            error[P4R0604]: `file` is missing
              --> RACK.toml:16:1
               |
            16 | [[workload]]
               | ^^^^^^^^^^^^ this workload has no `file`
               |
               = help: for example: `file = "trace.pcap"`

            error[P4R0602]: unknown key `size`
              --> RACK.toml:20:1
               |
            20 | size = 5
               | ^^^^ this workload has no such key
               |
               = note: its keys are `kind`, `name`, `from`, `to`, `start`, `stagger`, `count`, `expect`, `watch`, `file` and `speed`
        "#]],
    );
    let tcp = "[[workload]]\nkind = \"tcp\"\nfrom = \"h1\"\nto = \"*\"\ncount = 1\nport = 7\n";
    check_with(
        &tcp.repeat(2),
        expect![[r#"
        error[P4R0610]: host `h1` has no gateway
          --> RACK.toml:18:8
           |
        18 | from = "h1"
           |        ^^^^ cannot reach `h2`
           |
           = note: 10.0.2.1 is in none of its networks
           = help: give host `h1` a `gateway`: the MAC address of its router

        error[P4R0610]: host `h2` has no gateway
          --> RACK.toml:19:6
           |
        19 | to = "*"
           |      ^^^ cannot reach `h1`
           |
           = note: 10.0.1.1 is in none of its networks
           = help: give host `h2` a `gateway`: the MAC address of its router

        error[P4R0607]: TCP port 7 is used twice between two hosts
          --> RACK.toml:22:1
           |
        16 | [[workload]]
           | ------------ first used here
        ...
        22 | [[workload]]
           | ^^^^^^^^^^^^ used again here

        error[P4R0610]: host `h1` has no gateway
          --> RACK.toml:24:8
           |
        24 | from = "h1"
           |        ^^^^ cannot reach `h2`
           |
           = note: 10.0.2.1 is in none of its networks
           = help: give host `h1` a `gateway`: the MAC address of its router

        error[P4R0610]: host `h2` has no gateway
          --> RACK.toml:25:6
           |
        25 | to = "*"
           |      ^^^ cannot reach `h1`
           |
           = note: 10.0.1.1 is in none of its networks
           = help: give host `h2` a `gateway`: the MAC address of its router
    "#]],
    );
    check_with(
        "[[workload]]\nkind = \"ping\"\nfrom = [\"h1\", \"h3\"]\nto = \"*\"\ncount = 1\n",
        expect![[r#"
        error[P4R0610]: host `h1` has no gateway
          --> RACK.toml:18:8
           |
        18 | from = ["h1", "h3"]
           |        ^^^^^^^^^^^^ cannot reach `h2`
           |
           = note: 10.0.2.1 is in none of its networks
           = help: give host `h1` a `gateway`: the MAC address of its router

        error[P4R0606]: unknown host `h3`
          --> RACK.toml:18:15
           |
        18 | from = ["h1", "h3"]
           |               ^^^^ not known
           |
           = note: known are `h1` and `h2`

        error[P4R0610]: host `h2` has no gateway
          --> RACK.toml:19:6
           |
        19 | to = "*"
           |      ^^^ cannot reach `h1`
           |
           = note: 10.0.1.1 is in none of its networks
           = help: give host `h2` a `gateway`: the MAC address of its router
    "#]],
    );
    check_with(
        "[[workload]]\nkind = \"ping\"\nfrom = [\"h1\"]\nto = []\ncount = 1\n",
        expect![[r#"
        error[P4R0610]: the workload has no pair of hosts
          --> RACK.toml:16:1
           |
        16 | [[workload]]
           | ^^^^^^^^^^^^ no pair of two hosts
    "#]],
    );
}

#[test]
fn the_controller() {
    check_with(
        "[control]\ndelay = \"1 hour\"\nloss = 2\n[[replace]]\nmap = \"plan\"\n[[replace]]\nat = \"1ms\"\nmap = { Acl = \"tro\", B = { device = \"tor\", policy = \"call\" } }\n[[fault]]\nkind = \"control-loss\"\ndevice = \"h1\"\nat = \"1ms\"\n",
        expect![[r#"
            error[P4R0605]: not a duration
              --> RACK.toml:17:9
               |
            17 | delay = "1 hour"
               |         ^^^^^^^^ unknown unit `hour`: known are ps, ns, us, ms, s, min, h

            error[P4R0605]: not a probability
              --> RACK.toml:18:8
               |
            18 | loss = 2
               |        ^ more than 1: write "1%" or 0.01

            error[P4R0604]: `at` is missing
              --> RACK.toml:19:1
               |
            19 | [[replace]]
               | ^^^^^^^^^^^ this plan has no `at`
               |
               = help: for example: `at = "20ms"`

            error[P4R0605]: a replacement plan must be an explicit map
              --> RACK.toml:20:7
               |
            20 | map = "plan"
               |       ^^^^^^ write `{ Acl = "nic" }`

            error[P4R0606]: unknown device `tro`
              --> RACK.toml:23:15
               |
            23 | map = { Acl = "tro", B = { device = "tor", policy = "call" } }
               |               ^^^^^ not known
               |
               = help: did you mean `tor`?

            error[P4R0605]: the policy cannot change while the rack runs
              --> RACK.toml:23:37
               |
            23 | map = { Acl = "tro", B = { device = "tor", policy = "call" } }
               |                                     ^^^^^ leave `policy` out

            error[P4R0604]: `share` is missing
              --> RACK.toml:24:1
               |
            24 | [[fault]]
               | ^^^^^^^^^ this fault has no `share`
               |
               = help: for example: `share = "20%"`

            error[P4R0606]: `h1` is not a device
              --> RACK.toml:26:10
               |
             4 | [host.h1]
               |       -- declared here
            ...
            26 | device = "h1"
               |          ^^^^ a device is needed
        "#]],
    );
}
