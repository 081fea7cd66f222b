#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4> version;
    bit<4> ihl;
    bit<8> diffserv;
    bit<16> total_len;
    bit<16> identification;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header tcp_h {
    bit<16> src;
    bit<16> dst;
    bit<96> more;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_h {
    bit<16> src;
    bit<16> dst;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h ipv4;
    tcp_h tcp;
    udp_h udp;
}

struct ports_t {
    bit<16> src;
    bit<16> dst;
}

struct metadata_t {
    ports_t l4;
    bit<1> inside;
    bit<2> pinned;
    @shard("external", 2) bit<16> shard;
}

struct new_connection_t {
    bit<32> inside;
    bit<32> outside;
    bit<8> protocol;
    bit<16> inside_port;
    bit<16> outside_port;
}

parser FirewallParser(packet_in packet,
                      out headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment & 0x1fff, hdr.ipv4.protocol) {
            (5, 0, 6): tcp;
            (5, 0, 17): udp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(hdr.tcp);
        meta.l4.src = hdr.tcp.src;
        meta.l4.dst = hdr.tcp.dst;
        transition accept;
    }

    state udp {
        packet.extract(hdr.udp);
        meta.l4.src = hdr.udp.src;
        meta.l4.dst = hdr.udp.dst;
        transition accept;
    }
}

control FirewallVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv,
                hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.fragment, hdr.ipv4.ttl,
                hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum,
                HashAlgorithm.csum16);
    }
}

control FirewallIngress(inout headers_t hdr,
                        inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    counter<bit<1>>(2, CounterType.packets_and_bytes) refused;
    direct_counter(CounterType.packets_and_bytes) from_source;
    counter<bit<1>>(2, CounterType.packets_and_bytes) refused_resident;
    direct_counter(CounterType.packets_and_bytes) from_source_resident;
    bit<32> shard_key_0;
    bit<32> shard_key_1;
    bit<16> shard_key_2;
    bit<16> shard_key_3;

    action unreachable() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port, bit<48> src, bit<48> dst) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    action is_inside() {
        meta.inside = 1;
    }

    action known() {
        from_source.count();
    }

    action admit() { }

    action known_resident() {
        from_source_resident.count();
    }

    action resident() {
        meta.pinned = 1;
    }

    action external() {
        meta.pinned = 2;
    }

    table routes {
        key = {
            hdr.ipv4.dst: lpm;
        }
        actions = {
            forward;
            unreachable;
        }
        default_action = unreachable();
        size = 1024;
    }

    table sides {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            is_inside;
            NoAction;
        }
        default_action = NoAction();
        size = 16;
    }

    table sources {
        key = {
            hdr.ipv4.src: exact;
        }
        actions = {
            known;
            NoAction;
        }
        default_action = NoAction();
        size = 4096;
        counters = from_source;
    }

    table outbound {
        key = {
            hdr.ipv4.src: exact;
            hdr.ipv4.dst: exact;
            hdr.ipv4.protocol: exact;
            meta.l4.src: exact;
            meta.l4.dst: exact;
        }
        actions = {
            admit;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    table inbound {
        key = {
            hdr.ipv4.dst: exact;
            hdr.ipv4.src: exact;
            hdr.ipv4.protocol: exact;
            meta.l4.dst: exact;
            meta.l4.src: exact;
        }
        actions = {
            admit;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    table routes_resident {
        key = {
            hdr.ipv4.dst: lpm;
        }
        actions = {
            forward;
            unreachable;
        }
        default_action = unreachable();
        size = 1024;
    }

    table sides_resident {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            is_inside;
            NoAction;
        }
        default_action = NoAction();
        size = 16;
    }

    table sources_resident {
        key = {
            hdr.ipv4.src: exact;
        }
        actions = {
            known_resident;
            NoAction;
        }
        default_action = NoAction();
        size = 4096;
        counters = from_source_resident;
    }

    table outbound_resident {
        key = {
            hdr.ipv4.src: exact;
            hdr.ipv4.dst: exact;
            hdr.ipv4.protocol: exact;
            meta.l4.src: exact;
            meta.l4.dst: exact;
        }
        actions = {
            admit;
            NoAction;
        }
        default_action = NoAction();
        size = 4096;
    }

    table inbound_resident {
        key = {
            hdr.ipv4.dst: exact;
            hdr.ipv4.src: exact;
            hdr.ipv4.protocol: exact;
            meta.l4.dst: exact;
            meta.l4.src: exact;
        }
        actions = {
            admit;
            NoAction;
        }
        default_action = NoAction();
        size = 4096;
    }

    table flow_manager {
        key = {
            hdr.ipv4.dst: exact;
            hdr.ipv4.protocol: exact;
            hdr.ipv4.src: exact;
            hdr.tcp.dst: exact;
            hdr.tcp.src: exact;
            hdr.udp.dst: exact;
            hdr.udp.src: exact;
            standard_metadata.ingress_port: exact;
        }
        actions = {
            resident;
            @defaultonly external;
        }
        const default_action = external();
        size = 4096;
        support_timeout = true;
    }

    apply {
        if (meta.pinned == 0) {
            if (flow_manager.apply().miss) {
                shard_key_0 = hdr.ipv4.dst;
                shard_key_1 = hdr.ipv4.src;
                shard_key_2 = hdr.udp.dst;
                shard_key_3 = hdr.udp.src;
                if (hdr.ipv4.src < hdr.ipv4.dst || hdr.ipv4.dst == hdr.ipv4.src
                        && hdr.udp.src < hdr.udp.dst) {
                    shard_key_0 = hdr.ipv4.src;
                    shard_key_1 = hdr.ipv4.dst;
                    shard_key_2 = hdr.udp.src;
                    shard_key_3 = hdr.udp.dst;
                }
                hash(meta.shard, HashAlgorithm.crc32, 16w0,
                        { shard_key_0, shard_key_1, shard_key_2, shard_key_3 }, 16w2);
            }
        }
        if (meta.pinned == 1) {
            if (!hdr.ipv4.isValid() || hdr.ipv4.ttl <= 1 || standard_metadata.checksum_error == 1) {
                refused_resident.count(0);
                mark_to_drop(standard_metadata);
                return;
            }
            sides_resident.apply();
            if (meta.inside == 1) {
                sources_resident.apply();
                if (outbound_resident.apply().miss) {
                    new_connection_t made = { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol,
                            meta.l4.src, meta.l4.dst };
                    digest(1, made);
                }
            } else if (inbound_resident.apply().miss) {
                refused_resident.count(1);
                mark_to_drop(standard_metadata);
                return;
            }
            routes_resident.apply();
        } else {
            @region("external") {
                if (!hdr.ipv4.isValid() || hdr.ipv4.ttl <= 1
                        || standard_metadata.checksum_error == 1) {
                    refused.count(0);
                    mark_to_drop(standard_metadata);
                    return;
                }
                sides.apply();
                if (meta.inside == 1) {
                    sources.apply();
                    if (outbound.apply().miss) {
                        new_connection_t made = { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol,
                                meta.l4.src, meta.l4.dst };
                        digest(1, made);
                    }
                } else if (inbound.apply().miss) {
                    refused.count(1);
                    mark_to_drop(standard_metadata);
                    return;
                }
                routes.apply();
            }
        }
    }
}

control FirewallEgress(inout headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    apply { }
}

control FirewallCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv,
                hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.fragment, hdr.ipv4.ttl,
                hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum,
                HashAlgorithm.csum16);
    }
}

control FirewallDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(FirewallParser(), FirewallVerify(), FirewallIngress(), FirewallEgress(), FirewallCompute(),
        FirewallDeparser()) main;
