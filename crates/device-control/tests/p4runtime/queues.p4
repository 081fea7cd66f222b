// Queues a frame at the port and with the priority that it names, and writes what egress sees of its queue into it. The frame
// recirculates as often as its kind says.
#include <core.p4>
#include <v1model.p4>

header asks_t { bit<8> port; bit<8> priority; bit<8> kind; bit<8> seen; bit<16> before; bit<16> after; bit<32> waited; }
struct headers_t { asks_t asks; }
struct metadata_t {}

parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { p.extract(h.asks); transition accept; }
}
control V(inout headers_t h, inout metadata_t m) { apply {} }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = (bit<9>) h.asks.port;
        s.priority = (bit<3>) h.asks.priority;
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        h.asks.seen = (bit<8>) s.priority;
        h.asks.before = (bit<16>) s.enq_qdepth;
        h.asks.after = (bit<16>) s.deq_qdepth;
        h.asks.waited = s.deq_timedelta;
        if (h.asks.kind != 0) {
            h.asks.kind = h.asks.kind - 1;
            recirculate_preserving_field_list(0);
        }
    }
}
control C(inout headers_t h, inout metadata_t m) { apply {} }
control D(packet_out p, in headers_t h) { apply { p.emit(h.asks); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
