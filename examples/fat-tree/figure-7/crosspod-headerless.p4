// SPDX-License-Identifier: Apache-2.0
//
// Crosspod for hand-overs without a header: no value but the packet itself goes from one part to the next. One link is better than it is, that at
// port LINK; which frames are for it is decided by constants, and by the output port before frames are handed over.
//
//   from the link:  [FecDecode] -> [Decompress] -> [Cache] -> route
//   to the link:    route -> [Compress] -> [FecEncode]

#include "headers.p4"
#include "../../crosspod/functions.p4"

const bit<9> LINK = 2;

struct headers_t {
    ethernet_t   ethernet;
    fec_t        fec;
    compressed_t compressed;
    link_mark_t  mark;
    ipv4_h       ipv4;
    ports_h      ports;
}

struct metadata_t {
    ipv4_t next_hop;
}

parser CrosspodParser(packet_in packet,
                      out headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_FEC: parse_fec;
            TYPE_COMPRESSED: parse_compressed;
            TYPE_LLDP: parse_mark;
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_fec {
        packet.extract(hdr.fec);
        transition select(hdr.fec.kind, hdr.fec.ether_type) {
            (FEC_DELIVERED, TYPE_COMPRESSED): parse_compressed;
            (FEC_DELIVERED, TYPE_LLDP): parse_mark;
            (FEC_DELIVERED, TYPE_IPV4): parse_ipv4;
            default: accept;
        }
    }

    state parse_compressed {
        packet.extract(hdr.compressed);
        transition accept;
    }

    state parse_mark {
        packet.extract(hdr.mark);
        transition accept;
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

control CrosspodVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control CrosspodIngress(inout headers_t hdr,
                        inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
#include "routing.p4"

    FecDecode(20000, 0, 0, 0) decoder;
    HeaderDecompress(1024) decompressor;
    KvCache(1000, 0) cache;
    HeaderCompress(1024, 64) compressor;
    FecEncode(2000) encoder;

    apply {
        if (standard_metadata.ingress_port == LINK) {
            @region("FecDecode") {
                decoder.decode((bit<16>)LINK);
            }
            // A decoded frame keeps its tag up to here: whoever gets it has to find the same headers.
            @region("Decompress") {
                if (hdr.fec.isValid()) {
                    hdr.ethernet.ether_type = hdr.fec.ether_type;
                    hdr.fec.setInvalid();
                }
                decompressor.decompress((bit<16>)LINK);
            }
            @region("Cache") {
                cache.process();
            }
        }
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            ipv4_forwarding.apply();
            if (standard_metadata.egress_spec != DROP) {
                neighbours.apply();
            }
        } else {
            drop();
        }
        if (standard_metadata.egress_spec == LINK) {
            @region("Compress") {
                compressor.compress((bit<16>)LINK);
            }
            @region("FecEncode") {
                encoder.encode((bit<16>)LINK, 0, 5, 3);
            }
            standard_metadata.egress_spec = LINK;
        }
    }
}

control CrosspodEgress(inout headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    apply { }
}

control CrosspodCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control CrosspodDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.fec);
        packet.emit(hdr.compressed);
        packet.emit(hdr.mark);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(CrosspodParser(), CrosspodVerify(), CrosspodIngress(), CrosspodEgress(), CrosspodCompute(), CrosspodDeparser()) main;
