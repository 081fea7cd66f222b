// A VPN gateway: tunnels of tenants from outside (GRE with a key, RFC 2890) are continued inside as VXLAN (RFC 7348), and back.
//
// A tunnel is known by its ends and its number. Packets of other tunnels are dropped. The packet inside a tunnel stays as it is.
// Each tenant has a counter of accepted packets, which is the sum of what switch and helpers have counted.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"

const bit<8>  PROTO_GRE = 47;
const bit<16> PORT_VXLAN = 4789;
// A key, no checksum, no sequence number, version 0.
const bit<16> GRE_KEYED = 0x2000;

// Bytes that each kind of tunnel puts before the packet inside: IPv4 and GRE; IPv4, UDP, VXLAN and Ethernet.
const bit<16> GRE_BYTES = 28;
const bit<16> VXLAN_BYTES = 50;

header gre_h {
    bit<16> flags;
    bit<16> protocol;
    bit<32> key;
}

header vxlan_h {
    bit<8>  flags;
    bit<24> reserved;
    bit<24> vni;
    bit<8>  reserved_2;
}

struct vpn_headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    gre_h      gre;
    udp_h      udp;
    vxlan_h    vxlan;
    ethernet_t inner;
}

struct metadata_t {
    // The tunnel's number: the key of GRE, or VXLAN's 24 bits.
    bit<32> tunnel;
    bit<16> reason;
}

parser VpnParser(packet_in packet, out vpn_headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { TYPE_IPV4: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment & 0x3fff, hdr.ipv4.protocol) {
            (5, 0, PROTO_GRE): gre;
            (5, 0, PROTO_UDP): udp;
            default: accept;
        }
    }
    state gre {
        packet.extract(hdr.gre);
        meta.tunnel = hdr.gre.key;
        transition accept;
    }
    state udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst) { PORT_VXLAN: vxlan; default: accept; }
    }
    state vxlan {
        packet.extract(hdr.vxlan);
        packet.extract(hdr.inner);
        meta.tunnel = (bit<32>)hdr.vxlan.vni;
        transition accept;
    }
}

control VpnVerify(inout vpn_headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control VpnIngress(inout vpn_headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // 0: no tunnel, or damaged; 1: unknown tunnel; 2: too long for the other side.
    counter<bit<2>>(4, CounterType.packets) refused;
    // By tenant.
    counter<bit<16>>(4096, CounterType.packets_and_bytes) accepted;

    ROUTES(1024)

    action outer(ipv4_t src, ipv4_t dst, bit<16> bytes, bit<8> protocol) {
        hdr.ipv4.src = src;
        hdr.ipv4.dst = dst;
        hdr.ipv4.total_len = bytes;
        hdr.ipv4.protocol = protocol;
        // `forward` takes one off.
        hdr.ipv4.ttl = 65;
    }

    // From outside to inside. `most` is the greatest length of an IPv4 packet inside.
    action inward(bit<16> tenant, ipv4_t src, ipv4_t dst, bit<24> vni, bit<16> entropy, bit<16> most) {
        bit<16> bytes = hdr.ipv4.total_len - GRE_BYTES + VXLAN_BYTES;
        if (hdr.ipv4.total_len < GRE_BYTES || hdr.gre.flags != GRE_KEYED || hdr.gre.protocol != TYPE_IPV4) {
            meta.reason = 1;
        } else if (hdr.ipv4.total_len > most - (VXLAN_BYTES - GRE_BYTES)) {
            meta.reason = 3;
        } else {
            accepted.count(tenant);
            outer(src, dst, bytes, PROTO_UDP);
            hdr.gre.setInvalid();
            hdr.udp.setValid();
            hdr.udp = { entropy, PORT_VXLAN, bytes - 20, 0 };
            hdr.vxlan.setValid();
            hdr.vxlan = { 0x08, 0, vni, 0 };
            hdr.inner.setValid();
            hdr.inner = { 0x020000000001, 0x020000000002, TYPE_IPV4 };
        }
    }
    // From inside to outside.
    action outward(bit<16> tenant, ipv4_t src, ipv4_t dst, bit<32> key) {
        if (hdr.ipv4.total_len < VXLAN_BYTES || hdr.inner.ether_type != TYPE_IPV4) {
            meta.reason = 1;
        } else {
            accepted.count(tenant);
            outer(src, dst, hdr.ipv4.total_len - VXLAN_BYTES + GRE_BYTES, PROTO_GRE);
            hdr.udp.setInvalid();
            hdr.vxlan.setInvalid();
            hdr.inner.setInvalid();
            hdr.gre.setValid();
            hdr.gre = { GRE_KEYED, TYPE_IPV4, key };
        }
    }
    action unknown() { meta.reason = 2; }
    table tunnels {
        key = { hdr.ipv4.protocol: exact; hdr.ipv4.src: exact; hdr.ipv4.dst: exact; meta.tunnel: exact; }
        actions = { inward; outward; unknown; }
        default_action = unknown();
        size = 65536;
    }

    apply {
        if ((!hdr.gre.isValid() && !hdr.inner.isValid()) || hdr.ipv4.ttl == 0 || standard_metadata.checksum_error == 1) {
            meta.reason = 1;
        } else {
            tunnels.apply();
        }
        if (meta.reason != 0) {
            refused.count((bit<2>)(meta.reason - 1));
            mark_to_drop(standard_metadata);
            return;
        }
        routes.apply();
    }
}

control VpnEgress(inout vpn_headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control VpnCompute(inout vpn_headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control VpnDeparser(packet_out packet, in vpn_headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.gre);
        packet.emit(hdr.udp);
        packet.emit(hdr.vxlan);
        packet.emit(hdr.inner);
    }
}

V1Switch(VpnParser(), VpnVerify(), VpnIngress(), VpnEgress(), VpnCompute(), VpnDeparser()) main;
