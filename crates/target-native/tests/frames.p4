// A frame extern in the middle of ingress, regions before and behind it, state and checksums around it.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

@frame_extern("press")
extern Press {
    Press(bit<8> shrink);
    void process(in bit<16> what);
}

header data_t {
    bit<8> op;
    bit<8> trail;
}

struct headers_t {
    data_t    data;
    data_t[2] more;
}

struct meta_t {
#ifdef HEADER_IN_METADATA
    data_t kept;
#endif
    bit<8>  parsed;
    bit<16> set;
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.data);
        meta.parsed = meta.parsed + 1;
        transition select(hdr.data.op) {
            0xf0 &&& 0xf0: more;
            default: accept;
        }
    }
    state more {
        packet.extract(hdr.more.next);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Press(3) press;
    counter<bit<32>>(4, CounterType.packets_and_bytes) seen;
    register<bit<16>, bit<32>>(8) cells;
    bit<8> outer = 5;
    bit<16> cell;
    data_t copy;

    apply {
        bit<8> local = 6;
        copy = hdr.data;
        seen.count(0);
        truncate(32w300);
        sm.egress_spec = 1;
        meta.set = 0x7777;
        hdr.data.trail = hdr.data.trail + 1;
        if (hdr.data.op != 0) {
            @region("Before") {
                hdr.data.trail = hdr.data.trail + 0x10;
                local = local + 1;
                press.process(meta.set + (bit<16>)hdr.data.op);
                hdr.data.trail = hdr.data.trail + 0x20;
            }
            hdr.data.trail = hdr.data.trail + 0x40;
        } else {
            @region("Else") {
                hdr.data.trail = hdr.data.trail + 0x80;
            }
        }
        // What is left of metadata and locals travels in a header of its own.
        seen.count((bit<32>) hdr.data.op[1:0]);
        cells.read(cell, (bit<32>) copy.op[2:0]);
        cells.write((bit<32>) copy.op[2:0], cell + (bit<16>) copy.trail);
        hdr.more[1].setValid();
        hdr.more[1].op = outer + local;
        hdr.more[1].trail = meta.parsed + meta.set[7:0];
        sm.egress_spec = (PortId_t)sm.packet_length[7:0];
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control C(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
