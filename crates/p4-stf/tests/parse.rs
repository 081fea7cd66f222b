//! Every statement of STF, and errors for lines that are none.

use base_diag::{SourceMap, Span, Style, render};
use expect_test::{Expect, expect};
use p4_stf::{Base, Number, Pattern, Statement, parse};

/// Checks the statements of a test file, one a line, and its errors.
fn check(text: &str, expect: Expect) {
    let mut map = SourceMap::new();
    let file = map.add_file("t.stf", text, Span::NONE).expect("room");
    let (parsed, problems) = parse(text, map.file(file).expect("a file").base());
    let mut seen = String::new();
    for statement in &parsed.statements {
        let source = map.text(statement.span);
        seen.push_str(&format!("{} <- {source}\n", short(&format!("{:?}", statement.kind))));
    }
    for problem in &problems {
        seen.push_str(&render(problem, &map, Style::Plain));
    }
    expect.assert_eq(&seen);
}

/// Without spans, and names and numbers as they read.
fn short(debug: &str) -> String {
    let mut out = String::new();
    let mut rest = debug;
    while let Some(at) = rest.find(", span: ") {
        out.push_str(&rest[..at]);
        rest = &rest[at + 8..];
        rest = &rest[rest.find(' ').unwrap_or(0)..];
    }
    (out + rest).replace("Named { text: ", "").replace(" }", "")
}

