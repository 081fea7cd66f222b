// SPDX-License-Identifier: Apache-2.0
//
// An IPv4 router with an access list, a packet budget for each next hop, VLAN-tagged uplinks and a sampler.
// Its body is marked with four regions; RACK.toml says where each of them runs.
//
//   ingress:  [Sample] -> route -> [Acl: next hop live, inside an `if` arm] -> rewrite -> push VLAN -> [Mark]
//   egress:   [Out: source address and size limit of the port]
//
// `-D NO_SAMPLER` leaves out the frame extern, which only p4rack's devices offer.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;
typedef bit<16> next_hop_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_VLAN = 0x8100;
const bit<32> NEXT_HOPS = 256;

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}

header vlan_t {
    bit<3>  pcp;
    bit<1>  dei;
    bit<12> vid;
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

header ports_t {
    bit<16> src_port;
    bit<16> dst_port;
}

struct headers_t {
    ethernet_t ethernet;
    vlan_t     vlan;
    ipv4_h     ipv4;
    ports_t    ports;
}

struct metadata_t {
    next_hop_t next_hop;
    bit<12>    vid;
    bit<3>     traffic_class;
    bit<16>    l4_src;
    bit<16>    l4_dst;
    bit<16>    max_len;
}

#ifndef NO_SAMPLER
// A frame extern: sees whole frames, hands each on, and adds a copy of every `every`-th frame and of the last
// frame before `idle_us` microseconds of silence.
@frame_extern("beacon")
extern Beacon {
    Beacon(bit<32> every, bit<48> idle_us);
    void process();
}
#endif

parser RouterParser(packet_in packet,
                    out headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_VLAN: parse_vlan;
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, 6): parse_ports;
            (5, 0, 17): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        meta.l4_src = hdr.ports.src_port;
        meta.l4_dst = hdr.ports.dst_port;
        transition accept;
    }
}

control RouterVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(
            hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    // Packets seen for each next hop since the start.
    register<bit<32>, bit<32>>(NEXT_HOPS) seen;

#ifndef NO_SAMPLER
    Beacon(4, 1000) beacon;
#endif

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_next_hop(next_hop_t next_hop, bit<9> port) {
        meta.next_hop = next_hop;
        standard_metadata.egress_spec = port;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { set_next_hop; drop; }
        default_action = drop();
        size = 1024;
    }

    action permit(bit<3> traffic_class, bit<32> budget) {
        bit<32> count;
        seen.read(count, (bit<32>)meta.next_hop);
        count = count |+| 1;
        seen.write((bit<32>)meta.next_hop, count);
        meta.traffic_class = count <= budget ? traffic_class : 7;
    }

    table acl {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
            meta.l4_dst: ternary;
            standard_metadata.ingress_port: ternary;
        }
        actions = { permit; drop; }
        default_action = permit(0, 0xffffffff);
        size = 256;
    }

    action rewrite(mac_t dst_addr, bit<12> vid) {
        hdr.ethernet.dst_addr = dst_addr;
        meta.vid = vid;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { rewrite; drop; }
        default_action = drop();
        size = 256;
    }

    action mark(bit<6> dscp, bit<3> pcp) {
        hdr.ipv4.dscp = dscp;
        hdr.vlan.pcp = pcp;
    }

    table marks {
        key = {
            hdr.vlan.vid: exact;
            meta.traffic_class: exact;
        }
        actions = { mark; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    apply {
        if (hdr.ipv4.isValid() && standard_metadata.checksum_error == 0 && hdr.ipv4.ttl > 1) {
#ifndef NO_SAMPLER
            @region("Sample") {
                beacon.process();
            }
#endif
            routes.apply();
            if (meta.next_hop != 0) {
                bit<8> ttl = hdr.ipv4.ttl - 1;
                @region("Acl") {
                    acl.apply();
                }
                if (meta.traffic_class == 7) {
                    drop();
                } else if (standard_metadata.egress_spec != 511) {
                    next_hops.apply();
                    hdr.ipv4.ttl = ttl;
                    if (meta.vid != 0 && !hdr.vlan.isValid()) {
                        hdr.vlan.setValid();
                        hdr.vlan.pcp = 0;
                        hdr.vlan.dei = 0;
                        hdr.vlan.vid = meta.vid;
                        hdr.vlan.ether_type = hdr.ethernet.ether_type;
                        hdr.ethernet.ether_type = TYPE_VLAN;
                        @region("Mark") {
                            marks.apply();
                        }
                    }
                }
            }
        } else {
            drop();
        }
    }
}

control RouterEgress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action send(mac_t src_addr, bit<16> max_len) {
        hdr.ethernet.src_addr = src_addr;
        meta.max_len = max_len;
    }

    table ports {
        key = { standard_metadata.egress_port: exact; }
        actions = { send; drop; }
        default_action = drop();
        size = 64;
    }

    apply {
        bit<16> length = hdr.ipv4.isValid() ? hdr.ipv4.total_len : 0;
        @region("Out") {
            ports.apply();
        }
        if (length > meta.max_len) {
            drop();
        }
    }
}

control RouterCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(
            hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterCompute(), RouterDeparser()) main;
