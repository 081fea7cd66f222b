//! Mistakes in one place: syntax, keys, types, values.

use crate::{GOOD, check, check_changed, check_with};
use expect_test::expect;

#[test]
fn syntax() {
    check(
        "[device.tor]\nclass = switch\nx = [1,\n",
        expect![[r#"
        error[P4R0601]: string values must be quoted
         --> RACK.toml:2:9
          |
        2 | class = switch
          |         ^^^^^^ expected literal string

        error[P4R0601]: unclosed array
         --> RACK.toml:3:8
          |
        3 | x = [1,
          |        ^ expected `]`
    "#]],
    );
    check(
        "[rack]\nseed = 1\nseed = 2\n",
        expect![[r#"
        error[P4R0601]: duplicate key
         --> RACK.toml:3:1
          |
        3 | seed = 2
          | ^^^^
    "#]],
    );
}

/// A key that is read twice, as a link's `rate`, is listed once.
#[test]
fn known_keys_are_listed_once() {
    check_changed(
        "rate = \"1Gbit/s\"\n",
        "rate = \"1Gbit/s\"\nbetween = 1\n",
        expect![[r#"
            error[P4R0602]: unknown key `between`
              --> RACK.toml:13:1
               |
            13 | between = 1
               | ^^^^^^^ this link has no such key
               |
               = note: its keys are `ends`, `rate`, `full_rate`, `delay`, `jitter`, `loss`, `corrupt`, `duplicate`, `reorder`, `reorder_delay`, `mtu`, `queue` and 2 more
        "#]],
    );
}

#[test]
fn keys() {
    check_changed(
        "class =",
        "clas =",
        expect![[r#"
            error[P4R0602]: unknown key `clas`
             --> RACK.toml:3:1
              |
            3 | clas = "switch"
              | ^^^^ device `tor` has no such key
              |
              = help: did you mean `class`?
        "#]],
    );
    check_with(
        "[devise.x]\n",
        expect![[r#"
        error[P4R0602]: unknown key `devise`
          --> RACK.toml:16:2
           |
        16 | [devise.x]
           |  ^^^^^^ the file has no such key
           |
           = help: did you mean `device`?
    "#]],
    );
    check_with(
        "[[workload]]\nkind = \"udp\"\nfrom = \"h1\"\ntoo = \"h2\"\ninterval = \"1ms\"\n",
        expect![[r#"
            error[P4R0604]: `count` is missing
              --> RACK.toml:16:1
               |
            16 | [[workload]]
               | ^^^^^^^^^^^^ this workload has no `count`
               |
               = help: for example: `count = 100`

            error[P4R0604]: `rate` is missing
              --> RACK.toml:16:1
               |
            16 | [[workload]]
               | ^^^^^^^^^^^^ this workload has no `rate`
               |
               = help: for example: `rate = "100Mbit/s"`

            error[P4R0602]: unknown key `too`
              --> RACK.toml:19:1
               |
            19 | too = "h2"
               | ^^^ this workload has no such key
               |
               = help: did you mean `to`?

            error[P4R0602]: unknown key `interval`
              --> RACK.toml:20:1
               |
            20 | interval = "1ms"
               | ^^^^^^^^ this workload has no such key
               |
               = note: its keys are `kind`, `name`, `from`, `to`, `start`, `stagger`, `count`, `size`, `expect`, `watch`, `rate` and `port`
        "#]],
    );
}

#[test]
fn types() {
    check_changed(
        "\"1Gbit/s\"",
        "1000000000",
        expect![[r#"
            error[P4R0603]: expected a data rate, found an integer
              --> RACK.toml:12:8
               |
            12 | rate = 1000000000
               |        ^^^^^^^^^^ this is an integer
               |
               = help: for example: "10Gbit/s"
        "#]],
    );
    check_with(
        "[rack]\nseed = \"7\"\nname = 3\n",
        expect![[r#"
        error[P4R0603]: expected an integer, found a string
          --> RACK.toml:17:8
           |
        17 | seed = "7"
           |        ^^^ this is a string

        error[P4R0603]: expected a string, found an integer
          --> RACK.toml:18:8
           |
        18 | name = 3
           |        ^ this is an integer
    "#]],
    );
    check(
        "device = 3\nlink = { ends = 1 }\nhost.h1 = \"x\"\n[[app]]\nmap = [1]\n",
        expect![[r#"
            error[P4R0603]: wrong kind of section for `device`
             --> RACK.toml:1:1
              |
            1 | device = 3
              | ^^^^^^ defined differently
              |
              = help: write `[device.NAME]`

            error[P4R0603]: wrong kind of section for `link`
             --> RACK.toml:2:1
              |
            2 | link = { ends = 1 }
              | ^^^^ defined differently
              |
              = help: write `[[link]]`

            error[P4R0603]: expected a table, found a string
             --> RACK.toml:3:11
              |
            3 | host.h1 = "x"
              |           ^^^ this is a string

            error[P4R0604]: `program` is missing
             --> RACK.toml:4:1
              |
            4 | [[app]]
              | ^^^^^^^ this app has no `program`
              |
              = help: for example: `program = "router.p4"`

            error[P4R0604]: `origin` is missing
             --> RACK.toml:4:1
              |
            4 | [[app]]
              | ^^^^^^^ this app has no `origin`
              |
              = help: for example: `origin = "tor"`

            error[P4R0603]: expected a table or "plan", found an array
             --> RACK.toml:5:7
              |
            5 | map = [1]
              |       ^^^ this is an array
              |
              = help: for example: { Acl = "nic" }
        "#]],
    );
    check_changed(
        "[\"h1\", \"tor:1\"]",
        "\"h1-tor\"",
        expect![[r#"
            error[P4R0603]: expected an array, found a string
              --> RACK.toml:11:8
               |
            11 | ends = "h1-tor"
               |        ^^^^^^^^ this is a string
               |
               = help: for example: ["a", "b"]
        "#]],
    );
}

#[test]
fn values() {
    check_changed(
        "\"1Gbit/s\"",
        "\"1Gbyte/s\"\ndelay = \"10\"\nloss = 1.5\nmtu = 10\nqueue = -1",
        expect![[r#"
        error[P4R0605]: not a data rate
          --> RACK.toml:12:8
           |
        12 | rate = "1Gbyte/s"
           |        ^^^^^^^^^^ unknown unit `Gbyte/s`: known are bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s

        error[P4R0605]: not a duration
          --> RACK.toml:13:9
           |
        13 | delay = "10"
           |         ^^^^ a unit is missing: one of ps, ns, us, ms, s, min, h

        error[P4R0605]: not a probability
          --> RACK.toml:14:8
           |
        14 | loss = 1.5
           |        ^^^ more than 1: write "1%" or 0.01

        error[P4R0605]: number out of range
          --> RACK.toml:15:7
           |
        15 | mtu = 10
           |       ^^ allowed are 46 to 65535

        error[P4R0605]: number out of range
          --> RACK.toml:16:9
           |
        16 | queue = -1
           |         ^^ allowed are 1 to 1000000
    "#]],
    );
    check_changed(
        "\"1Gbit/s\"",
        "\"0Gbit/s\"\njitter = \"0.1ps\"\nloss = true",
        expect![[r#"
            error[P4R0605]: not a data rate
              --> RACK.toml:12:8
               |
            12 | rate = "0Gbit/s"
               |        ^^^^^^^^^ must be more than 0

            error[P4R0605]: not a duration
              --> RACK.toml:13:10
               |
            13 | jitter = "0.1ps"
               |          ^^^^^^^ finer than one ps

            error[P4R0603]: expected a probability, found a boolean
              --> RACK.toml:14:8
               |
            14 | loss = true
               |        ^^^^ this is a boolean
               |
               = help: for example: "1%" or 0.01
        "#]],
    );
    check_changed(
        "02:00:00:00:01:01",
        "03:00:00:00:01:01",
        expect![[r#"
        error[P4R0605]: not a station's MAC address
         --> RACK.toml:5:7
          |
        5 | mac = "03:00:00:00:01:01"
          |       ^^^^^^^^^^^^^^^^^^^ this is a multicast address: the first byte of a station address is even
    "#]],
    );
    check_changed(
        "02:00:00:00:01:01",
        "h1",
        expect![[r#"
        error[P4R0605]: not a station's MAC address
         --> RACK.toml:5:7
          |
        5 | mac = "h1"
          |       ^^^^ write six bytes: "02:00:00:00:00:01"
    "#]],
    );
    check_changed(
        "\"10.0.1.1/24\"",
        "[\"10.0.1.1\", \"10.0.1.300/24\"]",
        expect![[r#"
        error[P4R0605]: not an address with prefix
         --> RACK.toml:6:7
          |
        6 | ip = ["10.0.1.1", "10.0.1.300/24"]
          |       ^^^^^^^^^^ the prefix length is missing: write it like "10.0.1.1/24"

        error[P4R0605]: not an address with prefix
         --> RACK.toml:6:19
          |
        6 | ip = ["10.0.1.1", "10.0.1.300/24"]
          |                   ^^^^^^^^^^^^^^^ not an IP address: write it like "10.0.1.1/24"
    "#]],
    );
    check_changed(
        "\"10.0.1.1/24\"",
        "[]",
        expect![[r#"
        error[P4R0605]: no address
         --> RACK.toml:6:6
          |
        6 | ip = []
          |      ^^ a host needs at least one
    "#]],
    );
    check(
        "[device.\"a b\"]\nclass = \"cpu\"\nexterns = [\"\"]\n",
        expect![[r#"
        error[P4R0605]: not a name
         --> RACK.toml:1:9
          |
        1 | [device."a b"]
          |         ^^^^^ names consist of letters, digits, `_`, `-` and `.`

        error[P4R0605]: empty string
         --> RACK.toml:3:12
          |
        3 | externs = [""]
          |            ^^ needs some text
    "#]],
    );
}

#[test]
fn what_is_asked_of_plans() {
    check_with(
        "[plan]\ntiers = \"tight\"\nsize = 0\nrules = \"a\"\nrate = 5\nobjective = [\"Latency\"]\n",
        expect![[r#"
            error[P4R0606]: unknown word `tight`
              --> RACK.toml:17:9
               |
            17 | tiers = "tight"
               |         ^^^^^^^ not known here
               |
               = note: known are `tightest` and `any`

            error[P4R0605]: number out of range
              --> RACK.toml:18:8
               |
            18 | size = 0
               |        ^ allowed are 1 to 65535

            error[P4R0603]: expected an array, found a string
              --> RACK.toml:19:9
               |
            19 | rules = "a"
               |         ^^^ this is a string
               |
               = help: for example: ["a", "b"]

            error[P4R0603]: expected a data rate, found an integer
              --> RACK.toml:20:8
               |
            20 | rate = 5
               |        ^ this is an integer
               |
               = help: for example: "10Gbit/s"

            error[P4R0602]: unknown key `objective`
              --> RACK.toml:21:1
               |
            21 | objective = ["Latency"]
               | ^^^^^^^^^ `[plan]` has no such key
               |
               = help: did you mean `objectives`?
        "#]],
    );
    check_with(
        "[device.nic]\nclass = \"fpga\"\nresources = { Tables = 1.5 }\n",
        expect![[r#"
        error[P4R0603]: expected a string or an integer, found a float
          --> RACK.toml:18:24
           |
        18 | resources = { Tables = 1.5 }
           |                        ^^^ this is a float
    "#]],
    );
    check_with(
        "[device.nic]\nclass = \"fpga\"\nresources = 7\n",
        expect![[r#"
        error[P4R0603]: expected a table, found an integer
          --> RACK.toml:18:13
           |
        18 | resources = 7
           |             ^ this is an integer
           |
           = help: for example: { Tables = 24 }
    "#]],
    );
    check_with(
        "[[app]]\nprogram = \"a.p4\"\norigin = \"tor\"\nmap = \"paln\"\nregions = \"table\"\n",
        expect![[r#"
            error[P4R0603]: expected a table or "plan", found a string
              --> RACK.toml:19:7
               |
            19 | map = "paln"
               |       ^^^^^^ this is a string
               |
               = help: for example: { Acl = "nic" }

            error[P4R0606]: unknown word `table`
              --> RACK.toml:20:11
               |
            20 | regions = "table"
               |           ^^^^^^^ not known here
               |
               = help: did you mean `tables`?
        "#]],
    );
}

#[test]
fn stages_and_stores() {
    check_with(
        "[[workload]]\nkind = \"memcached\"\nverb = \"got\"\nfrom = \"h1\"\nto = \"h2\"\nkeys = 0\ncount = 1\nsize = 1401\n",
        expect![[r#"
            error[P4R0606]: unknown word `got`
              --> RACK.toml:18:8
               |
            18 | verb = "got"
               |        ^^^^^ not known here
               |
               = help: did you mean `get`?

            error[P4R0605]: number out of range
              --> RACK.toml:21:8
               |
            21 | keys = 0
               |        ^ allowed are 1 to 1000000

            error[P4R0605]: number out of range
              --> RACK.toml:23:8
               |
            23 | size = 1401
               |        ^^^^ allowed are 1 to 1400
        "#]],
    );
    check_with(
        "[[phase]]\nentries = { nic = \"a.stf\" }\n[[phase.fault]]\nkind = \"device-down\"\ndevice = \"toor\"\nat = \"1ms\"\n[[phase]]\nname = \"one\"\nfaults = []\n[[phase]]\nname = \"one\"\nworkload = 3\nafter = \"ones\"\npaper = { pong = \"1ms\" }\n",
        expect![[r#"
            error[P4R0604]: `name` is missing
              --> RACK.toml:16:1
               |
            16 | [[phase]]
               | ^^^^^^^^^ this phase has no `name`
               |
               = help: for example: `name = "drop"`

            error[P4R0606]: unknown device `nic`
              --> RACK.toml:17:13
               |
            17 | entries = { nic = "a.stf" }
               |             ^^^ not known
               |
               = note: known are `tor`

            error[P4R0606]: unknown device `toor`
              --> RACK.toml:20:10
               |
            20 | device = "toor"
               |          ^^^^^^ not known
               |
               = help: did you mean `tor`?

            error[P4R0602]: unknown key `faults`
              --> RACK.toml:24:1
               |
            24 | faults = []
               | ^^^^^^ this phase has no such key
               |
               = help: did you mean `fault`?

            error[P4R0607]: phase name `one` is used twice
              --> RACK.toml:26:8
               |
            23 | name = "one"
               |        ----- first used here
            ...
            26 | name = "one"
               |        ^^^^^ used again here

            error[P4R0603]: wrong kind of section for `workload`
              --> RACK.toml:27:1
               |
            27 | workload = 3
               | ^^^^^^^^ defined differently
               |
               = help: write `[[phase.workload]]`

            error[P4R0606]: there is no phase `ones` before this one
              --> RACK.toml:28:9
               |
            28 | after = "ones"
               |         ^^^^^^ not known
               |
               = help: did you mean `one`?

            error[P4R0606]: unknown workload `pong`
              --> RACK.toml:29:11
               |
            29 | paper = { pong = "1ms" }
               |           ^^^^ not known
        "#]],
    );
    let get = "[[workload]]\nkind = \"memcached\"\nverb = \"get\"\nfrom = \"h1\"\nto = \"h2\"\nkeys = 9\ncount = 1\n";
    let set = "[[phase]]\nname = \"writes\"\n[[phase.workload]]\nkind = \"memcached\"\nverb = \"set\"\nfrom = \"h1\"\nto = \"h2\"\nkeys = 9\ncount = 1\nsize = 10\n";
    let near = GOOD.replace("10.0.2.1", "10.0.1.2");
    check(
        &format!("{near}{get}{set}"),
        expect![[r#"
        error[P4R0610]: the values of one store have two sizes
          --> RACK.toml:25:1
           |
        16 | [[workload]]
           | ------------ 1000 bytes here
        ...
        25 | [[phase.workload]]
           | ^^^^^^^^^^^^^^^^^^ 10 bytes here
           |
           = help: give both workloads the same `size`
    "#]],
    );
}

#[test]
fn links_without_a_rate_get_one_with_a_warning() {
    check_changed(
        "rate = \"1Gbit/s\"\n",
        "",
        expect![[r#"
        warning[P4R0612]: links without a rate run at 10Gbit/s
          --> RACK.toml:10:1
           |
        10 | [[link]]
           | ^^^^^^^^ has no `rate`
           |
           = help: write it: `rate = "10Gbit/s"`
    "#]],
    );
}

#[test]
fn expectations() {
    check_with(
        r#"[[workload]]
kind = "ping"
from = "h1"
to = "h2"
count = 1
watch = ["ipv4.ecm"]
expect = { received = ">= 95", p99 = "<= 50", goodput = ["> 1Gbit/s"], lots = 1, lost = true, late = "-1" }
[[workload]]
kind = "ping"
from = "h1"
to = "h2"
count = 1
expect = "blocked"
"#,
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

            error[P4R0606]: unknown word `ipv4.ecm`
              --> RACK.toml:21:10
               |
            21 | watch = ["ipv4.ecm"]
               |          ^^^^^^^^^^ not known here
               |
               = help: did you mean `ipv4.ecn`?

            error[P4R0605]: not a bound of `p99`
              --> RACK.toml:22:38
               |
            22 | expect = { received = ">= 95", p99 = "<= 50", goodput = ["> 1Gbit/s"], lots = 1, lost = true, late = "-1" }
               |                                      ^^^^^^^ write a bound like "<= 50us"

            error[P4R0605]: not a bound of `goodput`
              --> RACK.toml:22:58
               |
            22 | expect = { received = ">= 95", p99 = "<= 50", goodput = ["> 1Gbit/s"], lots = 1, lost = true, late = "-1" }
               |                                                          ^^^^^^^^^^^ write a bound like ">= 900Mbit/s"

            error[P4R0602]: unknown key `lots`
              --> RACK.toml:22:72
               |
            22 | expect = { received = ">= 95", p99 = "<= 50", goodput = ["> 1Gbit/s"], lots = 1, lost = true, late = "-1" }
               |                                                                        ^^^^ `expect` has no such key
               |
               = help: did you mean `lost`?

            error[P4R0605]: not a bound of `lost`
              --> RACK.toml:22:89
               |
            22 | expect = { received = ">= 95", p99 = "<= 50", goodput = ["> 1Gbit/s"], lots = 1, lost = true, late = "-1" }
               |                                                                                         ^^^^ write a bound like ">= 95%"

            error[P4R0605]: not a bound of `late`
              --> RACK.toml:22:102
               |
            22 | expect = { received = ">= 95", p99 = "<= 50", goodput = ["> 1Gbit/s"], lots = 1, lost = true, late = "-1" }
               |                                                                                                      ^^^^ write a bound like ">= 95%"

            error[P4R0610]: host `h1` has no gateway
              --> RACK.toml:25:8
               |
            25 | from = "h1"
               |        ^^^^ cannot reach `h2`
               |
               = note: 10.0.2.1 is in none of its networks
               = help: give host `h1` a `gateway`: the MAC address of its router

            error[P4R0610]: host `h2` has no gateway
              --> RACK.toml:26:6
               |
            26 | to = "h2"
               |      ^^^^ cannot reach `h1`
               |
               = note: 10.0.1.1 is in none of its networks
               = help: give host `h2` a `gateway`: the MAC address of its router

            error[P4R0605]: not an expectation
              --> RACK.toml:28:10
               |
            28 | expect = "blocked"
               |          ^^^^^^^^^ write `"lost"`, `"received"` or a table of bounds: `{ received = ">= 95%" }`
        "#]],
    );
}
