// Packets of a flow have numbers that count up; each packet that does not follow the one before it is counted.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header ethernet_t { bit<48> destination; bit<48> source; bit<16> ether_type; }
header number_t { bit<32> number; }

struct headers_t { ethernet_t ethernet; number_t number; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.number);
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<32>, bit<48>>(256) lasts;
    counter<bit<32>>(1, CounterType.packets) overtaken;
    bit<32> last;

    apply {
        standard.egress_spec = 1;
        lasts.read(last, hdr.ethernet.source & 255);
        if (hdr.number.number != last + 1) {
            overtaken.count(0);
        }
        lasts.write(hdr.ethernet.source & 255, hdr.number.number);
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); packet.emit(hdr.number); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
