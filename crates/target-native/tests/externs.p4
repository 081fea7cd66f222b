// Externs that compiled code calls the runtime for; counters and meters count what the metadata says.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header first_t { bit<8> key; bit<8> select_by; bit<8> cell; bit<8> length; bit<128> wide; }

struct headers_t { first_t first; }
struct metadata_t { @counted_length bit<16> length; bit<4> colour; bit<4> direct; bit<128> drawn; }
struct seen_t { bit<8> key; bool odd; metadata_t meta; first_t first; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.first); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    meter<bit<32>>(4, MeterType.bytes) rates;
    direct_meter<bit<4>>(MeterType.bytes) by_entry;
    direct_counter(CounterType.packets_and_bytes) by_member;
    counter<bit<32>>(4, CounterType.packets_and_bytes) sizes;
    action_selector(HashAlgorithm.crc16, 16, 8) paths;
    action_profile(16) members;

    action send(bit<9> port) { standard.egress_spec = port; }
    action mark(bit<8> value) { hdr.first.key = value; }
    action metered() { by_entry.read(meta.direct); }
    action drop() { mark_to_drop(standard); }

    table meters {
        key = { hdr.first.key: exact; }
        actions = { metered; NoAction; }
        meters = by_entry;
        default_action = NoAction();
    }

    table groups {
        key = { hdr.first.key: ternary; hdr.first.select_by: selector; hdr.first.wide: selector; }
        actions = { send; drop; }
        implementation = paths;
        counters = by_member;
        default_action = send(9);
        size = 16;
    }

    table marks {
        key = { hdr.first.key: exact; }
        actions = { mark; NoAction; }
        implementation = members;
        default_action = NoAction();
    }

    apply {
        meta.length = (bit<16>)hdr.first.length;
        sizes.count((bit<32>)hdr.first.cell);
        rates.execute_meter((bit<32>)hdr.first.cell, meta.colour);
        meters.apply();
        // After a miss the colour is left alone.
        by_entry.read(meta.direct);
        if (groups.apply().hit) { hdr.first.length = 1; }
        marks.apply();
        random(meta.drawn, (bit<128>)hdr.first.cell, hdr.first.wide);
        random(hdr.first.cell, hdr.first.select_by, 200);
        log_msg("a packet");
        log_msg("{} of {} and {}", { hdr.first.key, meta.colour, meta.drawn });
        if (hdr.first.key[0:0] == 1) {
            digest<seen_t>(1, { hdr.first.key, hdr.first.key == 7, meta, hdr.first });
        } else {
            digest<metadata_t>(1, meta);
        }
        hdr.first.wide = meta.drawn;
        hdr.first.select_by = meta.colour ++ meta.direct;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter<bit<32>>(4, CounterType.bytes) sizes;
    apply {
        sizes.count(0);
        meta.length = 7;
        sizes.count(1);
    }
}

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
