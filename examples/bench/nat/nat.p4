// SPDX-License-Identifier: Apache-2.0
//
// Network address translation of addresses and ports (NAPT, RFC 3022) in front of a router. Sessions are entries; the
// first packet of a flow from inside goes to the controller, which makes one. TCP's and UDP's checksums are
// corrected by what changed (RFC 1624, equation 3).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "../headers.p4"

const port_t CPU_PORT = 510;

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    tcp_t      tcp;
    udp_t      udp;
}

struct metadata_t {
    bit<16>    l4_src;
    bit<16>    l4_dst;
    bit<1>     inside;
    // What changed, as a one's complement sum of 16-bit words: ~old + new.
    bit<32>    change;
    next_hop_t next_hop;
}

parser NatParser(packet_in packet,
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
            (5, 0, PROTO_TCP): parse_tcp;
            (5, 0, PROTO_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.l4_src = hdr.tcp.src_port;
        meta.l4_dst = hdr.tcp.dst_port;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.l4_src = hdr.udp.src_port;
        meta.l4_dst = hdr.udp.dst_port;
        transition accept;
    }
}

control NatVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control NatIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action to_controller() {
        standard_metadata.egress_spec = CPU_PORT;
    }

    action deny() {
        mark_to_drop(standard_metadata);
        exit;
    }

    action set_side(bit<1> inside) {
        meta.inside = inside;
    }

    table sides {
        key = { standard_metadata.ingress_port: exact; }
        actions = { set_side; deny; }
        default_action = set_side(0);
        size = 512;
    }

    // ~old + new of an address and a port.
    action changed(ipv4_t old_addr, ipv4_t new_addr, bit<16> old_port, bit<16> new_port) {
        meta.change = (bit<32>)(~old_addr[31:16]) + (bit<32>)(~old_addr[15:0]) + (bit<32>)(~old_port) +
            (bit<32>)new_addr[31:16] + (bit<32>)new_addr[15:0] + (bit<32>)new_port;
    }

    action translate_source(ipv4_t addr, bit<16> l4_port) {
        changed(hdr.ipv4.src_addr, addr, meta.l4_src, l4_port);
        hdr.ipv4.src_addr = addr;
        meta.l4_src = l4_port;
    }

    action translate_destination(ipv4_t addr, bit<16> l4_port) {
        changed(hdr.ipv4.dst_addr, addr, meta.l4_dst, l4_port);
        hdr.ipv4.dst_addr = addr;
        meta.l4_dst = l4_port;
    }

    table from_inside {
        key = {
            hdr.ipv4.src_addr: exact;
            hdr.ipv4.protocol: exact;
            meta.l4_src: exact;
        }
        actions = { translate_source; to_controller; deny; }
        default_action = to_controller();
        size = 131072;
    }

    table from_outside {
        key = {
            hdr.ipv4.dst_addr: exact;
            hdr.ipv4.protocol: exact;
            meta.l4_dst: exact;
        }
        actions = { translate_destination; deny; }
        default_action = deny();
        size = 131072;
    }

    action set_next_hop(next_hop_t next_hop) {
        meta.next_hop = next_hop;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { set_next_hop; drop; }
        default_action = drop();
        size = 131072;
    }

    action forward(port_t port, mac_t src_addr, mac_t dst_addr) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 4096;
    }

    apply {
        bool translated = false;
        if (hdr.ipv4.isValid() && standard_metadata.checksum_error == 0 && hdr.ipv4.ttl > 1 &&
            (hdr.tcp.isValid() || hdr.udp.isValid())) {
            sides.apply();
            if (meta.inside == 1) {
                translated = from_inside.apply().hit;
            } else {
                translated = from_outside.apply().hit;
            }
        } else {
            drop();
        }
        if (translated) {
            if (hdr.tcp.isValid()) {
                hdr.tcp.src_port = meta.l4_src;
                hdr.tcp.dst_port = meta.l4_dst;
                bit<32> sum = (bit<32>)(~hdr.tcp.checksum) + meta.change;
                sum = (sum & 0xffff) + (sum >> 16);
                sum = (sum & 0xffff) + (sum >> 16);
                hdr.tcp.checksum = ~sum[15:0];
            } else {
                hdr.udp.src_port = meta.l4_src;
                hdr.udp.dst_port = meta.l4_dst;
                // Zero means that there is no checksum.
                if (hdr.udp.checksum != 0) {
                    bit<32> sum = (bit<32>)(~hdr.udp.checksum) + meta.change;
                    sum = (sum & 0xffff) + (sum >> 16);
                    sum = (sum & 0xffff) + (sum >> 16);
                    hdr.udp.checksum = sum[15:0] == 0xffff ? 16w0xffff : ~sum[15:0];
                }
            }
            switch (routes.apply().action_run) {
                set_next_hop: { next_hops.apply(); }
                default: { }
            }
        }
    }
}

control NatEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply { }
}

control NatCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control NatDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(NatParser(), NatVerify(), NatIngress(), NatEgress(), NatCompute(), NatDeparser()) main;
