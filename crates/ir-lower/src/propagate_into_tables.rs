//! `propagate-into-tables`: a variable that is a copy of one place wherever a table is applied is that place in its keys and actions.
//!
//! Before: `t = hdr.h.x; apply copy;` with the action `hdr.h.y = t;`
//! After:  `t = hdr.h.x; apply copy;` with the action `hdr.h.y = hdr.h.x;`
//!
//! Some bits of a place, the validity of a header and casts are copies, too. Requires `propagate-values`. Does not remove stores: `remove-dead-stores` does.
//! Why: a copy takes a stage of a pipeline, and the table that reads it the next one.

use crate::Changed;
use crate::propagate_values::{Into, count_reads, in_control};
use crate::units::{Unit, each_unit};
use ir::Program;

/// See the head of this file.
pub fn propagate_into_tables(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |program, unit| {
        let reads = count_reads(unit);
        if let Unit::Control(control) = unit {
            changed |= in_control(program, control, reads, Into::Tables);
        }
    });
    Changed(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    const LOCALS: &str = "locals { var a; var b; var c; }";

    /// The table with its action, after the pass, where the body applies it with `a` and `b` set.
    fn table_after(action: &str, body: &str) -> String {
        let vars = "local bit<8> a; local bit<8> b; local bit<8> c;";
        let beside = format!(
            "{LOCALS} action n() \"n\" {{ {action} }}
            table t \"t\" {{ key {{ a: exact \"a\"; }} actions {{ n(); }} default n(); }}"
        );
        let text = after(&control(vars, &beside, body), propagate_into_tables);
        let from = text.find("action n").unwrap_or(0);
        text[from..].to_string()
    }

    #[test]
    fn keys_and_actions() {
        expect![[r#"
            action n() "n" {
                x = b;
                hdr.h.b = hdr.h.a;
              }
              table t "t" {
                key {
                  hdr.h.a: exact "a";
                }
                actions {
                  n();
                }
                default n();
              }
              apply {
                a = hdr.h.a;
                b = 8w0x3;
                apply t;
              }
            }
        "#]]
        .assert_eq(&table_after("x = b; hdr.h.b = a;", "a = hdr.h.a; b = 8w3; apply t;"));
    }

    #[test]
    fn values_that_differ_or_change_stay() {
        // `a` differs between two places, and the action writes what `b` was copied from.
        expect![[r#"
            action n() "n" {
                hdr.h.b = 8w0x1;
                x = b;
                c = a;
              }
              table t "t" {
                key {
                  a: exact "a";
                }
                actions {
                  n();
                }
                default n();
              }
              apply {
                b = hdr.h.b;
                if (x == 8w0x0) {
                  a = 8w0x1;
                  apply t;
                } else {
                  a = 8w0x2;
                  apply t;
                }
              }
            }
        "#]]
        .assert_eq(&table_after(
            "hdr.h.b = 8w1; x = b; c = a;",
            "b = hdr.h.b; if (x == 8w0) { a = 8w1; apply t; } else { a = 8w2; apply t; }",
        ));
    }
}
