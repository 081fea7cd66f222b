// SPDX-License-Identifier: Apache-2.0
//
// Differentiated services (RFC 2475) at the border of a network: packets are classified, policed by a token bucket for each class and customer,
// marked with a code point, and queued by it. Inside, the code point alone decides.
//
//   from a customer:  classify -> police -> mark (in profile, out of profile, or dropped) -> queue -> route
//   from inside:      code point -> queue -> route

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<9> DROP = 511;
const bit<32> BUCKETS = 1024;

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

header ports_h {
    bit<16> src_port;
    bit<16> dst_port;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    ports_h    ports;
}

struct metadata_t {
    bit<1>  is_border;
    bit<10> customer;
    bit<4>  class;
    bit<1>  in_profile;
    ipv4_t  next_hop;
}

parser QosParser(packet_in packet,
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
            (5, 0, 6): parse_ports;
            (5, 0, 17): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control QosVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(
            hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control QosIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    // For each bucket: bytes that may pass, and when that was so, in microseconds.
    register<bit<48>, bit<32>>(BUCKETS) tokens;
    register<bit<48>, bit<32>>(BUCKETS) filled;
    counter<bit<32>>(BUCKETS, CounterType.packets_and_bytes) out_of_profile;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action border(bit<10> customer) {
        meta.is_border = 1;
        meta.customer = customer;
    }

    table borders {
        key = { standard_metadata.ingress_port: exact; }
        actions = { border; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action set_class(bit<4> class) {
        meta.class = class;
    }

    table classes {
        key = {
            meta.customer: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.ports.dst_port: ternary;
        }
        actions = { set_class; drop; }
        default_action = set_class(0);
        size = 256;
    }

    // The bucket gets `rate` bytes in 1024 us and holds `burst`.
    action police(bit<32> bucket, bit<48> rate, bit<48> burst) {
        bit<48> now = standard_metadata.ingress_global_timestamp;
        bit<48> left;
        bit<48> last;
        tokens.read(left, bucket);
        filled.read(last, bucket);
        bit<48> length = (bit<48>)standard_metadata.packet_length;
        bit<48> elapsed = now - last;
        // A bucket that was not used yet, or not for a second, is full; longer spans would not fit the product.
        bit<48> gained = last == 0 || elapsed >= 1000000 ? burst : (elapsed * rate) >> 10;
        left = left + gained;
        left = left < burst ? left : burst;
        meta.in_profile = (bit<1>)(left >= length);
        tokens.write(bucket, left >= length ? left - length : left);
        // Of a span that gained nothing the time goes on.
        filled.write(bucket, gained > 0 ? now : last);
        if (left < length) {
            out_of_profile.count(bucket);
        }
    }

    action unlimited() {
        meta.in_profile = 1;
    }

    table policers {
        key = {
            meta.customer: exact;
            meta.class: exact;
        }
        actions = { police; unlimited; }
        default_action = unlimited();
        size = 1024;
    }

    action mark(bit<6> dscp) {
        hdr.ipv4.dscp = dscp;
    }

    table marks {
        key = {
            meta.class: exact;
            meta.in_profile: exact;
        }
        actions = { mark; drop; }
        default_action = mark(0);
        size = 32;
    }

    action queue(bit<3> priority) {
        standard_metadata.priority = priority;
    }

    table queues {
        key = { hdr.ipv4.dscp: exact; }
        actions = { queue; }
        default_action = queue(0);
        size = 64;
    }

    action via(ipv4_t next_hop, bit<9> port) {
        meta.next_hop = next_hop;
        standard_metadata.egress_spec = port;
    }

    action direct(bit<9> port) {
        meta.next_hop = hdr.ipv4.dst_addr;
        standard_metadata.egress_spec = port;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { via; direct; drop; }
        default_action = drop();
        size = 1024;
    }

    action rewrite(mac_t src_addr, mac_t dst_addr) {
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    table neighbours {
        key = { meta.next_hop: exact; }
        actions = { rewrite; drop; }
        default_action = drop();
        size = 1024;
    }

    apply {
        if (hdr.ipv4.isValid() && standard_metadata.checksum_error == 0 && hdr.ipv4.ttl > 1) {
            borders.apply();
            if (meta.is_border == 1) {
                classes.apply();
                if (standard_metadata.egress_spec != DROP) {
                    policers.apply();
                    marks.apply();
                }
            }
            if (standard_metadata.egress_spec != DROP) {
                queues.apply();
                routes.apply();
                if (standard_metadata.egress_spec != DROP) {
                    neighbours.apply();
                }
            }
        } else {
            drop();
        }
    }
}

control QosEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply {
        // Those that can be told are told when a queue grows (RFC 3168).
        if (hdr.ipv4.isValid() && (hdr.ipv4.ecn == 1 || hdr.ipv4.ecn == 2) && standard_metadata.enq_qdepth > 40) {
            hdr.ipv4.ecn = 3;
        }
    }
}

control QosCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(
            hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control QosDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(QosParser(), QosVerify(), QosIngress(), QosEgress(), QosCompute(), QosDeparser()) main;
