// A program whose ingress is the example: an `apply` with what it declares before it.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst_addr; bit<48> src_addr; bit<16> type; }
header ipv4_t { bit<64> start; bit<16> ttl_and_protocol; bit<16> checksum; bit<32> src_addr; bit<32> dst_addr; }
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata_t { bit<32> count; bit<2> colour; tuple<bit<8>, bit<8>> pair; }

extern void my_function(in bit<32> data);
@frame_extern("beacon") extern Beacon { Beacon(bit<32> every, bit<48> idle_us); void process(); }

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 { packet.extract(hdr.ipv4); transition accept; }
}

control MyChecksum(inout headers_t hdr, inout metadata_t meta) { apply {} }

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<32>>(8) seen;
    register<bit<32>>(8) first;
    register<bit<32>>(8) second;
    meter(8, MeterType.packets) limit;
    Beacon(4, 100) sampler;
    bit<32> count = meta.count;
    bit<32> denied = 0;
    bit<2> colour = meta.colour;
    action drop() { mark_to_drop(std); }
    action forward(bit<9> port) { std.egress_spec = port; }
    table acl { key = { std.ingress_port: exact; } actions = { drop; forward; } default_action = drop(); }
    table nat { key = { std.ingress_port: exact; } actions = { drop; forward; } default_action = drop(); }
    table marks { key = { std.ingress_port: exact; } actions = { drop; forward; } default_action = drop(); }
    // EXAMPLE
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply {} }

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); }
}

V1Switch(MyParser(), MyChecksum(), MyIngress(), MyEgress(), MyChecksum(), MyDeparser()) main;
