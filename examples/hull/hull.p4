// SPDX-License-Identifier: Apache-2.0
//
// HULL (Alizadeh et al., NSDI'12): packets are marked by a phantom queue, which drains at 95 % of the link's rate. Senders of DCTCP then keep the real
// queue empty, for 5 % of the bandwidth.
//
//   v = max(0, v - 0.95 C t) + bytes, for each packet that leaves t after the one before;   v > threshold -> congestion experienced
//
// 0.95 C t is a sum of shifts, as C is a constant for each rate of links. Every operation is one of a limited switch (p4rack check hull.p4 --device
// flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<2> NOT_CAPABLE = 0;
const bit<2> CONGESTION_EXPERIENCED = 3;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
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
    bit<32> src_addr;
    bit<32> dst_addr;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
}

struct metadata_t { }

parser HullParser(packet_in packet,
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
        transition accept;
    }
}

control HullVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control HullIngress(inout headers_t hdr,
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

control HullEgress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    // By port: when the last packet left, in us, and the phantom queue in bytes.
    register<bit<32>, bit<32>>(16) times;
    register<bit<32>, bit<32>>(16) phantoms;
    bit<1> has_phantom = 0;
    bit<32> since = 0;
    bit<32> drained = 0;
    bit<32> threshold = 0;

    // 118.75 bytes in a microsecond, with the 24 bytes of a frame on the wire left out.
    action phantom_1g(bit<32> bytes) {
        has_phantom = 1;
        threshold = bytes;
        drained = (since << 7) - (since << 3) - since - (since >> 2);
    }

    // 1,187.5.
    action phantom_10g(bit<32> bytes) {
        has_phantom = 1;
        threshold = bytes;
        drained = (since << 10) + (since << 7) + (since << 5) + (since << 1) + since + (since >> 1);
    }

    // Ports with a phantom queue, and the bytes above which packets are marked.
    table links {
        key = { standard_metadata.egress_port: exact; }
        actions = { phantom_1g; phantom_10g; NoAction; }
        default_action = NoAction();
        size = 16;
    }

    apply {
        bit<32> index = 28w0 ++ standard_metadata.egress_port[3:0];
        bit<32> now = standard_metadata.egress_global_timestamp[31:0];
        bit<32> last;
        times.read(last, index);
        times.write(index, now);
        since = now - last;
        // After 65 ms every phantom queue is empty, and longer times would overflow.
        since = since < 65535 ? since : 65535;
        links.apply();
        bit<32> phantom;
        phantoms.read(phantom, index);
        if (has_phantom == 1) {
            phantom = (phantom |-| drained) + standard_metadata.packet_length;
            phantoms.write(index, phantom);
            // The checksum below is that of a header without options.
            if (hdr.ipv4.isValid() && hdr.ipv4.ihl == 5 && hdr.ipv4.ecn != NOT_CAPABLE && phantom > threshold) {
                hdr.ipv4.ecn = CONGESTION_EXPERIENCED;
            }
        }
    }
}

control HullUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control HullDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(HullParser(), HullVerify(), HullIngress(), HullEgress(), HullUpdate(), HullDeparser()) main;
