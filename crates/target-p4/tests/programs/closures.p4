#include <core.p4>
#include <tna.p4>

header h_t {
    bit<8> a;
    bit<8> b;
    bit<32> c;
}

header tag_t {
    bit<16> id;
}

struct headers_t {
    h_t h;
    tag_t[2] tags;
}

struct metadata_t {
    bit<32> x;
}

struct pair_t {
    bit<32> first;
    bit<32> second;
}

parser IP(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.h);
        transition accept;
    }
}

control I(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig,
          in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
          inout ingress_intrinsic_metadata_for_tm_t tm) {
    bit<32> local = 3;
    Register<bit<32>, bit<8>>(256) counts;
    Register<pair_t, bit<8>>(256) pairs;

    // Fields of a header, metadata and a local variable; one value is read twice, and is one parameter.
    RegisterAction<bit<32>, bit<8>, bit<32>>(counts) sum = {
        void apply(inout bit<32> value, out bit<32> result) {
            if (value < hdr.h.c) {
                value = value + meta.x;
            } else {
                value = hdr.h.c - local;
            }
            result = value;
        }
    };

    // Without a result; whether a header is valid, a slice, and an element of a stack.
    RegisterAction<pair_t, bit<8>, bit<32>>(pairs) note = {
        void apply(inout pair_t value) {
            if (hdr.tags[1].isValid()) {
                value.first = (bit<32>)hdr.tags[0].id;
            }
            value.second = (bit<32>)meta.x[15:0];
        }
    };

    action add(bit<8> at) {
        meta.x = sum.execute(at);
    }
    table t {
        key = { hdr.h.a : exact; }
        actions = { add; }
    }

    apply {
        local = 5;
        t.apply();
        note.execute(hdr.h.b);
        tm.ucast_egress_port = 5;
    }
}

control ID(packet_out packet, inout headers_t hdr, in metadata_t meta,
           in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr); }
}

parser EP(packet_in packet, out headers_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        transition accept;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, in egress_intrinsic_metadata_t eg,
          in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
          inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply { }
}

control ED(packet_out packet, inout headers_t hdr, in metadata_t meta,
           in egress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr); }
}

Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
