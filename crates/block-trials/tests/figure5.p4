// FlexSwitch's Fig. 5 as printed: `read` and `update` of the flowlet sketch for a packet. Each row is an array of {ts, route_id}.
#include <v1model.p4>

#define TIMEOUT 500

header packet_h { bit<32> five_tuple; bit<32> now; bit<32> route_id; }
struct headers_t { packet_h packet; }
struct metadata_t {}

parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.packet); transition accept; }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<64>>(4096) row1;
    register<bit<64>>(4096) row2;
    apply {
        bit<32> h1;
        bit<32> h2;
        hash(h1, HashAlgorithm.crc32, 32w0, { hdr.packet.five_tuple }, 32w4096);
        hash(h2, HashAlgorithm.crc16, 32w0, { hdr.packet.five_tuple }, 32w4096);
        bit<64> e1;
        bit<64> e2;
        row1.read(e1, h1);
        row2.read(e2, h2);
        bit<32> cutoff = hdr.packet.now - TIMEOUT;
        bit<32> r1 = e1[31:0];
        bit<32> r2 = e2[31:0];
        if (e1[63:32] < cutoff && e2[63:32] < cutoff) {
            random(r1, 32w0, 32w3);
            r2 = hdr.packet.route_id - r1;
        } else if (e1[63:32] < cutoff) {
            r1 = hdr.packet.route_id - r2;
        } else if (e2[63:32] < cutoff) {
            r2 = hdr.packet.route_id - r1;
        }
        row1.write(h1, hdr.packet.now ++ r1);
        row2.write(h2, hdr.packet.now ++ r2);
        hdr.packet.route_id = r1 + r2;
        sm.egress_spec = 1;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.packet); } }
V1Switch(P(), C(), I(), E(), C(), D()) main;
