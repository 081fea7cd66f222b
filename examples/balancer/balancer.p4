// A load balancer: connections to one virtual address are shared by backends. A handler in C chooses the backend of a new connection, the one with the
// fewest, and remembers it: see balancer.c. Packets are rewritten here, in both directions; from the backends no call is needed.
//
// Port 1 leads to the clients, port 2 to the backends. Packets to and from other addresses are dropped and counted.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<9> CLIENTS = 1;
const bit<9> BACKENDS = 2;
const bit<32> VIRTUAL = 0xcb007150; // 203.0.113.80

enum bit<8> protocol_t { TCP = 6, UDP = 17 }

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
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; tcp_t tcp; udp_t udp; }
struct metadata_t { bit<16> src; bit<16> dst; bit<8> flags; }

struct balance_request_t {
    bit<32> client;
    bit<16> client_port;
    bit<16> port;
    protocol_t protocol;
    // SYN is 2, FIN 1, RST 4.
    bit<8>  tcp_flags;
}
// Number of the backend.
struct balance_response_t { bit<8> backend; }

// The handler keeps a connection for `idle` seconds after the client's last packet, and looks once a second. `backends` is their number.
@remote(handler = "balance", group = "balancers", key = { q.client, q.client_port, q.port, q.protocol }, keeps = "62s", config = "backends=3 idle=60")
extern bool balance(in balance_request_t q, out balance_response_t r);

parser BalancerParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0, 0, protocol_t.TCP): tcp;
            (5, 0, 0, protocol_t.UDP): udp;
            default: accept;
        }
    }
    state tcp {
        packet.extract(hdr.tcp);
        meta.src = hdr.tcp.src;
        meta.dst = hdr.tcp.dst;
        meta.flags = hdr.tcp.rest[23:16];
        transition accept;
    }
    state udp {
        packet.extract(hdr.udp);
        meta.src = hdr.udp.src;
        meta.dst = hdr.udp.dst;
        meta.flags = 0;
        transition accept;
    }
}

control BalancerVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

// The checksum after a change of an address and a port (RFC 1624, eq. 3).
bit<16> adjusted(in bit<16> sum, in bit<32> was, in bit<32> now, in bit<16> was_port, in bit<16> now_port) {
    bit<32> total = 16w0 ++ ~sum;
    total = total + (16w0 ++ ~was[31:16]) + (16w0 ++ ~was[15:0]) + (16w0 ++ ~was_port);
    total = total + (16w0 ++ now[31:16]) + (16w0 ++ now[15:0]) + (16w0 ++ now_port);
    total = (16w0 ++ total[15:0]) + (16w0 ++ total[31:16]);
    total = (16w0 ++ total[15:0]) + (16w0 ++ total[31:16]);
    return ~total[15:0];
}

control BalancerIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    // 0: not for the virtual address, or not from a backend; 1: no room for the connection.
    counter<bit<1>>(2, CounterType.packets) dropped;
    balance_request_t q;
    balance_response_t r;
    bit<32> own;
    bit<32> other;

    action backend(bit<32> address, bit<48> mac) { other = address; hdr.ethernet.dst = mac; }
    table backends {
        key = { r.backend: exact; }
        actions = { backend; NoAction; }
        default_action = NoAction();
        const entries = {
            0: backend(0x0a000201, 0x020000000201);
            1: backend(0x0a000202, 0x020000000202);
            2: backend(0x0a000203, 0x020000000203);
        }
    }
    table is_backend {
        key = { hdr.ipv4.src: exact; }
        actions = { NoAction; }
        const entries = { 0x0a000201: NoAction(); 0x0a000202: NoAction(); 0x0a000203: NoAction(); }
    }

    apply {
        bool fits = (hdr.tcp.isValid() || hdr.udp.isValid()) && hdr.ipv4.ttl > 1;
        if (!fits) {
            dropped.count(0);
            mark_to_drop(std);
            exit;
        }
        if (std.ingress_port == CLIENTS) {
            if (hdr.ipv4.dst != VIRTUAL) {
                dropped.count(0);
                mark_to_drop(std);
                exit;
            }
            q = { hdr.ipv4.src, meta.src, meta.dst, hdr.ipv4.protocol, meta.flags };
            bool found = balance(q, r);
            if (!found) {
                dropped.count(1);
                mark_to_drop(std);
                exit;
            }
            own = hdr.ipv4.dst;
            other = own;
            backends.apply();
            hdr.ipv4.dst = other;
            std.egress_spec = BACKENDS;
        } else {
            if (!is_backend.apply().hit) {
                dropped.count(0);
                mark_to_drop(std);
                exit;
            }
            own = hdr.ipv4.src;
            other = VIRTUAL;
            hdr.ipv4.src = other;
            hdr.ethernet.dst = 0x020000000101;
            std.egress_spec = CLIENTS;
        }
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        if (hdr.tcp.isValid()) {
            hdr.tcp.checksum = adjusted(hdr.tcp.checksum, own, other, 0, 0);
        } else if (hdr.udp.checksum != 0) {
            hdr.udp.checksum = adjusted(hdr.udp.checksum, own, other, 0, 0);
            if (hdr.udp.checksum == 0) { hdr.udp.checksum = 0xffff; }
        }
    }
}

control BalancerEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }

control BalancerCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_length, hdr.ipv4.id, hdr.ipv4.reserved,
              hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.fragment, hdr.ipv4.ttl,
              (bit<8>)hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control BalancerDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(BalancerParser(), BalancerVerify(), BalancerIngress(), BalancerEgress(), BalancerCompute(), BalancerDeparser()) main;
