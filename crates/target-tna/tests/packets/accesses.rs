//! Accesses to registers.

use super::{Way, both, frames, program, sorted, whole};
use base_time::{Duration, Time};
use device::Switch;
use target_tna::convert;

/// Reads and writes of cells that become actions of registers.
const ACCESSES: &str = "register<bit<32>>(16) counts;
    register<bit<16>>(16) lasts;
    register<bit<32>>(16) sums;
    register<bit<8>>(16) highest;
    bit<16> before;
    bit<16> value;
    bit<16> rv;
    action tally(bit<32> more) {
        bit<32> count;
        counts.read(count, (bit<32>)hdr.first.at & 15);
        count = count |+| more;
        counts.write((bit<32>)hdr.first.at & 15, count);
        meta.mark = count <= 200 ? 8w1 : 7;
    }
    table limits { key = { hdr.first.op : exact; } actions = { tally; NoAction; } default_action = tally(3); }
    apply {
        std.egress_spec = 3;
        limits.apply();
        bit<32> index = (bit<32>)hdr.first.at & 15;
        bit<16> step = hdr.first.value >> 3;
        value = 5;
        rv = hdr.first.value & 9;
        {
            bit<16> cell;
            lasts.read(cell, index);
            if (hdr.first.op > 4 && hdr.next.isValid()) {
                bit<16> more = cell ^ hdr.next.more;
                before = more;
                cell = more + 1;
            } else {
                before = cell;
                if (cell < 0xf000) { cell = cell + step + value - rv; }
            }
            lasts.write(index, cell);
        }
        sums.read(meta.sum, index);
        sums.write(index, meta.sum + (bit<32>)before + (bit<32>)step);
        {
            bit<8> cell;
            highest.read(cell, (bit<32>)hdr.first.op);
            if (hdr.first.at > cell) { cell = hdr.first.at; }
            highest.write((bit<32>)hdr.first.op, cell);
        }
        hdr.first.value = hdr.first.value ^ before ^ meta.sum[15:0];
    }";

/// An access with these statements between the read of `cell` at `index` and its write, and code after it.
fn access(between: &str, after: &str) -> String {
    let access = format!(
        "register<bit<16>>(16) cells; bit<16> other; bit<16> seen;
    apply {{
        std.egress_spec = 3;
        bit<32> index = (bit<32>)hdr.first.at & 15;
        other = hdr.first.value;
        seen = 3;
        bit<16> cell;
        cells.read(cell, index);
        {between}
        cells.write(index, cell);
        {after}
        hdr.first.value = seen ^ other;
    }}"
    );
    whole(&access, "apply { }")
}

/// The converted program, whose packets and cells are those of the original.
fn compared(text: &str, registers: &[&str]) -> String {
    let (converted, mut first, mut second) = both(text);
    let cell = |switch: &Switch, register: &str, at| switch.register_value(register, at).expect("a cell");
    let empty: Vec<_> = registers.iter().map(|register| cell(&first, register, 0)).collect();
    let mut now = Time::ZERO;
    for frame in frames(1500, 6) {
        now += Duration::from_us(3);
        let outputs = [&mut first, &mut second].map(|s| sorted(s.process(1, &frame, now)));
        assert_eq!(outputs[0].len(), 1, "{frame:02x?}");
        assert_eq!(outputs[0], outputs[1], "{frame:02x?}\n{converted}");
    }
    for (register, empty) in registers.iter().zip(empty) {
        let mut used = 0;
        for at in 0..16 {
            let cells = [&first, &second].map(|switch| cell(switch, register, at));
            used += u32::from(cells[0] != empty);
            assert_eq!(cells[0], cells[1], "{register}[{at}]\n{converted}");
        }
        assert!(used > 4, "{register}: {used}");
    }
    converted
}

#[test]
fn a_read_and_a_write_of_one_cell_are_an_action() {
    let names = ["counts", "lasts", "sums", "highest"].map(|name| format!("MyIngress.{name}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let converted = compared(&whole(ACCESSES, "apply { }"), &names);
    assert_eq!(converted.matches(">(counts) ").count(), 1, "{converted}");
    assert_eq!(converted.matches("RegisterAction<").count(), 4, "{converted}");
    assert_eq!(converted.matches(".execute(").count(), 4, "{converted}");
    assert!(!converted.contains(".read(") && !converted.contains(".write("), "{converted}");
}

#[test]
fn accesses_that_no_action_can_do_stay() {
    let is_action = |between: &str, after: &str| {
        let converted = compared(&access(between, after), &["MyIngress.cells"]);
        assert_eq!(converted.contains("RegisterAction<"), !converted.contains("cells.write("), "{converted}");
        converted.contains("RegisterAction<")
    };
    assert!(is_action("seen = cell; cell = cell + 1;", ""));
    assert!(is_action("cell = cell + other;", "seen = cell;"));
    // A variable that goes on, and cells in a variable that is set anew.
    assert!(is_action("bit<16> more = cell + 3; cell = more;", "seen = more;"));
    assert!(is_action("seen = cell; cell = cell + 1;", "cell = 7; other = cell;"));
    assert!(is_action("seen = cell; cell = cell + 1;", "cells.read(cell, index); other = cell;"));
    assert!(!is_action("seen = cell; cell = cell + 1;", "cell = cell + 7; other = cell;"));
    assert!(!is_action("seen = cell; cell = cell + 1;", "if (seen == 0) { cell = 7; } other = cell;"));
    // Two results.
    assert!(!is_action("seen = cell; other = cell + 2; cell = cell + 1;", ""));
    assert!(!is_action("seen = cell; cell = cell + 1;", "other = cell;"));
    // A result on one path only, and one that is read before.
    assert!(!is_action("if (cell > 5) { seen = cell; } cell = cell + 1;", ""));
    assert!(!is_action("other = other + cell; cell = cell + 1;", ""));
    // Another cell is written, a variable goes on beside a result, a part of a variable is set.
    assert!(!is_action("index = (bit<32>)hdr.first.op & 15; cell = cell + 1;", "seen = 5;"));
    assert!(!is_action("bit<16> more = cell + 3; cell = more; other = more;", "seen = more;"));
    assert!(!is_action("seen[3:0] = cell[3:0]; cell = cell + 1;", ""));
}

#[test]
fn a_write_of_another_cell_is_no_action() {
    let other = access("cell = cell + 1;", "").replace("cells.write(index,", "cells.write(index ^ 1,");
    let converted = compared(&other, &["MyIngress.cells"]);
    assert!(!converted.contains("RegisterAction<"), "{converted}");
}

#[test]
fn cells_that_no_tofino_has_are_noted() {
    let registers = |bits: &[u32]| {
        let all: String = bits.iter().map(|bits| format!("register<bit<{bits}>>(4) of{bits}; ")).collect();
        let (program, _) = program(&whole(&format!("{all} apply {{ std.egress_spec = 3; }}"), "apply { }"));
        convert(&program, Way::default()).expect("a program for TNA").notes
    };
    let usual = registers(&[1, 8, 16, 32, 64]);
    let mut odd = registers(&[8, 48]);
    assert_eq!(
        odd.pop().as_deref(),
        Some("a Tofino has cells of 1, 8, 16, 32 and 64 bits: those of `MyIngress.of48` have 48")
    );
    assert_eq!(odd, usual);
}
