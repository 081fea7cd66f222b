// The parser's externs: checksums with residuals, counters, the metadata of a port; and errors.
#include "tna_common.p4"

header mode_t {
    bit<8>  mode;
    bit<8>  port;
}

// The checksum covers both fields and the payload.
header sum_t {
    bit<16> field;
    bit<16> checksum;
}

header later_t {
    bit<16> value;
}

header item_t {
    bit<8> value;
}

header port_md_t {
    bit<32> first;
    bit<32> second;
}

// Takes two bytes in packets.
header odd_t {
    bit<9> port;
    @flexible bit<1> flag;
}

struct parsed_t {
    odd_t     odd;
    mode_t    mode;
    sum_t     sum;
    later_t   later;
    item_t[4] items;
}

struct local_t {
    bool    is_wrong;
    bit<16> residual;
    port_md_t port;
}

parser IngressParser(packet_in packet, out parsed_t hdr, out local_t meta, out ingress_intrinsic_metadata_t ig) {
    Checksum() verified;
    Checksum() rest;
    ParserCounter() counter;

    state start {
        packet.extract(ig);
        meta.port = port_metadata_unpack<port_md_t>(packet);
        packet.extract(hdr.mode);
        transition select(hdr.mode.mode) {
            0: verify_sum;
            1: residual;
            2: deposit;
            3: list;
            4: list_of_field;
            5: refused;
            6 &&& 6: accept;
        }
    }
    state verify_sum {
        packet.extract(hdr.sum);
        verified.add(hdr.sum);
        meta.is_wrong = verified.verify();
        transition accept;
    }
    // What remains of the old checksum without the old field: the payload's sum.
    state residual {
        packet.extract(hdr.sum);
        rest.subtract({hdr.sum.field, hdr.sum.checksum});
        meta.residual = rest.get();
        transition accept;
    }
    // ... and without what is extracted later.
    state deposit {
        packet.extract(hdr.sum);
        rest.subtract(hdr.sum);
        rest.subtract_all_and_deposit(meta.residual);
        packet.extract(hdr.later);
        transition accept;
    }
    // As many items as the port says.
    state list {
        counter.set(hdr.mode.port);
        transition next;
    }
    // As many as bits 7 to 4 of the port say, less one; more than 0x7f is an error.
    state list_of_field {
        counter.set(hdr.mode.port, 0x7f, 4, 3, 0xff);
        transition next;
    }
    state next {
        transition select(counter.is_zero()) {
            true: accept;
            false: item;
        }
    }
    state item {
        packet.extract(hdr.items.next);
        counter.decrement(1);
        transition next;
    }
    state refused {
        transition reject;
    }
}

control Ingress(inout parsed_t hdr, inout local_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    apply {
        tm.ucast_egress_port = 2;
        hdr.odd = {9w0x1a5, 1};
        if (meta.is_wrong) { hdr.mode.port = 0xee; }
        if (prsr.parser_err != 0) {
            hdr.mode = {(bit<8>)prsr.parser_err, 0xdd};
        }
        hdr.sum.field = 0x0102;
        if (meta.port.first != 0) { tm.ucast_egress_port = 9; }
    }
}

control IngressDeparser(packet_out packet, inout parsed_t hdr, in local_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Checksum() sum;
    apply {
        if (hdr.mode.mode == 1 || hdr.mode.mode == 2) {
            hdr.sum.checksum = sum.update({hdr.sum.field, hdr.later.value, meta.residual});
        }
        packet.emit(hdr);
    }
}

struct out_t {
    odd_t   odd;
    later_t later;
}

parser EgressParser(packet_in packet, out out_t hdr, out meta_t meta, out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        packet.extract(hdr.odd);
        // A packet that ends here is not dropped in egress.
        packet.advance(8);
        transition accept;
    }
}

control Egress(inout out_t hdr, inout meta_t meta, in egress_intrinsic_metadata_t eg,
               in egress_intrinsic_metadata_from_parser_t prsr,
               inout egress_intrinsic_metadata_for_deparser_t dprsr,
               inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply {
        hdr.later = {7w0 ++ hdr.odd.port};
    }
}

control EgressDeparser(packet_out packet, inout out_t hdr, in meta_t meta,
                       in egress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr.later); }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
