// SPDX-License-Identifier: Apache-2.0
//
// A router between two subnets with an access list. `RACK.toml` places the access list, region `Wall`, on a device that gets the packets as they are,
// without a header in front. So nothing but the packet and the output port passes: the list drops packets where the wall of `examples/spares` sets a mark.

#include <core.p4>
#include <v1model.p4>

// The port that drops.
const bit<9> DROPPED = 511;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> len;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_t      udp;
}

struct metadata_t {}

parser WallParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            17: udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        transition accept;
    }
}

control WallIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets) hits;

    action deny() {
        hits.count();
        mark_to_drop(standard);
    }
    action permit() {
        hits.count();
    }
    table wall {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.udp.dst_port: ternary;
        }
        actions = { deny; permit; }
        default_action = permit();
        counters = hits;
        size = 1024;
    }

    action drop() {
        mark_to_drop(standard);
    }
    action forward(bit<48> dst_addr, bit<9> port) {
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        standard.egress_spec = port;
    }
    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 1024;
    }

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1 && hdr.ipv4.frag_offset == 0) {
            @region("Wall") {
                wall.apply();
            }
            if (standard.egress_spec != DROPPED) {
                routes.apply();
            }
        } else {
            drop();
        }
    }
}

control WallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control WallVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control WallCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control WallDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
    }
}

V1Switch(WallParser(), WallVerify(), WallIngress(), WallEgress(), WallCompute(), WallDeparser()) main;
