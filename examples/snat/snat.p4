// Source address translation: the packets are rewritten here, and a handler in C keeps the mappings: see snat.c.
//
// Port 1 is inside, port 2 outside. Packets of TCP and UDP, and echo requests and replies of ICMP, whose identifier serves as a port,
// are translated; others are dropped and counted. Where no mapping can be made, the sender gets "host unreachable" (RFC 6888, REQ-11).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<9> INSIDE = 1;
const bit<9> OUTSIDE = 2;
// Ours, inside: the source of errors.
const bit<32> ROUTER = 0x0a0000fe;

enum bit<8> protocol_t { ICMP = 1, TCP = 6, UDP = 17 }
enum bit<8> direction_t { OUTBOUND = 0, INBOUND = 1 }

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> total_length;
    bit<16> id;
    bit<1>  reserved;
    bit<1>  dont_fragment;
    bit<1>  more_fragments;
    bit<13> fragment;
    bit<8>  ttl;
    protocol_t protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}
header tcp_t { bit<16> src; bit<16> dst; bit<96> rest; bit<16> checksum; bit<16> urgent; }
header udp_t { bit<16> src; bit<16> dst; bit<16> length; bit<16> checksum; }
header echo_t { bit<8> type; bit<8> code; bit<16> checksum; bit<16> id; bit<16> sequence; }
// An error, and the first 8 bytes after the IPv4 header of the packet in question, which it quotes.
header unreachable_t { bit<8> type; bit<8> code; bit<16> checksum; bit<32> unused; }
header quoted_t { bit<64> first; }

struct headers_t {
    ethernet_t ethernet;
    ipv4_t answer;
    unreachable_t unreachable;
    ipv4_t ipv4;
    quoted_t quoted;
    tcp_t tcp;
    udp_t udp;
    echo_t echo;
}

struct metadata_t { bit<16> src; bit<16> dst; }

// One end of a flow is ours: inside, or at a public address. The other is the peer.
struct snat_request_t {
    direction_t direction;
    protocol_t  protocol;
    bit<32> address;
    bit<16> port;
    bit<32> peer;
    bit<16> peer_port;
    // Inbound: the block of 64 ports that the port is of. Outbound: 0.
    bit<10> block;
}
// The other address of our end.
struct snat_response_t { bit<32> address; bit<16> port; }

// The servers of a group share the flows and the public ports. Outbound packets go to the server of their flow, inbound ones to the server that
// their block of ports is leased to: it is the same one, since a server takes ports of its own blocks. The handler keeps a mapping for `idle`
// seconds after the last outbound packet, and looks once a second.
#ifndef SNAT_CONFIG
#define SNAT_CONFIG "address=203.0.113.1 first=1024 last=5119 idle=120 quarantine=30"
#define SNAT_KEEPS "122s"
#endif
@remote(handler = "snat", group = "nat", key = { q.address, q.port, q.peer, q.peer_port, q.protocol }, block = q.block, keeps = SNAT_KEEPS, config = SNAT_CONFIG)
extern bool snat(in snat_request_t q, out snat_response_t r);

parser SnatParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0, 0, protocol_t.TCP): tcp;
            (5, 0, 0, protocol_t.UDP): udp;
            (5, 0, 0, protocol_t.ICMP): echo;
            default: accept;
        }
    }
    state tcp { packet.extract(hdr.tcp); meta.src = hdr.tcp.src; meta.dst = hdr.tcp.dst; transition accept; }
    state udp { packet.extract(hdr.udp); meta.src = hdr.udp.src; meta.dst = hdr.udp.dst; transition accept; }
    state echo {
        packet.extract(hdr.echo);
        meta.src = hdr.echo.id;
        meta.dst = hdr.echo.id;
        transition select(hdr.echo.type) { 0: accept; 8: accept; default: other; }
    }
    state other { hdr.echo.setInvalid(); transition accept; }
}

control SnatVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

// The checksum after a change of an address and a port (RFC 1624, eq. 3).
bit<16> adjusted(in bit<16> sum, in bit<32> was, in bit<32> now, in bit<16> was_port, in bit<16> now_port) {
    bit<32> total = 16w0 ++ ~sum;
    total = total + (16w0 ++ ~was[31:16]) + (16w0 ++ ~was[15:0]) + (16w0 ++ ~was_port);
    total = total + (16w0 ++ now[31:16]) + (16w0 ++ now[15:0]) + (16w0 ++ now_port);
    total = (16w0 ++ total[15:0]) + (16w0 ++ total[31:16]);
    total = (16w0 ++ total[15:0]) + (16w0 ++ total[31:16]);
    return ~total[15:0];
}

control SnatIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    // 0: not translatable; 1: no mapping, and none can be made.
    counter<bit<1>>(2, CounterType.packets) dropped;
    snat_request_t q;
    snat_response_t r;

    action next_hop(bit<48> own, bit<48> next) { hdr.ethernet.src = own; hdr.ethernet.dst = next; }
    table next_hops {
        key = { std.egress_spec: exact; }
        actions = { next_hop; NoAction; }
        default_action = NoAction();
        const entries = {
            INSIDE: next_hop(0x020000000001, 0x020000000101);
            OUTSIDE: next_hop(0x020000000002, 0x020000000201);
        }
    }

    // The packet becomes an error about itself, for its sender.
    action quote() {
        hdr.answer = hdr.ipv4;
        hdr.answer.tos = 0;
        hdr.answer.total_length = 56;
        hdr.answer.id = 0;
        hdr.answer.dont_fragment = 1;
        hdr.answer.ttl = 64;
        hdr.answer.protocol = protocol_t.ICMP;
        hdr.answer.src = ROUTER;
        hdr.answer.dst = hdr.ipv4.src;
        hdr.unreachable = { 3, 1, 0, 0 };
        hdr.quoted.setValid();
        std.egress_spec = INSIDE;
        // Without all that follows the quoted bytes.
        truncate(70);
    }

    apply {
        if (!(hdr.tcp.isValid() || hdr.udp.isValid() || hdr.echo.isValid()) || hdr.ipv4.ttl <= 1) {
            dropped.count(0);
            mark_to_drop(std);
            exit;
        }
        bool outbound = std.ingress_port == INSIDE;
        q.protocol = hdr.ipv4.protocol;
        if (outbound) {
            q.direction = direction_t.OUTBOUND;
            q.address = hdr.ipv4.src;
            q.port = meta.src;
            q.peer = hdr.ipv4.dst;
            q.peer_port = meta.dst;
            q.block = 0;
        } else {
            q.direction = direction_t.INBOUND;
            q.address = hdr.ipv4.dst;
            q.port = meta.dst;
            q.peer = hdr.ipv4.src;
            q.peer_port = meta.src;
            q.block = meta.dst[15:6];
        }
        if (hdr.echo.isValid()) { q.peer_port = 0; }
        bool found = snat(q, r);
        if (!found) {
            dropped.count(1);
            // No errors about what comes from outside, or was sent to many (RFC 1122, section 3.2.2).
            if (!outbound || hdr.ethernet.dst[40:40] == 1) {
                mark_to_drop(std);
                exit;
            }
            quote();
            if (hdr.tcp.isValid()) {
                hdr.quoted.first = hdr.tcp.src ++ hdr.tcp.dst ++ hdr.tcp.rest[95:64];
            } else if (hdr.udp.isValid()) {
                hdr.quoted.first = hdr.udp.src ++ hdr.udp.dst ++ hdr.udp.length ++ hdr.udp.checksum;
            } else {
                hdr.quoted.first = hdr.echo.type ++ hdr.echo.code ++ hdr.echo.checksum ++ hdr.echo.id ++ hdr.echo.sequence;
            }
            next_hops.apply();
            exit;
        }
        if (outbound) {
            hdr.ipv4.src = r.address;
            std.egress_spec = OUTSIDE;
        } else {
            hdr.ipv4.dst = r.address;
            std.egress_spec = INSIDE;
        }
        next_hops.apply();
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        if (hdr.tcp.isValid()) {
            if (outbound) { hdr.tcp.src = r.port; } else { hdr.tcp.dst = r.port; }
            hdr.tcp.checksum = adjusted(hdr.tcp.checksum, q.address, r.address, q.port, r.port);
        } else if (hdr.udp.isValid()) {
            if (outbound) { hdr.udp.src = r.port; } else { hdr.udp.dst = r.port; }
            // Zero: the sender computed none.
            if (hdr.udp.checksum != 0) {
                hdr.udp.checksum = adjusted(hdr.udp.checksum, q.address, r.address, q.port, r.port);
                if (hdr.udp.checksum == 0) { hdr.udp.checksum = 0xffff; }
            }
        } else {
            hdr.echo.id = r.port;
            hdr.echo.checksum = adjusted(hdr.echo.checksum, 0, 0, q.port, r.port);
        }
    }
}

control SnatEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }

control SnatCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_length, hdr.ipv4.id, hdr.ipv4.reserved,
              hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.fragment, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.answer.isValid(),
            { hdr.answer.version, hdr.answer.ihl, hdr.answer.tos, hdr.answer.total_length, hdr.answer.id, hdr.answer.reserved,
              hdr.answer.dont_fragment, hdr.answer.more_fragments, hdr.answer.fragment, hdr.answer.ttl,
              hdr.answer.protocol, hdr.answer.src, hdr.answer.dst },
            hdr.answer.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.unreachable.isValid(),
            { hdr.unreachable.type, hdr.unreachable.code, hdr.unreachable.unused, hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos,
              hdr.ipv4.total_length, hdr.ipv4.id, hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments,
              hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.checksum, hdr.ipv4.src, hdr.ipv4.dst,
              hdr.quoted.first },
            hdr.unreachable.checksum, HashAlgorithm.csum16);
    }
}

control SnatDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.answer);
        packet.emit(hdr.unreachable);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.quoted);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.echo);
    }
}

V1Switch(SnatParser(), SnatVerify(), SnatIngress(), SnatEgress(), SnatCompute(), SnatDeparser()) main;
