// A SYN proxy of servers: clients get a SYN cookie, and only a client that has answered it reaches its server.
//
//   client            switch             server
//     | SYN x           |                  |
//     |---------------->|                  |     no memory is used
//     |<-- SYN-ACK c ---|                  |     c: the cookie
//     | ACK x+1, c+1    |                  |
//     |---------------->| SYN x            |     digest `client_ready_t`
//     |                 |----------------->|
//     |                 |<-- SYN-ACK s ----|     digest `server_ready_t`
//     |                 | ACK x+1, s+1     |
//     |                 |----------------->|     the controller writes s - c for both directions
//     | data            | data             |
//     |---------------->|----------------->|     acknowledgement + (s - c); the other direction: number - (s - c)
//
// The cookie has 24 bits of a hash over addresses, ports, x, the time slot (67 s) and a secret, 5 bits of the slot, and 3 bits of the maximum
// segment size. Window scale, SACK and time stamps are not offered, so that neither side uses them. Packets that come before the controller has written are dropped; their
// sender repeats them. Servers do not open connections.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"
#include "translate.p4"

const bit<8> SYN = 0x02;
const bit<8> RST = 0x04;
const bit<8> ACK = 0x10;
const bit<8> SYN_ACK = 0x12;
const bit<8> SYN_RST_ACK = 0x16;
// FIN, SYN, RST and ACK.
const bit<8> KINDS = 0x17;

header segment_h {
    bit<16> src;
    bit<16> dst;
    bit<32> seq;
    bit<32> ack;
    bit<4>  words;
    bit<4>  reserved;
    bit<8>  flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header mss_h {
    bit<8>  kind;
    bit<8>  length;
    bit<16> value;
}

struct proxy_headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    segment_h  tcp;
    mss_h      mss;
}

struct metadata_t {
    // The server's maximum segment size.
    bit<16> mss;
    bit<32> secret;
    bit<32> change;
    // A segment of the switch's own, without data.
    bit<1>  made;
}

// A client has answered its cookie.
struct client_ready_t {
    ipv4_t  client;
    ipv4_t  server;
    bit<16> client_port;
    bit<16> server_port;
    bit<32> cookie;
}

// The server has answered: SYN-ACK, or RST.
struct server_ready_t {
    ipv4_t  client;
    ipv4_t  server;
    bit<16> client_port;
    bit<16> server_port;
    bit<32> number;
    bit<8>  flags;
}

// An end closes or resets a connection.
struct closing_t {
    ipv4_t  client;
    ipv4_t  server;
    bit<16> client_port;
    bit<16> server_port;
}

parser ProxyParser(packet_in packet, out proxy_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { TYPE_IPV4: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment & 0x3fff, hdr.ipv4.protocol) {
            (5, 0, PROTO_TCP): tcp; default: accept; }
    }
    state tcp {
        packet.extract(hdr.tcp);
        transition select(hdr.tcp.flags & KINDS, hdr.tcp.words) { (SYN, 6 .. 15): options; default: accept; }
    }
    // Systems send the maximum segment size as the first option.
    state options {
        transition select(packet.lookahead<bit<16>>()) { 0x0204: mss; default: accept; }
    }
    state mss { packet.extract(hdr.mss); transition accept; }
}

