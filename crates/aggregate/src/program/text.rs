//! The text of a program, a file for each part.

mod headers;
mod ingress;
mod lanes;
mod tail;

pub(super) use headers::{NETWORK, folded_kinds};

use super::Program;
use crate::packet::{Kind, MOST_ROWS, VERSION, format as format_number};
use std::fmt::Write as _;

/// Parser: from Ethernet's header to IPv4's.
pub(super) const SELECT_IPV4: &str = "        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }";

/// Parser: from UDP's header to AGG's.
pub(super) const PARSE_UDP: &str = "    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            AGG_PORT: parse_agg;
            default: accept;
        }
    }";

/// Addresses and ports of sender and receiver change places.
pub(super) const EXCHANGE: &str = "        mac_t mac = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
        hdr.ethernet.src_addr = mac;
        ipv4_t address = hdr.ipv4.dst_addr;
        hdr.ipv4.dst_addr = hdr.ipv4.src_addr;
        hdr.ipv4.src_addr = address;
        bit<16> port = hdr.udp.dst_port;
        hdr.udp.dst_port = hdr.udp.src_port;
        hdr.udp.src_port = port;";

/// The whole source.
pub(super) fn source(program: &Program) -> String {
    let parts = [
        head(program),
        headers::headers(program),
        headers::parser(program),
        lanes::controls(program),
        ingress::ingress(program),
        tail::tail(program),
    ];
    parts.join("\n")
}

pub(super) fn lanes(program: &Program) -> std::ops::Range<u8> {
    0..program.layout.lanes
}

/// A line for each lane.
pub(super) fn each(program: &Program, line: impl Fn(u8) -> String) -> String {
    lanes(program).map(|lane| line(lane) + "\n").collect()
}

fn head(program: &Program) -> String {
    format!(
        "{}#include <core.p4>\n#define V1MODEL_VERSION 20200408\n#include <v1model.p4>\n\n{}{}\
         // Clone session of the copies of requests; its port may be any.\nconst bit<32> COPIES = {};\n\
         // Limit on the rows of a READ or CLEAR; UDP length up to which a packet has room for another row.\nconst bit<32> MOST_ROWS = {MOST_ROWS};\nconst bit<16> MOST_LENGTH = {};\n\
         // Packets in a queue from which on packets are marked (ECN).\nconst bit<19> MARK_AT = {};\n\n\
         // What the lanes do with a packet.\nconst bit<2> NOTHING = 0;\nconst bit<2> FOLD = 1;\nconst bit<2> FETCH = 2;\nconst bit<2> EMPTY = 3;\n",
        title(program),
        numbers(program),
        sizes(program),
        Program::COPIES,
        most_length(program),
        program.mark_at,
    )
}

/// The first lines.
pub(super) fn title(program: &Program) -> String {
    let operators: Vec<&str> = program.operators.iter().map(|op| op.word()).collect();
    format!(
        "// Key-value pairs reduced on their path: {} lanes, {} slots a lane, {} channels, {}.\n\
         // Written by p4rack.\n\n",
        program.layout.lanes,
        program.slots(),
        program.channels,
        operators.join(", "),
    )
}

/// Numbers in packets.
pub(super) fn numbers(program: &Program) -> String {
    let mut text = format!(
        "const bit<16> TYPE_IPV4 = 0x0800;\nconst bit<8>  PROTO_UDP = 17;\nconst bit<16> AGG_PORT = {};\n\
         const bit<4>  VERSION = {VERSION};\nconst bit<4>  FORMAT = {};\n\n",
        program.port,
        format_number(&program.layout),
    );
    for kind in Kind::ALL {
        let name = format!("{kind:?}").to_uppercase();
        let _ = writeln!(text, "const bit<4>  {name} = {};", kind as u8);
    }
    for op in &program.operators {
        let _ = writeln!(text, "const bit<4>  {} = {};", op.word().to_uppercase(), *op as u8);
    }
    text
}

/// Sizes of registers.
pub(super) fn sizes(program: &Program) -> String {
    format!(
        "\n// Slots of each lane, in two banks for each job; rows of a bank.\nconst bit<32> SLOTS = {};\nconst bit<32> ROWS = {};\n\
         // Packets that are remembered, and packets of each channel among them.\nconst bit<32> CELLS = {};\nconst bit<32> WINDOW = {};\n\
         const bit<32> BANKS = {};\n",
        program.slots(),
        program.layout.rows(),
        program.cells(),
        program.layout.window,
        2 * program.jobs,
    )
}

/// UDP length up to which a packet has room for another row.
pub(super) fn most_length(program: &Program) -> usize {
    let layout = &program.layout;
    8 + program.most_bytes() - layout.block_bytes() - layout.row_bytes()
}
