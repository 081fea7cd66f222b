// SPDX-License-Identifier: Apache-2.0
//
// A learning Ethernet switch with VLANs: one broadcast domain for each VLAN.
//
//   ingress:  VLAN of the port or of the tag -> source known? else tell the controller -> destination: port, or flood
//   egress:   not back to where it came from -> tag if the port wants it

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "../headers.p4"

struct headers_t {
    ethernet_t ethernet;
    vlan_t     vlan;
}

struct metadata_t {
    bit<12> vid;
}

// A station was seen at a port where the switch does not know it.
struct learned_t {
    mac_t   addr;
    bit<12> vid;
    port_t  port;
}

parser L2Parser(packet_in packet,
                out headers_t hdr,
                inout metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_VLAN: parse_vlan;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition accept;
    }
}

control L2Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control L2Ingress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_vid(bit<12> vid) {
        meta.vid = vid;
    }

    // Frames without a tag are in their port's own VLAN.
    table port_vlan {
        key = { standard_metadata.ingress_port: exact; }
        actions = { set_vid; drop; }
        default_action = drop();
        size = 512;
    }

    action known(port_t port) {
        if (port != standard_metadata.ingress_port) {
            digest<learned_t>(1, { hdr.ethernet.src_addr, meta.vid, standard_metadata.ingress_port });
        }
    }

    action learn() {
        digest<learned_t>(1, { hdr.ethernet.src_addr, meta.vid, standard_metadata.ingress_port });
    }

    table sources {
        key = {
            meta.vid: exact;
            hdr.ethernet.src_addr: exact;
        }
        actions = { known; learn; }
        default_action = learn();
        size = 65536;
    }

    action forward(port_t port) {
        standard_metadata.egress_spec = port;
    }

    // Group 1 + VLAN has the ports of the VLAN.
    action flood() {
        standard_metadata.mcast_grp = 1 + (bit<16>)meta.vid;
    }

    table destinations {
        key = {
            meta.vid: exact;
            hdr.ethernet.dst_addr: exact;
        }
        actions = { forward; flood; drop; }
        default_action = flood();
        size = 65536;
    }

    apply {
        if (hdr.vlan.isValid()) {
            meta.vid = hdr.vlan.vid;
            hdr.ethernet.ether_type = hdr.vlan.ether_type;
            hdr.vlan.setInvalid();
        } else {
            port_vlan.apply();
        }
        if (meta.vid != 0) {
            sources.apply();
            destinations.apply();
        } else {
            drop();
        }
    }
}

control L2Egress(inout headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action tag() {
        hdr.vlan.setValid();
        hdr.vlan.pcp = 0;
        hdr.vlan.dei = 0;
        hdr.vlan.vid = meta.vid;
        hdr.vlan.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = TYPE_VLAN;
    }

    // What leaves by a trunk is tagged.
    table trunks {
        key = { standard_metadata.egress_port: exact; }
        actions = { tag; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        if (standard_metadata.egress_port == standard_metadata.ingress_port) {
            drop();
        } else {
            trunks.apply();
        }
    }
}

control L2Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control L2Deparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
    }
}

V1Switch(L2Parser(), L2Verify(), L2Ingress(), L2Egress(), L2Compute(), L2Deparser()) main;
