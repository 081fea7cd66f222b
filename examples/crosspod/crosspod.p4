// SPDX-License-Identifier: Apache-2.0
//
// A router between racks that makes links better than they are: frames that a faulty link loses come back, headers are short, and reads
// of a key-value store are answered on the way. After Flightplan's Crosspod (Figures 2 and 3), written anew.
//
//   from a link:  [FecDecode] -> [Decompress] -> access list -> [Cache] -> route
//   to a link:    faulty? -> classify -> [Compress] -> [FecEncode]
//
// Each name in brackets is a region that may run on another device. A link is protected while it is faulty: the neighbour at its other end
// says so by a mark, an LLDP frame, since its decoder counts what is lost. Links whose frames are to be counted carry tags without parity.
//
// NO_DECODE, NO_DECOMPRESS, NO_CACHE, NO_COMPRESS and NO_ENCODE leave a function out. With CACHE_ASIDE only frames that the cache is for go
// where it runs: then what a decoder has had may not go on to state of another device by both ways.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "functions.p4"

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTO_TCP = 6;
const bit<8> PROTO_UDP = 17;
const bit<16> MEMCACHED = 11211;
const bit<24> OUI = 0x524143;
const bit<32> PORTS = 512;
const bit<9> DROP = 511;

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
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
    ipv4_t  src_addr;
    ipv4_t  dst_addr;
}

header ports_h {
    bit<16> src_port;
    bit<16> dst_port;
}

struct headers_t {
    ethernet_t   ethernet;
    fec_t        fec;
    compressed_t compressed;
    link_mark_t  mark;
    ipv4_h       ipv4;
    ports_h      ports;
}

