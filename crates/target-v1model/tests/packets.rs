//! The packets, registers and counters of a converted program are those of the original one.

use crate::sources::{changed, program, rendered, text};
use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use control_writes::{Match, Rate, Rates};
use dataplane_api::Output;
use device::{Options, Session, Switch};
use ir_value::{Header, Value};
use std::sync::Arc;
use target_v1model::{COPIES, Converted, convert};

struct Case {
    name: &'static str,
    text: String,
    /// Opcodes, the first byte of most frames.
    most: u64,
    /// Registers with their cells, and counters.
    registers: &'static [(&'static str, u64)],
    counters: &'static [(&'static str, u64)],
}

/// Registers without cells of entries and without a log.
fn registers() -> String {
    let all = text("tna_registers");
    let start = all.find("    DirectRegister<").expect("a direct register");
    let end = all.find("    bit<8> index").expect("an index");
    let shorter = format!("{}{}", &all[..start], &all[end..]);
    changed(
        &shorter,
        &[
            ("6: { entries.apply(); }", ""),
            ("7: { hdr.data.a = note.execute_log(); }", "7: { hdr.data.a = note.execute(1); }"),
        ],
    )
}

/// The externs that v1model has, too. Random numbers are drawn from other streams.
fn externs() -> String {
    changed(
        &text("tna_externs"),
        &[
            ("Hash<bit<8>>(HashAlgorithm_t.CRC8) crc8;", "Hash<bit<8>>(HashAlgorithm_t.CRC16) crc8;"),
            ("Hash<bit<8>>(HashAlgorithm_t.XOR8) xor8;", "Hash<bit<8>>(HashAlgorithm_t.XOR16) xor8;"),
            ("CRCPolynomial<bit<16>>(0x1021, false, false, false, 0, 0) xmodem;", ""),
            ("(HashAlgorithm_t.CUSTOM, xmodem)", "(HashAlgorithm_t.CRC32)"),
            ("hdr.data.b[7:0] = random.get();", "hdr.data.b[7:0] = random.get(); hdr.data.b = 0;"),
            ("14: { counted.count(index, 5); }", ""),
            ("limit.execute(index = index, color = MeterColor_t.YELLOW)", "limit.execute(index)"),
        ],
    )
}

/// Egress parses nothing, and a bit of the port decides whether packets bypass it.
fn unread() -> String {
    let parser = "parser Nothing(packet_in packet, out headers_t hdr, out meta_t meta, out egress_intrinsic_metadata_t eg) {
        state start { transition accept; } }\ncontrol Ingress(";
    changed(
        &text("tna_profiles"),
        &[
            ("control Ingress(", parser),
            ("PlainEgressParser()", "Nothing()"),
            ("tm.ucast_egress_port = 9;", "tm.ucast_egress_port = 9; tm.bypass_egress = hdr.data.a[0:0];"),
        ],
    )
}

/// Checksums, residuals, counters and port metadata of the parser, with headers of whole bytes.
pub fn parsers() -> String {
    changed(
        &text("tna_parser"),
        &[
            ("    @flexible bit<1> flag;\n", "    bit<7> flag;\n"),
            (
                "if (meta.port.first != 0) {",
                "if (meta.port.first != 0) { hdr.later = {meta.port.second[15:0]};",
            ),
        ],
    )
}

fn cases() -> Vec<Case> {
    let case = |name, text: String, most| Case { name, text, most, registers: &[], counters: &[] };
    let paths = changed(&text("tna_paths"), &[("7w0 ++ eg.egress_rid_first", "8w0")]);
    vec![
        case("tna_paths", paths, 25),
        case("tna_profiles", text("tna_profiles"), 8),
        case("tna_idle", text("tna_idle"), 8),
        // No packet comes to egress; and a parser of egress that leaves the switch's metadata before the frame.
        case(
            "bypassed",
            changed(
                &text("tna_profiles"),
                &[("tm.ucast_egress_port = 9;", "tm.ucast_egress_port = 9; tm.bypass_egress = 1;")],
            ),
            8,
        ),
        case("unread", unread(), 8),
        case("tna_parser", parsers(), 7),
        Case { counters: &[("Ingress.counted", 4)], ..case("tna_externs", externs(), 21) },
        Case {
            registers: &[
                ("Ingress.plain", 4),
                ("Ingress.sums", 4),
                ("Ingress.pairs", 2),
                ("Ingress.step", 1),
                ("Ingress.limits", 1),
            ],
            ..case("tna_registers", registers(), 8)
        },
    ]
}

/// A cell with two numbers of 32 bits: a header of the original program, 64 bits of the converted one.
fn port_metadata(like: Value, first: u32, second: u32) -> Value {
    match like {
        Value::Header(_) => {
            let fields = [first, second].map(|number| Value::Bits(Bits::new(32, number.into())));
            Value::Header(Header { valid: true, fields: fields.into() })
        }
        _ => Value::Bits(Bits::new(64, u128::from(first) << 32 | u128::from(second))),
    }
}

