// SPDX-License-Identifier: Apache-2.0
//
// A router that marks packets of its hosts by their protocol (RFC 2474). The marking is a region; a fragment stays unmarked, so that the
// position of a hand-over may stand where fragments have theirs (`headerless-ipv4`).

#include "headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
}

struct metadata_t {
    ipv4_t next_hop;
}

parser QosParser(packet_in packet,
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

control QosVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control QosIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
#include "routing.p4"

    action mark(bit<6> code) {
        hdr.ipv4.tos[7:2] = code;
    }

    table codes {
        key = { hdr.ipv4.protocol: exact; }
        actions = { mark; NoAction; }
        default_action = NoAction();
        size = 16;
    }

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            if (hdr.ipv4.frag_offset == 0) {
                @region("Marks") {
                    codes.apply();
                }
            }
            ipv4_forwarding.apply();
            if (standard_metadata.egress_spec != DROP) {
                neighbours.apply();
            }
        } else {
            drop();
        }
    }
}

control QosEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply { }
}

control QosCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control QosDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(QosParser(), QosVerify(), QosIngress(), QosEgress(), QosCompute(), QosDeparser()) main;