#[test]
fn packets_and_expectations() {
    check(
        "packet 0 00 0a0B\n  PACKET 12\nexpect 3 00*f 1\nexpect 3 00 $\nexpect 3 $\nexpect 3\n\n# nothing\n",
        expect![[r#"
            Packet { port: 0, data: [0, 10, 11] <- packet 0 00 0a0B
            Packet { port: 12, data: [] <- PACKET 12
            Expect { port: 3, data: Some(Pattern { nibbles: [Some(0), Some(0), None, Some(15), Some(1)], exact: false) <- expect 3 00*f 1
            Expect { port: 3, data: Some(Pattern { nibbles: [Some(0), Some(0)], exact: true) <- expect 3 00 $
            Expect { port: 3, data: Some(Pattern { nibbles: [], exact: true) <- expect 3 $
            Expect { port: 3, data: None <- expect 3
        "#]],
    );
}

#[test]
fn bad_packets() {
    check(
        "packet x 00\npacket 1 0\npacket 1 0*\npacket 1 00 # no comments here\nexpect 1 $ 00\npacket 99999999999 00\n",
        expect![[r#"
            error[P4R0420]: expected a port
             --> t.stf:1:8
              |
            1 | packet x 00
              |        ^ a number such as `1`
            error[P4R0420]: half a byte too much
             --> t.stf:2:9
              |
            2 | packet 1 0
              |         ^^ an odd number of digits
            error[P4R0420]: the whole packet is known
             --> t.stf:3:9
              |
            3 | packet 1 0*
              |         ^^^ `*` and `$` are for `expect`
            error[P4R0420]: packets are hexadecimal digits
             --> t.stf:4:13
              |
            4 | packet 1 00 # no comments here
              |             ^ neither a digit nor `*` nor `$`
            error[P4R0420]: packets are hexadecimal digits
             --> t.stf:5:12
              |
            5 | expect 1 $ 00
              |            ^ nothing may follow `$`
            error[P4R0420]: this port is too large
             --> t.stf:6:8
              |
            6 | packet 99999999999 00
              |        ^^^^^^^^^^^ at most 32 bits
        "#]],
    );
}

#[test]
fn entries() {
    check(
        "add ingress.t 10 hdr.h[0].f:0x1* \"a key\":0b01 k:10/8 do.it(a:1, b:0xff) = first # why\n\
         Add t a:1 NoAction()\nsetdefault t a(x:1)\nremove all\nwait\nno_packet\n",
        expect![[r#"
            Add { table: "ingress.t", priority: Some(10), keys: [KeyValue { key: "hdr.h[0].f", value: Number(Number { base: Hexadecimal, digits: [Some(1), None]), KeyValue { key: "a key", value: Number(Number { base: Binary, digits: [Some(0), Some(1)]), KeyValue { key: "k", value: Prefix(Number { base: Decimal, digits: [Some(1), Some(0)], 8)], action: ActionCall { name: "do.it", args: [("a", Number { base: Decimal, digits: [Some(1)]), ("b", Number { base: Hexadecimal, digits: [Some(15), Some(15)])], entry: Some("first") <- add ingress.t 10 hdr.h[0].f:0x1* "a key":0b01 k:10/8 do.it(a:1, b:0xff) = first # why
            Add { table: "t", priority: None, keys: [KeyValue { key: "a", value: Number(Number { base: Decimal, digits: [Some(1)])], action: ActionCall { name: "NoAction", args: [], entry: None <- Add t a:1 NoAction()
            SetDefault { table: "t", action: ActionCall { name: "a", args: [("x", Number { base: Decimal, digits: [Some(1)])] <- setdefault t a(x:1)
            RemoveAll <- remove all
            Wait <- wait
            NoPacket <- no_packet
        "#]],
    );
}

#[test]
fn bad_entries() {
    check(
        "add\nadd t a:1\nadd t a:x b()\nadd t a:1 b(x:1\nadd t a:1 b(x:0x*)\nremove some\nad t a:1 b()\n\
         wait 1\nadd t a:1 b() ?\n42\n",
        expect![[r#"
            error[P4R0420]: expected a name
             --> t.stf:1:4
              |
            1 | add
              |    ^ names are letters, digits, `_`, `$`, `.`
            error[P4R0420]: expected a name
             --> t.stf:2:10
              |
            2 | add t a:1
              |          ^ names are letters, digits, `_`, `$`, `.`
            error[P4R0420]: expected a number
             --> t.stf:3:9
              |
            3 | add t a:x b()
              |         ^ such as `12`, `0x1f`, `0b1*0`
            error[P4R0420]: expected `)`
             --> t.stf:4:16
              |
            4 | add t a:1 b(x:1
              |                ^ here
            error[P4R0420]: this number must be closed
             --> t.stf:5:15
              |
            5 | add t a:1 b(x:0x*)
              |               ^^^ `*` is for keys
            error[P4R0420]: only all entries can be removed
             --> t.stf:6:8
              |
            6 | remove some
              |        ^^^^ write `remove all`
            error[P4R0420]: unknown statement
             --> t.stf:7:1
              |
            7 | ad t a:1 b()
              | ^^ a line begins with one of STF's words
              |
              = help: a comment begins with `#`
            error[P4R0420]: the line should end here
             --> t.stf:8:6
              |
            8 | wait 1
              |      ^ nothing more belongs to this statement
            error[P4R0420]: this character is not allowed here
             --> t.stf:9:15
              |
            9 | add t a:1 b() ?
              |               ^ `?`
            error[P4R0420]: unknown statement
              --> t.stf:10:1
               |
            10 | 42
               | ^^ a line begins with one of STF's words
               |
               = help: a comment begins with `#`
        "#]],
    );
}

#[test]
fn objects() {
    check(
        "check_counter c(3)\ncheck_counter c($e) packets >= 7\ncheck_counter i.c(e) bytes != 1\n\
         counter_read c 1\ncounter_write c 1 2 3\nregister_read i.r 4\nregister_write r 4 0xff\nregister_reset r\n\
         meter_get_rates m 1\nmeter_set_rates m 1 0.000005:4 2:5\nmeter_array_set_rates m 1:1 1.5:2\n\
         mirroring_add 1 2\nmirroring_add_mc 1 2\nmirroring_delete 1\nmirroring_get 1\n\
         mc_mgrp_create 1\nmc_node_create 257 8 9\nmc_node_update 0 1\nmc_node_associate 1 0\n\
         mc_node_create 1\nmc_node_create 1 2 | 3 4\nmc_node_update 0 |\nmc_set_lag_membership 3 5 6\n\
         mc_node_dissociate 1 0\nmc_node_destroy 0\nmc_mgrp_destroy 1\n",
        expect![[r#"
            CheckCounter(CounterCheck { name: "c", index: Number(3), check: None) <- check_counter c(3)
            CheckCounter(CounterCheck { name: "c", index: Entry("e"), check: Some((Packets, Ge, 7))) <- check_counter c($e) packets >= 7
            CheckCounter(CounterCheck { name: "i.c", index: Entry("e"), check: Some((Bytes, Ne, 1))) <- check_counter i.c(e) bytes != 1
            CounterRead("c", 1) <- counter_read c 1
            CounterWrite("c", 1, 2, 3) <- counter_write c 1 2 3
            RegisterRead("i.r", 4) <- register_read i.r 4
            RegisterWrite("r", 4, Number { base: Hexadecimal, digits: [Some(15), Some(15)]) <- register_write r 4 0xff
            RegisterReset("r") <- register_reset r
            MeterGetRates("m", 1) <- meter_get_rates m 1
            MeterSetRates("m", 1, [Rate { per_gigamicrosecond: 5000, burst: 4, Rate { per_gigamicrosecond: 2000000000, burst: 5]) <- meter_set_rates m 1 0.000005:4 2:5
            MeterArraySetRates("m", [Rate { per_gigamicrosecond: 1000000000, burst: 1, Rate { per_gigamicrosecond: 1500000000, burst: 2]) <- meter_array_set_rates m 1:1 1.5:2
            MirroringAdd(1, 2) <- mirroring_add 1 2
            MirroringAddMc(1, 2) <- mirroring_add_mc 1 2
            MirroringDelete(1) <- mirroring_delete 1
            MirroringGet(1) <- mirroring_get 1
            GroupCreate(1) <- mc_mgrp_create 1
            NodeCreate(257, NodePorts { ports: [8, 9], lags: []) <- mc_node_create 257 8 9
            NodeUpdate(0, NodePorts { ports: [1], lags: []) <- mc_node_update 0 1
            NodeAssociate(1, 0) <- mc_node_associate 1 0
            NodeCreate(1, NodePorts { ports: [], lags: []) <- mc_node_create 1
            NodeCreate(1, NodePorts { ports: [2], lags: [3, 4]) <- mc_node_create 1 2 | 3 4
            NodeUpdate(0, NodePorts { ports: [], lags: []) <- mc_node_update 0 |
            LagSet(3, [5, 6]) <- mc_set_lag_membership 3 5 6
            NodeDissociate(1, 0) <- mc_node_dissociate 1 0
            NodeDestroy(0) <- mc_node_destroy 0
            GroupDestroy(1) <- mc_mgrp_destroy 1
        "#]],
    );
}

#[test]
fn bad_objects() {
    check(
        "check_counter c\ncheck_counter c(1) frames == 1\ncheck_counter c(1) packets 1\ncounter_read c\n\
         meter_set_rates m 1\nmeter_set_rates m 1 1.x:3\nmirroring_add 1 4294967296\nmc_node_create\n\
         mc_node_create 1 2 2\nmc_node_create 1 2 | 3 3\nmc_node_update 1\nmc_set_lag_membership 1\n",
        expect![[r#"
            error[P4R0420]: expected `(`
             --> t.stf:1:16
              |
            1 | check_counter c
              |                ^ here
            error[P4R0420]: expected a unit
             --> t.stf:2:20
              |
            2 | check_counter c(1) frames == 1
              |                    ^^^^^^ `packets` or `bytes`
            error[P4R0420]: expected a comparison
             --> t.stf:3:28
              |
            3 | check_counter c(1) packets 1
              |                            ^ `==`, `!=`, `<`, `<=`, `>` or `>=`
            error[P4R0420]: expected a number
             --> t.stf:4:15
              |
            4 | counter_read c
              |               ^ such as `12`, `0x1f`, `0b1*0`
            error[P4R0420]: expected a rate
             --> t.stf:5:20
              |
            5 | meter_set_rates m 1
              |                    ^ such as `0.5:100`
            error[P4R0420]: expected digits
             --> t.stf:6:23
              |
            6 | meter_set_rates m 1 1.x:3
              |                       ^ after the point
            error[P4R0420]: this number is too large
             --> t.stf:7:17
              |
            7 | mirroring_add 1 4294967296
              |                 ^^^^^^^^^^ at most 32 bits
            error[P4R0420]: expected a number
             --> t.stf:8:15
              |
            8 | mc_node_create
              |               ^ such as `12`, `0x1f`, `0b1*0`
            error[P4R0420]: a port occurs twice
             --> t.stf:9:20
              |
            9 | mc_node_create 1 2 2
              |                    ^ a node has each once
            error[P4R0420]: a LAG occurs twice
              --> t.stf:10:24
               |
            10 | mc_node_create 1 2 | 3 3
               |                        ^ a node has each once
            error[P4R0420]: expected ports
              --> t.stf:11:17
               |
            11 | mc_node_update 1
               |                 ^ or `|` alone, for a node without ports
            error[P4R0420]: expected ports
              --> t.stf:12:24
               |
            12 | mc_set_lag_membership 1
               |                        ^ such as `1 2`
        "#]],
    );
}

#[test]
fn a_pattern_says_where_a_frame_differs() {
    let pattern = |text: &str| {
        let (file, _) = parse(&format!("expect 0 {text}"), 1);
        match &file.statements[0].kind {
            Statement::Expect { data: Some(pattern), .. } => pattern.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(pattern("12*4").mismatch(&[0x12, 0x34]), None);
    assert_eq!(pattern("12*4").mismatch(&[0x12, 0x34, 0x56]), None);
    assert_eq!(pattern("12*4$").mismatch(&[0x12, 0x34, 0x56]), Some(4));
    assert_eq!(pattern("12*4").mismatch(&[0x12, 0x35]), Some(3));
    assert_eq!(pattern("12*4").mismatch(&[0x12]), Some(2));
    assert_eq!(Pattern { nibbles: vec![], exact: true }.mismatch(&[]), None);
}

#[test]
fn numbers_know_their_open_digits() {
    let number = |text: &str| Number::parse(text).expect(text);
    assert_eq!(number("0x0a*0").base, Base::Hexadecimal);
    assert_eq!(number("0x0a*0").value(), 0x0a00u32.into());
    assert_eq!(number("0x0a*0").mask(), Some(0xff0fu32.into()));
    assert_eq!(number("0b1*").mask(), Some(2u32.into()));
    assert_eq!(number("0b1*").prefix_len(), Some(1));
    assert_eq!(number("0x0a**").prefix_len(), Some(8));
    assert_eq!(number("0x0a*0").prefix_len(), None);
    assert_eq!((number("10").mask(), number("10").prefix_len()), (None, None));
    assert_eq!(number("0x1ff").bits(8), None);
    assert_eq!(number("0o17").to_u64(), Some(15));
    for bad in ["", "0x", "1*", "0b2", "12a", "é"] {
        assert_eq!(Number::parse(bad), None, "{bad}");
    }
}
