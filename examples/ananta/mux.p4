// SPDX-License-Identifier: Apache-2.0
//
// Ananta's mux (Patel et al., SIGCOMM'13): connections to a virtual address (VIP) go to servers (DIPs), each always to the same.
//
//   to a VIP:  VIP and port -> hash of the connection -> slot -> server, unless the connection is pinned -> encapsulate in IPv4 to the server
//   else:      forward by the destination's MAC address
//
// The control plane changes slots when servers come and go. A connection keeps its server (block `flowlet`, whose bursts end after a minute without
// packets). Replies do not pass the mux: see agent.p4. Packets of each VIP are counted; above a limit in a second, the VIP is reported. Every operation is
// one of a limited switch (p4rack check mux.p4 --device flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include <p4rack/blocks/flowlet/columns=16384,routes=64,timeout=60000000,key=104,as=Pins.p4>
#include <p4rack/blocks/rate-interval/interval=20,cells=16,as=Packets.p4>
#include <p4rack/blocks/periodic/interval=20,cells=16,as=Seconds.p4>
#include "headers.p4"

// A VIP with more packets in a second than its limit.
struct busy_t {
    bit<4>  vip;
    bit<32> packets;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     outer;
    ipv4_h     ipv4;
    ports_h    ports;
}

struct metadata_t { }

parser MuxParser(packet_in packet,
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
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): parse_ports;
            (5, 0, PROTOCOL_UDP): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control MuxVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MuxIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    Pins() pins;
    Packets() packets;
    Seconds() seconds;
    bit<1> is_virtual = 0;
    bit<4> vip = 0;
    bit<32> limit = 0;
    bit<8> slot = 0;
    bit<6> server = 0;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table hosts {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 4096;
    }

    // The most packets in about a second (2^20 us); 0: no limit.
    action balance(bit<4> number, bit<32> most) {
        is_virtual = 1;
        vip = number;
        limit = most;
    }

    table vips {
        key = {
            hdr.ipv4.dst_addr: exact;
            hdr.ipv4.protocol: exact;
            hdr.ports.dst_port: exact;
        }
        actions = { balance; NoAction; }
        default_action = NoAction();
        size = 16;
    }

    action use(bit<6> number) {
        server = number;
    }

    // 256 slots for each VIP.
    table slots {
        key = { vip: exact; slot: exact; }
        actions = { use; drop; }
        default_action = drop();
        size = 4096;
    }

    action encapsulate(bit<32> address, bit<48> mac, bit<9> port) {
        standard_metadata.egress_spec = port;
        hdr.outer = { 4, 5, hdr.ipv4.tos, hdr.ipv4.total_len + 20, 0, 2, 0, 64, PROTOCOL_IPIP, 0, 0x0afffe01, address };
        hdr.ethernet.dst_addr = mac;
    }

    // Servers of a VIP.
    table servers {
        key = { vip: exact; server: exact; }
        actions = { encapsulate; drop; }
        default_action = drop();
        size = 1024;
    }

    apply {
        if (hdr.ports.isValid()) {
            vips.apply();
            if (is_virtual == 1) {
                bit<32> now = standard_metadata.ingress_global_timestamp[31:0];
                bit<1> due;
                bit<32> ended;
                seconds.apply(vip, now, due, ended);
                bit<32> last;
                packets.apply(vip, now, 1, last);
                if (due == 1 && limit != 0 && last > limit) {
                    digest<busy_t>(1, { vip, last });
                }
                bit<104> connection = hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr ++ hdr.ipv4.protocol ++ hdr.ports.src_port ++ hdr.ports.dst_port;
                bit<32> chance;
                hash(chance, HashAlgorithm.crc32, 32w0, { connection }, 33w0x100000000);
                slot = chance[27:20];
                if (slots.apply().hit) {
                    bit<6> pinned;
                    bit<1> begins;
                    // Cells that were never written have time 0: 67 s ago at the beginning.
                    pins.apply(connection, now + 0x4000000, server, pinned, begins);
                    server = pinned;
                    servers.apply();
                }
            }
        }
        if (is_virtual == 0) {
            hosts.apply();
        }
    }
}

control MuxEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply { }
}

control MuxUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.outer.isValid(),
            { hdr.outer.version, hdr.outer.ihl, hdr.outer.tos, hdr.outer.total_len, hdr.outer.identification, hdr.outer.flags,
              hdr.outer.frag_offset, hdr.outer.ttl, hdr.outer.protocol, hdr.outer.src_addr, hdr.outer.dst_addr },
            hdr.outer.hdr_checksum, HashAlgorithm.csum16);
    }
}

control MuxDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.outer);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(MuxParser(), MuxVerify(), MuxIngress(), MuxEgress(), MuxUpdate(), MuxDeparser()) main;
