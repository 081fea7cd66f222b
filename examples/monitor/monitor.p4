// SPDX-License-Identifier: Apache-2.0
//
// A forwarder for limited switches that knows the load of its links. A tick once a millisecond leaves as a report.
//
//   from a link:  forward -> add the length to the port's rate
//   from 510:     a tick, already a frame for the collector: fill in the report
//
// The rate of a port is that of its last whole interval. Its first packet in an interval publishes it; for an idle port the tick does.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include <p4rack/blocks/rate-interval/interval=10,cells=4,as=Rate.p4>
#include <p4rack/blocks/bitmap/cells=4096,window=3,as=Senders.p4>

const bit<9> TICK_PORT = 510;
const bit<9> COLLECTOR = 3;
const bit<2> WATCHED = 1;
const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_REPORT = 0x88b5;

header ethernet_t { bit<48> dst_addr; bit<48> src_addr; bit<16> ether_type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> dscp; bit<16> total_len; bit<16> identification; bit<3> flags; bit<13> frag_offset;
    bit<8> ttl; bit<8> protocol; bit<16> hdr_checksum; bit<32> src_addr; bit<32> dst_addr;
}
// Bytes from the watched port in the last interval of 1,024 us, and the senders in the present window of 8,192 us.
header report_t { bit<32> rate; bit<32> senders; bit<48> at; }

struct headers_t { ethernet_t ethernet; report_t report; ipv4_t ipv4; }
struct metadata_t { bit<2> port; bit<32> length; bit<32> rate; }

parser MonitorParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { TYPE_IPV4: ipv4; default: accept; }
    }
    state ipv4 { packet.extract(hdr.ipv4); transition accept; }
}

control MonitorChecksum(inout headers_t hdr, inout metadata_t meta) { apply {} }

control MonitorIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Rate() rates;
    Senders() senders;
    register<bit<32>, bit<1>>(1) counted;

    action forward(bit<9> port, bit<48> host) { sm.egress_spec = port; hdr.ethernet.dst_addr = host; }
    action drop() { mark_to_drop(sm); }
    table routes {
        key = { hdr.ipv4.dst_addr: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 64;
    }

    apply {
        bool is_tick = sm.ingress_port == TICK_PORT;
        if (is_tick) {
            meta.port = WATCHED;
        } else if (hdr.ipv4.isValid() && sm.ingress_port < 4) {
            meta.port = (bit<2>)sm.ingress_port;
            meta.length = sm.packet_length;
            routes.apply();
        } else {
            drop();
        }
        rates.apply(meta.port, sm.ingress_global_timestamp[31:0], meta.length, meta.rate);
        if (is_tick) {
            hdr.report.setValid();
            hdr.report.rate = meta.rate;
            hdr.report.at = sm.ingress_global_timestamp;
            counted.read(hdr.report.senders, 0);
            sm.egress_spec = COLLECTOR;
        } else if (hdr.ipv4.isValid()) {
            bit<32> count;
            senders.apply(hdr.ipv4.src_addr, sm.ingress_global_timestamp[15:13], count);
            counted.write(0, count);
        }
    }
}

control MonitorEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }

control MonitorDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.report); packet.emit(hdr.ipv4); }
}

// To the collector, from the switch.
@tick("1ms", 510, "02000000030102000000000188b5")
V1Switch(
    MonitorParser(), MonitorChecksum(), MonitorIngress(), MonitorEgress(), MonitorChecksum(), MonitorDeparser()
) main;
