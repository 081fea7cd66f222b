//! Objects and types, value sets, headers of packets to and from the controller.

use crate::support::{check, in_ingress, info, with_types};
use expect_test::expect;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::to_text;

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
             @max_group_size(4) @selector_size_semantics(\"sum_of_members\") @max_member_weight(9) @weights_disallowed @other(1)
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
              weights_disallowed: true
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

#[test]
fn value_sets() {
    let sets = info(&in_ingress("", "")).value_sets;
    let only = P4Info { value_sets: sets, ..Default::default() };
    expect![[r#"
        value_sets {
          preamble {
            id: 60843917
            name: "P.kinds"
            alias: "kinds"
          }
          match {
            id: 1
            bitwidth: 8
            match_type: EXACT
          }
          size: 4
        }
        value_sets {
          preamble {
            id: 50331651
            name: "P.many"
            alias: "many"
          }
          match {
            id: 1
            name: "a"
            bitwidth: 8
            match_type: EXACT
          }
          match {
            id: 5
            name: "b"
            bitwidth: 32
            match_type: TERNARY
          }
          size: 2
        }
    "#]]
    .assert_eq(&to_text(&only).unwrap());
}

#[test]
fn packets_to_and_from_the_controller() {
    check(
        &with_types(
            "struct port_t { @padding bit<7> unused; port_id_t port; }
             @controller_header(\"packet_in\") @brief(\"From the switch\")
             header in_t { bit<8> reason; port_t from; @hidden bit<8> secret; @id(9) bit<16> last; }
             @controller_header(\"packet_out\") @hidden header out_t { bit<8> x; }",
        ),
        expect![[r#"
            controller_packet_metadata {
              preamble {
                id: 83878632
                name: "packet_in"
                alias: "packet_in"
                annotations: "@controller_header(\"packet_in\")"
                doc {
                  brief: "From the switch"
                }
              }
              metadata {
                id: 1
                name: "reason"
                bitwidth: 8
              }
              metadata {
                id: 2
                name: "from.unused"
                annotations: "@padding"
                bitwidth: 7
              }
              metadata {
                id: 3
                name: "from.port"
                bitwidth: 32
                type_name {
                  name: "port_id_t"
                }
              }
              metadata {
                id: 9
                name: "last"
                bitwidth: 16
              }
            }
            type_info {
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

/// A chain of types, about as long as may be, the last of which a register holds.
#[test]
fn a_long_chain_of_types() {
    let chain: String = (1..60).map(|n| format!("struct s{n} {{ s{} a; }}\n", n - 1)).collect();
    let types = format!("struct s0 {{ bit<8> a; }}\n{chain}");
    let text =
        in_ingress("register<s59>(1) r;", "").replace("struct inner_t", &format!("{types}struct inner_t"));
    let info = info(&text);
    assert_eq!(info.type_info.map(|types| types.structs.len()), Some(60));
}

/// The ids of extern types are a hash of their names, so that a part of a program has those of the whole.
#[test]
fn externs_of_the_users_own() {
    let text = in_ingress("Ewma(3) one; Ewma(4) two;", "m.inner.a = one.update(1); m.inner.a = two.update(2);").replacen(
        "control I",
        "@value_extern(\"ewma\") extern Ewma { Ewma(bit<8> shift); bit<8> update(in bit<8> sample); } control I",
        1,
    );
    let P4Info { externs, .. } = info(&text);
    assert_eq!(externs.len(), 1);
    assert_eq!(externs[0].extern_type_name, "Ewma");
    assert!((0x81..=0xfe).contains(&externs[0].extern_type_id));
    let instances = &externs[0].instances;
    let names: Vec<_> = instances.iter().map(|one| one.preamble.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(names, ["I.one", "I.two"]);
    assert!(instances.iter().all(|one| one.preamble.as_ref().unwrap().id >> 24 == externs[0].extern_type_id));
}
