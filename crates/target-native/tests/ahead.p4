// Five arrays of SIZE cells. A small array says which of them a packet uses, and at which places.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header ask_t { bit<8> which; bit<32> first; bit<32> second; bit<64> value; bit<64> held; bit<64> other; }

struct headers_t { ask_t ask; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.ask); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<8>, bit<32>>(16) ways;
    register<bit<64>, bit<32>>(SIZE) a;
    register<bit<64>, bit<32>>(SIZE) b;
    register<bit<64>, bit<32>>(SIZE) c;
    register<bit<64>, bit<32>>(SIZE) d;
    register<bit<64>, bit<32>>(SIZE) e;
    bit<8> way = 0;
    bit<64> held = 7;
    bit<64> other = 9;

    apply {
        standard.egress_spec = 1;
        bit<32> first = hdr.ask.first;
        bit<32> second = hdr.ask.second;
        ways.read(way, (bit<32>)hdr.ask.which);
        if (way == 0) {
            a.read(held, first);
            b.read(other, second);
            a.write(first, held + hdr.ask.value);
            if (held & 1 == 0) { b.write(second, other ^ hdr.ask.value); }
        } else {
            bit<32> at = first + second;
            c.read(held, second);
            d.read(other, at);
            c.write(second, other + hdr.ask.value);
            d.write(at, held + 1);
            e.write(at, hdr.ask.value);
            a.write(first, held);
        }
        ways.write((bit<32>)hdr.ask.which & 15, (bit<8>)hdr.ask.value & 1);
        hdr.ask.held = held;
        hdr.ask.other = other;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ask); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
