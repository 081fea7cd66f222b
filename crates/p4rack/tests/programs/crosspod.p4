/* The shape of Flightplan's Crosspod: routing by three tables, and functions for a link on both sides of it: tags of forward
   error correction, header compression's choice by port, a look at requests to a cache. What works on whole frames is left out. */
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_FEC = 0x081c;
const bit<16> CACHE_PORT = 11211;

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header fec_t { bit<3> class; bit<5> block; bit<8> index; bit<16> orig_type; bit<16> size; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> len; bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> proto; bit<16> checksum; bit<32> src; bit<32> dst;
}
header tcp_t { bit<16> src; bit<16> dst; bit<32> seq; bit<32> ack; bit<16> flags; bit<16> window; bit<16> sum; bit<16> urgent; }
header udp_t { bit<16> src; bit<16> dst; bit<16> len; bit<16> sum; }

struct headers_t { ethernet_t ethernet; fec_t fec; ipv4_t ipv4; tcp_t tcp; udp_t udp; }
struct metadata_t { bit<1> run_ingress; bit<1> run_egress; bit<1> compressed; bit<1> cached; bit<8> k; bit<8> h; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { TYPE_FEC: fec; TYPE_IPV4: ipv4; default: accept; }
    }
    state fec {
        packet.extract(hdr.fec);
        transition select(hdr.fec.orig_type) { TYPE_IPV4: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.proto) { 6: tcp; 17: udp; default: accept; }
    }
    state tcp { packet.extract(hdr.tcp); transition accept; }
    state udp { packet.extract(hdr.udp); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<1>, bit<32>>(8) port_status;
    register<bit<8>, bit<32>>(8) fec_index;
    register<bit<5>, bit<32>>(8) fec_block;
    counter<bit<32>>(2, CounterType.packets) requests;
    bit<32> gateway = 0;

    action ingress_on() { meta.run_ingress = 1; }
    table check_run_ingress { key = { std.ingress_port: exact; } actions = { ingress_on; NoAction; } default_action = NoAction(); size = 16; }
    action egress_on() { meta.run_egress = 1; }
    table check_run_egress { key = { std.egress_spec: exact; } actions = { egress_on; NoAction; } default_action = NoAction(); size = 16; }

    action set_k_h(bit<8> k, bit<8> h) { meta.k = k; meta.h = h; }
    table decoder_params { key = { hdr.fec.class: exact; } actions = { set_k_h; NoAction; } default_action = NoAction(); size = 8; }
    table encoder_params { key = { hdr.fec.class: exact; } actions = { set_k_h; NoAction; } default_action = NoAction(); size = 8; }
    action compress() { meta.compressed = 1; }
    table ingress_compression { key = { std.ingress_port: exact; } actions = { compress; NoAction; } default_action = NoAction(); size = 16; }
    table egress_compression { key = { std.egress_spec: exact; } actions = { compress; NoAction; } default_action = NoAction(); size = 16; }
    action classify(bit<3> class) { hdr.fec.class = class; }
    table classification { key = { hdr.ipv4.proto: exact; } actions = { classify; NoAction; } default_action = NoAction(); size = 8; }

    action to_port(bit<9> port) { std.egress_spec = port; }
    table mac_forwarding { key = { hdr.ethernet.dst: exact; } actions = { to_port; NoAction; } default_action = NoAction(); size = 64; }
    action to_gateway(bit<32> next, bit<9> port) { gateway = next; std.egress_spec = port; hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }
    table ipv4_forwarding { key = { hdr.ipv4.dst: ternary; } actions = { to_gateway; NoAction; } default_action = NoAction(); size = 64; }
    action arp(bit<48> mac) { hdr.ethernet.src = hdr.ethernet.dst; hdr.ethernet.dst = mac; }
    table next_hop { key = { gateway: exact; } actions = { arp; NoAction; } default_action = NoAction(); size = 64; }

    apply {
        if (hdr.ethernet.isValid()) {
            check_run_ingress.apply();
            if (meta.run_ingress == 1) {
                @region("FecDecode") {
                    if (hdr.fec.isValid()) {
                        decoder_params.apply();
                        if (hdr.fec.index >= meta.k) { mark_to_drop(std); }
                        port_status.write((bit<32>)std.ingress_port[2:0], 1);
                        hdr.ethernet.type = hdr.fec.orig_type;
                        hdr.fec.setInvalid();
                    }
                }
                @region("Decompress") { ingress_compression.apply(); }
                @region("Cache") {
                    if (hdr.udp.isValid() && hdr.udp.dst == CACHE_PORT) { requests.count(0); meta.cached = 1; }
                }
            }
            if (std.egress_spec != 511) {
                if (!mac_forwarding.apply().hit) {
                    if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1 && ipv4_forwarding.apply().hit) {
                        if (!next_hop.apply().hit) { mark_to_drop(std); }
                    } else { mark_to_drop(std); }
                }
                check_run_egress.apply();
                if (meta.run_egress == 1) {
                    @region("Compress") { meta.compressed = 0; egress_compression.apply(); if (meta.compressed == 1) { hdr.ipv4.tos = 1; } }
                    @region("FecEncode") {
                        bit<8> index;
                        bit<5> block;
                        bit<32> at = (bit<32>)std.egress_spec[2:0];
                        hdr.fec.setValid();
                        classification.apply();
                        encoder_params.apply();
                        fec_index.read(index, at);
                        fec_block.read(block, at);
                        hdr.fec.index = index;
                        hdr.fec.block = block;
                        hdr.fec.orig_type = hdr.ethernet.type;
                        hdr.fec.size = (bit<16>)meta.h;
                        hdr.ethernet.type = TYPE_FEC;
                        index = index + 1;
                        if (index >= meta.k) { index = 0; block = block + 1; }
                        fec_index.write(at, index);
                        fec_block.write(at, block);
                    }
                }
            }
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }

control C(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.len, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.offset,
              hdr.ipv4.ttl, hdr.ipv4.proto, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
