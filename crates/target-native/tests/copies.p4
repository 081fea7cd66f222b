// Packets that are copied and sent around, as their first byte says.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header first_t { bit<8> what; bit<8> rounds; bit<8> seen; bit<16> length; }
header more_t  { bit<8> value; }

struct headers_t { first_t first; more_t[2] more; }
struct metadata_t { @field_list(1) bit<8> rounds; @field_list(2) bit<8> kept; bit<8> lost; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.first);
        meta.lost = meta.rounds;
        transition select(hdr.first.what) {
            0 &&& 1: more;
            default: accept;
        }
    }
    state more { packet.extract(hdr.more.next); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) {
    apply { verify_checksum(hdr.first.what == 0x7f, { hdr.first.rounds }, hdr.first.length, HashAlgorithm.csum16); }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<16>, bit<32>>(4) passes;
    counter<bit<8>>(8, CounterType.packets_and_bytes) kinds;
    bit<16> count;
    apply {
        kinds.count((bit<8>)standard.instance_type);
        passes.read(count, (bit<32>)meta.rounds & 3);
        passes.write((bit<32>)meta.rounds & 3, count + 1);
        meta.kept = hdr.first.seen;
        meta.rounds = meta.rounds + 1;
        hdr.first.rounds = hdr.first.rounds + 16;
        standard.egress_spec = 9w2;
        standard.priority = (bit<3>)meta.rounds;
        if (hdr.first.what[0:0] == 1) { hdr.more.push_front(1); hdr.more[0].setValid(); hdr.more[0].value = (bit<8>)count; }
        if (hdr.first.what[1:1] == 1) { clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.first.seen & 7, 1); }
        if (hdr.first.what[2:2] == 1 && meta.rounds < 3) { resubmit_preserving_field_list(1); }
        if (hdr.first.what[3:3] == 1) { standard.mcast_grp = (bit<16>)hdr.first.seen & 3; }
        if (hdr.first.what == 0xff) { resubmit_preserving_field_list(2); }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<16>, bit<32>>(4) leaves;
    counter<bit<16>>(8, CounterType.packets_and_bytes) copies;
    bit<16> count;
    apply {
        copies.count(standard.egress_rid & 7);
        leaves.read(count, (bit<32>)standard.instance_type & 3);
        leaves.write((bit<32>)standard.instance_type & 3, count + 1);
        hdr.first.seen = hdr.first.seen ^ (bit<8>)count ^ meta.lost;
        hdr.first.length = (bit<16>)standard.packet_length;
        if (hdr.first.what[4:4] == 1 && standard.instance_type == 0) { clone_preserving_field_list(CloneType.E2E, 2, 1); }
        if (hdr.first.what[5:5] == 1 && meta.rounds < 4) { recirculate_preserving_field_list(1); meta.rounds = meta.rounds + 1; }
        if (hdr.first.what[6:6] == 1) { truncate(4); }
        if (hdr.first.what[7:7] == 1 && standard.egress_rid == 3) { mark_to_drop(standard); }
        if (hdr.first.what == 0xfe) { recirculate_preserving_field_list(2); }
        for (bit<8> i = 0; i < (hdr.first.rounds & 3); i = i + 1) { hdr.first.length = hdr.first.length + 1; }
    }
}

control C(inout headers_t hdr, inout metadata_t meta) {
    apply { meta.rounds = meta.rounds + (bit<8>)hdr.first.what[7:7]; update_checksum(hdr.first.what[7:7] == 1, { hdr.first.seen }, hdr.first.length, HashAlgorithm.csum16); }
}

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
