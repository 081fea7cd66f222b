// SPDX-License-Identifier: Apache-2.0
//
// Headers of TCP and UDP over IPv4 and IPv6 made short on a link, by a switch: the wire format of the frame externs `header-compress` and
// `header-decompress` (crates/netfn-compress, `wire`), as P4. Port 1 has frames as they are, port 2 is the link.
//
// What the externs do more: four ways for each context, the reference before the current one. What cannot be compressed goes on as it is, as at the externs.
#include <core.p4>
#include <v1model.p4>

#ifndef CONTEXTS
#define CONTEXTS 1024
#endif

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<16> TYPE_COMPRESSED = 0x1234;
const bit<8>  PROTO_TCP = 6;
const bit<8>  PROTO_UDP = 17;
const bit<9>  PLAIN = 1;
const bit<9>  LINK = 2;

// So many frames carry a new reference, and after so many in a row that do not fit it a flow gets another one.
const bit<8>  SHOWN = 3;
const bit<8>  MISFITS = 4;
const bit<16> REFRESH = 64;
// Frames up to this length say the length of what follows the headers: a link may pad them.
const bit<32> SHORT = 64;

header addresses_t {
    bit<48> dst;
    bit<48> src;
}

header type_t {
    bit<16> type;
}

header compressed_t {
    bit<16> context;
    bit<8>  generation;
    bit<16> present;
    bit<16> check;
}

header byte_t {
    bit<8> value;
}

header half_t {
    bit<16> value;
}

header word_t {
    bit<32> value;
}

