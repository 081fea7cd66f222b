// SPDX-License-Identifier: Apache-2.0
//
// QCN (IEEE 802.1Qau; Alizadeh et al., Allerton'08) at a congestion point: samples of packets say how long the queue is and how it changes, and each sample
// of a congested queue sends a notification to the packet's source, which lowers its rate.
//
//   egress:  Q packets are queued; the port is due for a sample?  ->  Fb = (Q - Qeq) + 2 (Q - Qold)  ->  Fb > 0: clone -> notification (CNM) to the source
//
// Qeq is 25 packets; Fb / 2, rounded up, is the quantised feedback of 6 bits. Samples are 150,000 bytes apart, or less if the queue is above Qeq: at 5 Qeq, 18,500
// bytes. The distance depends on Q alone: by 802.1Qau it depends on Fb, for which the array of distances would need a value of the array of lengths that
// itself waits for the distance (EXACT). Every operation is one of a limited switch (p4rack check qcn.p4 --device flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_CNM = 0x22e7;
const bit<32> EGRESS_CLONE = 2;
const bit<20> EQUILIBRIUM = 25;
// The congestion point's address.
const bit<48> OWN = 0x02000000fffe;
// Bytes of a notification: Ethernet, its own 24 bytes, and 64 of the packet after Ethernet.
const bit<32> LENGTH = 102;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

// A notification, IEEE 802.1Q, section 33.4; the congested packet's data follows.
header cnm_h {
    bit<4>  version;
    bit<6>  reserved;
    bit<6>  feedback;
    bit<64> point;         // the congestion point: its address, and the port
    bit<16> offset;        // Q - Qeq
    bit<16> delta;         // Q - Qold
    bit<16> priority;
    bit<48> destination;   // of the congested packet
    bit<16> bytes;         // of the congested packet's data that follow
}

struct headers_t {
    ethernet_t ethernet;
    cnm_h      cnm;
}

struct metadata_t {
    @field_list(1)
    bit<6>  feedback;
    @field_list(1)
    bit<16> offset;
    @field_list(1)
    bit<16> delta;
    @field_list(1)
    bit<9>  port;
}

parser QcnParser(packet_in packet,
                 out headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control QcnVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control QcnIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
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

    apply {
        hosts.apply();
    }
}

control QcnEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    // By port: bytes until the next sample, and the queue's length at the last one.
    register<bit<32>, bit<32>>(512) distances;
    register<bit<20>, bit<32>>(512) lengths;
    bit<32> next = 150000;
    bit<1> is_point = 0;

    action watch() {
        is_point = 1;
    }

    // Ports that are congestion points.
    table points {
        key = { standard_metadata.egress_port: exact; }
        actions = { watch; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action after(bit<32> bytes) {
        next = bytes;
    }

    // Distance of the next sample, by the feedback in eighths of the largest.
    table samples {
        key = { meta.feedback: range; }
        actions = { after; }
        const default_action = after(150000);
        size = 8;
        const entries = {
            8 .. 15: after(75000);
            16 .. 23: after(50000);
            24 .. 31: after(37500);
            32 .. 39: after(30000);
            40 .. 47: after(25000);
            48 .. 55: after(21500);
            56 .. 63: after(18500);
        }
    }

    // Half of an amount, rounded up, within 6 bits: the quantised feedback.
    action quantise(bit<20> amount) {
        bit<20> half = (amount + 1) >> 1;
        meta.feedback = half < 63 ? half[5:0] : 63;
    }

    apply {
        if (standard_metadata.instance_type == EGRESS_CLONE) {
            hdr.cnm = { 0, 0, meta.feedback, OWN ++ 7w0 ++ meta.port, meta.offset, meta.delta, 0, hdr.ethernet.dst_addr, 64 };
            hdr.ethernet = { hdr.ethernet.src_addr, OWN, TYPE_CNM };
            truncate(LENGTH);
        } else {
            points.apply();
            if (is_point == 1) {
                bit<32> index = 23w0 ++ standard_metadata.egress_port;
                bit<20> queue = 1w0 ++ standard_metadata.deq_qdepth;
                bit<32> bytes = standard_metadata.packet_length;
                bit<20> above = queue |-| EQUILIBRIUM;
                bit<32> left;
                distances.read(left, index);
                bit<1> is_sample = (bit<1>)(left <= bytes);
                bit<20> old = 0;
#ifdef EXACT
                lengths.read(old, index);
#else
                // As if the queue's length stayed: by the offset alone.
                quantise(above);
                samples.apply();
                left = is_sample == 1 ? next : left - bytes;
                distances.write(index, left);
                lengths.read(old, index);
#endif
                if (is_sample == 1) {
                    lengths.write(index, queue);
                }
                // Offset and change, with 20 bits and signs.
                bit<20> delta = queue - old;
                bit<20> sum = (queue - EQUILIBRIUM) + (delta << 1);
                bit<20> amount = sum[19:19] == 1 ? 0 : sum;
                quantise(amount);
#ifdef EXACT
                samples.apply();
                left = is_sample == 1 ? next : left - bytes;
                distances.write(index, left);
#endif
                if (is_sample == 1 && amount != 0) {
                    meta.offset = (queue - EQUILIBRIUM)[15:0];
                    meta.delta = delta[15:0];
                    meta.port = standard_metadata.egress_port;
                    // Sessions are numbered like ports: the notification leaves where the packet came in.
                    clone_preserving_field_list(CloneType.E2E, 23w0 ++ standard_metadata.ingress_port, 1);
                }
            }
        }
    }
}

control QcnUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control QcnDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.cnm);
    }
}

V1Switch(QcnParser(), QcnVerify(), QcnIngress(), QcnEgress(), QcnUpdate(), QcnDeparser()) main;
