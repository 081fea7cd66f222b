// SPDX-License-Identifier: Apache-2.0
//
// pFabric (Alizadeh et al., SIGCOMM'13), approximated: packets say how much of their transfer is left, and transfers with less left go first. pFabric
// sorts its queue; a switch has eight strict priorities, and a table gives each range of remaining lengths one of them.
//
//   remaining packets in the header -> range -> priority
//
// Every operation is one of a limited switch (p4rack check pfabric.p4 --device flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
// The receivers' port of pFabric.
const bit<16> PORT_PFABRIC = 9302;

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    ipv4_t  src_addr;
    ipv4_t  dst_addr;
}

header udp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header pfabric_h {
    bit<4>  version;
    bit<4>  flags;
    bit<24> rtt_us;
    bit<32> remaining;  // packets of the transfer that are not acknowledged; 0 in packets that hold nobody up
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_h      udp;
    pfabric_h  pfabric;
}

struct metadata_t { }

parser PfabricParser(packet_in packet,
                     out headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.src_port, hdr.udp.dst_port) {
            (_, PORT_PFABRIC): parse_pfabric;
            (PORT_PFABRIC, _): parse_pfabric;
            default: accept;
        }
    }

    state parse_pfabric {
        packet.extract(hdr.pfabric);
        transition accept;
    }
}

control PfabricVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control PfabricIngress(inout headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    bit<32> remaining = 0;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table hosts {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 4096;
    }

    action queue(bit<3> priority) {
        standard_metadata.priority = priority;
    }

    // Packets left. Acknowledgements and other packets have 0.
    table lengths {
        key = { remaining: range; }
        actions = { queue; }
        const default_action = queue(0);
        const entries = {
            0 .. 3: queue(7);
            4 .. 7: queue(6);
            8 .. 15: queue(5);
            16 .. 31: queue(4);
            32 .. 63: queue(3);
            64 .. 255: queue(2);
            256 .. 1023: queue(1);
        }
    }

    apply {
        hosts.apply();
        if (hdr.pfabric.isValid()) {
            remaining = hdr.pfabric.remaining;
        }
        lengths.apply();
    }
}

control PfabricEgress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    apply { }
}

control PfabricUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control PfabricDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.pfabric);
    }
}

V1Switch(PfabricParser(), PfabricVerify(), PfabricIngress(), PfabricEgress(), PfabricUpdate(), PfabricDeparser()) main;
