// A stateful firewall: who is inside opens connections, who is outside answers. Each source inside has a counter.
//
// The controller learns of a new connection by a digest and makes an entry of it; packets from outside pass only where there is one.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"

struct metadata_t {
    ports_t l4;
    bit<1>  inside;
}

// A connection as the host inside sees it.
struct new_connection_t {
    ipv4_t  inside;
    ipv4_t  outside;
    bit<8>  protocol;
    bit<16> inside_port;
    bit<16> outside_port;
}

parser FirewallParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    PARSE_L4(meta.l4)
}

control FirewallVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control FirewallIngress(inout headers_t hdr, inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    counter<bit<1>>(2, CounterType.packets_and_bytes) refused;
    direct_counter(CounterType.packets_and_bytes) from_source;

    ROUTES(1024)

    action is_inside() { meta.inside = 1; }
    table sides {
        key = { standard_metadata.ingress_port: exact; }
        actions = { is_inside; NoAction; }
        default_action = NoAction();
        size = 16;
    }

    action known() { from_source.count(); }
    table sources {
        key = { hdr.ipv4.src: exact; }
        actions = { known; NoAction; }
        default_action = NoAction();
        counters = from_source;
        size = 4096;
    }

    action admit() { }
    table outbound {
        key = { hdr.ipv4.src: exact; hdr.ipv4.dst: exact; hdr.ipv4.protocol: exact; meta.l4.src: exact; meta.l4.dst: exact; }
        actions = { admit; NoAction; }
        default_action = NoAction();
        size = 65536;
    }
    table inbound {
        key = { hdr.ipv4.dst: exact; hdr.ipv4.src: exact; hdr.ipv4.protocol: exact; meta.l4.dst: exact; meta.l4.src: exact; }
        actions = { admit; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        if (!hdr.ipv4.isValid() || hdr.ipv4.ttl <= 1 || standard_metadata.checksum_error == 1) {
            refused.count(0);
            mark_to_drop(standard_metadata);
            return;
        }
        sides.apply();
        if (meta.inside == 1) {
            sources.apply();
            if (outbound.apply().miss) {
                new_connection_t made = { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.l4.src, meta.l4.dst };
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

control FirewallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control FirewallCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
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
