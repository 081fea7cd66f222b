//! Packets and digests on streams.

use crate::setup::{Bench, both};
use base_time::Duration;
use expect_test::expect;
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::StreamMessageRequest;

fn say(bench: &mut Bench, stream: u64, text: &str) -> String {
    let request: StreamMessageRequest = from_text(text).unwrap();
    bench.message(stream, &request)
}

#[test]
fn packets_in_and_out_carry_metadata() {
    both(|mut bench| {
        let mut all = String::new();
        let out = |metadata: &str| format!(r#"packet {{ payload: "\001\002" {metadata} }}"#);
        all += &say(
            &mut bench,
            0,
            &out(r#"metadata { metadata_id: 1 value: "\003" } metadata { metadata_id: 2 value: "\000" }"#),
        );
        all += &say(&mut bench, 0, &out(r#"metadata { metadata_id: 1 value: "\003" }"#));
        all += &say(
            &mut bench,
            0,
            &out(
                r#"metadata { metadata_id: 1 value: "\004\000" } metadata { metadata_id: 2 value: "\000" }"#,
            ),
        );
        all += &say(&mut bench, 8, &out(""));
        let to_cpu = r#"MODIFY table_entry { table_id: $MyIngress.route is_default_action: true action { action { action_id: $MyIngress.to_cpu } } }"#;
        assert_eq!(bench.write(&[to_cpu]), "OK\n");
        all += &bench.packet(3, "0a0000000001 0b0000000002 0800 aa");
        expect![[r#"
            3: 0102
            to 0: error { canonical_code: 3 message: "packet metadata is missing: 2 `submit`" packet_out { packet_out { payload: "\001\002" metadata { metadata_id: 1 value: "\003" } } } }
            to 0: error { canonical_code: 3 message: "packet metadata does not fit: `egress_port` has 9 bits, and 0x400 needs more" packet_out { packet_out { payload: "\001\002" metadata { metadata_id: 1 value: "\004\000" } metadata { metadata_id: 2 value: "\000" } } } }
            to 8: error { canonical_code: 7 message: "send an arbitration update first" packet_out { packet_out { payload: "\001\002" } } }
            to 0: packet { payload: "\n\000\000\000\000\001\013\000\000\000\000\002\010\000\252" metadata { metadata_id: 1 value: "\003" } metadata { metadata_id: 2 value: "\005" } }
        "#]].assert_eq(&all);
    });
}

#[test]
fn digests_are_gathered_and_acknowledged() {
    both(|mut bench| {
        let learn = r#"MODIFY table_entry { table_id: $MyIngress.known is_default_action: true action { action { action_id: $MyIngress.learn } } }"#;
        let config = "INSERT digest_entry { digest_id: $learn_t config { max_timeout_ns: 2000000 max_list_size: 2 ack_timeout_ns: 1000000000 } }";
        assert_eq!(bench.write(&[learn, config]), "OK\n");
        let mut all = String::new();
        let mut packets = |bench: &mut Bench, sources: &[u32]| {
            for source in sources {
                bench.packet(1, &format!("0a0000000001 0b00000000{source:02x} 0800"));
            }
            all += &format!("{sources:?}\n{}", bench.wait(Duration::from_us(1)));
        };
        packets(&mut bench, &[1]);
        packets(&mut bench, &[1]);
        packets(&mut bench, &[2]);
        packets(&mut bench, &[1, 2]);
        packets(&mut bench, &[3]);
        all += &format!("later\n{}", bench.wait(Duration::from_ms(3)));
        let acknowledged =
            say(&mut bench, 0, &format!("digest_ack {{ digest_id: {} list_id: 1 }}", digest()));
        assert_eq!(acknowledged, "");
        bench.packet(1, "0a0000000001 0b0000000001 0800");
        assert_eq!(bench.wait(Duration::from_ms(1)), "");
        all += &format!("again\n{}", bench.wait(Duration::from_ms(3)));
        expect![[r#"
        [1]
        [1]
        [2]
        to 0: digest { digest_id: $learn_t list_id: 1 data { struct { members { bitstring: "\013\000\000\000\000\001" } members { bitstring: "\001" } } } data { struct { members { bitstring: "\013\000\000\000\000\002" } members { bitstring: "\001" } } } timestamp: 1003003000 }
        [1, 2]
        [3]
        later
        to 0: digest { digest_id: $learn_t list_id: 2 data { struct { members { bitstring: "\013\000\000\000\000\003" } members { bitstring: "\001" } } } timestamp: 1009005000 }
        again
        to 0: digest { digest_id: $learn_t list_id: 3 data { struct { members { bitstring: "\013\000\000\000\000\001" } members { bitstring: "\001" } } } timestamp: 1014005000 }
    "#]].assert_eq(&all);
    });
}

fn digest() -> u32 {
    crate::setup::info().digests[0].preamble.as_ref().unwrap().id
}
