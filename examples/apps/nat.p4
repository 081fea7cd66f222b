// Network address translation of tenants whose private addresses may be the same (NAPT, RFC 3022).
//
// The controller learns of a new flow by a digest, takes a port of the tenant's public address, and makes an entry for each direction.
// Checksums of TCP and UDP are corrected by what changed (RFC 1624, equation 3).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"

struct metadata_t {
    ports_t l4;
    bit<8>  tenant;
    // ~old + new, as a sum of 16-bit words.
    bit<32> change;
}

struct new_flow_t {
    bit<8>  tenant;
    ipv4_t  src;
    ipv4_t  dst;
    bit<8>  protocol;
    bit<16> src_port;
    bit<16> dst_port;
}

parser NatParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    PARSE_L4(meta.l4)
}

control NatVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control NatIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter<bit<8>>(256, CounterType.packets) unknown;

    ROUTES(1024)

    // Tenant 0 is the outside.
    action tenant_is(bit<8> tenant) { meta.tenant = tenant; }
    table tenants {
        key = { standard_metadata.ingress_port: exact; }
        actions = { tenant_is; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    action changed(ipv4_t old_addr, ipv4_t new_addr, bit<16> old_port, bit<16> new_port) {
        meta.change = (bit<32>)(~old_addr[31:16]) + (bit<32>)(~old_addr[15:0]) + (bit<32>)(~old_port) +
            (bit<32>)new_addr[31:16] + (bit<32>)new_addr[15:0] + (bit<32>)new_port;
    }

    action source_is(ipv4_t addr, bit<16> l4_port) {
        changed(hdr.ipv4.src, addr, meta.l4.src, l4_port);
        hdr.ipv4.src = addr;
        meta.l4.src = l4_port;
    }
    table outbound {
        key = {
            meta.tenant: exact;
            hdr.ipv4.src: exact;
            hdr.ipv4.dst: exact;
            hdr.ipv4.protocol: exact;
            meta.l4.src: exact;
            meta.l4.dst: exact;
        }
        actions = { source_is; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    action destination_is(ipv4_t addr, bit<16> l4_port) {
        changed(hdr.ipv4.dst, addr, meta.l4.dst, l4_port);
        hdr.ipv4.dst = addr;
        meta.l4.dst = l4_port;
    }
    table inbound {
        key = {
            hdr.ipv4.dst: exact;
            hdr.ipv4.src: exact;
            hdr.ipv4.protocol: exact;
            meta.l4.dst: exact;
            meta.l4.src: exact;
        }
        actions = { destination_is; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        bool translated = false;
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1 && standard_metadata.checksum_error == 0 &&
            (hdr.tcp.isValid() || hdr.udp.isValid())) {
            tenants.apply();
            if (meta.tenant == 0) {
                translated = inbound.apply().hit;
            } else {
                translated = outbound.apply().hit;
                if (!translated) {
                    new_flow_t flow = { meta.tenant, hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.l4.src,
                                        meta.l4.dst };
                    digest(1, flow);
                }
            }
        }
        if (!translated) {
            unknown.count(meta.tenant);
            mark_to_drop(standard_metadata);
            return;
        }
        if (hdr.tcp.isValid()) {
            hdr.tcp.src = meta.l4.src;
            hdr.tcp.dst = meta.l4.dst;
            bit<32> sum = (bit<32>)(~hdr.tcp.checksum) + meta.change;
            sum = (sum & 0xffff) + (sum >> 16);
            sum = (sum & 0xffff) + (sum >> 16);
            hdr.tcp.checksum = ~sum[15:0];
        } else {
            hdr.udp.src = meta.l4.src;
            hdr.udp.dst = meta.l4.dst;
            // Zero means that there is no checksum.
            if (hdr.udp.checksum != 0) {
                bit<32> sum = (bit<32>)(~hdr.udp.checksum) + meta.change;
                sum = (sum & 0xffff) + (sum >> 16);
                sum = (sum & 0xffff) + (sum >> 16);
                hdr.udp.checksum = sum[15:0] == 0xffff ? 16w0xffff : ~sum[15:0];
            }
        }
        routes.apply();
    }
}

control NatEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control NatCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
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