header long_t {
    bit<64> value;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> length;
    bit<16> id;
    bit<16> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header ipv6_t {
    bit<16> class;
    bit<16> label;
    bit<16> length;
    bit<8>  protocol;
    bit<8>  ttl;
    bit<128> src;
    bit<128> dst;
}

header tcp_t {
    bit<16> src;
    bit<16> dst;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<8>  offset;
    bit<8>  flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header timestamps_t {
    bit<32> kind;
    bit<64> value;
}

header udp_t {
    bit<16> src;
    bit<16> dst;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    addresses_t  addresses;
    type_t       type;
    compressed_t compressed;
    byte_t       tos;
    half_t       class;
    byte_t       ttl;
    half_t       id;
    word_t       sequence;
    word_t       acknowledgement;
    byte_t       flags;
    half_t       window;
    half_t       urgent;
    long_t       stamps;
    half_t       checksum;
    half_t       ip_length;
    half_t       payload_length;
    byte_t       reference;
    type_t       inner;
    ipv4_t       ipv4;
    ipv6_t       ipv6;
    tcp_t        tcp;
    timestamps_t timestamps;
    udp_t        udp;
}

// What of a block of headers may differ from frame to frame, and the rest.
struct fields_t {
    bit<8>   tos;
    bit<16>  class;
    bit<8>   ttl;
    bit<16>  id;
    bit<32>  sequence;
    bit<32>  acknowledgement;
    bit<8>   flags;
    bit<16>  window;
    bit<16>  urgent;
    bit<64>  stamps;
    bit<16>  checksum;
}

struct kept_t {
    // 1 and 2 are TCP and UDP over IPv4, 3 and 4 over IPv6; 5 and 7 are TCP with timestamps. 0 is none.
    bit<8>   shape;
    bit<16>  fragment;
    bit<16>  label;
    bit<8>   offset;
    bit<128> src;
    bit<128> dst;
    bit<16>  src_port;
    bit<16>  dst_port;
}

struct metadata_t {
    bit<1>   fits;          // the parser has seen headers that are compressed, or a compressed frame that is whole
    bit<32>  context;
    bit<16>  block;         // bytes of the headers from the EtherType on
    bit<16>  ip;            // length of the IP packet
    fields_t now;
    kept_t   kept;
}

error { Unfit }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.addresses);
        packet.extract(hdr.type);
        transition select(standard.ingress_port, hdr.type.type) {
            (LINK, TYPE_COMPRESSED): compressed;
            (PLAIN, TYPE_IPV4): ipv4;
            (PLAIN, TYPE_IPV6): ipv6;
            default: accept;
        }
    }

    state compressed {
        packet.extract(hdr.compressed);
        transition select(hdr.compressed.present[14:14], hdr.compressed.present[15:15]) {
            (0, 0): p0;
            (1, 0): p12;
            default: accept;
        }
    }
    state p0  { transition select(hdr.compressed.present[0:0]) { 1: e0; default: p1; } }
    state e0  { packet.extract(hdr.tos); transition p1; }
    state p1  { transition select(hdr.compressed.present[1:1]) { 1: e1; default: p2; } }
    state e1  { packet.extract(hdr.class); transition p2; }
    state p2  { transition select(hdr.compressed.present[2:2]) { 1: e2; default: p3; } }
    state e2  { packet.extract(hdr.ttl); transition p3; }
    state p3  { transition select(hdr.compressed.present[3:3]) { 1: e3; default: p4; } }
    state e3  { packet.extract(hdr.id); transition p4; }
    state p4  { transition select(hdr.compressed.present[4:4]) { 1: e4; default: p5; } }
    state e4  { packet.extract(hdr.sequence); transition p5; }
    state p5  { transition select(hdr.compressed.present[5:5]) { 1: e5; default: p6; } }
    state e5  { packet.extract(hdr.acknowledgement); transition p6; }
    state p6  { transition select(hdr.compressed.present[6:6]) { 1: e6; default: p7; } }
    state e6  { packet.extract(hdr.flags); transition p7; }
    state p7  { transition select(hdr.compressed.present[7:7]) { 1: e7; default: p8; } }
    state e7  { packet.extract(hdr.window); transition p8; }
    state p8  { transition select(hdr.compressed.present[8:8]) { 1: e8; default: p9; } }
    state e8  { packet.extract(hdr.urgent); transition p9; }
    state p9  { transition select(hdr.compressed.present[9:9]) { 1: e9; default: p10; } }
    state e9  { packet.extract(hdr.stamps); transition p10; }
    state p10 { transition select(hdr.compressed.present[10:10]) { 1: e10; default: p11; } }
    state e10 { packet.extract(hdr.checksum); transition p11; }
    state p11 { transition select(hdr.compressed.present[11:11]) { 1: e11; default: p12; } }
    state e11 { packet.extract(hdr.ip_length); transition p12; }
    state p12 { transition select(hdr.compressed.present[12:12]) { 1: e12; default: p13; } }
    state e12 { packet.extract(hdr.payload_length); transition p13; }
    state p13 { transition select(hdr.compressed.present[13:13]) { 1: reference; default: whole; } }
    state reference {
        packet.extract(hdr.reference);
        packet.extract(hdr.inner);
        transition select(hdr.inner.type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            default: accept;
        }
    }

    // Fragments and options are not compressed here.
    state ipv4 {
        packet.extract(hdr.ipv4);
        meta.block = 22;
        meta.ip = hdr.ipv4.length;
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.fragment & 0x3fff, hdr.ipv4.protocol) {
            (4, 5, 0, PROTO_TCP): tcp;
            (4, 5, 0, PROTO_UDP): udp;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        meta.block = 42;
        meta.ip = hdr.ipv6.length + 40;
        transition select(hdr.ipv6.class[15:12], hdr.ipv6.protocol) {
            (6, PROTO_TCP): tcp;
            (6, PROTO_UDP): udp;
            default: accept;
        }
    }
    state tcp {
        packet.extract(hdr.tcp);
        meta.block = meta.block + 20;
        transition select(hdr.tcp.offset[7:4]) {
            5: whole;
            8: options;
            default: accept;
        }
    }
    state options {
        packet.extract(hdr.timestamps);
        meta.block = meta.block + 12;
        transition select(hdr.timestamps.kind) {
            0x0101080a: whole;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        meta.block = meta.block + 8;
        transition whole;
    }
    state whole {
        meta.fits = 1;
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && !hdr.compressed.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.fragment, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

// What the block in the headers has.
control Take(in headers_t hdr, inout metadata_t meta) {
    apply {
        meta.kept = { 0, 0, 0, 0, 0, 0, 0, 0 };
        meta.now = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
        if (hdr.ipv4.isValid()) {
            meta.kept.shape = 1;
            meta.kept.fragment = hdr.ipv4.fragment;
            meta.kept.src = (bit<128>) hdr.ipv4.src;
            meta.kept.dst = (bit<128>) hdr.ipv4.dst;
            meta.now.tos = hdr.ipv4.tos;
            meta.now.ttl = hdr.ipv4.ttl;
            meta.now.id = hdr.ipv4.id;
        } else {
            meta.kept.shape = 3;
            meta.kept.label = hdr.ipv6.label;
            meta.kept.src = hdr.ipv6.src;
            meta.kept.dst = hdr.ipv6.dst;
            meta.now.class = hdr.ipv6.class;
            meta.now.ttl = hdr.ipv6.ttl;
        }
        if (hdr.tcp.isValid()) {
            meta.kept.offset = hdr.tcp.offset;
            meta.kept.src_port = hdr.tcp.src;
            meta.kept.dst_port = hdr.tcp.dst;
            meta.now.sequence = hdr.tcp.sequence;
            meta.now.acknowledgement = hdr.tcp.acknowledgement;
            meta.now.flags = hdr.tcp.flags;
            meta.now.window = hdr.tcp.window;
            meta.now.urgent = hdr.tcp.urgent;
            meta.now.checksum = hdr.tcp.checksum;
            if (hdr.timestamps.isValid()) {
                meta.kept.shape = meta.kept.shape + 4;
                meta.now.stamps = hdr.timestamps.value;
            }
        } else {
            meta.kept.shape = meta.kept.shape + 1;
            meta.kept.src_port = hdr.udp.src;
            meta.kept.dst_port = hdr.udp.dst;
            meta.now.checksum = hdr.udp.checksum;
        }
    }
}

// The check: over all headers, from the EtherType on.
control Check(in headers_t hdr, out bit<16> check) {
    apply {
        check = 0;
        if (hdr.ipv4.isValid() && hdr.udp.isValid()) {
            hash(check, HashAlgorithm.crc16, 16w0, { TYPE_IPV4, hdr.ipv4, hdr.udp }, 32w65536);
        } else if (hdr.ipv4.isValid() && hdr.timestamps.isValid()) {
            hash(check, HashAlgorithm.crc16, 16w0, { TYPE_IPV4, hdr.ipv4, hdr.tcp, hdr.timestamps }, 32w65536);
        } else if (hdr.ipv4.isValid()) {
            hash(check, HashAlgorithm.crc16, 16w0, { TYPE_IPV4, hdr.ipv4, hdr.tcp }, 32w65536);
        } else if (hdr.udp.isValid()) {
            hash(check, HashAlgorithm.crc16, 16w0, { TYPE_IPV6, hdr.ipv6, hdr.udp }, 32w65536);
        } else if (hdr.timestamps.isValid()) {
            hash(check, HashAlgorithm.crc16, 16w0, { TYPE_IPV6, hdr.ipv6, hdr.tcp, hdr.timestamps }, 32w65536);
        } else {
            hash(check, HashAlgorithm.crc16, 16w0, { TYPE_IPV6, hdr.ipv6, hdr.tcp }, 32w65536);
        }
    }
}

// References of one direction, in registers.
#define REFERENCES \
    register<bit<8>>(CONTEXTS) generations; \
    register<bit<8>>(CONTEXTS) shapes; \
    register<bit<16>>(CONTEXTS) fragments; \
    register<bit<16>>(CONTEXTS) labels; \
    register<bit<8>>(CONTEXTS) offsets; \
    register<bit<128>>(CONTEXTS) sources; \
    register<bit<128>>(CONTEXTS) destinations; \
    register<bit<32>>(CONTEXTS) ports; \
    register<bit<8>>(CONTEXTS) toss; \
    register<bit<16>>(CONTEXTS) classes; \
    register<bit<8>>(CONTEXTS) ttls; \
    register<bit<16>>(CONTEXTS) ids; \
    register<bit<64>>(CONTEXTS) numbers; \
    register<bit<8>>(CONTEXTS) flagss; \
    register<bit<32>>(CONTEXTS) windows; \
    register<bit<64>>(CONTEXTS) stampss; \
    register<bit<16>>(CONTEXTS) checksums; \
    kept_t known; \
    fields_t old; \
    action keep() { \
        shapes.write(meta.context, meta.kept.shape); \
        fragments.write(meta.context, meta.kept.fragment); \
        labels.write(meta.context, meta.kept.label); \
        offsets.write(meta.context, meta.kept.offset); \
        sources.write(meta.context, meta.kept.src); \
        destinations.write(meta.context, meta.kept.dst); \
        ports.write(meta.context, meta.kept.src_port ++ meta.kept.dst_port); \
        toss.write(meta.context, meta.now.tos); \
        classes.write(meta.context, meta.now.class); \
        ttls.write(meta.context, meta.now.ttl); \
        ids.write(meta.context, meta.now.id); \
        numbers.write(meta.context, meta.now.sequence ++ meta.now.acknowledgement); \
        flagss.write(meta.context, meta.now.flags); \
        windows.write(meta.context, meta.now.window ++ meta.now.urgent); \
        stampss.write(meta.context, meta.now.stamps); \
        checksums.write(meta.context, meta.now.checksum); \
    } \
    action recall() { \
        bit<32> pair; \
        bit<64> both; \
        shapes.read(known.shape, meta.context); \
        fragments.read(known.fragment, meta.context); \
        labels.read(known.label, meta.context); \
        offsets.read(known.offset, meta.context); \
        sources.read(known.src, meta.context); \
        destinations.read(known.dst, meta.context); \
        ports.read(pair, meta.context); \
        known.src_port = pair[31:16]; \
        known.dst_port = pair[15:0]; \
        toss.read(old.tos, meta.context); \
        classes.read(old.class, meta.context); \
        ttls.read(old.ttl, meta.context); \
        ids.read(old.id, meta.context); \
        numbers.read(both, meta.context); \
        old.sequence = both[63:32]; \
        old.acknowledgement = both[31:0]; \
        flagss.read(old.flags, meta.context); \
        windows.read(pair, meta.context); \
        old.window = pair[31:16]; \
        old.urgent = pair[15:0]; \
        stampss.read(old.stamps, meta.context); \
        checksums.read(old.checksum, meta.context); \
    }

control Compress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    REFERENCES
    // Frames that have carried the reference, those in a row that do not fit it, those since one has carried it.
    register<bit<8>>(CONTEXTS) showns;
    register<bit<8>>(CONTEXTS) misfitss;
    register<bit<16>>(CONTEXTS) sinces;

    apply {
        bit<8> generation = 0;
        bit<8> shown = 0;
        bit<8> misfits = 0;
        bit<16> since = 0;
        bit<16> check = 0;
        Take.apply(hdr, meta);
        Check.apply(hdr, check);
        hash(meta.context, HashAlgorithm.crc32, 32w0,
            { meta.kept.shape, meta.kept.src, meta.kept.dst, meta.kept.src_port, meta.kept.dst_port }, 32w0 + CONTEXTS);
        recall();
        generations.read(generation, meta.context);
        showns.read(shown, meta.context);
        misfitss.read(misfits, meta.context);
        sinces.read(since, meta.context);
        bool is_flow = known.shape == meta.kept.shape && known.src == meta.kept.src && known.dst == meta.kept.dst
            && known.src_port == meta.kept.src_port && known.dst_port == meta.kept.dst_port;
        bool fits = is_flow && known.fragment == meta.kept.fragment && known.label == meta.kept.label
            && known.offset == meta.kept.offset;
        if (is_flow && !fits && misfits + 1 < MISFITS) {
            misfitss.write(meta.context, misfits + 1);
        } else {
            misfitss.write(meta.context, 0);
            if (!fits) {
                generation = generation + 1;
                generations.write(meta.context, generation);
                keep();
                old = meta.now;
                shown = 0;
                since = 0;
            }
            bool shows = shown < SHOWN || since >= REFRESH;
            if (shows) {
                since = 1;
                if (shown < SHOWN) {
                    shown = shown + 1;
                }
            } else {
                since = since |+| 1;
            }
            showns.write(meta.context, shown);
            sinces.write(meta.context, since);

            bit<16> present = 0;
            bit<32> length = 21;
            if (hdr.ipv4.isValid() && meta.now.tos != old.tos) {
                present[0:0] = 1;
                hdr.tos = { meta.now.tos };
                length = length + 1;
            }
            if (hdr.ipv6.isValid() && meta.now.class != old.class) {
                present[1:1] = 1;
                hdr.class = { meta.now.class };
                length = length + 2;
            }
            if (meta.now.ttl != old.ttl) {
                present[2:2] = 1;
                hdr.ttl = { meta.now.ttl };
                length = length + 1;
            }
            if (hdr.ipv4.isValid() && meta.now.id != old.id) {
                present[3:3] = 1;
                hdr.id = { meta.now.id };
                length = length + 2;
            }
            if (hdr.tcp.isValid()) {
                if (meta.now.sequence != old.sequence) {
                    present[4:4] = 1;
                    hdr.sequence = { meta.now.sequence };
                    length = length + 4;
                }
                if (meta.now.acknowledgement != old.acknowledgement) {
                    present[5:5] = 1;
                    hdr.acknowledgement = { meta.now.acknowledgement };
                    length = length + 4;
                }
                if (meta.now.flags != old.flags) {
                    present[6:6] = 1;
                    hdr.flags = { meta.now.flags };
                    length = length + 1;
                }
                if (meta.now.window != old.window) {
                    present[7:7] = 1;
                    hdr.window = { meta.now.window };
                    length = length + 2;
                }
                if (meta.now.urgent != old.urgent) {
                    present[8:8] = 1;
                    hdr.urgent = { meta.now.urgent };
                    length = length + 2;
                }
                if (meta.now.stamps != old.stamps) {
                    present[9:9] = 1;
                    hdr.stamps = { meta.now.stamps };
                    length = length + 8;
                }
            }
            if (meta.now.checksum != old.checksum) {
                present[10:10] = 1;
                hdr.checksum = { meta.now.checksum };
                length = length + 2;
            }
            bit<32> payload = standard.packet_length - 12 - (bit<32>) meta.block;
            if ((bit<32>) meta.ip != standard.packet_length - 14) {
                present[11:11] = 1;
                hdr.ip_length = { meta.ip };
                length = length + 2;
            }
            if (length + payload <= SHORT) {
                present[12:12] = 1;
                hdr.payload_length = { payload[15:0] };
            }
            if (shows) {
                present[13:13] = 1;
                hdr.reference = { meta.block[7:0] };
                hdr.inner = { hdr.type.type };
                if (hdr.ipv4.isValid()) {
                    hdr.ipv4.tos = old.tos;
                    hdr.ipv4.ttl = old.ttl;
                    hdr.ipv4.id = old.id;
                } else {
                    hdr.ipv6.class = old.class;
                    hdr.ipv6.ttl = old.ttl;
                }
                if (hdr.tcp.isValid()) {
                    hdr.tcp.sequence = old.sequence;
                    hdr.tcp.acknowledgement = old.acknowledgement;
                    hdr.tcp.flags = old.flags;
                    hdr.tcp.window = old.window;
                    hdr.tcp.urgent = old.urgent;
                    hdr.tcp.checksum = old.checksum;
                } else {
                    hdr.udp.checksum = old.checksum;
                }
                if (hdr.timestamps.isValid()) {
                    hdr.timestamps.value = old.stamps;
                }
            } else {
                hdr.ipv4.setInvalid();
                hdr.ipv6.setInvalid();
                hdr.tcp.setInvalid();
                hdr.timestamps.setInvalid();
                hdr.udp.setInvalid();
            }
            hdr.type.type = TYPE_COMPRESSED;
            hdr.compressed = { meta.context[15:0], generation, present, check };
        }
    }
}

control Decompress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    REFERENCES

    apply {
        bit<8> generation = 0;
        bit<16> check = 0;
        // What followed the headers: all that is left of the frame, if it does not say.
        bit<32> front = 21;
        bit<16> present = hdr.compressed.present;
        meta.context = (bit<32>) hdr.compressed.context % CONTEXTS;
        front = front + (bit<32>) present[0:0] + ((bit<32>) present[1:1] << 1) + (bit<32>) present[2:2]
            + ((bit<32>) present[3:3] << 1) + ((bit<32>) present[4:4] << 2) + ((bit<32>) present[5:5] << 2)
            + (bit<32>) present[6:6] + ((bit<32>) present[7:7] << 1) + ((bit<32>) present[8:8] << 1)
            + ((bit<32>) present[9:9] << 3) + ((bit<32>) present[10:10] << 1) + ((bit<32>) present[11:11] << 1)
            + ((bit<32>) present[12:12] << 1);
        if (hdr.reference.isValid()) {
            front = front + 1 + (bit<32>) hdr.reference.value;
            Take.apply(hdr, meta);
            generations.write(meta.context, hdr.compressed.generation);
            keep();
            known = meta.kept;
            old = meta.now;
            generation = hdr.compressed.generation;
        } else {
            recall();
            generations.read(generation, meta.context);
        }
        bit<32> payload = standard.packet_length - front;
        if (hdr.payload_length.isValid()) {
            payload = (bit<32>) hdr.payload_length.value;
        }
        if (known.shape == 0 || generation != hdr.compressed.generation) {
            mark_to_drop(standard);
        } else {
            bool is_tcp = known.shape == 1 || known.shape == 3 || known.shape == 5 || known.shape == 7;
            bool is_ipv4 = known.shape == 1 || known.shape == 2 || known.shape == 5;
            bool has_stamps = known.shape >= 5;
            meta.block = 2;
            if (is_ipv4) { meta.block = meta.block + 20; } else { meta.block = meta.block + 40; }
            if (is_tcp) { meta.block = meta.block + 20; } else { meta.block = meta.block + 8; }
            if (has_stamps) { meta.block = meta.block + 12; }
            meta.ip = meta.block - 2 + payload[15:0];
            if (hdr.tos.isValid()) { old.tos = hdr.tos.value; }
            if (hdr.class.isValid()) { old.class = hdr.class.value; }
            if (hdr.ttl.isValid()) { old.ttl = hdr.ttl.value; }
            if (hdr.id.isValid()) { old.id = hdr.id.value; }
            if (hdr.sequence.isValid()) { old.sequence = hdr.sequence.value; }
            if (hdr.acknowledgement.isValid()) { old.acknowledgement = hdr.acknowledgement.value; }
            if (hdr.flags.isValid()) { old.flags = hdr.flags.value; }
            if (hdr.window.isValid()) { old.window = hdr.window.value; }
            if (hdr.urgent.isValid()) { old.urgent = hdr.urgent.value; }
            if (hdr.stamps.isValid()) { old.stamps = hdr.stamps.value; }
            if (hdr.checksum.isValid()) { old.checksum = hdr.checksum.value; }
            if (hdr.ip_length.isValid()) { meta.ip = hdr.ip_length.value; }
            if (is_ipv4) {
                bit<8> protocol = is_tcp ? PROTO_TCP : PROTO_UDP;
                bit<16> sum = 0;
                hdr.ipv4 = { 4, 5, old.tos, meta.ip, old.id, known.fragment, old.ttl, protocol, 0, known.src[31:0], known.dst[31:0] };
                hash(sum, HashAlgorithm.csum16, 16w0, { hdr.ipv4 }, 32w65536);
                hdr.ipv4.checksum = sum;
                hdr.type.type = TYPE_IPV4;
            } else {
                bit<8> protocol = is_tcp ? PROTO_TCP : PROTO_UDP;
                hdr.ipv6 = { old.class, known.label, meta.ip - 40, protocol, old.ttl, known.src, known.dst };
                hdr.type.type = TYPE_IPV6;
            }
            if (is_tcp) {
                hdr.tcp = { known.src_port, known.dst_port, old.sequence, old.acknowledgement, known.offset, old.flags, old.window,
                    old.checksum, old.urgent };
            } else {
                hdr.udp = { known.src_port, known.dst_port, meta.ip + 2 - (meta.block - 8), old.checksum };
            }
            if (has_stamps) {
                hdr.timestamps = { 0x0101080a, old.stamps };
            }
            Check.apply(hdr, check);
            if (check != hdr.compressed.check) {
                mark_to_drop(standard);
            }
            truncate(12 + (bit<32>) meta.block + payload);
            hdr.compressed.setInvalid();
            hdr.tos.setInvalid();
            hdr.class.setInvalid();
            hdr.ttl.setInvalid();
            hdr.id.setInvalid();
            hdr.sequence.setInvalid();
            hdr.acknowledgement.setInvalid();
            hdr.flags.setInvalid();
            hdr.window.setInvalid();
            hdr.urgent.setInvalid();
            hdr.stamps.setInvalid();
            hdr.checksum.setInvalid();
            hdr.ip_length.setInvalid();
            hdr.payload_length.setInvalid();
            hdr.reference.setInvalid();
            hdr.inner.setInvalid();
        }
    }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = standard.ingress_port == PLAIN ? LINK : PLAIN;
        if (standard.ingress_port == PLAIN) {
            bool is_long_enough = (bit<32>) meta.ip <= standard.packet_length - 14 && meta.ip + 2 >= meta.block;
            bool is_udp_right = !hdr.udp.isValid() || hdr.udp.length == meta.ip + 2 - (meta.block - 8);
            if (meta.fits == 1 && standard.checksum_error == 0 && is_long_enough && is_udp_right) {
                Compress.apply(hdr, meta, standard);
            } else if (hdr.type.isValid() && hdr.type.type == TYPE_COMPRESSED) {
                // It looks as if it were compressed.
                bit<16> rest = standard.packet_length[15:0] - 12;
                hdr.inner = { hdr.type.type };
                hdr.compressed = { 0, 0, 0x5000, 0 };
                hdr.payload_length = { rest };
            }
        } else if (hdr.compressed.isValid()) {
            if (hdr.compressed.present[14:14] == 1) {
                // The frame from its EtherType on.
                truncate(12 + (bit<32>) hdr.payload_length.value);
                hdr.type.setInvalid();
                hdr.compressed.setInvalid();
                hdr.payload_length.setInvalid();
            } else if (meta.fits == 1) {
                Decompress.apply(hdr, meta, standard);
            } else {
                mark_to_drop(standard);
            }
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
