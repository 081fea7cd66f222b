// State that several threads use at once: cells that are read and written within `@atomic`, and action data of two tables that belong
// together.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header first_t { bit<8> key; bit<32> number; bit<32> one; bit<32> two; bit<64> three; }

struct headers_t { first_t first; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.first); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
#ifdef ATOMIC
    register<bit<32>, bit<8>>(256) cells;
#endif
    counter<bit<8>>(256, CounterType.packets_and_bytes) kinds;
    direct_counter(CounterType.packets) hits;

    action pair(bit<32> one, bit<32> two) { hdr.first.one = one; hdr.first.two = two; }
    action more(bit<64> three) { hdr.first.three = three; }

    table firsts {
        key = { hdr.first.key: exact; }
        actions = { pair; NoAction; }
        default_action = NoAction();
        counters = hits;
    }

    table seconds {
        key = { hdr.first.key: ternary; }
        actions = { more; NoAction; }
        default_action = NoAction();
    }

    apply {
        standard.egress_spec = 1;
        kinds.count(hdr.first.key);
        firsts.apply();
        seconds.apply();
#ifdef ATOMIC
        @atomic {
            cells.read(hdr.first.number, hdr.first.key);
            hdr.first.number = hdr.first.number + 1;
            cells.write(hdr.first.key, hdr.first.number);
        }
#endif
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
