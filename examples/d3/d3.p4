// SPDX-License-Identifier: Apache-2.0
//
// D3 (Wilson et al., SIGCOMM'11) on a switch: transfers with deadlines ask for the rate that they need, and the switch grants it first come, first
// served; what is left over is shared.
//
//   a request:  forward -> measure its output port (demands, transfers, grants) -> grant = min(grant, given)
//
// One packet of each round trip of a transfer is a request. It says the desired rate (bytes left / time left; 0 without a deadline), and what the
// request before desired and was granted, so that the switch keeps three sums for a port and nothing for a transfer:
//
//   D := D - past desired + desired         N := N + 1 at a SYN, N - 1 at an END        A := A - past granted
//   left = C - A       fair = (C - D) / N, at least 0
//   given = min(max(min(desired + fair, left), base), wish)                             A := A + given
//
// The paper gives desired + fair whenever desired < left, and adapts C to the queue that comes of it; here the sum of all grants stays below C, but
// for base rates. A table gives the quotient. Every operation is one of a limited switch (p4rack check d3.p4 --device flexswitch). EXACT divides
// instead, for software devices.
//
// A request or an answer that is lost leaves the sums wrong: a port without requests for 16 ms forgets them. The header has room for the grant of one
// switch, so one port with rate control is on a path; the paper's header has a list.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include <p4rack/blocks/periodic/interval=8,cells=4.p4>
#ifdef EXACT
@value_extern("divide")
extern bool divide(inout bit<64> number, in bit<32> by, out bit<32> rest);
#else
#include <p4rack/blocks/divide-normalised/mantissa=8,as=Share.p4>
#endif

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
// The receivers' port of D3.
const bit<16> PORT_D3 = 9304;
// Flags of D3's header.
const bit<4> D3_SYN = 1;
const bit<4> D3_REF = 2;
const bit<4> D3_ACK = 8;
// Everything is sent.
const bit<4> D3_END = D3_SYN | D3_REF;
// Every transfer has this rate, in kbit/s.
const bit<32> BASE = 1000;
// Intervals of 256 us without a request after which sums are forgotten.
const bit<32> PATIENCE = 64;

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    ipv4_t  src_addr;
    ipv4_t  dst_addr;
}

header udp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header d3_h {
    bit<4>  version;
    bit<4>  flags;
    bit<24> rtt_us;         // the sender's round trip; 0 if it does not know any
    bit<32> grant;          // kbit/s; the sender writes what it wishes, the switch lowers it to what it gives
    bit<32> desired;        // kbit/s; 0 without a deadline. In an answer: the grant that came
    bit<32> past_desired;   // kbit/s; of the request before
    bit<32> past_granted;   // kbit/s
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_h      udp;
    d3_h       d3;
}

struct metadata_t {
    bit<1>  is_controlled;
    bit<2>  slot;
    // C, in kbit/s.
    bit<32> capacity;
}

parser D3Parser(packet_in packet,
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
            (5, 0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            PORT_D3: parse_d3;
            default: accept;
        }
    }

    state parse_d3 {
        packet.extract(hdr.d3);
        transition accept;
    }
}

control D3Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// What a port gives to a request, in kbit/s.
control Give(in headers_t hdr, in metadata_t meta, in bit<32> now, out bit<32> given) {
    Periodic() intervals;
#ifndef EXACT
    Share() share;
#endif
    // D, N and A.
    register<bit<32>, bit<32>>(4) demands;
    register<bit<32>, bit<32>>(4) transfers;
    register<bit<32>, bit<32>>(4) grants;

    apply {
        bit<32> index = (bit<32>)meta.slot;
        bit<1> due;
        bit<32> ended;
        intervals.apply(meta.slot, now, due, ended);
        bit<1> forgets = (bit<1>)(ended > PATIENCE);

        bit<32> demand;
        demands.read(demand, index);
        demand = forgets == 1 ? 32w0 : demand;
        demand = (demand |-| hdr.d3.past_desired) |+| hdr.d3.desired;
        demands.write(index, demand);

        bit<32> open;
        transfers.read(open, index);
        open = forgets == 1 ? 32w0 : open;
        if (hdr.d3.flags == D3_SYN) {
            open = open |+| 1;
        } else if (hdr.d3.flags == D3_END) {
            open = open |-| 1;
        }
        transfers.write(index, open);

        bit<32> room = meta.capacity |-| demand;
        bit<32> by = open == 0 ? 32w1 : open;
        bit<32> fair;
#ifdef EXACT
        bit<32> rest;
        bit<64> quotient = (bit<64>)room;
        divide(quotient, by, rest);
        fair = quotient[31:0];
#else
        share.apply(room, by, fair);
#endif

        bit<32> granted;
        grants.read(granted, index);
        granted = forgets == 1 ? 32w0 : granted;
        granted = granted |-| hdr.d3.past_granted;
        bit<32> left = meta.capacity |-| granted;
        given = hdr.d3.desired |+| fair;
        given = given < left ? given : left;
        given = given > BASE ? given : BASE;
        // An END wishes nothing.
        given = given < hdr.d3.grant ? given : hdr.d3.grant;
        grants.write(index, granted |+| given);
    }
}

control D3Ingress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    Give() give;

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

    // C in kbit/s of frames.
    action control_rate(bit<2> slot, bit<32> capacity) {
        meta.is_controlled = 1;
        meta.slot = slot;
        meta.capacity = capacity;
    }

    table links {
        key = { standard_metadata.egress_spec: exact; }
        actions = { control_rate; NoAction; }
        default_action = NoAction();
        size = 4;
    }

    apply {
        if (hosts.apply().hit) {
            links.apply();
            if (meta.is_controlled == 1 && hdr.d3.isValid() && hdr.d3.flags & D3_ACK == 0 && hdr.d3.flags & D3_END != 0) {
                bit<32> given;
                give.apply(hdr, meta, standard_metadata.ingress_global_timestamp[31:0], given);
                hdr.d3.grant = given;
            }
        }
    }
}

control D3Egress(inout headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    apply { }
}

control D3Update(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control D3Deparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.d3);
    }
}

V1Switch(D3Parser(), D3Verify(), D3Ingress(), D3Egress(), D3Update(), D3Deparser()) main;
