// A switch for TNA that counts flows: an access list in TCAM, exact routes, a register by hash of the flow.
//
//   p4rack fit examples/fit/flows.p4
//   p4rack fit examples/fit/flows.p4 --device tofino2 --html stages.html

#include <core.p4>
#include <tna.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }

header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> dscp; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> src; bit<32> dst;
}

header ports_t { bit<16> src; bit<16> dst; }

struct headers_t { ethernet_t ethernet; ipv4_t ipv4; ports_t ports; }
struct metadata_t { bit<16> next_hop; bit<16> packets; }
struct no_headers_t { }
struct no_metadata_t { }

parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        meta.next_hop = 0;
        meta.packets = 0;
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            6: ports;
            17: ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control Ingress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig,
        in ingress_intrinsic_metadata_from_parser_t from_parser,
        inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
        inout ingress_intrinsic_metadata_for_tm_t to_manager) {
    Register<bit<16>, bit<16>>(65536) flows;
    RegisterAction<bit<16>, bit<16>, bit<16>>(flows) count = {
        void apply(inout bit<16> value, out bit<16> result) {
            value = value |+| 1;
            result = value;
        }
    };
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash;

    action deny() { to_deparser.drop_ctl = 1; }
    action permit() { }

    table acl {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.dst: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.ports.src: ternary;
            hdr.ports.dst: ternary;
        }
        actions = { permit; deny; }
        default_action = permit();
        size = 2048;
    }

    action route(bit<16> next_hop) {
        meta.next_hop = next_hop;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { route; deny; }
        default_action = deny();
        size = 16384;
    }

    action forward(PortId_t port, bit<48> src, bit<48> dst) {
        to_manager.ucast_egress_port = port;
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { forward; deny; }
        default_action = deny();
        size = 4096;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            bit<16> cell = hash.get({ hdr.ipv4.src, hdr.ipv4.dst, hdr.ports.src, hdr.ports.dst });
            meta.packets = count.execute(cell);
            hdr.ipv4.id = meta.packets;
            acl.apply();
            routes.apply();
            next_hops.apply();
        }
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
        in ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply { packet.emit(hdr); }
}

parser EgressParser(packet_in packet, out no_headers_t hdr, out no_metadata_t meta, out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        transition accept;
    }
}

control Egress(inout no_headers_t hdr, inout no_metadata_t meta, in egress_intrinsic_metadata_t eg,
        in egress_intrinsic_metadata_from_parser_t from_parser,
        inout egress_intrinsic_metadata_for_deparser_t to_deparser,
        inout egress_intrinsic_metadata_for_output_port_t to_port) {
    apply { }
}

control EgressDeparser(packet_out packet, inout no_headers_t hdr, in no_metadata_t meta,
        in egress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply { }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
