// Numbers the packets of type 0x1234, and sends what comes by one port to another.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header stamp_t {
    bit<32> sent;
    bit<32> number;
}

struct headers_t {
    ethernet_t ethernet;
    stamp_t    stamp;
}

struct meta_t {}

parser CountParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x1234: stamp;
            default: accept;
        }
    }
    state stamp {
        packet.extract(hdr.stamp);
        transition accept;
    }
}

control CountVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control CountIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(1) seen;
    action to(bit<9> port) {
        sm.egress_spec = port;
    }
    action drop() {
        mark_to_drop(sm);
    }
    table ports {
        key = {
            sm.ingress_port: exact;
        }
        actions = {
            to;
            drop;
        }
        default_action = drop();
    }
    apply {
        @region("Number") {
            if (hdr.stamp.isValid()) {
                bit<32> number;
                seen.read(number, 0);
                number = number + 1;
                seen.write(0, number);
                hdr.stamp.number = number;
            }
        }
        @region("Ports") {
            ports.apply();
        }
    }
}

control CountEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {}
}

control CountCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control CountDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.stamp);
    }
}

V1Switch(CountParser(), CountVerify(), CountIngress(), CountEgress(), CountCompute(), CountDeparser()) main;
