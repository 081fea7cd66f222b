#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header vlan_t {
    bit<3> pcp;
    bit<1> dei;
    bit<12> vid;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<3> flags;
    bit<13> frag_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header ports_t {
    bit<16> src_port;
    bit<16> dst_port;
}

struct headers_t {
    ethernet_t ethernet;
    vlan_t vlan;
    ipv4_h ipv4;
    ports_t ports;
}

struct metadata_t {
    bit<16> next_hop;
    bit<12> vid;
    bit<3> traffic_class;
    bit<16> l4_src;
    bit<16> l4_dst;
    bit<16> max_len;
}

@frame_extern("beacon")
extern Beacon {
    Beacon(bit<32> every, bit<48> idle_us);
    void process();
}

parser RouterParser(packet_in packet,
                    out headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x8100: parse_vlan;
            0x0800: parse_ipv4;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            0x0800: parse_ipv4;
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
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
                { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
                hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr }, hdr.ipv4.hdr_checksum,
                HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    register<bit<32>, bit<32>>(256) seen;
    Beacon(4, 1000) beacon;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_next_hop(bit<16> next_hop, bit<9> port) {
        meta.next_hop = next_hop;
        standard_metadata.egress_spec = port;
    }

    action permit(bit<3> traffic_class, bit<32> budget) {
        bit<32> count;
        seen.read(count, (bit<32>)meta.next_hop);
        count = count |+| 1;
        seen.write((bit<32>)meta.next_hop, count);
        meta.traffic_class = count <= budget ? traffic_class : 7;
    }

    action rewrite(bit<48> dst_addr, bit<12> vid) {
        hdr.ethernet.dst_addr = dst_addr;
        meta.vid = vid;
    }

    action mark(bit<6> dscp, bit<3> pcp) {
        hdr.ipv4.dscp = dscp;
        hdr.vlan.pcp = pcp;
    }

    table routes {
        key = {
            hdr.ipv4.dst_addr: lpm;
        }
        actions = {
            set_next_hop;
            drop;
        }
        default_action = drop();
        size = 1024;
    }

    table acl {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
            meta.l4_dst: ternary;
            standard_metadata.ingress_port: ternary;
        }
        actions = {
            permit;
            drop;
        }
        default_action = permit(0, 0xffffffff);
        size = 256;
    }

    table next_hops {
        key = {
            meta.next_hop: exact;
        }
        actions = {
            rewrite;
            drop;
        }
        default_action = drop();
        size = 256;
    }

    table marks {
        key = {
            hdr.vlan.vid: exact;
            meta.traffic_class: exact;
        }
        actions = {
            mark;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    apply {
        if (hdr.ipv4.isValid() && standard_metadata.checksum_error == 0 && hdr.ipv4.ttl > 1) {
            @region("Sample") {
                beacon.process();
            }
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
                        hdr.ethernet.ether_type = 0x8100;
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

    action send(bit<48> src_addr, bit<16> max_len) {
        hdr.ethernet.src_addr = src_addr;
        meta.max_len = max_len;
    }

    table ports {
        key = {
            standard_metadata.egress_port: exact;
        }
        actions = {
            send;
            drop;
        }
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
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
                { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
                hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr }, hdr.ipv4.hdr_checksum,
                HashAlgorithm.csum16);
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

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterCompute(),
        RouterDeparser()) main;
