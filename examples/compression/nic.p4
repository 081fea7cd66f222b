// SPDX-License-Identifier: Apache-2.0
//
// One end of a link with short headers: what leaves by port 2 is compressed, what comes by it decompressed.
// docs/functions.md says what becomes of frames; a frame whose reference is not there ends at the call.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "../crosspod/functions.p4"

const bit<9> HOST = 1;
const bit<9> LINK = 2;

struct headers_t { }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    HeaderCompress(1024, 64) compressor;
    HeaderDecompress(1024) decompressor;

    apply {
        if (standard.ingress_port == HOST) {
            standard.egress_spec = LINK;
            compressor.compress((bit<16>) LINK);
        } else {
            standard.egress_spec = HOST;
            decompressor.decompress((bit<16>) LINK);
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
