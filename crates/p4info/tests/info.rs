//! One small program for each kind of thing, with what P4Info says of it.

mod support;

use expect_test::expect;
use support::{check, check_entries, check_wrong, ids, in_ingress, info};

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

#[test]
fn counters_and_meters() {
    check(
        &in_ingress(
            "counter(8, CounterType.packets) c; @hidden counter(8, CounterType.packets) unseen;
             @name(\"limit\") meter(4, MeterType.bytes) m1;
             direct_counter(CounterType.packets_and_bytes) dc; direct_meter<bit<2>>(MeterType.packets) dm;
             direct_counter(CounterType.bytes) of_no_table;
             action a() { dm.read(m.color); }
             table t { key = { h.e.kind: exact; } actions = { a; } default_action = a(); counters = dc; meters = dm; }",
            "t.apply(); c.count(0); unseen.count(0); m1.execute_meter(0, m.color);",
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
                match_type: EXACT
              }
              action_refs {
                id: 24592339
              }
              initial_default_action {
                action_id: 24592339
              }
              direct_resource_ids: 319370046
              direct_resource_ids: 353366856
              size: 1024
            }
            actions {
              preamble {
                id: 24592339
                name: "I.a"
                alias: "a"
              }
            }
            counters {
              preamble {
                id: 309948943
                name: "I.c"
                alias: "c"
              }
              spec {
                unit: PACKETS
              }
              size: 8
            }
            direct_counters {
              preamble {
                id: 319370046
                name: "I.dc"
                alias: "dc"
              }
              spec {
                unit: BOTH
              }
              direct_table_id: 49059515
            }
            meters {
              preamble {
                id: 336796430
                name: "I.limit"
                alias: "limit"
              }
              spec {
                unit: BYTES
              }
              size: 4
            }
            direct_meters {
              preamble {
                id: 353366856
                name: "I.dm"
                alias: "dm"
              }
              spec {
                unit: PACKETS
              }
              direct_table_id: 49059515
            }
        "#]],
    );
}

