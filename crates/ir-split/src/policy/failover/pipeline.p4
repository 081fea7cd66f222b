// The controls of edge.p4 in a program, so that they can be compiled. Nothing of it is used but they.
struct headers {}
struct metadata {}
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    Leave() leave;
    Arrive() arrive;
    apply {
        bit<2> kind = 0;
        bit<1> ask = 0;
        bit<32> generation = 0;
        bit<32> sequence = 0;
        bit<16> gaps = 0;
        bit<1> yes = 0;
        bit<PORT_BITS> port = 0;
#ifdef SHARDS
        bit<16> of_edge = 0;
        leave.apply(kind, ask, generation, sequence, gaps, 0, 0, yes, port, of_edge, 0);
        arrive.apply(ask, generation, sequence, gaps, 0, 0, kind, yes, of_edge);
#else
        leave.apply(kind, ask, generation, sequence, gaps, 0, 0, yes, port);
        arrive.apply(ask, generation, sequence, gaps, 0, 0, kind, yes);
#endif
    }
}
control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Checksum(inout headers h, inout metadata m) { apply {} }
control D(packet_out p, in headers h) { apply {} }
V1Switch(P(), Checksum(), In(), Out(), Checksum(), D()) main;
