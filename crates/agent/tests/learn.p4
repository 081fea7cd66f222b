// Sends frames back with a hash in them, and reports their senders.
#include <core.p4>
#include <v1model.p4>

header data_t { bit<48> from; bit<16> hash; }
struct headers_t { data_t data; }
struct metadata_t {}
struct learn_t { bit<48> from; bit<9> port; }

parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { p.extract(h.data); transition accept; }
}
control V(inout headers_t h, inout metadata_t m) { apply {} }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        hash(h.data.hash, HashAlgorithm.crc16_custom, 16w0, { h.data.from }, 32w0x10000);
        digest<learn_t>(1, { h.data.from, s.ingress_port });
        s.egress_spec = s.ingress_port;
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply {} }
control C(inout headers_t h, inout metadata_t m) { apply {} }
control D(packet_out p, in headers_t h) { apply { p.emit(h.data); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
