//! Mistakes about devices with spares, and the values that keys of several places give.

use crate::{check_with, reported};
use base_time::Duration;
use expect_test::expect;
use rack_model::{Failover, read_rack};

const APP: &str = "[device.n1]\nclass = \"smartnic\"\n[device.n2]\nclass = \"smartnic\"\n[[app]]\nprogram = \"a.p4\"\norigin = \"tor\"\n";

#[test]
fn spares_are_devices_of_regions_with_the_policy() {
    check_with(
        &format!(
            "{APP}map = {{ A = {{ device = \"n1\", spares = [\"n3\"] }}, B = {{ device = \"n1\", spares = \"n2\" }}, C = {{ device = \"n1\", spares = [\"h1\"] }} }}\n"
        ),
        expect![[r#"
            error[P4R0606]: unknown device `n3`
              --> RACK.toml:23:40
               |
            23 | map = { A = { device = "n1", spares = ["n3"] }, B = { device = "n1", spares = "n2" }, C = { device = "n1", spares = ["h1"] } }
               |                                        ^^^^ not known
               |
               = note: known are `tor`, `n1` and `n2`

            error[P4R0603]: expected an array, found a string
              --> RACK.toml:23:79
               |
            23 | map = { A = { device = "n1", spares = ["n3"] }, B = { device = "n1", spares = "n2" }, C = { device = "n1", spares = ["h1"] } }
               |                                                                               ^^^^ this is a string
               |
               = help: for example: ["a", "b"]

            error[P4R0606]: `h1` is not a device
              --> RACK.toml:23:118
               |
             4 | [host.h1]
               |       -- declared here
            ...
            23 | map = { A = { device = "n1", spares = ["n3"] }, B = { device = "n1", spares = "n2" }, C = { device = "n1", spares = ["h1"] } }
               |                                                                                                                      ^^^^ a device is needed
        "#]],
    );
    check_with(
        &format!(
            "{APP}map = {{ A = {{ device = \"n1\", policy = \"failover\" }}, B = {{ device = \"n1\", spares = [\"n2\"], policy = \"call\" }} }}\n"
        ),
        expect![[r#"
            error[P4R0605]: nothing to fail over to
              --> RACK.toml:23:39
               |
            23 | map = { A = { device = "n1", policy = "failover" }, B = { device = "n1", spares = ["n2"], policy = "call" } }
               |                                       ^^^^^^^^^^ `A` has no spare: name some with `spares = ["..."]`

            error[P4R0605]: a policy without spares
              --> RACK.toml:23:100
               |
            23 | map = { A = { device = "n1", policy = "failover" }, B = { device = "n1", spares = ["n2"], policy = "call" } }
               |                                                                                                    ^^^^^^ `B` has spares, which need the policy `failover`
        "#]],
    );
    check_with(
        &format!("{APP}policy = \"direct\"\nspares = [\"n2\"]\nmap = {{ A = \"n1\" }}\n"),
        expect![[r#"
            error[P4R0605]: a policy without spares
              --> RACK.toml:23:10
               |
            23 | policy = "direct"
               |          ^^^^^^^^ `A` has spares, which need the policy `failover`
        "#]],
    );
    check_with(
        &format!("{APP}policy = \"failover\"\nspares = [\"n2\"]\nmap = \"plan\"\n"),
        expect![[r#"
            error[P4R0605]: the planner chooses spares
              --> RACK.toml:24:10
               |
            24 | spares = ["n2"]
               |          ^^^^^^ set only their number for each device: `spares = 1`
        "#]],
    );
    check_with(
        &format!("{APP}policy = \"failover\"\nmap = \"plan\"\n"),
        expect![[r#"
            error[P4R0605]: nothing to fail over to
              --> RACK.toml:23:10
               |
            23 | policy = "failover"
               |          ^^^^^^^^^^ set the number of spares for each device: `spares = 1`
        "#]],
    );
    check_with(
        &format!("{APP}policy = \"direct\"\nspares = 1\nmap = \"plan\"\n"),
        expect![[r#"
        error[P4R0605]: a policy without spares
          --> RACK.toml:23:10
           |
        23 | policy = "direct"
           |          ^^^^^^^^ spares need the policy `failover`
    "#]],
    );
    check_with(
        &format!("{APP}spares = 1\nmap = {{ A = \"n1\" }}\n"),
        expect![[r#"
        error[P4R0605]: a number of spares
          --> RACK.toml:23:10
           |
        23 | spares = 1
           |          ^ name them, as in `["nic2"]`: only `map = "plan"` chooses them
    "#]],
    );
    check_with(
        &format!("{APP}spares = 0\nmap = \"plan\"\n"),
        expect![[r#"
        error[P4R0605]: number out of range
          --> RACK.toml:23:10
           |
        23 | spares = 0
           |          ^ allowed are 1 to 31
    "#]],
    );
}

#[test]
fn thresholds_are_numbers_that_can_be() {
    check_with(
        &format!(
            "{APP}failover = {{ patience = \"1500ns\", ask_every = 0, tolerance = 32, tick = \"0s\", patient = 3, hold_down = 5 }}\n[failover]\nask_after = \"20days\"\nmost_gaps = 70000\nprocesses = {{ window = -1, processes = 2 }}\n"
        ),
        expect![[r#"
            error[P4R0605]: not a threshold
              --> RACK.toml:23:25
               |
            23 | failover = { patience = "1500ns", ask_every = 0, tolerance = 32, tick = "0s", patient = 3, hold_down = 5 }
               |                         ^^^^^^^^ programs count whole microseconds

            error[P4R0605]: number out of range
              --> RACK.toml:23:47
               |
            23 | failover = { patience = "1500ns", ask_every = 0, tolerance = 32, tick = "0s", patient = 3, hold_down = 5 }
               |                                               ^ allowed are 1 to 1073741824

            error[P4R0605]: number out of range
              --> RACK.toml:23:62
               |
            23 | failover = { patience = "1500ns", ask_every = 0, tolerance = 32, tick = "0s", patient = 3, hold_down = 5 }
               |                                                              ^^ allowed are 1 to 31

            error[P4R0605]: not a threshold
              --> RACK.toml:23:73
               |
            23 | failover = { patience = "1500ns", ask_every = 0, tolerance = 32, tick = "0s", patient = 3, hold_down = 5 }
               |                                                                         ^^^^ must be at least 1us

            error[P4R0602]: unknown key `patient`
              --> RACK.toml:23:79
               |
            23 | failover = { patience = "1500ns", ask_every = 0, tolerance = 32, tick = "0s", patient = 3, hold_down = 5 }
               |                                                                               ^^^^^^^ `failover` has no such key
               |
               = help: did you mean `patience`?

            error[P4R0603]: expected a duration, found an integer
              --> RACK.toml:23:104
               |
            23 | failover = { patience = "1500ns", ask_every = 0, tolerance = 32, tick = "0s", patient = 3, hold_down = 5 }
               |                                                                                                        ^ this is an integer
               |
               = help: for example: "10us"

            error[P4R0605]: not a duration
              --> RACK.toml:25:13
               |
            25 | ask_after = "20days"
               |             ^^^^^^^^ unknown unit `days`: known are ps, ns, us, ms, s, min, h

            error[P4R0605]: number out of range
              --> RACK.toml:26:13
               |
            26 | most_gaps = 70000
               |             ^^^^^ allowed are 1 to 65535

            error[P4R0605]: number out of range
              --> RACK.toml:27:24
               |
            27 | processes = { window = -1, processes = 2 }
               |                        ^^ allowed are 1 to 2147483648

            error[P4R0602]: unknown key `processes`
              --> RACK.toml:27:28
               |
            27 | processes = { window = -1, processes = 2 }
               |                            ^^^^^^^^^ `processes` has no such key
               |
               = note: its keys are `ask_every`, `ask_after`, `patience`, `most_missed`, `tolerance`, `most_gaps`, `window`, `tick` and `hold_down`
        "#]],
    );
    check_with(
        &format!("{APP}failover = {{ window = 1000 }}\n"),
        expect![[r#"
        error[P4R0605]: impossible thresholds
          --> RACK.toml:23:12
           |
        23 | failover = { window = 1000 }
           |            ^^^^^^^^^^^^^^^^^ `window` is a power of two
    "#]],
    );
    check_with(
        &format!("{APP}[failover]\nmost_gaps = 2000\n"),
        expect![[r#"
        error[P4R0605]: impossible thresholds
          --> RACK.toml:23:2
           |
        23 | [failover]
           |  ^^^^^^^^ `most_gaps` is at most `window`
    "#]],
    );
    // Each table can be, but not both together.
    check_with(
        &format!("{APP}failover = {{ most_gaps = 600 }}\n[failover]\nprocesses = {{ window = 512 }}\n"),
        expect![[r#"
            error[P4R0605]: impossible thresholds
              --> RACK.toml:23:12
               |
            23 | failover = { most_gaps = 600 }
               |            ^^^^^^^^^^^^^^^^^^^ `most_gaps` is at most `window`
        "#]],
    );
}

/// The values for emulated devices and for processes.
fn values(text: &str) -> [Failover; 2] {
    let text = [crate::GOOD, APP, text].concat();
    let (rack, _) = read_rack(&text, 0);
    let mut rack = rack.unwrap_or_else(|| panic!("{}", reported(&text)));
    let emulated = rack.apps[0].failover;
    rack.of_processes();
    [emulated, rack.apps[0].failover]
}

#[test]
fn devices_that_are_processes_have_more_patience() {
    let [emulated, processes] = values("");
    assert_eq!(emulated, Failover::default());
    let patience = [emulated, processes].map(|of| of.thresholds.patience);
    assert_eq!(patience, [20, 20_000]);
    assert_eq!(processes.tick, Duration::from_ms(1));
    assert_eq!(processes.thresholds.most_missed, emulated.thresholds.most_missed);
    let [emulated, processes] =
        values("[failover]\npatience = \"30us\"\nprocesses = { patience = \"9ms\", tick = \"2ms\" }\n");
    assert_eq!([emulated, processes].map(|of| of.thresholds.patience), [30, 9000]);
    assert_eq!([emulated, processes].map(|of| of.tick), [Duration::from_us(100), Duration::from_ms(2)]);
    // An app's own keys come first, and what is said of processes before both.
    let app = "failover = { patience = \"40us\", most_missed = 5 }\n[failover]\nmost_missed = 4\nwindow = 512\nprocesses = { patience = \"9ms\" }\n";
    let [emulated, processes] = values(app);
    for (of, patience) in [(emulated, 40), (processes, 9000)] {
        let Failover { thresholds, .. } = of;
        assert_eq!((thresholds.patience, thresholds.most_missed, thresholds.window), (patience, 5, 512));
    }
    let app = "failover = { patience = \"40us\", processes = { patience = \"7ms\" } }\n";
    assert_eq!(values(app).map(|of| of.thresholds.patience), [40, 7000]);
}
