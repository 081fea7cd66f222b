// An access list of each tenant, with a counter of what the list has filtered.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"

struct metadata_t {
    ports_t l4;
    bit<8>  tenant;
    bit<1>  deny;
}

parser AclParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    PARSE_L4(meta.l4)
}

control AclVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control AclIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // Packets and bytes that each tenant's list has filtered.
    counter<bit<8>>(256, CounterType.packets_and_bytes) filtered;

    ROUTES(1024)

    // The tenant's verdict where no rule matches.
    action tenant_is(bit<8> tenant, bit<1> deny) {
        meta.tenant = tenant;
        meta.deny = deny;
    }
    table tenants {
        key = { hdr.ipv4.dst: lpm; }
        actions = { tenant_is; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    action permit() { meta.deny = 0; }
    action deny() { meta.deny = 1; }
    table rules {
        key = {
            meta.tenant: exact;
            hdr.ipv4.src: ternary;
            hdr.ipv4.dst: ternary;
            hdr.ipv4.protocol: ternary;
            meta.l4.src: range;
            meta.l4.dst: range;
        }
        actions = { permit; deny; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    apply {
        if (!hdr.ipv4.isValid() || hdr.ipv4.ttl <= 1) {
            mark_to_drop(standard_metadata);
            return;
        }
        tenants.apply();
        rules.apply();
        if (meta.deny == 1) {
            filtered.count(meta.tenant);
            mark_to_drop(standard_metadata);
        } else {
            routes.apply();
        }
    }
}

control AclEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control AclCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control AclDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(AclParser(), AclVerify(), AclIngress(), AclEgress(), AclCompute(), AclDeparser()) main;
