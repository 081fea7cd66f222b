// SPDX-License-Identifier: Apache-2.0
//
// A router whose inside hosts open connections, and nobody else: two Bloom filters remember who has spoken to whom. The firewall is a
// region. Only TCP and UDP are looked at.

#include "headers.p4"

const bit<32> BITS = 4096;

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    ports_h    ports;
}

struct metadata_t {
    ipv4_t next_hop;
    bit<1> is_outward;
}

parser FirewallParser(packet_in packet,
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
            (5, 0, PROTO_TCP): parse_ports;
            (5, 0, PROTO_UDP): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control FirewallVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control FirewallIngress(inout headers_t hdr,
                        inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
#include "routing.p4"

    // A spare begins without them: connections are opened again.
    @soft register<bit<1>, bit<32>>(BITS) opened;
    @soft register<bit<1>, bit<32>>(BITS) opened_too;

    action direction(bit<1> is_outward) {
        meta.is_outward = is_outward;
    }

    // Ports between an inside host and all others.
    table check_ports {
        key = {
            standard_metadata.ingress_port: exact;
            standard_metadata.egress_spec: exact;
        }
        actions = { direction; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            ipv4_forwarding.apply();
            if (standard_metadata.egress_spec != DROP) {
                neighbours.apply();
            }
            if (standard_metadata.egress_spec != DROP && hdr.ports.isValid()) {
                @region("Wall") {
                    if (check_ports.apply().hit) {
                        bit<32> first;
                        bit<32> second;
                        if (meta.is_outward == 1) {
                            hash(first, HashAlgorithm.crc16, (bit<32>)0,
                                 { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port, hdr.ports.dst_port },
                                 (bit<32>)BITS);
                            hash(second, HashAlgorithm.crc32, (bit<32>)0,
                                 { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port, hdr.ports.dst_port },
                                 (bit<32>)BITS);
                            opened.write(first, 1);
                            opened_too.write(second, 1);
                        } else {
                            hash(first, HashAlgorithm.crc16, (bit<32>)0,
                                 { hdr.ipv4.dst_addr, hdr.ipv4.src_addr, hdr.ipv4.protocol, hdr.ports.dst_port, hdr.ports.src_port },
                                 (bit<32>)BITS);
                            hash(second, HashAlgorithm.crc32, (bit<32>)0,
                                 { hdr.ipv4.dst_addr, hdr.ipv4.src_addr, hdr.ipv4.protocol, hdr.ports.dst_port, hdr.ports.src_port },
                                 (bit<32>)BITS);
                            bit<1> is_open;
                            bit<1> is_open_too;
                            opened.read(is_open, first);
                            opened_too.read(is_open_too, second);
                            if (is_open == 0 || is_open_too == 0) {
                                drop();
                            }
                        }
                    }
                }
            }
        } else {
            drop();
        }
    }
}

control FirewallEgress(inout headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    apply { }
}

control FirewallCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control FirewallDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(FirewallParser(), FirewallVerify(), FirewallIngress(), FirewallEgress(), FirewallCompute(), FirewallDeparser()) main;
