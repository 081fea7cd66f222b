// Parts that the programs of this folder have in common.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t { bit<8> ttl; bit<8> protocol; bit<32> src; bit<32> dst; }
header options_t { bit<8> length; varbit<64> data; }
header ports_t { bit<16> src; bit<16> dst; }
header label_t { bit<20> value; bit<4> last; }
struct headers {
    ethernet_t ethernet; label_t[2] labels; ipv4_t ipv4; options_t options; ports_t tcp; ports_t udp;
}
struct metadata {
    bit<32> a; bit<32> b; bit<16> src_port; bit<16> dst_port; bit<19> depth; bit<48> time;
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x800: ipv4; 0x801: options; 0x8847: label; default: accept; }
    }
    state label {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.last) { 0: label; default: ipv4; }
    }
    state options {
        packet.extract(hdr.options, 64);
        transition ipv4;
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) { 6: tcp; 17: udp; default: accept; }
    }
    state tcp {
        packet.extract(hdr.tcp);
        meta.src_port = hdr.tcp.src;
        meta.dst_port = hdr.tcp.dst;
        transition accept;
    }
    state udp {
        packet.extract(hdr.udp);
        meta.src_port = hdr.udp.src;
        meta.dst_port = hdr.udp.dst;
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr); } }
#define INGRESS control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std)
#define EGRESS control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std)
#define NO_EGRESS EGRESS { apply { } }
#define SWITCH V1Switch(P(), V(), I(), E(), V(), D()) main;
