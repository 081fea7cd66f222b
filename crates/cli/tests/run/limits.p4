// What entries have beside their action: timeouts and meters of their own.
#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> flow;
    bit<8> colour;
}

struct headers_t {
    data_t data;
}

struct meta_t { }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control N(inout headers_t hdr, inout meta_t meta) { apply { } }

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    meter(4, MeterType.packets) ports;
    direct_meter<bit<8>>(MeterType.bytes) rate;
    direct_counter(CounterType.packets) hits;

    action forward(bit<9> port) {
        sm.egress_spec = port;
        rate.read(hdr.data.colour);
    }
    table flows {
        key = { hdr.data.flow: exact; }
        actions = { forward; NoAction; }
        default_action = NoAction();
        meters = rate;
        counters = hits;
        support_timeout = true;
    }
    apply {
        bit<8> colour;
        ports.execute_meter((bit<32>)sm.ingress_port, colour);
        if (colour == 2) {
            mark_to_drop(sm);
        } else {
            flows.apply();
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), N(), I(), E(), N(), D()) main;