#[test]
fn registers_and_the_types_of_their_cells() {
    check(
        &in_ingress(
            "register<bit<16>>(8) bits; register<bool>(1) flags; register<inner_t>(2) structs;
             register<tuple<bit<8>, color_t>>(2) tuples; register<speed_t>(1) enums; register<port_id_t>(1) ports;",
            "",
        ),
        expect![[r#"
            registers {
              preamble {
                id: 381585846
                name: "I.bits"
                alias: "bits"
              }
              type_spec {
                bitstring {
                  bit {
                    bitwidth: 16
                  }
                }
              }
              size: 8
            }
            registers {
              preamble {
                id: 380606414
                name: "I.flags"
                alias: "flags"
              }
              type_spec {
                bool {
                }
              }
              size: 1
            }
            registers {
              preamble {
                id: 381612724
                name: "I.structs"
                alias: "structs"
              }
              type_spec {
                struct {
                  name: "inner_t"
                }
              }
              size: 2
            }
            registers {
              preamble {
                id: 378808012
                name: "I.tuples"
                alias: "tuples"
              }
              type_spec {
                tuple {
                  members {
                    bitstring {
                      bit {
                        bitwidth: 8
                      }
                    }
                  }
                  members {
                    enum {
                      name: "color_t"
                    }
                  }
                }
              }
              size: 2
            }
            registers {
              preamble {
                id: 383018380
                name: "I.enums"
                alias: "enums"
              }
              type_spec {
                serializable_enum {
                  name: "speed_t"
                }
              }
              size: 1
            }
            registers {
              preamble {
                id: 369543522
                name: "I.ports"
                alias: "ports"
              }
              type_spec {
                new_type {
                  name: "port_id_t"
                }
              }
              size: 1
            }
            type_info {
              structs {
                key: "inner_t"
                value {
                  members {
                    name: "a"
                    type_spec {
                      bitstring {
                        bit {
                          bitwidth: 8
                        }
                      }
                    }
                  }
                  members {
                    name: "b"
                    type_spec {
                      bitstring {
                        int {
                          bitwidth: 4
                        }
                      }
                    }
                  }
                  members {
                    name: "c"
                    type_spec {
                      new_type {
                        name: "plainer_t"
                      }
                    }
                  }
                  members {
                    name: "s"
                    type_spec {
                      serializable_enum {
                        name: "speed_t"
                      }
                    }
                  }
                }
              }
              enums {
                key: "color_t"
                value {
                  members {
                    name: "RED"
                  }
                  members {
                    name: "GREEN"
                  }
                }
              }
              serializable_enums {
                key: "speed_t"
                value {
                  underlying_type {
                    bitwidth: 8
                  }
                  members {
                    name: "SLOW"
                    value: "\001"
                  }
                  members {
                    name: "FAST"
                    value: "\310"
                  }
                }
              }
              new_types {
                key: "plainer_t"
                value {
                  original_type {
                    bitstring {
                      bit {
                        bitwidth: 8
                      }
                    }
                  }
                }
              }
              new_types {
                key: "port_id_t"
                value {
                  translated_type {
                    uri: "p4rack.test/port"
                    sdn_bitwidth: 32
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn profiles() {
    check(
        &in_ingress(
            "action_profile(8) p;
             @max_group_size(4) @selector_size_semantics(\"sum_of_members\") @max_member_weight(9) @other(1)
             action_selector(HashAlgorithm.crc16, 32w16, 32w8) s;
             table t1 { key = { h.e.kind: exact; } actions = { drop; } implementation = p; default_action = drop(); }
             table t0 { key = { h.e.kind: exact; } actions = { drop; } implementation = p; default_action = drop(); }
             table t2 { key = { h.e.kind: exact; m.class: selector; } actions = { drop; } implementation = s; default_action = drop(); }",
            "t0.apply(); t1.apply(); t2.apply();",
        ),
        expect![[r#"
            tables {
              preamble {
                id: 43214661
                name: "I.t1"
                alias: "t1"
              }
              match_fields {
                id: 1
                name: "h.e.kind"
                bitwidth: 8
                match_type: EXACT
              }
              action_refs {
                id: 32117294
              }
              initial_default_action {
                action_id: 32117294
              }
              implementation_id: 294689853
              size: 1024
            }
            tables {
              preamble {
                id: 49480709
                name: "I.t0"
                alias: "t0"
              }
              match_fields {
                id: 1
                name: "h.e.kind"
                bitwidth: 8
                match_type: EXACT
              }
              action_refs {
                id: 32117294
              }
              initial_default_action {
                action_id: 32117294
              }
              implementation_id: 294689853
              size: 1024
            }
            tables {
              preamble {
                id: 48057305
                name: "I.t2"
                alias: "t2"
              }
              match_fields {
                id: 1
                name: "h.e.kind"
                bitwidth: 8
                match_type: EXACT
              }
              action_refs {
                id: 32117294
              }
              initial_default_action {
                action_id: 32117294
              }
              implementation_id: 288437060
              size: 1024
            }
            action_profiles {
              preamble {
                id: 294689853
                name: "I.p"
                alias: "p"
              }
              table_ids: 49480709
              table_ids: 43214661
              size: 8
            }
            action_profiles {
              preamble {
                id: 288437060
                name: "I.s"
                alias: "s"
                annotations: "@other(1)"
              }
              table_ids: 48057305
              with_selector: true
              size: 16
              max_group_size: 4
              sum_of_members {
                max_member_weight: 9
              }
            }
        "#]],
    );
}

#[test]
fn translated_types() {
    check(
        &in_ingress(
            "action a(port_id_t p, name_t n, plain_t q) { }
             table t { key = { m.port: exact; m.name: exact; } actions = { a; NoAction; } }",
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
                name: "m.port"
                bitwidth: 32
                match_type: EXACT
                type_name {
                  name: "port_id_t"
                }
              }
              match_fields {
                id: 2
                name: "m.name"
                match_type: EXACT
                type_name {
                  name: "name_t"
                }
              }
              action_refs {
                id: 24592339
              }
              action_refs {
                id: 21257015
              }
              initial_default_action {
                action_id: 21257015
              }
              size: 1024
            }
            actions {
              preamble {
                id: 24592339
                name: "I.a"
                alias: "a"
              }
              params {
                id: 1
                name: "p"
                bitwidth: 32
                type_name {
                  name: "port_id_t"
                }
              }
              params {
                id: 2
                name: "n"
                type_name {
                  name: "name_t"
                }
              }
              params {
                id: 3
                name: "q"
                bitwidth: 8
                type_name {
                  name: "plain_t"
                }
              }
            }
            type_info {
              new_types {
                key: "name_t"
                value {
                  translated_type {
                    uri: "p4rack.test/name"
                    sdn_string {
                    }
                  }
                  annotations: "@other"
                }
              }
              new_types {
                key: "plain_t"
                value {
                  original_type {
                    bitstring {
                      bit {
                        bitwidth: 8
                      }
                    }
                  }
                }
              }
              new_types {
                key: "port_id_t"
                value {
                  translated_type {
                    uri: "p4rack.test/port"
                    sdn_bitwidth: 32
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn digests() {
    check(
        &in_ingress(
            "",
            "digest<inner_t>(1, m.inner); digest(1, { h.e.dst, h.e.kind }); digest<inner_t>(2, m.inner);",
        ),
        expect![[r#"
            digests {
              preamble {
                id: 402217489
                name: "inner_t"
                alias: "inner_t"
              }
              type_spec {
                struct {
                  name: "inner_t"
                }
              }
            }
            digests {
              preamble {
                id: 401776493
                name: "digest_0"
                alias: "digest_0"
              }
              type_spec {
                tuple {
                  members {
                    bitstring {
                      bit {
                        bitwidth: 32
                      }
                    }
                  }
                  members {
                    bitstring {
                      bit {
                        bitwidth: 8
                      }
                    }
                  }
                }
              }
            }
            type_info {
              structs {
                key: "inner_t"
                value {
                  members {
                    name: "a"
                    type_spec {
                      bitstring {
                        bit {
                          bitwidth: 8
                        }
                      }
                    }
                  }
                  members {
                    name: "b"
                    type_spec {
                      bitstring {
                        int {
                          bitwidth: 4
                        }
                      }
                    }
                  }
                  members {
                    name: "c"
                    type_spec {
                      new_type {
                        name: "plainer_t"
                      }
                    }
                  }
                  members {
                    name: "s"
                    type_spec {
                      serializable_enum {
                        name: "speed_t"
                      }
                    }
                  }
                }
              }
              serializable_enums {
                key: "speed_t"
                value {
                  underlying_type {
                    bitwidth: 8
                  }
                  members {
                    name: "SLOW"
                    value: "\001"
                  }
                  members {
                    name: "FAST"
                    value: "\310"
                  }
                }
              }
              new_types {
                key: "plainer_t"
                value {
                  original_type {
                    bitstring {
                      bit {
                        bitwidth: 8
                      }
                    }
                  }
                }
              }
            }
        "#]],
    );
}

/// What can never run is not described; what runs inside of other things is.
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
             @id(8) table c { actions = { drop; } default_action = drop(); }",
            "a.apply(); b.apply(); c.apply();",
        ),
        expect![[r#"
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
    let program = support::program(
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
