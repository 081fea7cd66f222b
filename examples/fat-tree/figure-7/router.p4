// SPDX-License-Identifier: Apache-2.0
//
// A router. The look-up of the neighbour's address is a region, as Flightplan offloads it at p1a1.

#include "headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
}

struct metadata_t {
    ipv4_t next_hop;
}

parser RouterParser(packet_in packet,
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
        transition accept;
    }
}

control RouterVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
#include "routing.p4"

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            ipv4_forwarding.apply();
            if (standard_metadata.egress_spec != DROP) {
                @region("Neighbours") {
                    neighbours.apply();
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
    apply { }
}

control RouterCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterCompute(), RouterDeparser()) main;