/// Entries for the tables that the programs have.
fn fill(switch: &mut Switch, converted: bool) {
    for group in 1..8 {
        switch.multicast_group_set(group, vec![(4, 1), (5, 3), (7, 9)]);
    }
    switch.clone_session_set(5, Some(Session { port: Some(8), ..Session::default() }));
    switch.clone_session_set(6, Some(Session { port: Some(9), class_of_service: 3, ..Session::default() }));
    switch.clone_session_set(7, Some(Session { group: Some(1), ..Session::default() }));
    if converted {
        switch.clone_session_set(COPIES, Some(Session { port: Some(0), ..Session::default() }));
    }
    for port in [4, 68] {
        if let Ok(like) = switch.register_value("IngressParser.$PORT_METADATA", port) {
            let cell = port_metadata(like, 1, 0xabc0 | port as u32);
            switch.register_set("IngressParser.$PORT_METADATA", port, cell).expect("a cell");
        }
    }
    let slow = Rate { per_gigamicrosecond: 300_000_000, burst: 60 };
    for meter in ["Ingress.limit", "Ingress.named"] {
        for cell in 0..4 {
            switch.meter_set_rates(meter, cell, Rates { committed: slow, peak: slow }).ok();
        }
    }
    for value in 0..8u32 {
        let keys = [Match::Exact(Bits::new(8, u128::from(value)))];
        switch.table_add("Ingress.watched", &keys, "to", &[Bits::new(9, u128::from(value))], None).ok();
        let action = [("to", Bits::new(9, u128::from(value))), ("mark", Bits::new(16, 0xabcd))];
        let (action, data) = &action[value as usize % 2];
        if let Ok(member) = switch.member_add("Ingress.by_profile", action, std::slice::from_ref(data)) {
            switch.table_add_member("Ingress.by_profile", &keys, member, None).expect("an entry");
            let members = [1, 2].map(|port| {
                switch.member_add("Ingress.by_selector", "to", &[Bits::new(9, port)]).expect("a member")
            });
            let group = switch.group_add("Ingress.by_selector", &members).expect("a group");
            switch.table_add_group("Ingress.by_selector", &keys, group, None).expect("an entry");
        }
        let keys = [Match::Exact(Bits::new(32, u128::from(value)))];
        for (table, actions) in [("metered", ["rated", "quiet"]), ("entries", ["hit", "quiet"])] {
            switch.table_add(&format!("Ingress.{table}"), &keys, actions[value as usize % 2], &[], None).ok();
        }
    }
}

/// An opcode, and bytes that are 0 to 7 more often than others.
fn frames(count: usize, most: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let mut frame = |at: usize| {
        let length = rng.between(0, 30);
        let code = rng.between(0, most) as u8;
        let mut byte = |_| if rng.between(0, 3) == 0 { rng.between(0, 255) } else { rng.between(0, 7) } as u8;
        let mut frame: Vec<u8> = (0..length).map(&mut byte).collect();
        frame.first_mut().into_iter().for_each(|first| *first = code);
        if at.is_multiple_of(3) {
            frame.iter_mut().take(7).skip(4).for_each(|byte| *byte = 0);
        }
        frame
    };
    (0..count).map(&mut frame).collect()
}

fn converted(text: &str) -> (Converted, Switch, Switch) {
    let (original, map) = program(text);
    let converted = convert(&original).unwrap_or_else(|found| panic!("{}", rendered(&found, &map)));
    let mut map = base_diag::SourceMap::new();
    let reparsed = compiler::reparse("converted.p4", &converted.text, &mut map)
        .unwrap_or_else(|found| panic!("{}\n{}", converted.text, rendered(&found, &map)));
    let options = || Options { pass_limit: 1000, ..Options::default() };
    let switch = |program: Arc<ir::Program>| ir_interp::switch(program, options()).expect("a device");
    let mut second = switch(reparsed);
    for initial in &converted.initial {
        let number = u128::from_str_radix(initial.value.trim_start_matches("0x"), 16).expect("a number");
        for cell in 0..initial.cells {
            let like = second.register_value(&initial.register, cell).expect("a register");
            let value = ir_value::numbers::unpacked(&like, number);
            second.register_set(&initial.register, cell, value).expect("a cell");
        }
    }
    (converted, switch(original), second)
}

fn sorted(mut outputs: Vec<Output>) -> Vec<Output> {
    outputs.sort();
    outputs
}

#[test]
fn packets_registers_and_counters() {
    for case in cases() {
        let name = case.name;
        let (converted, mut first, mut second) = converted(&case.text);
        if let Some(folder) = std::option_env!("P4RACK_CONVERTED") {
            std::fs::write(format!("{folder}/{name}.p4"), &converted.text).expect("written");
        }
        fill(&mut first, false);
        fill(&mut second, true);
        let mut sent = 0;
        for (number, frame) in frames(1500, case.most).iter().enumerate() {
            let port = [1, 4, 68][number % 3];
            let now = Time::ZERO + Duration::from_us(number as u64);
            let wanted = sorted(first.process(port, frame, now));
            let is = sorted(second.process(port, frame, now));
            assert_eq!(
                is, wanted,
                "{name}: packet {number}, {frame:02x?} on port {port}\n{}",
                converted.text
            );
            sent += wanted.len();
        }
        assert!(sent > 500, "{name}: {sent}");
        for (register, cells) in case.registers {
            for cell in 0..*cells {
                let number = |switch: &Switch| {
                    let value = switch.register_value(register, cell).expect("a register");
                    ir_value::numbers::packed(&value)
                };
                assert_eq!(number(&second), number(&first), "{name}: {register}[{cell}]");
            }
        }
        for (counter, cells) in case.counters {
            for cell in 0..*cells {
                assert_eq!(
                    second.counter_read(counter, cell),
                    first.counter_read(counter, cell),
                    "{name}: {counter}"
                );
            }
        }
        let data = |switch: &mut Switch| {
            switch.take_digests().into_iter().map(|digest| format!("{:?}", digest.data)).collect::<Vec<_>>()
        };
        assert_eq!(data(&mut second), data(&mut first), "{name}: digests");
    }
}
