// A switch of MAC addresses: who may send, and where frames go.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    bit<1> known;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SwitchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action know() {
        meta.known = 1;
    }

    table sources {
        key = { hdr.ethernet.src: exact; }
        actions = { know; NoAction; }
        default_action = NoAction();
        size = 131072;
    }

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action discard() {
        mark_to_drop(standard);
    }

    table destinations {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; discard; }
        default_action = discard();
        size = 131072;
    }

    apply {
        sources.apply();
        @region("Destinations") {
            destinations.apply();
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(Parse(), Verify(), SwitchIngress(), SwitchEgress(), Compute(), Deparse()) main;
