// Detection of TCP retransmissions on an overlay: the switch follows the highest sequence number of each flow inside VXLAN, and asks a handler
// in C only about segments that leave a gap or go back: see trd.c.
//
// The switch is a tap between port 1 and port 2: packets pass unchanged. The counter `verdicts` has the results, one cell for each `verdict_t`.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> VXLAN_PORT = 4789;
// Flows that are followed at one time. A flow whose slot another one uses is not followed, and counted.
#define SLOTS 65536
// A slot is free after so many microseconds without packets.
const bit<48> IDLE = 60000000;

// What the handler is asked about.
enum bit<8> op_t {
    NONE = 0,
    OPEN = 1,       // a flow begins: earlier gaps of these addresses and ports are over
    GAP = 2,        // bytes from `next` to `start` are missing
    BACK = 3        // `start` is before `next`
}
enum bit<8> verdict_t {
    NONE = 0,
    SEEN = 1,           // a retransmission of bytes that have passed here: they were lost after the tap, or not at all
    OUT_OF_ORDER = 2,   // bytes that were overtaken
    BEFORE_TAP = 3,     // a retransmission of bytes that were lost before the tap
    UNKNOWN = 4         // too many gaps, or too many flows with gaps
}

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
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}
header udp_t { bit<16> src; bit<16> dst; bit<16> length; bit<16> checksum; }
header vxlan_t { bit<8> flags; bit<24> reserved; bit<24> vni; bit<8> reserved_too; }
header tcp_t {
    bit<16> src;
    bit<16> dst;
    bit<32> seq;
    bit<32> ack;
    bit<4>  offset;
    bit<7>  unused;
    bit<1>  is_ack;
    bit<1>  push;
    bit<1>  rst;
    bit<1>  syn;
    bit<1>  fin;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

struct headers_t {
    ethernet_t outer_ethernet;
    ipv4_t outer_ipv4;
    udp_t udp;
    vxlan_t vxlan;
    ethernet_t ethernet;
    ipv4_t ipv4;
    tcp_t tcp;
}
struct metadata_t { }

struct trd_request_t {
    bit<32> src;
    bit<32> dst;
    bit<16> src_port;
    bit<16> dst_port;
    op_t    op;
    bit<32> start;
    bit<32> end;
    bit<32> next;
}
struct trd_response_t { verdict_t verdict; }

// Bytes that fill a gap within `reorder` microseconds were overtaken; those that come later were lost. A gap is forgotten after a minute.
@remote(handler = "trd", group = "trd", key = { q.src, q.dst, q.src_port, q.dst_port }, keeps = "61s", config = "reorder=3000 keeps=60")
extern bool trd(in trd_request_t q, out trd_response_t r);

parser TrdParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.outer_ethernet);
        transition select(hdr.outer_ethernet.type) { 0x800: outer_ipv4; default: accept; }
    }
    state outer_ipv4 {
        packet.extract(hdr.outer_ipv4);
        transition select(hdr.outer_ipv4.ihl, hdr.outer_ipv4.more_fragments, hdr.outer_ipv4.fragment, hdr.outer_ipv4.protocol) {
            (5, 0, 0, 17): udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst) { VXLAN_PORT: vxlan; default: accept; }
    }
    state vxlan {
        packet.extract(hdr.vxlan);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0, 0, 6): tcp;
            default: accept;
        }
    }
    state tcp { packet.extract(hdr.tcp); transition accept; }
}

control TrdVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TrdIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    // Of each slot: a hash of the flow that has it, the end of the highest segment, the last packet, and 1 after a FIN or RST.
    register<bit<32>, bit<32>>(SLOTS) owners;
    register<bit<32>, bit<32>>(SLOTS) ends;
    register<bit<48>, bit<32>>(SLOTS) times;
    register<bit<1>, bit<32>>(SLOTS) closed;
    counter<bit<8>>(5, CounterType.packets) verdicts;
    // Segments of flows that are not followed: their beginning was not seen, or their slot was taken.
    counter<bit<1>>(1, CounterType.packets) untracked;
    trd_request_t q;
    trd_response_t r;

    apply {
        std.egress_spec = std.ingress_port == 1 ? 9w2 : 9w1;
        q.op = op_t.NONE;
        q.src = hdr.ipv4.src;
        q.dst = hdr.ipv4.dst;
        q.src_port = hdr.tcp.src;
        q.dst_port = hdr.tcp.dst;
        q.start = hdr.tcp.seq;
        q.end = 0;
        q.next = 0;
        bit<16> inner = 20 + (10w0 ++ hdr.tcp.offset ++ 2w0);
        if (hdr.tcp.isValid() && hdr.ipv4.total_length >= inner) {
            bit<32> slot;
            bit<32> own;
            hash(slot, HashAlgorithm.crc32, 32w0, { q.src, q.dst, q.src_port, q.dst_port }, 32w65536);
            hash(own, HashAlgorithm.crc32, 32w1, { q.dst_port, q.src, q.src_port, q.dst, 8w7 }, 32w0xfffffffe);
            bit<32> length = 16w0 ++ (hdr.ipv4.total_length - inner);
            bit<32> size = length + (31w0 ++ hdr.tcp.syn) + (31w0 ++ hdr.tcp.fin);
            bit<32> owner;
            bit<48> time;
            bit<1> is_closed;
            q.end = hdr.tcp.seq + size;
            owners.read(owner, slot);
            ends.read(q.next, slot);
            times.read(time, slot);
            closed.read(is_closed, slot);
            bool is_own = owner == own;
            bool is_free = owner == 0 || is_closed == 1 || std.ingress_global_timestamp - time > IDLE;
            // A SYN that comes again ends where the first one did.
            bool opens = hdr.tcp.syn == 1 && !(is_own && is_closed == 0 && q.end == q.next);
            if (opens && (is_own || is_free)) {
                q.op = op_t.OPEN;
                owners.write(slot, own);
                ends.write(slot, q.end);
                closed.write(slot, 0);
                times.write(slot, std.ingress_global_timestamp);
            } else if (is_own) {
                int<32> from_next = (int<32>) (hdr.tcp.seq - q.next);
                int<32> beyond = (int<32>) (q.end - q.next);
                bool is_keep_alive = length <= 1 && hdr.tcp.fin == 0 && hdr.tcp.syn == 0 && from_next == -1;
                if (hdr.tcp.rst == 0 && size != 0 && !is_keep_alive) {
                    if (from_next > 0) {
                        q.op = op_t.GAP;
                    } else if (from_next < 0) {
                        q.op = op_t.BACK;
                    }
                    if (beyond > 0) {
                        ends.write(slot, q.end);
                    }
                }
                if (hdr.tcp.rst == 1 || hdr.tcp.fin == 1) {
                    closed.write(slot, 1);
                }
                times.write(slot, std.ingress_global_timestamp);
            } else if (size != 0) {
                untracked.count(0);
            }
        }
        if (q.op != op_t.NONE) {
            if (trd(q, r)) {
                if (r.verdict != verdict_t.NONE) {
                    verdicts.count((bit<8>) r.verdict);
                }
            } else {
                verdicts.count((bit<8>) verdict_t.UNKNOWN);
            }
        }
    }
}
control TrdEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control TrdCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control TrdDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(TrdParser(), TrdVerify(), TrdIngress(), TrdEgress(), TrdCompute(), TrdDeparser()) main;
