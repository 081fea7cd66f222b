// Headers that the three programs share, and the way from an address to a port.

#ifndef APPS_HEADERS
#define APPS_HEADERS

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;
typedef bit<9>  port_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8>  PROTO_TCP = 6;
const bit<8>  PROTO_UDP = 17;

header ethernet_t {
    mac_t   dst;
    mac_t   src;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> total_len;
    bit<16> identification;
    bit<16> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    ipv4_t  src;
    ipv4_t  dst;
}

header tcp_h {
    bit<16>  src;
    bit<16>  dst;
    bit<96>  more;
    bit<16>  checksum;
    bit<16>  urgent;
}

header udp_h {
    bit<16> src;
    bit<16> dst;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    tcp_h      tcp;
    udp_h      udp;
}

// Ethernet, IPv4 without options, TCP or UDP; `L4` gets the ports.
#define PARSE_L4(L4) \
    state start { \
        packet.extract(hdr.ethernet); \
        transition select(hdr.ethernet.ether_type) { TYPE_IPV4: ipv4; default: accept; } \
    } \
    state ipv4 { \
        packet.extract(hdr.ipv4); \
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment & 0x1fff, hdr.ipv4.protocol) { \
            (5, 0, PROTO_TCP): tcp; (5, 0, PROTO_UDP): udp; default: accept; } \
    } \
    state tcp { packet.extract(hdr.tcp); L4.src = hdr.tcp.src; L4.dst = hdr.tcp.dst; transition accept; } \
    state udp { packet.extract(hdr.udp); L4.src = hdr.udp.src; L4.dst = hdr.udp.dst; transition accept; }

#define IPV4_SUMMED(H) { H.version, H.ihl, H.diffserv, H.total_len, H.identification, H.fragment, H.ttl, \
    H.protocol, H.src, H.dst }

// Ports of TCP or UDP.
struct ports_t {
    bit<16> src;
    bit<16> dst;
}

// The next hop of an address.
#define ROUTES(SIZE) \
    action unreachable() { mark_to_drop(standard_metadata); } \
    action forward(port_t port, mac_t src, mac_t dst) { \
        standard_metadata.egress_spec = port; \
        hdr.ethernet.src = src; \
        hdr.ethernet.dst = dst; \
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1; \
    } \
    table routes { \
        key = { hdr.ipv4.dst: lpm; } \
        actions = { forward; unreachable; } \
        default_action = unreachable(); \
        size = SIZE; \
    }

#endif
