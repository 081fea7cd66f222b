// Two hosts, and the cache on what passes between them by memcached's port.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> length;
    bit<16> id;
    bit<3>  flags;
    bit<13> offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header udp_t {
    bit<16> src;
    bit<16> dst;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
}

struct metadata_t {}

@frame_extern("kv-cache")
extern KvCache {
    KvCache(bit<32> entries, bit<48> max_age_us);
    void process();
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (5, 17): udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    KvCache(4, 0) cache;

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    // An answer of the cache goes back to where its request came from: what the address says counts, and not the port.
    table hosts {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; @defaultonly NoAction; }
        const entries = {
            0x02000000c001: forward(1);
            0x02000000c002: forward(2);
        }
        default_action = NoAction();
    }

    apply {
        if (hdr.udp.isValid() && (hdr.udp.dst == 11211 || hdr.udp.src == 11211)) {
            cache.process();
        }
        if (!hosts.apply().hit) {
            standard.egress_spec = standard.ingress_port == 1 ? 9w2 : 9w1;
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
