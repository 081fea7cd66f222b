// A server counts the packets of each flow, and gives each new flow a port of its own.

#include <core.p4>
#include <v1model.p4>

header packet_t { bit<16> flow; bit<32> number; bit<32> count; bit<16> port; }
struct headers_t { packet_t packet; }
struct metadata_t { @flow("Count", BUCKETS) bit<16> flow; }

parser GroupParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.packet); transition accept; }
}
control GroupVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control GroupIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    @sharded register<bit<32>>(65536) counts;
    @sharded register<bit<16>>(65536) ports;
    @soft register<bit<16>>(1) next;
    bit<32> count;
    bit<16> port;
    apply {
        meta.flow = hdr.packet.flow;
        @region("Count") {
            counts.read(count, (bit<32>)hdr.packet.flow);
            ports.read(port, (bit<32>)hdr.packet.flow);
            if (count == 0) {
                next.read(port, 0);
                next.write(0, port + 1);
                ports.write((bit<32>)hdr.packet.flow, port);
            }
            count = count + 1;
            counts.write((bit<32>)hdr.packet.flow, count);
        }
        hdr.packet.count = count;
        hdr.packet.port = port;
        std.egress_spec = 2;
    }
}
control GroupEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control GroupCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control GroupDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.packet); } }
V1Switch(GroupParser(), GroupVerify(), GroupIngress(), GroupEgress(), GroupCompute(), GroupDeparser()) main;
