#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<96> first;
    bit<32> src_addr;
    bit<32> dst_addr;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t { }

parser LargeParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control LargeVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control LargeIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action forward(bit<9> port) {
        std.egress_spec = port;
    }

    action rewrite(bit<48> address) {
        hdr.ethernet.dst_addr = address;
    }

    action drop() {
        mark_to_drop(std);
    }

    table stations {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 1048576;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { rewrite; NoAction; }
        default_action = NoAction();
        size = 131072;
    }

    apply {
        stations.apply();
        routes.apply();
    }
}

control LargeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control LargeCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control LargeDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(LargeParser(), LargeVerify(), LargeIngress(), LargeEgress(), LargeCompute(), LargeDeparser()) main;
