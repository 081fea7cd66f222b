#include <v1model.p4>
@controller_header("packet_out") header out_h { bit<9> kind; bit<7> padding; }
struct headers_t { out_h sent; }
struct metadata_t {}
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.sent); transition accept; }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control D(packet_out p, in headers_t hdr) { apply {} }
@tick("3ms", 510, "8082c0ffee")
V1Switch(P(), C(), I(), I(), C(), D()) main;
