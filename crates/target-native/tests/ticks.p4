// Ticks on two ports, beside packets on others: each makes a number of its own grow, and leaves as a report of it.
#include <core.p4>
#include <v1model.p4>

header report_h { bit<8> kind; bit<32> count; bit<48> at; }
struct headers_t { report_h report; }
struct metadata_t {}

parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        transition select(sm.ingress_port) {
            510: tick;
            509: tick;
            default: accept;
        }
    }
    state tick { hdr.report.setValid(); hdr.report.kind = p.lookahead<bit<8>>(); p.advance(8); transition accept; }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(256) counts;
    apply {
        sm.egress_spec = 1;
        bit<32> at = 0;
        if (hdr.report.isValid()) { at = (bit<32>)hdr.report.kind; }
        bit<32> count;
        counts.read(count, at);
        count = count + 1;
        counts.write(at, count);
        hdr.report.count = count;
        hdr.report.at = sm.ingress_global_timestamp;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.report); } }

#ifdef TOO_LARGE
@tick("10us", 512, "07")
#else
@tick("10us", 510, "07")
@tick("15us", 509, "08ff")
#endif
V1Switch(P(), C(), I(), E(), C(), D()) main;
