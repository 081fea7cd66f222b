//! Mistakes in moves of flows.

use super::check_with;
use expect_test::expect;

const DEVICES: &str = "[device.nic1]\nclass = \"smartnic\"\n";
const APPS: &str = "[[app]]\nname = \"wall\"\nprogram = \"a.p4\"\norigin = \"tor\"\ndevices = [\"nic1\"]\naffinity = \"medium\"\nflows = 16\n";
const HIGH: &str = "[[app]]\nname = \"plain\"\nprogram = \"b.p4\"\norigin = \"tor\"\n";

#[test]
fn a_move_names_an_app_whose_flows_move() {
    check_with(
        &format!(
            "{DEVICES}{APPS}{HIGH}[[move]]\napp = \"well\"\nat = \"1ms\"\nto = \"switch\"\nflow = {{ a = 1 }}\n\
             [[move]]\napp = \"plain\"\nat = \"1ms\"\nto = \"switch\"\nflow = {{ a = 1 }}\n"
        ),
        expect![[r#"
            error[P4R0606]: unknown app `well`
              --> RACK.toml:30:7
               |
            30 | app = "well"
               |       ^^^^^^ not known
               |
               = help: did you mean `wall`?

            error[P4R0605]: flows of `plain` do not move
              --> RACK.toml:35:7
               |
            35 | app = "plain"
               |       ^^^^^^^ all its flows are processed at one place
               |
               = help: write `affinity = "medium"` in the app, and name its helpers as `devices`
        "#]],
    );
    check_with(
        &format!("{HIGH}[[move]]\nat = \"1ms\"\nto = \"switch\"\nflow = {{ a = 1 }}\n"),
        expect![[r#"
            error[P4R0605]: no app has flows that move
              --> RACK.toml:20:1
               |
            20 | [[move]]
               | ^^^^^^^^ this move
               |
               = help: flows of apps with `affinity = "medium"` move
        "#]],
    );
}

#[test]
fn a_move_says_what_goes_where_and_when() {
    check_with(
        &format!(
            "{DEVICES}{APPS}[[move]]\nto = \"nic1\"\nflow = [1]\n[[move]]\nat = \"soon\"\nto = \"helper\"\nflow = {{ a = 1.5 }}\nby = 3\n"
        ),
        expect![[r#"
            error[P4R0604]: `at` is missing
              --> RACK.toml:25:1
               |
            25 | [[move]]
               | ^^^^^^^^ this move has no `at`
               |
               = help: for example: `at = "5ms"`

            error[P4R0606]: unknown word `nic1`
              --> RACK.toml:26:6
               |
            26 | to = "nic1"
               |      ^^^^^^ not known here
               |
               = note: known are `switch` and `helper`

            error[P4R0603]: expected a table, found an array
              --> RACK.toml:27:8
               |
            27 | flow = [1]
               |        ^^^ this is an array
               |
               = help: for example: { "hdr.ipv4.src" = "10.0.0.1" }

            error[P4R0605]: not a duration
              --> RACK.toml:29:6
               |
            29 | at = "soon"
               |      ^^^^^^ a number is missing

            error[P4R0603]: expected a string or an integer, found a float
              --> RACK.toml:31:14
               |
            31 | flow = { a = 1.5 }
               |              ^^^ this is a float

            error[P4R0602]: unknown key `by`
              --> RACK.toml:32:1
               |
            32 | by = 3
               | ^^ this move has no such key
               |
               = note: its keys are `app`, `flow`, `to` and `at`
        "#]],
    );
}

#[test]
fn only_flows_at_two_places_are_promoted() {
    check_with(
        &format!("{DEVICES}{APPS}window = \"5ms\"\n{HIGH}promote = \"auto\"\n"),
        expect![[r#"
            error[P4R0605]: no flow is promoted
              --> RACK.toml:25:10
               |
            25 | window = "5ms"
               |          ^^^^^ write `promote = "auto"`

            error[P4R0605]: flows of an app without affinity
              --> RACK.toml:30:11
               |
            30 | promote = "auto"
               |           ^^^^^^ write `affinity = "medium"` to pin them
        "#]],
    );
}

#[test]
fn popular_flows_are_promoted_or_not() {
    check_with(
        &format!(
            "{DEVICES}{APPS}promote = \"always\"\nidle = \"0s\"\n{HIGH}affinity = \"high\"\npromote = \"auto\"\n"
        ),
        expect![[r#"
            error[P4R0606]: unknown word `always`
              --> RACK.toml:25:11
               |
            25 | promote = "always"
               |           ^^^^^^^^ not known here
               |
               = note: known are `auto`

            error[P4R0605]: a duration of zero
              --> RACK.toml:26:8
               |
            26 | idle = "0s"
               |        ^^^^ must be more than 0

            error[P4R0605]: no flow moves
              --> RACK.toml:32:11
               |
            32 | promote = "auto"
               |           ^^^^^^ only `affinity = "medium"` has flows at both places
        "#]],
    );
}
