#include <core.p4>
#include <v1model.p4>
header packet_t { bit<272> before; bit<16> src; bit<16> dst; }
struct headers_t { packet_t packet; }
struct metadata_t { }
struct request_t { bit<16> port; }
struct response_t { bit<16> mark; }
@remote(handler = "look", group = "nat", key = { q.port }, keeps = "0s")
extern bool look(in request_t q, out response_t r);
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.packet); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    request_t q;
    response_t r;
    action mark(bit<16> mark) { hdr.packet.src = mark; }
    action none() { mark_to_drop(std); }
    @mirror("look") @hot(top = 4, period = "2ms", sketch = "count_min(2, 256)") table t {
        key = { hdr.packet.dst : exact; }
        actions = { mark; none; }
        default_action = none();
        size = 64;
    }
    apply {
        std.egress_spec = 2;
        if (!t.apply().hit) {
            q.port = hdr.packet.dst;
            if (look(q, r)) { std.egress_spec = 2; hdr.packet.src = r.mark; } else { mark_to_drop(std); }
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.packet); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