struct metadata_t {
    bit<1>  from_link;      // 0 for frames that a function has made
    bit<16> in_port;        // by which the frame came, also of those that a decoder has made again
    bit<1>  decompress;
    bit<1>  compress;
    bit<1>  faulty;         // the link that the frame leaves by
    bit<8>  traffic_class;
    bit<8>  k;
    bit<8>  h;
    bit<1>  cached;         // a cache is for it
    ipv4_t  server;
    ipv4_t  next_hop;
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
        verify_checksum(
            hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr,
              hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control CrosspodIngress(inout headers_t hdr,
                        inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    // Until when the link at a port is faulty, in microseconds.
    register<bit<48>, bit<32>>(PORTS) faulty_until;

#ifndef NO_DECODE
    FecDecode(20000, 0, 200, 5000) decoder;
#endif
#ifndef NO_DECOMPRESS
    HeaderDecompress(1024) decompressor;
#endif
#ifndef NO_CACHE
    KvCache(1000, 0) cache;
#endif
#ifndef NO_COMPRESS
    HeaderCompress(1024, 64) compressor;
#endif
#ifndef NO_ENCODE
    FecEncode(2000) encoder;
#endif

    action drop() {
        mark_to_drop(standard_metadata);
    }

    // From links.

    action believe(bit<48> most_seconds) {
        bit<48> seconds = (bit<48>)hdr.mark.seconds;
        seconds = seconds < most_seconds ? seconds : most_seconds;
        // 1,000,000 as sums and differences of powers of two: the switch does not multiply.
        bit<48> micros = (seconds << 20) - (seconds << 15) - (seconds << 14) + (seconds << 9) + (seconds << 6);
        bit<48> until = standard_metadata.ingress_global_timestamp + micros;
        faulty_until.write((bit<32>)standard_metadata.ingress_port, hdr.mark.faulty == 1 ? until : 0);
    }

    table marks {
        key = { standard_metadata.ingress_port: exact; }
        actions = { believe; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action link(bit<1> decompress) {
        meta.decompress = decompress;
    }

    table ingress_links {
        key = { meta.in_port: exact; }
        actions = { link; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    table permitted {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
        }
        actions = { NoAction; drop; }
        default_action = NoAction();
        size = 256;
    }

#ifndef NO_CACHE
    table caches {
        key = { meta.server: exact; }
        actions = { NoAction; }
        default_action = NoAction();
        size = 64;
    }
#endif

    // Routing.

    action to_port(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table mac_forwarding {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { to_port; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    action via(ipv4_t next_hop, bit<9> port) {
        meta.next_hop = next_hop;
        standard_metadata.egress_spec = port;
    }

    action direct(bit<9> port) {
        meta.next_hop = hdr.ipv4.dst_addr;
        standard_metadata.egress_spec = port;
    }

    table ipv4_forwarding {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { via; direct; drop; }
        default_action = drop();
        size = 1024;
    }

    // Functions see frames, so the checksum follows the TTL here and not in the last control (RFC 1141).
    action rewrite(mac_t src_addr, mac_t dst_addr) {
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        bit<17> sum = (bit<17>)hdr.ipv4.hdr_checksum + 0x100;
        hdr.ipv4.hdr_checksum = sum[15:0] + (bit<16>)sum[16:16];
    }

    table neighbours {
        key = { meta.next_hop: exact; }
        actions = { rewrite; drop; }
        default_action = drop();
        size = 1024;
    }

    // To links.

    action set_class(bit<8> traffic_class) {
        meta.traffic_class = traffic_class;
    }

    table classification {
        key = {
            hdr.ipv4.protocol: ternary;
            hdr.ports.dst_port: ternary;
        }
        actions = { set_class; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action egress_link(bit<1> compress) {
        meta.compress = compress;
    }

    table egress_links {
        key = {
            standard_metadata.egress_spec: exact;
            meta.traffic_class: exact;
        }
        actions = { egress_link; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action protect(bit<8> k, bit<8> h) {
        meta.k = k;
        meta.h = h;
    }

    table protection {
        key = {
            standard_metadata.egress_spec: exact;
            meta.faulty: exact;
            meta.traffic_class: exact;
        }
        actions = { protect; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    apply {
        meta.in_port = (bit<16>)standard_metadata.ingress_port;
        meta.from_link = 1;
        // What is tagged or short passes both regions, wherever they run, so that none overtakes another.
        if (hdr.fec.isValid() || hdr.compressed.isValid()) {
#ifndef NO_DECODE
            @region("FecDecode") {
                if (hdr.fec.isValid()) {
                    decoder.decode(meta.in_port);
                }
            }
#endif
            if (hdr.fec.isValid()) {
                meta.in_port = hdr.fec.channel;
                hdr.ethernet.ether_type = hdr.fec.ether_type;
                hdr.fec.setInvalid();
            }
            ingress_links.apply();
#ifndef NO_DECOMPRESS
            @region("Decompress") {
                if (hdr.compressed.isValid() && meta.decompress == 1) {
                    decompressor.decompress(meta.in_port);
                }
            }
#endif
        }
        if (hdr.ipv4.isValid()) {
            permitted.apply();
        }
#ifndef NO_CACHE
        // Over TCP, too: what a cache does not read makes it forget.
        if (hdr.ipv4.isValid() && hdr.ports.isValid()
            && (hdr.ports.dst_port == MEMCACHED || hdr.ports.src_port == MEMCACHED)
            && standard_metadata.egress_spec != DROP) {
            meta.server = hdr.ports.dst_port == MEMCACHED ? hdr.ipv4.dst_addr : hdr.ipv4.src_addr;
            if (caches.apply().hit) {
                meta.cached = 1;
            }
        }
#ifdef CACHE_ASIDE
        if (meta.cached == 1) {
            @region("Cache") {
                cache.process();
            }
        }
#else
        // All frames pass here, wherever it runs, so that none overtakes another.
        @region("Cache") {
            if (meta.cached == 1) {
                cache.process();
            }
        }
#endif
#endif
        if (hdr.mark.isValid()) {
            if (meta.from_link == 1) {
                if (hdr.mark.oui == OUI) {
                    marks.apply();
                }
                drop();
            } else {
                // What the decoder has to tell the other end.
                standard_metadata.egress_spec = (bit<9>)hdr.mark.port_id;
            }
        } else if (hdr.compressed.isValid()) {
            drop();
        } else if (standard_metadata.egress_spec != DROP) {
            if (!mac_forwarding.apply().hit) {
                if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
                    ipv4_forwarding.apply();
                    if (standard_metadata.egress_spec != DROP) {
                        neighbours.apply();
                    }
                } else {
                    drop();
                }
            }
            if (standard_metadata.egress_spec != DROP) {
                bit<48> until;
                faulty_until.read(until, (bit<32>)standard_metadata.egress_spec);
                meta.faulty = (bit<1>)(until > standard_metadata.ingress_global_timestamp);
                if (hdr.ipv4.isValid() && hdr.ports.isValid()) {
                    classification.apply();
                }
                // What leaves by a link passes both regions, too, if it is of a class that is short or protected there.
                if (egress_links.apply().hit) {
#ifndef NO_COMPRESS
                    @region("Compress") {
                        if (meta.compress == 1 && hdr.ports.isValid()) {
                            compressor.compress((bit<16>)standard_metadata.egress_spec);
                        }
                    }
#endif
                    protection.apply();
#ifndef NO_ENCODE
                    @region("FecEncode") {
                        if (meta.k != 0) {
                            encoder.encode((bit<16>)standard_metadata.egress_spec, meta.traffic_class, meta.k, meta.h);
                        }
                    }
#endif
                }
                if (hdr.fec.isValid()) {
                    standard_metadata.egress_spec = (bit<9>)hdr.fec.channel;
                }
            }
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
