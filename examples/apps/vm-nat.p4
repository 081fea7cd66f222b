// Network address translation of virtual machines. A machine with a public address of its own keeps its ports; the operator writes its two
// entries. The flows of all other machines share their group's public address: the controller learns of a new flow by a digest, takes a port, and makes an
// entry for each direction.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"
#include "translate.p4"

struct metadata_t {
    ports_t l4;
    bit<32> change;
    bit<1>  inside;
}

struct vm_flow_t {
    ipv4_t  src;
    ipv4_t  dst;
    bit<8>  protocol;
    bit<16> src_port;
    bit<16> dst_port;
}

parser VmNatParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    PARSE_L4(meta.l4)
}

control VmNatVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control VmNatIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // 0: not translated from inside; 1: from outside.
    counter<bit<1>>(2, CounterType.packets) unknown;

    ROUTES(1024)

    action is_inside() { meta.inside = 1; }
    table sides {
        key = { standard_metadata.ingress_port: exact; }
        actions = { is_inside; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action source_is(ipv4_t addr, bit<16> l4_port) {
        meta.change = CHANGE(hdr.ipv4.src, meta.l4.src, addr, l4_port);
        hdr.ipv4.src = addr;
        meta.l4.src = l4_port;
    }
    action source_address(ipv4_t addr) { source_is(addr, meta.l4.src); }
    action destination_is(ipv4_t addr, bit<16> l4_port) {
        meta.change = CHANGE(hdr.ipv4.dst, meta.l4.dst, addr, l4_port);
        hdr.ipv4.dst = addr;
        meta.l4.dst = l4_port;
    }
    action destination_address(ipv4_t addr) { destination_is(addr, meta.l4.dst); }

    // Machines with an address of their own.
    table own_outbound {
        key = { hdr.ipv4.src: exact; }
        actions = { source_address; NoAction; }
        default_action = NoAction();
        size = 4096;
    }
    table own_inbound {
        key = { hdr.ipv4.dst: exact; }
        actions = { destination_address; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    table outbound {
        key = { hdr.ipv4.src: exact; hdr.ipv4.dst: exact; hdr.ipv4.protocol: exact; meta.l4.src: exact; meta.l4.dst: exact; }
        actions = { source_is; NoAction; }
        default_action = NoAction();
        size = 65536;
    }
    table inbound {
        key = { hdr.ipv4.dst: exact; hdr.ipv4.src: exact; hdr.ipv4.protocol: exact; meta.l4.dst: exact; meta.l4.src: exact; }
        actions = { destination_is; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        bool translated = false;
        sides.apply();
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1 && standard_metadata.checksum_error == 0 &&
            (hdr.tcp.isValid() || hdr.udp.isValid())) {
            if (meta.inside == 0) {
                translated = own_inbound.apply().hit;
                if (!translated) {
                    translated = inbound.apply().hit;
                }
            } else {
                translated = own_outbound.apply().hit;
                if (!translated) {
                    translated = outbound.apply().hit;
                    if (!translated) {
                        vm_flow_t flow = { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.l4.src, meta.l4.dst };
                        digest(1, flow);
                    }
                }
            }
        }
        if (!translated) {
            unknown.count(1 - meta.inside);
            mark_to_drop(standard_metadata);
            return;
        }
        WRITE_L4(meta.l4, meta.change)
        routes.apply();
    }
}

control VmNatEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control VmNatCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control VmNatDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(VmNatParser(), VmNatVerify(), VmNatIngress(), VmNatEgress(), VmNatCompute(), VmNatDeparser()) main;
