//! Tables, actions, ids, annotations, the package, entries.

use crate::support::{check, check_entries, check_wrong, ids, in_ingress, info, program};
use expect_test::expect;
use p4runtime_proto::p4::config::v1::Table;

#[test]
fn a_table_with_its_action() {
    check(
        &in_ingress(
            "action forward(bit<9> port, @id(7) bit<8> class) { sm.egress_spec = port; m.class = class; }
             @brief(\"Routes\") @description(\"by prefix\") table route {
                 key = { h.e.dst: lpm @name(\"dst\"); h.e.kind: exact @id(9) @format(HEX); h.e.isValid(): exact; }
                 actions = { forward; @tableonly NoAction; @defaultonly drop; }
                 default_action = forward(5, 6);
                 size = 64;
                 support_timeout = true;
             }",
            "route.apply();",
        ),
        expect![[r#"
            tables {
              preamble {
                id: 49275211
                name: "I.route"
                alias: "route"
                doc {
                  brief: "Routes"
                  description: "by prefix"
                }
              }
              match_fields {
                id: 1
                name: "dst"
                bitwidth: 32
                match_type: LPM
              }
              match_fields {
                id: 9
                name: "h.e.kind"
                annotations: "@format(HEX)"
                bitwidth: 8
                match_type: EXACT
              }
              match_fields {
                id: 2
                name: "h.e.$valid$"
                bitwidth: 1
                match_type: EXACT
              }
              action_refs {
                id: 27124762
              }
              action_refs {
                id: 21257015
                annotations: "@tableonly"
                scope: TABLE_ONLY
              }
              action_refs {
                id: 32117294
                annotations: "@defaultonly"
                scope: DEFAULT_ONLY
              }
              initial_default_action {
                action_id: 27124762
                arguments {
                  param_id: 1
                  value: "\000\005"
                }
                arguments {
                  param_id: 7
                  value: "\006"
                }
              }
              size: 64
              idle_timeout_behavior: NOTIFY_CONTROL
            }
            actions {
              preamble {
                id: 27124762
                name: "I.forward"
                alias: "forward"
              }
              params {
                id: 1
                name: "port"
                bitwidth: 9
              }
              params {
                id: 7
                name: "class"
                bitwidth: 8
              }
            }
        "#]],
    );
}

#[test]
fn constant_things_of_tables() {
    check(
        &in_ingress(
            "table t {
                 key = { h.e.kind: ternary; m.class: optional; h.e.dst: range; m.class: selector; }
                 actions = { drop; }
                 const default_action = drop();
                 const entries = { (1, _, _, _): drop(); }
                 implementation = action_selector(HashAlgorithm.crc16, 32w16, 32w8);
             }",
            "t.apply();",
        ),
        expect![[r#"
            tables {
              preamble {
                id: 49059515
                name: "I.t"
                alias: "t"
              }
              match_fields {
                id: 1
                name: "h.e.kind"
                bitwidth: 8
                match_type: TERNARY
              }
              match_fields {
                id: 2
                name: "m.class"
                bitwidth: 8
                match_type: OPTIONAL
              }
              match_fields {
                id: 3
                name: "h.e.dst"
                bitwidth: 32
                match_type: RANGE
              }
              action_refs {
                id: 32117294
              }
              const_default_action_id: 32117294
              initial_default_action {
                action_id: 32117294
              }
              implementation_id: 290238214
              size: 1024
              is_const_table: true
              has_initial_entries: true
            }
            action_profiles {
              preamble {
                id: 290238214
                name: "I.t.implementation"
                alias: "implementation"
              }
              table_ids: 49059515
              with_selector: true
              size: 16
            }
        "#]],
    );
}

/// Code that can never run is not described; code inside of other blocks is.
#[test]
fn what_is_used() {
    let names = ids(&info(&in_ingress(
        "action unused() { } action inner() { } action outer() { inner(); } action direct(bit<8> x) { m.class = x; }
         table never { actions = { unused; } default_action = unused(); }
         table dead { actions = { drop; } default_action = drop(); }
         table in_key { key = { h.e.kind: exact; } actions = { outer; } default_action = outer(); }
         table t { key = { in_key.apply().hit: exact @name(\"hit\"); } actions = { NoAction; } }
         @hidden table concealed { actions = { NoAction; } }",
        "if (false) { dead.apply(); } t.apply(); direct(1); concealed.apply();",
    )));
    expect![[r#"
        0x0235361b I.in_key (in_key)
        0x02ec96bb I.t (t)
        0x01445b37 NoAction (NoAction)
        0x01153a58 I.outer (outer)
        0x01365160 I.direct (direct)
        0x03a0678d P.kinds (kinds)
        0x03000003 P.many (many)
    "#]]
    .assert_eq(&names);
}

#[test]
fn ids_come_from_names_and_annotations() {
    let names = ids(&info(&in_ingress(
        "@id(0x02000007) table a { actions = { drop; } default_action = drop(); }
         @id(8) table b { actions = { drop; } default_action = drop(); }
         @name(\".b\") table c { actions = { drop; } default_action = drop(); }
         @name(\"x.b\") table d { actions = { drop; } default_action = drop(); }",
        "a.apply(); b.apply(); c.apply(); d.apply();",
    )));
    expect![[r#"
        0x02000007 I.a (a)
        0x02000008 I.b (I.b)
        0x02db819b b (b)
        0x0213372e I.x.b (x.b)
        0x01ea122e I.drop (drop)
        0x03a0678d P.kinds (kinds)
        0x03000003 P.many (many)
    "#]]
    .assert_eq(&names);
}

#[test]
fn ids_that_cannot_be() {
    check_wrong(
        &in_ingress(
            "@id(0x01000007) table a { actions = { drop; } default_action = drop(); }
             @id(8) table b { actions = { drop; } default_action = drop(); }
             @id(8) table c { actions = { drop; } default_action = drop(); }
             action e(@id(0) bit<8> x) { }
             table d { key = { h.e.kind: exact @id(2); h.e.dst: exact @id(2); } actions = { e; NoAction; } }",
            "a.apply(); b.apply(); c.apply(); d.apply();",
        ),
        expect![[r#"
            error[P4R0330]: 0 is not an id
              --> test.p4:32:14
               |
            32 |              action e(@id(0) bit<8> x) { }
               |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ something in it has `@id(0)`
            error[P4R0330]: the id 2 is taken
              --> test.p4:33:14
               |
            33 |              table d { key = { h.e.kind: exact @id(2); h.e.dst: exact @id(2); } actions = { e; NoAction; } }
               |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ two things in it have this `@id`
            error[P4R0330]: 0x1000007 cannot be the id here
              --> test.p4:29:5
               |
            29 |     @id(0x01000007) table a { actions = { drop; } default_action = drop(); }
               |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ it has the upper byte of another kind
               |
               = note: ids of this kind are 0x2000000 to 0x2ffffff
            error[P4R0330]: the id 0x2000008 is taken
              --> test.p4:31:14
               |
            31 |              @id(8) table c { actions = { drop; } default_action = drop(); }
               |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ something before it has this `@id`
        "#]],
    );
}

#[test]
fn annotations_keep_their_forms() {
    check(
        &in_ingress(
            "@empty @values(1, \"a\\\"b\", true) @tokens(a < b, \"c\") @list[1, \"x\", false] @none[] @pairs[k=1, l=\"v\"]
             @huge[123456789012345678901234567890]
             table t { actions = { drop; } default_action = drop(); }",
            "t.apply();",
        ),
        expect![[r#"
            tables {
              preamble {
                id: 49059515
                name: "I.t"
                alias: "t"
                annotations: "@empty"
                annotations: "@values(1, \"a\\\"b\", true)"
                annotations: "@tokens(a < b , \"c\")"
                structured_annotations {
                  name: "list"
                  expression_list {
                    expressions {
                      int64_value: 1
                    }
                    expressions {
                      string_value: "x"
                    }
                    expressions {
                      bool_value: false
                    }
                  }
                }
                structured_annotations {
                  name: "none"
                }
                structured_annotations {
                  name: "pairs"
                  kv_pair_list {
                    kv_pairs {
                      key: "k"
                      value {
                        int64_value: 1
                      }
                    }
                    kv_pairs {
                      key: "l"
                      value {
                        string_value: "v"
                      }
                    }
                  }
                }
                structured_annotations {
                  name: "huge"
                  expression_list {
                    expressions {
                      string_value: "123456789012345678901234567890"
                    }
                  }
                }
              }
              action_refs {
                id: 32117294
              }
              initial_default_action {
                action_id: 32117294
              }
              size: 1024
            }
        "#]],
    );
}

#[test]
fn the_package() {
    let program = program(
        "",
        "",
        "@pkginfo(name=\"p\", version=\"1\") @pkginfo(organization=\"o\") @platform_property[multicast_group_table_size=9] @brief(\"b\") @other",
    );
    check(
        &program,
        expect![[r#"
        pkg_info {
          name: "p"
          version: "1"
          doc {
            brief: "b"
          }
          annotations: "@other"
          arch: "v1model"
          organization: "o"
          platform_properties {
            multicast_group_table_size: 9
          }
        }
    "#]],
    );
}

#[test]
fn entries_of_the_source() {
    check_entries(
        &in_ingress(
            "action mark(bit<8> class) { m.class = class; }
             table c { key = { h.e.kind: ternary; h.e.dst: lpm; m.class: exact; }
                       actions = { mark; drop; } default_action = drop();
                       const entries = { (0x10 &&& 0xf0, 0x0a000000 &&& 0xff000000, 1): mark(5);
                                         (_, 0x0a000001, 2): drop(); (7, _, 3): drop(); } }
             table e { key = { m.class: range; h.e.isValid(): optional; }
                       actions = { drop; } default_action = drop();
                       entries = { const priority = 9: (1..4, true): drop(); (0..255, _): drop(); (7, false): drop(); } }",
            "c.apply(); e.apply();",
        ),
        expect![[r#"
            updates {
              type: INSERT
              entity {
                table_entry {
                  table_id: 41513487
                  match {
                    field_id: 1
                    ternary {
                      value: "\020"
                      mask: "\360"
                    }
                  }
                  match {
                    field_id: 2
                    lpm {
                      value: "\n\000\000\000"
                      prefix_len: 8
                    }
                  }
                  match {
                    field_id: 3
                    exact {
                      value: "\001"
                    }
                  }
                  action {
                    action {
                      action_id: 33522068
                      params {
                        param_id: 1
                        value: "\005"
                      }
                    }
                  }
                  priority: 3
                  is_const: true
                }
              }
            }
            updates {
              type: INSERT
              entity {
                table_entry {
                  table_id: 41513487
                  match {
                    field_id: 2
                    lpm {
                      value: "\n\000\000\001"
                      prefix_len: 32
                    }
                  }
                  match {
                    field_id: 3
                    exact {
                      value: "\002"
                    }
                  }
                  action {
                    action {
                      action_id: 32117294
                    }
                  }
                  priority: 2
                  is_const: true
                }
              }
            }
            updates {
              type: INSERT
              entity {
                table_entry {
                  table_id: 41513487
                  match {
                    field_id: 1
                    ternary {
                      value: "\007"
                      mask: "\377"
                    }
                  }
                  match {
                    field_id: 3
                    exact {
                      value: "\003"
                    }
                  }
                  action {
                    action {
                      action_id: 32117294
                    }
                  }
                  priority: 1
                  is_const: true
                }
              }
            }
            updates {
              type: INSERT
              entity {
                table_entry {
                  table_id: 36342130
                  match {
                    field_id: 1
                    range {
                      low: "\001"
                      high: "\004"
                    }
                  }
                  match {
                    field_id: 2
                    optional {
                      value: "\001"
                    }
                  }
                  action {
                    action {
                      action_id: 32117294
                    }
                  }
                  priority: 9
                  is_const: true
                }
              }
            }
            updates {
              type: INSERT
              entity {
                table_entry {
                  table_id: 36342130
                  action {
                    action {
                      action_id: 32117294
                    }
                  }
                  priority: 8
                }
              }
            }
            updates {
              type: INSERT
              entity {
                table_entry {
                  table_id: 36342130
                  match {
                    field_id: 1
                    range {
                      low: "\007"
                      high: "\007"
                    }
                  }
                  match {
                    field_id: 2
                    optional {
                      value: "\000"
                    }
                  }
                  action {
                    action {
                      action_id: 32117294
                    }
                  }
                  priority: 7
                }
              }
            }
        "#]],
    );
}

/// `check` gives a warning, since the tables of the program distinguish the two.
#[test]
fn two_actions_of_one_name_and_other_data_are_refused() {
    check_wrong(
        &in_ingress(
            "@name(\".set\") action one(bit<8> x) {} @name(\".set\") action other(bit<9> x) { m.class = 1; }
             table t { actions = { one; } }
             table u { actions = { other; } }",
            "t.apply(); u.apply();",
        ),
        expect![[r#"
            error[P4R0307]: two actions have the control-plane name `set`
              --> test.p4:29:43
               |
            29 |     @name(".set") action one(bit<8> x) {} @name(".set") action other(bit<9> x) { m.class = 1; }
               |     ------------------------------------- ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this one takes other data
               |     |
               |     the first one
               |
               = note: a P4Info has one action of each name (P4-16 §18.3.2), and its data for all
               = help: give one of them another name with `@name("...")`
        "#]],
    );
}

/// Programs that p4c made of P4-14 have a `nop` in each control.
#[test]
fn two_actions_of_one_name_and_the_same_data_are_one() {
    let info = info(&in_ingress(
        "@name(\".set\") action one(bit<8> x) {} @name(\".set\") action other(bit<8> x) { m.class = x; }
         table t { actions = { one; } }
         table u { actions = { other; } }",
        "t.apply(); u.apply();",
    ));
    let of = |id: u32| info.actions.iter().find(|a| a.preamble.as_ref().is_some_and(|p| p.id == id));
    let name = |id: u32| of(id).and_then(|a| a.preamble.as_ref()).map_or("", |p| &p.name);
    let refs = |t: &Table| t.action_refs.iter().map(|a| name(a.id)).collect::<Vec<_>>().join(" ");
    assert_eq!(info.tables.iter().map(refs).collect::<Vec<_>>(), ["set NoAction", "set NoAction"]);
    let mut names: Vec<&str> =
        info.actions.iter().filter_map(|a| a.preamble.as_ref()).map(|p| &*p.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["NoAction", "set"]);
}
