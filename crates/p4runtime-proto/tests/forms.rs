//! The three forms of a message, and what is wrong with hostile ones.

use expect_test::expect;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{P4Data, Update, WriteRequest};
use p4runtime_proto::{FormError, from_binary, from_json, from_text, from_text_placed};
use p4runtime_proto::{MAX_DEPTH, to_binary, to_json, to_text};

const WRITE: &str = r#"
# A route.
device_id: 1, election_id < low: 0x10 >
updates {
  type: INSERT;
  entity { table_entry {
    table_id: 33554433
    match { field_id: 1 lpm { value: "\x0a\000" '\n\a' prefix_len: 8 } }
    action { action { action_id: 16777217 params: [{ param_id: 1 value: "a" }, { param_id: 2 value: "\\\"" }] } }
  } }
}
"#;

fn write() -> WriteRequest {
    from_text(WRITE).unwrap()
}

#[test]
fn text_is_read_and_printed() {
    expect![[r#"
        device_id: 1
        election_id {
          low: 16
        }
        updates {
          type: INSERT
          entity {
            table_entry {
              table_id: 33554433
              match {
                field_id: 1
                lpm {
                  value: "\n\000\n\007"
                  prefix_len: 8
                }
              }
              action {
                action {
                  action_id: 16777217
                  params {
                    param_id: 1
                    value: "a"
                  }
                  params {
                    param_id: 2
                    value: "\\\""
                  }
                }
              }
            }
          }
        }
    "#]]
    .assert_eq(&to_text(&write()).unwrap());
}

#[test]
fn every_form_reads_back() {
    let write = write();
    assert_eq!(from_text::<WriteRequest>(&to_text(&write).unwrap()).unwrap(), write);
    assert_eq!(from_json::<WriteRequest>(&to_json(&write).unwrap()).unwrap(), write);
    assert_eq!(from_binary::<WriteRequest>(&to_binary(&write)).unwrap(), write);
}

#[test]
fn json_has_names_and_base64() {
    let update: Update =
        from_text(r#"type: DELETE entity { register_entry { register_id: 7 data { bitstring: "\xff" } } }"#)
            .unwrap();
    expect![[r#"
        {
          "entity": {
            "registerEntry": {
              "data": {
                "bitstring": "/w=="
              },
              "registerId": 7
            }
          },
          "type": "DELETE"
        }
    "#]]
    .assert_eq(&to_json(&update).unwrap());
}

#[test]
fn maps_are_printed_by_key() {
    let text = r#"type_info {
  headers {
    key: "a"
    value {
    }
  }
  headers {
    key: "b"
    value {
      members {
        name: "f"
        type_spec {
          bit {
            bitwidth: 8
          }
        }
      }
    }
  }
}
"#;
    let shuffled = r#"type_info { headers: [{ value { members { name: "f" type_spec { bit { bitwidth: 8 } } } } key: "b" }, { key: "a" }] }"#;
    assert_eq!(to_text(&from_text::<P4Info>(text).unwrap()).unwrap(), text);
    assert_eq!(to_text(&from_text::<P4Info>(shuffled).unwrap()).unwrap(), text);
}

#[test]
fn an_any_is_packed() {
    let text = r#"details { [type.googleapis.com/p4.v1.Error] { canonical_code: 5 message: "x" } }"#;
    let status: p4runtime_proto::google::rpc::Status = from_text(text).unwrap();
    let error: p4runtime_proto::p4::v1::Error = from_binary(&status.details[0].value).unwrap();
    assert_eq!((error.canonical_code, error.message.as_str()), (Code::NotFound as i32, "x"));
    let json = to_json(&status).unwrap();
    assert!(json.contains(r#""@type": "type.googleapis.com/p4.v1.Error""#), "{json}");
    assert_eq!(from_json::<p4runtime_proto::google::rpc::Status>(&json).unwrap(), status);
}

#[test]
fn places_of_fields() {
    let (_, places) = from_text_placed::<WriteRequest>(WRITE).unwrap();
    let text = |path: &[(&str, usize)]| places.of(path).map(|at| &WRITE[at]);
    let entry = [("updates", 0), ("entity", 0), ("table_entry", 0)];
    let params = [&entry[..], &[("action", 0), ("action", 0), ("params", 1)]].concat();
    assert_eq!(text(&params), Some(r#"{ param_id: 2 value: "\\\"" }"#));
    assert_eq!(text(&[&entry[..], &[("table_id", 0)]].concat()), Some("table_id: 33554433"));
    assert_eq!(text(&[&params[..], &[("nothing", 0)]].concat()), Some(r#"{ param_id: 2 value: "\\\"" }"#));
    assert_eq!(text(&[("updates", 1)]), None);
}

/// Error of a wrong update, with the text at its place.
fn wrong(text: &str) -> String {
    match from_text::<Update>(text).unwrap_err() {
        FormError::Text(error) => {
            let help = error.help.map_or(String::new(), |h| format!(" ({h})"));
            format!("{:?}: {}{help}\n", &text[error.at.clone()], error.message)
        }
        other => format!("{other}\n"),
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    let texts = [
        "typ: INSERT",
        "type: INSERTED",
        "type INSERT",
        "type: INSERT type: DELETE",
        "type: [INSERT]",
        "entity { table_entry { priority: 2147483648 } }",
        "entity { table_entry { priority: 1.5 } }",
        "entity { table_entry { priority: 08 } }",
        "entity { table_entry { table_id: -1 } }",
        "entity { table_entry { metadata: 5 } }",
        "entity { table_entry { metadata: \"\\q\" } }",
        "entity { table_entry { metadata: \"\\777\" } }",
        "entity { table_entry { metadata: \"x } }",
        "entity { table_entry { is_const: yes } }",
        "entity { table_entry {} meter_entry {} }",
        "entity { table_entry { ",
        "entity { [a.b] {} }",
        "entity { extern_entry { entry { [x/no.Such] {} } } }",
        "type: INSERT }",
        "€",
        "type: \"INSERT\"",
    ];
    let said: String = texts.iter().map(|t| wrong(t)).collect();
    expect![[r#"
        "typ": `p4.v1.Update` has no field `typ` (its fields are: entity, type)
        "INSERTED": `p4.v1.Update.Type` has no `INSERTED` (there are: UNSPECIFIED, INSERT, MODIFY, DELETE)
        "INSERT": expected `:` or `{`
        "type": `type` is set twice
        "[INSERT]": `type` is not repeated
        "2147483648": 2147483648 does not fit into this field
        "1": no field of these messages is a floating-point number
        "08": expected an integer
        "-1": -1 does not fit into this field
        "5": expected a string
        "\\q": unknown escape sequence
        "\\777": unknown escape sequence
        "\"x } }": the string does not end
        "yes": expected true or false
        "meter_entry": `meter_entry` and `table_entry` exclude one another
        "": expected `}`
        "[a.b]": `p4.v1.Entity` has no extensions
        "[x/no.Such]": no message has the URL `x/no.Such`
        "}": expected the name of a field
        "€": unexpected character '€'
        "\"INSERT\"": expected the name of an enumerator
    "#]]
    .assert_eq(&said);
}

fn nested(depth: usize) -> String {
    let mut text = "struct { members { ".repeat(depth);
    text.push_str(&"} } ".repeat(depth));
    text
}

#[test]
fn deep_nesting_is_refused() {
    assert!(from_text::<P4Data>(&nested(20)).is_ok());
    let error = from_text::<P4Data>(&nested(100_000)).unwrap_err();
    assert_eq!(error.to_string(), format!("nested deeper than {MAX_DEPTH}"));
    let lists = "[".repeat(1_000_000);
    assert!(from_text::<Update>(&format!("type: {lists}")).is_err());
    let json = r#"{"struct":{"members":["#.repeat(100_000);
    assert!(matches!(from_json::<P4Data>(&json), Err(FormError::Json { .. })));
    let mut bytes = vec![];
    for tag in [10, 42].repeat(10_000) {
        let mut outer = vec![tag];
        prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
        outer.extend(&bytes);
        bytes = outer;
    }
    assert!(matches!(from_binary::<P4Data>(&bytes), Err(FormError::Binary(_))));
}

/// An `Any` hides its depth from whoever reads its bytes.
#[test]
fn an_any_of_an_any_is_refused() {
    let mut any = prost_types::Any::default();
    for _ in 0..3_000 {
        let type_url = "type.googleapis.com/google.protobuf.Any".to_string();
        any = prost_types::Any { type_url, value: to_binary(&any) };
    }
    let status = p4runtime_proto::google::rpc::Status { details: vec![any], ..Default::default() };
    assert_eq!(to_json(&status), Err(FormError::TooDeep));
}