control ProxyVerify(inout proxy_headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control ProxyIngress(inout proxy_headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // 0: no cookie of ours; 1: a server's segment of no connection.
    counter<bit<1>>(2, CounterType.packets) refused;

    ROUTES(1024)

    // Servers, by the destination of a client's segment, and by the source of a server's.
    action is_server(bit<16> mss, bit<32> secret) {
        meta.mss = mss;
        meta.secret = secret;
    }
    table servers {
        key = { hdr.ipv4.dst: exact; }
        actions = { is_server; NoAction; }
        default_action = NoAction();
        size = 1024;
    }
    action is_behind() { }
    table behind {
        key = { hdr.ipv4.src: exact; }
        actions = { is_behind; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    action moved(bit<32> old, bit<32> new) {
        meta.change = (bit<32>)(~old[31:16]) + (bit<32>)(~old[15:0]) + (bit<32>)new[31:16] + (bit<32>)new[15:0];
    }
    action to_server(bit<32> offset) {
        moved(hdr.tcp.ack, hdr.tcp.ack + offset);
        hdr.tcp.ack = hdr.tcp.ack + offset;
    }
    table from_client {
        key = { hdr.ipv4.src: exact; hdr.ipv4.dst: exact; hdr.tcp.src: exact; hdr.tcp.dst: exact; }
        actions = { to_server; NoAction; }
        default_action = NoAction();
        size = 65536;
    }
    action to_client(bit<32> offset) {
        moved(hdr.tcp.seq, hdr.tcp.seq - offset);
        hdr.tcp.seq = hdr.tcp.seq - offset;
    }
    table from_server {
        key = { hdr.ipv4.dst: exact; hdr.ipv4.src: exact; hdr.tcp.dst: exact; hdr.tcp.src: exact; }
        actions = { to_client; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    // Makes a segment without data of the packet, with the option for the maximum segment size if `mss` is not zero.
    action make(bit<8> flags, bit<32> seq, bit<32> ack, bit<16> mss) {
        meta.made = 1;
        hdr.tcp.flags = flags;
        hdr.tcp.reserved = 0;
        hdr.tcp.urgent = 0;
        hdr.tcp.seq = seq;
        hdr.tcp.ack = ack;
        hdr.mss.setInvalid();
        hdr.tcp.words = 5;
        hdr.ipv4.total_len = 40;
        if (mss != 0) {
            hdr.mss.setValid();
            hdr.mss = { 2, 4, mss };
            hdr.tcp.words = 6;
            hdr.ipv4.total_len = 44;
        }
    }
    // Sends it to where the packet came from.
    action answer() {
        mac_t mac = hdr.ethernet.src;
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = mac;
        ipv4_t address = hdr.ipv4.src;
        hdr.ipv4.src = hdr.ipv4.dst;
        hdr.ipv4.dst = address;
        hdr.ipv4.ttl = 64;
        bit<16> l4_port = hdr.tcp.src;
        hdr.tcp.src = hdr.tcp.dst;
        hdr.tcp.dst = l4_port;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }
    action refuse(bit<1> why) {
        refused.count(why);
        mark_to_drop(standard_metadata);
    }

    // The cookie for the client's first number, as the client's segments have addresses and ports.
    action cookie_of(out bit<32> cookie, in bit<32> first, in bit<48> slot, in bit<3> size) {
        bit<32> hashed;
        hash(hashed, HashAlgorithm.crc32, 32w0, { meta.secret, hdr.ipv4.src, hdr.ipv4.dst, hdr.tcp.src, hdr.tcp.dst, first,
             slot, 5w0, size, meta.secret }, 33w0x100000000);
        cookie = hashed[31:8] ++ slot[4:0] ++ size;
    }

    apply {
        if (!hdr.ipv4.isValid() || hdr.ipv4.ttl <= 1 || standard_metadata.checksum_error == 1) {
            mark_to_drop(standard_metadata);
            return;
        }
        if (hdr.tcp.isValid()) {
            bit<8> kind = hdr.tcp.flags & KINDS;
            bit<48> slot = standard_metadata.ingress_global_timestamp >> 26;
            bit<32> cookie;
            if (servers.apply().hit) {
                if (kind == SYN) {
                    bit<3> size = 0;
                    if (hdr.mss.isValid()) {
                        if (hdr.mss.value >= 1460) { size = 3; }
                        else if (hdr.mss.value >= 1440) { size = 2; }
                        else if (hdr.mss.value >= 1300) { size = 1; }
                    }
                    cookie_of(cookie, hdr.tcp.seq, slot, size);
                    make(SYN_ACK, cookie, hdr.tcp.seq + 1, meta.mss);
                    hdr.tcp.window = 0xffff;
                    answer();
                    truncate(58);
                    return;
                } else if (!from_client.apply().hit) {
                    bit<32> got = hdr.tcp.ack - 1;
                    bit<48> age = (bit<48>)(slot[4:0] - got[7:3]);
                    cookie_of(cookie, hdr.tcp.seq - 1, slot - age, got[2:0]);
                    // A segment with FIN will do if the plain one was lost.
                    if (kind & SYN_RST_ACK != ACK || age > 1 || got != cookie) {
                        refuse(0);
                        return;
                    }
                    client_ready_t ready = { hdr.ipv4.src, hdr.ipv4.dst, hdr.tcp.src, hdr.tcp.dst, cookie };
                    digest(1, ready);
                    bit<16> mss = 536;
                    if (got[2:0] == 3) { mss = 1460; }
                    else if (got[2:0] == 2) { mss = 1440; }
                    else if (got[2:0] == 1) { mss = 1300; }
                    make(SYN, hdr.tcp.seq - 1, 0, mss);
                    truncate(58);
                } else {
                    if (hdr.tcp.flags & 0x05 != 0) {
                        closing_t closing = { hdr.ipv4.src, hdr.ipv4.dst, hdr.tcp.src, hdr.tcp.dst };
                        digest(1, closing);
                    }
                    CORRECT(hdr.tcp.checksum, meta.change)
                }
            } else if (behind.apply().hit) {
                if (!from_server.apply().hit) {
                    if (kind != SYN_ACK && kind & RST == 0) {
                        refuse(1);
                        return;
                    }
                    server_ready_t ready = { hdr.ipv4.dst, hdr.ipv4.src, hdr.tcp.dst, hdr.tcp.src, hdr.tcp.seq, kind };
                    digest(1, ready);
                    if (kind != SYN_ACK) {
                        mark_to_drop(standard_metadata);
                        return;
                    }
                    bit<32> next = hdr.tcp.seq + 1;
                    make(ACK, hdr.tcp.ack, next, 0);
                    hdr.tcp.window = 0xffff;
                    answer();
                    truncate(54);
                    return;
                }
                if (hdr.tcp.flags & 0x05 != 0) {
                    closing_t closing = { hdr.ipv4.dst, hdr.ipv4.src, hdr.tcp.dst, hdr.tcp.src };
                    digest(1, closing);
                }
                CORRECT(hdr.tcp.checksum, meta.change)
            }
        }
        routes.apply();
    }
}

control ProxyEgress(inout proxy_headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

#define SEGMENT hdr.ipv4.src, hdr.ipv4.dst, 8w0, hdr.ipv4.protocol, hdr.tcp.src, hdr.tcp.dst, hdr.tcp.seq, hdr.tcp.ack, \
    hdr.tcp.words, hdr.tcp.reserved, hdr.tcp.flags, hdr.tcp.window, hdr.tcp.urgent

control ProxyCompute(inout proxy_headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(meta.made == 1 && !hdr.mss.isValid(), { SEGMENT, 16w20 }, hdr.tcp.checksum,
                        HashAlgorithm.csum16);
        update_checksum(meta.made == 1 && hdr.mss.isValid(),
                        { SEGMENT, 16w24, hdr.mss.kind, hdr.mss.length, hdr.mss.value }, hdr.tcp.checksum,
                        HashAlgorithm.csum16);
    }
}

control ProxyDeparser(packet_out packet, in proxy_headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.mss);
    }
}

V1Switch(ProxyParser(), ProxyVerify(), ProxyIngress(), ProxyEgress(), ProxyCompute(), ProxyDeparser()) main;
