#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

// What the programs beside this file have in common; each has its own parser states, ingress and deparser.
header base_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
header item_t { bit<8> kind; bit<8> value; }
struct inner_t { bit<8> x; bit<8> y; }
header deep_t { inner_t i; bit<8> z; }
header_union either_t { item_t item; deep_t deep; }
struct headers_t { base_t base; item_t[3] items; deep_t deep; either_t either; item_t extra; }
struct pair_t { inner_t first; inner_t second; bool flag; }
struct meta_t { bit<8> m; bit<8> n; pair_t pair; tuple<bit<8>, bit<8>> two; bit<16> sum; }

control Nothing(inout headers_t hdr, inout meta_t meta) { apply { } }
control Out(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control Emit(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
