// SPDX-License-Identifier: Apache-2.0
//
// The functions on frames that Crosspod calls, and the headers that they put on frames. docs/functions.md names them all.

const bit<16> TYPE_FEC = 0x081c;
const bit<16> TYPE_COMPRESSED = 0x1234;
const bit<16> TYPE_LLDP = 0x88cc;

const bit<4> FEC_DATA = 1;
const bit<4> FEC_PARITY = 2;
const bit<4> FEC_DELIVERED = 3;

// Behind an Ethernet header of TYPE_FEC.
header fec_t {
    bit<4>  kind;
    bit<4>  traffic_class;
    bit<8>  index;
    bit<8>  count;
    bit<8>  before;
    bit<16> channel;
    bit<16> length;
    bit<32> block;
    bit<16> ether_type;
}

// Behind one of TYPE_COMPRESSED. What is present follows, and the decompressor reads it.
header compressed_t {
    bit<16> context;
    bit<8>  generation;
    bit<16> present;
    bit<16> check;
}

// Behind one of TYPE_LLDP, from a decoder: how the frames of a link arrive.
header link_mark_t {
    bit<16> chassis;
    bit<8>  chassis_kind;
    bit<48> chassis_id;
    bit<16> port;
    bit<8>  port_kind;
    bit<16> port_id;
    bit<16> ttl;
    bit<16> seconds;
    bit<16> organisation;
    bit<24> oui;
    bit<8>  subtype;
    bit<8>  faulty;
    bit<32> lost_ppm;
    bit<16> end;
}

@frame_extern("fec-encode")
extern FecEncode {
    FecEncode(bit<48> hold_us);
    void encode(in bit<16> port, in bit<8> traffic_class, in bit<8> k, in bit<8> h);
}

@frame_extern("fec-decode")
extern FecDecode {
    FecDecode(bit<48> wait_us, bit<8> reach, bit<32> over, bit<32> faulty_ppm);
    void decode(in bit<16> port);
}

@frame_extern("header-compress")
extern HeaderCompress {
    HeaderCompress(bit<16> contexts, bit<16> refresh);
    void compress(in bit<16> port);
}

@frame_extern("header-decompress")
extern HeaderDecompress {
    HeaderDecompress(bit<16> contexts);
    void decompress(in bit<16> port);
}

@frame_extern("kv-cache")
extern KvCache {
    KvCache(bit<32> entries, bit<48> max_age_us);
    void process();
}
