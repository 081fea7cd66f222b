// SPDX-License-Identifier: Apache-2.0
//
// A router of a Tofino that makes the headers of TCP over IPv4 short on one of its links: the wire format of compress.p4, for TNA. Frames that
// leave by LINK are compressed in egress, those that come by LINK are restored before ingress forwards them. NO_COMPRESS leaves both out.
//
// Differences from compress.p4, because a register is accessed once for each packet:
//
// - A flow that finds the context of another takes it at once: MISFITS of compress.p4 is 1.
// - Changes of TOS, TTL and flags are one change. Identification and checksum are always sent, and frames with the reference send all fields.
// - Ingress does not know the length of a frame. Frames always say the length of what follows the headers, and restored frames keep the bytes
//   that a link pads them with.
// - Frames with options, fragments, urgent data, without "don't fragment", or with bytes after the IP packet go on as they are.
// - The check is sent but not verified: it covers the checksum of IPv4, which only the deparser computes. TCP's checksum covers the rest.
#include <core.p4>
#include <tna.p4>

#define CONTEXTS 1024

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_COMPRESSED = 0x1234;
const bit<8>  PROTO_TCP = 6;
const PortId_t LINK = 2;

const bit<8>  SHOWN = 3;
// After this frame of a flow two repeat its reference.
const bit<8>  REFRESH = 65;

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

// Neighbouring fields that a register keeps are one field.
header ipv4_t {
    bit<8>  version_ihl;
    bit<8>  tos;
    bit<16> length;
    bit<32> id_fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header tcp_t {
    bit<32> ports;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<32> offset_flags_window;
    bit<32> checksum_urgent;
}

struct headers_t {
    addresses_t  addresses;
    type_t       type;
    compressed_t compressed;
    byte_t       tos;
    byte_t       ttl;
    half_t       id;
    word_t       sequence;
    word_t       acknowledgement;
    byte_t       flags;
    half_t       window;
    half_t       urgent;
    half_t       checksum;
    half_t       payload_length;
    byte_t       reference;
    type_t       inner;
    ipv4_t       ipv4;
    tcp_t        tcp;
}

struct ingress_t {
    bit<1>  fits;           // a compressed frame that this program can restore
    bit<1>  changed;        // the checksum of IPv4 is computed
    bit<8>  generation;     // of the context's reference
    bit<32> next_hop;
}

struct egress_t {
    bit<1>  fits;           // headers that can be compressed
    bit<1>  wrong;          // the checksum of IPv4 is
    bit<16> tail;           // 14 if nothing follows the IP packet
    bit<16> context;
    bit<16> check;
    bit<32> kind;           // TOS, TTL, flags
    bit<8>  frame;          // of the flow; frames up to SHOWN carry the reference
    bit<1>  other_source;   // the context was another flow's
    bit<1>  other_destination;
    bit<1>  other_ports;
    bit<1>  changed_kind;   // since the reference
    bit<1>  changed_sequence;
    bit<1>  changed_acknowledgement;
    bit<1>  changed_window;
}

parser IngressParser(packet_in packet, out headers_t hdr, out ingress_t meta, out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        meta = { 0, 0, 0, 0 };
        packet.extract(hdr.addresses);
        packet.extract(hdr.type);
        transition select(ig.ingress_port, hdr.type.type) {
#ifndef NO_COMPRESS
            (LINK, TYPE_COMPRESSED): compressed;
#endif
            (_, TYPE_IPV4): ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }

#ifndef NO_COMPRESS
    state compressed {
        packet.extract(hdr.compressed);
        transition select(hdr.compressed.present) {
            0x5000: p12;
            0x1000 &&& 0xda02: p0;
            default: accept;
        }
    }
    state p0  { transition select(hdr.compressed.present) { 0x0001 &&& 0x0001: e0; default: p2; } }
    state e0  { packet.extract(hdr.tos); transition p2; }
    state p2  { transition select(hdr.compressed.present) { 0x0004 &&& 0x0004: e2; default: p3; } }
    state e2  { packet.extract(hdr.ttl); transition p3; }
    state p3  { transition select(hdr.compressed.present) { 0x0008 &&& 0x0008: e3; default: p4; } }
    state e3  { packet.extract(hdr.id); transition p4; }
    state p4  { transition select(hdr.compressed.present) { 0x0010 &&& 0x0010: e4; default: p5; } }
    state e4  { packet.extract(hdr.sequence); transition p5; }
    state p5  { transition select(hdr.compressed.present) { 0x0020 &&& 0x0020: e5; default: p6; } }
    state e5  { packet.extract(hdr.acknowledgement); transition p6; }
    state p6  { transition select(hdr.compressed.present) { 0x0040 &&& 0x0040: e6; default: p7; } }
    state e6  { packet.extract(hdr.flags); transition p7; }
    state p7  { transition select(hdr.compressed.present) { 0x0080 &&& 0x0080: e7; default: p8; } }
    state e7  { packet.extract(hdr.window); transition p8; }
    state p8  { transition select(hdr.compressed.present) { 0x0100 &&& 0x0100: e8; default: p10; } }
    state e8  { packet.extract(hdr.urgent); transition p10; }
    state p10 { transition select(hdr.compressed.present) { 0x0400 &&& 0x0400: e10; default: p12; } }
    state e10 { packet.extract(hdr.checksum); transition p12; }
    state p12 {
        packet.extract(hdr.payload_length);
        transition select(hdr.compressed.present) { 0x2000 &&& 0x2000: reference; default: whole; }
    }
    state reference {
        packet.extract(hdr.reference);
        packet.extract(hdr.inner);
        transition select(hdr.inner.type) {
            TYPE_IPV4: reference_ipv4;
            default: accept;
        }
    }
    state reference_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version_ihl, hdr.ipv4.id_fragment[13:0], hdr.ipv4.protocol) {
            (0x45, 0, PROTO_TCP): tcp;
            default: accept;
        }
    }
    state tcp {
        packet.extract(hdr.tcp);
        transition select(hdr.tcp.offset_flags_window[31:28]) { 5: whole; default: accept; }
    }
    state whole {
        meta.fits = 1;
        transition accept;
    }
#endif
}

#ifndef NO_COMPRESS
// A field of the reference of each context: references write it, other frames read it.
#define KEPT(NAME, TYPE, FIELD) \
    Register<TYPE, bit<16>>(CONTEXTS) NAME; \
    RegisterAction<TYPE, bit<16>, TYPE>(NAME) NAME##_write = { \
        void apply(inout TYPE cell) { cell = FIELD; } \
    }; \
    RegisterAction<TYPE, bit<16>, TYPE>(NAME) NAME##_read = { \
        void apply(inout TYPE cell, out TYPE result) { result = cell; } \
    }; \
    action NAME##_keep() { NAME##_write.execute(context); } \
    action NAME##_recall() { FIELD = NAME##_read.execute(context); } \
    table NAME##_kept { \
        key = { hdr.reference.isValid(): exact; } \
        actions = { NAME##_keep; NAME##_recall; } \
        const entries = { true: NAME##_keep(); false: NAME##_recall(); } \
        size = 2; \
    }

control Decompress(inout headers_t hdr, inout ingress_t meta,
        inout ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    bit<16> context;
    KEPT(generations, bit<8>, meta.generation)
    KEPT(toss, bit<8>, hdr.ipv4.tos)
    KEPT(ttls, bit<8>, hdr.ipv4.ttl)
    KEPT(ids, bit<32>, hdr.ipv4.id_fragment)
    KEPT(sources, bit<32>, hdr.ipv4.src)
    KEPT(destinations, bit<32>, hdr.ipv4.dst)
    KEPT(ports, bit<32>, hdr.tcp.ports)
    KEPT(sequences, bit<32>, hdr.tcp.sequence)
    KEPT(acknowledgements, bit<32>, hdr.tcp.acknowledgement)
    KEPT(windows, bit<32>, hdr.tcp.offset_flags_window)
    KEPT(checksums, bit<32>, hdr.tcp.checksum_urgent)

    action restore() {
        hdr.ipv4.setValid();
        hdr.tcp.setValid();
        hdr.ipv4.version_ihl = 0x45;
        hdr.ipv4.protocol = PROTO_TCP;
        hdr.ipv4.length = hdr.payload_length.value + 40;
        hdr.type.type = TYPE_IPV4;
        meta.changed = 1;
    }

    apply {
        context = hdr.compressed.context & (CONTEXTS - 1);
        meta.generation = hdr.compressed.generation;
        restore();
        generations_kept.apply();
        toss_kept.apply();
        ttls_kept.apply();
        ids_kept.apply();
        sources_kept.apply();
        destinations_kept.apply();
        ports_kept.apply();
        sequences_kept.apply();
        acknowledgements_kept.apply();
        windows_kept.apply();
        checksums_kept.apply();
        // The data offset of a context that was never written is zero.
        if (meta.generation != hdr.compressed.generation || hdr.tcp.offset_flags_window[31:28] == 0) {
            to_deparser.drop_ctl = 1;
        }
        if (hdr.tos.isValid()) { hdr.ipv4.tos = hdr.tos.value; }
        if (hdr.ttl.isValid()) { hdr.ipv4.ttl = hdr.ttl.value; }
        if (hdr.id.isValid()) { hdr.ipv4.id_fragment[31:16] = hdr.id.value; }
        if (hdr.sequence.isValid()) { hdr.tcp.sequence = hdr.sequence.value; }
        if (hdr.acknowledgement.isValid()) { hdr.tcp.acknowledgement = hdr.acknowledgement.value; }
        if (hdr.flags.isValid()) { hdr.tcp.offset_flags_window[23:16] = hdr.flags.value; }
        if (hdr.window.isValid()) { hdr.tcp.offset_flags_window[15:0] = hdr.window.value; }
        if (hdr.checksum.isValid()) { hdr.tcp.checksum_urgent[31:16] = hdr.checksum.value; }
        if (hdr.urgent.isValid()) { hdr.tcp.checksum_urgent[15:0] = hdr.urgent.value; }
    }
}
#endif

control Ingress(inout headers_t hdr, inout ingress_t meta, in ingress_intrinsic_metadata_t ig,
        in ingress_intrinsic_metadata_from_parser_t from_parser,
        inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
        inout ingress_intrinsic_metadata_for_tm_t to_manager) {
    action drop() {
        to_deparser.drop_ctl = 1;
    }

    table permitted {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.dst: ternary;
            hdr.ipv4.protocol: ternary;
        }
        actions = { NoAction; drop; }
        default_action = NoAction();
        size = 256;
    }

    action to_port(PortId_t port) {
        to_manager.ucast_egress_port = port;
    }

    table mac_forwarding {
        key = { hdr.addresses.dst: exact; }
        actions = { to_port; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    action via(bit<32> next_hop, PortId_t port) {
        meta.next_hop = next_hop;
        to_manager.ucast_egress_port = port;
    }

    action direct(PortId_t port) {
        meta.next_hop = hdr.ipv4.dst;
        to_manager.ucast_egress_port = port;
    }

    table ipv4_forwarding {
        key = { hdr.ipv4.dst: lpm; }
        actions = { via; direct; drop; }
        default_action = drop();
        size = 1024;
    }

    action rewrite(bit<48> src, bit<48> dst) {
        hdr.addresses.src = src;
        hdr.addresses.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        meta.changed = 1;
    }

    table neighbours {
        key = { meta.next_hop: exact; }
        actions = { rewrite; drop; }
        default_action = drop();
        size = 1024;
    }

#ifndef NO_COMPRESS
    Decompress() decompress;

    action remove() {
        hdr.compressed.setInvalid();
        hdr.tos.setInvalid();
        hdr.ttl.setInvalid();
        hdr.id.setInvalid();
        hdr.sequence.setInvalid();
        hdr.acknowledgement.setInvalid();
        hdr.flags.setInvalid();
        hdr.window.setInvalid();
        hdr.urgent.setInvalid();
        hdr.checksum.setInvalid();
        hdr.payload_length.setInvalid();
        hdr.reference.setInvalid();
        hdr.inner.setInvalid();
    }
#endif

    apply {
#ifndef NO_COMPRESS
        if (hdr.compressed.isValid()) {
            if (meta.fits == 0) {
                drop();
            } else if (hdr.compressed.present[14:14] == 1) {
                // The frame from its EtherType on follows.
                hdr.type.setInvalid();
            } else {
                decompress.apply(hdr, meta, to_deparser);
            }
            remove();
        }
#endif
        permitted.apply();
        if (!mac_forwarding.apply().hit) {
            if (hdr.ipv4.isValid()) {
                ipv4_forwarding.apply();
                neighbours.apply();
            }
        }
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in ingress_t meta,
        in ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    Checksum() sum;
    apply {
        if (meta.changed == 1) {
            hdr.ipv4.checksum = sum.update({
                hdr.ipv4.version_ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id_fragment, hdr.ipv4.ttl,
                hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst
            });
        }
        packet.emit(hdr);
    }
}

parser EgressParser(packet_in packet, out headers_t hdr, out egress_t meta, out egress_intrinsic_metadata_t eg) {
    Checksum() sum;

    state start {
        packet.extract(eg);
        meta = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
#ifdef NO_COMPRESS
        transition accept;
#else
        packet.extract(hdr.addresses);
        packet.extract(hdr.type);
        transition select(eg.egress_port, hdr.type.type) {
            (LINK, TYPE_IPV4): ipv4;
            default: accept;
        }
#endif
    }

#ifndef NO_COMPRESS
    state ipv4 {
        packet.extract(hdr.ipv4);
        sum.add(hdr.ipv4);
        meta.wrong = (bit<1>) sum.verify();
        transition select(hdr.ipv4.version_ihl, hdr.ipv4.id_fragment[15:0], hdr.ipv4.protocol) {
            (0x45, 0x4000, PROTO_TCP): tcp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(hdr.tcp);
        transition select(hdr.tcp.offset_flags_window[31:24], hdr.tcp.checksum_urgent[15:0]) {
            (0x50, 0): whole;
            default: accept;
        }
    }

    state whole {
        meta.fits = 1;
        transition accept;
    }
#endif
}

#ifndef NO_COMPRESS
// Whether a field differs from that of the context's flow, of which it takes the place.
#define FLOW(NAME, DIFFERS, FIELD) \
    Register<bit<32>, bit<16>>(CONTEXTS) NAME; \
    RegisterAction<bit<32>, bit<16>, bit<1>>(NAME) NAME##_take = { \
        void apply(inout bit<32> cell, out bit<1> result) { \
            if (cell == FIELD) { \
                result = 0; \
            } else { \
                result = 1; \
            } \
            cell = FIELD; \
        } \
    }; \
    action NAME##_compare() { DIFFERS = NAME##_take.execute(meta.context); }

// A field of the context's reference: the first frame of a flow writes it, those that repeat the reference take it in place of their own, and of
// others it says whether they differ.
#define CHANGE(NAME, TYPE, DIFFERS, FIELD) \
    Register<TYPE, bit<16>>(CONTEXTS) NAME; \
    RegisterAction<TYPE, bit<16>, TYPE>(NAME) NAME##_write = { \
        void apply(inout TYPE cell) { cell = FIELD; } \
    }; \
    RegisterAction<TYPE, bit<16>, TYPE>(NAME) NAME##_read = { \
        void apply(inout TYPE cell, out TYPE result) { result = cell; } \
    }; \
    RegisterAction<TYPE, bit<16>, bit<1>>(NAME) NAME##_differs = { \
        void apply(inout TYPE cell, out bit<1> result) { \
            if (cell == FIELD) { \
                result = 0; \
            } else { \
                result = 1; \
            } \
        } \
    }; \
    action NAME##_keep() { NAME##_write.execute(meta.context); } \
    action NAME##_repeat() { FIELD = NAME##_read.execute(meta.context); } \
    action NAME##_compare() { DIFFERS = NAME##_differs.execute(meta.context); } \
    table NAME##_changed { \
        key = { meta.frame: ternary; } \
        actions = { NAME##_keep; NAME##_repeat; NAME##_compare; @defaultonly NoAction; } \
        const entries = { 1: NAME##_keep(); 2: NAME##_repeat(); 3: NAME##_repeat(); _: NAME##_compare(); } \
        const default_action = NoAction(); \
        size = 4; \
    }

control Compress(inout headers_t hdr, inout egress_t meta) {
    FLOW(sources, meta.other_source, hdr.ipv4.src)
    FLOW(destinations, meta.other_destination, hdr.ipv4.dst)
    FLOW(ports, meta.other_ports, hdr.tcp.ports)
    CHANGE(kinds, bit<32>, meta.changed_kind, meta.kind)
    CHANGE(sequences, bit<32>, meta.changed_sequence, hdr.tcp.sequence)
    CHANGE(acknowledgements, bit<32>, meta.changed_acknowledgement, hdr.tcp.acknowledgement)
    CHANGE(windows, bit<16>, meta.changed_window, hdr.tcp.offset_flags_window[15:0])

    Register<bit<8>, bit<16>>(CONTEXTS) frames;
    RegisterAction<bit<8>, bit<16>, bit<8>>(frames) start = {
        void apply(inout bit<8> frame, out bit<8> result) {
            frame = 1;
            result = frame;
        }
    };
    RegisterAction<bit<8>, bit<16>, bit<8>>(frames) next = {
        void apply(inout bit<8> frame, out bit<8> result) {
            if (frame >= REFRESH) {
                frame = 2;
            } else {
                frame = frame + 1;
            }
            result = frame;
        }
    };
    action begin() { meta.frame = start.execute(meta.context); }
    action go_on() { meta.frame = next.execute(meta.context); }
    table flows {
        key = { meta.other_source: ternary; meta.other_destination: ternary; meta.other_ports: ternary; }
        actions = { begin; go_on; @defaultonly NoAction; }
        const entries = { (0, 0, 0): go_on(); (_, _, _): begin(); }
        const default_action = NoAction();
        size = 2;
    }

    Register<bit<8>, bit<16>>(CONTEXTS) generations;
    RegisterAction<bit<8>, bit<16>, bit<8>>(generations) increase = {
        void apply(inout bit<8> generation, out bit<8> result) {
            generation = generation + 1;
            result = generation;
        }
    };
    RegisterAction<bit<8>, bit<16>, bit<8>>(generations) read = {
        void apply(inout bit<8> generation, out bit<8> result) { result = generation; }
    };
    action new_generation() { hdr.compressed.generation = increase.execute(meta.context); }
    action old_generation() { hdr.compressed.generation = read.execute(meta.context); }
    table references {
        key = { meta.frame: ternary; }
        actions = { new_generation; old_generation; @defaultonly NoAction; }
        const entries = { 1: new_generation(); _: old_generation(); }
        const default_action = NoAction();
        size = 2;
    }

    apply {
        sources_compare();
        destinations_compare();
        ports_compare();
        flows.apply();

        hdr.type.type = TYPE_COMPRESSED;
        hdr.compressed.setValid();
        hdr.tos.setValid();
        hdr.ttl.setValid();
        hdr.id.setValid();
        hdr.sequence.setValid();
        hdr.acknowledgement.setValid();
        hdr.flags.setValid();
        hdr.window.setValid();
        hdr.checksum.setValid();
        hdr.payload_length.setValid();
        hdr.compressed.context = meta.context;
        hdr.compressed.check = meta.check;
        hdr.tos.value = hdr.ipv4.tos;
        hdr.ttl.value = hdr.ipv4.ttl;
        hdr.id.value = hdr.ipv4.id_fragment[31:16];
        hdr.sequence.value = hdr.tcp.sequence;
        hdr.acknowledgement.value = hdr.tcp.acknowledgement;
        hdr.flags.value = hdr.tcp.offset_flags_window[23:16];
        hdr.window.value = hdr.tcp.offset_flags_window[15:0];
        hdr.checksum.value = hdr.tcp.checksum_urgent[31:16];
        hdr.payload_length.value = hdr.ipv4.length - 40;
        references.apply();
        kinds_changed.apply();
        sequences_changed.apply();
        acknowledgements_changed.apply();
        windows_changed.apply();
        if (meta.frame <= SHOWN) {
            hdr.compressed.present = 0x34fd;
            hdr.reference.setValid();
            hdr.inner.setValid();
            hdr.reference.value = 42;
            hdr.inner.type = TYPE_IPV4;
            hdr.ipv4.tos = meta.kind[23:16];
            hdr.ipv4.ttl = meta.kind[15:8];
            hdr.tcp.offset_flags_window[23:16] = meta.kind[7:0];
        } else {
            hdr.compressed.present = 0x14fd;
            hdr.ipv4.setInvalid();
            hdr.tcp.setInvalid();
            if (meta.changed_kind == 0) {
                hdr.compressed.present[0:0] = 0;
                hdr.compressed.present[2:2] = 0;
                hdr.compressed.present[6:6] = 0;
                hdr.tos.setInvalid();
                hdr.ttl.setInvalid();
                hdr.flags.setInvalid();
            }
            if (meta.changed_sequence == 0) {
                hdr.compressed.present[4:4] = 0;
                hdr.sequence.setInvalid();
            }
            if (meta.changed_acknowledgement == 0) {
                hdr.compressed.present[5:5] = 0;
                hdr.acknowledgement.setInvalid();
            }
            if (meta.changed_window == 0) {
                hdr.compressed.present[7:7] = 0;
                hdr.window.setInvalid();
            }
        }
    }
}
#endif

control Egress(inout headers_t hdr, inout egress_t meta, in egress_intrinsic_metadata_t eg,
        in egress_intrinsic_metadata_from_parser_t from_parser,
        inout egress_intrinsic_metadata_for_deparser_t to_deparser,
        inout egress_intrinsic_metadata_for_output_port_t to_port) {
#ifndef NO_COMPRESS
    Hash<bit<10>>(HashAlgorithm_t.CRC32) flow;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) check;
    Compress() compress;

    // An action, so that the condition below compares its result.
    action measure() {
        meta.tail = eg.pkt_length - hdr.ipv4.length;
    }
#endif

    apply {
#ifndef NO_COMPRESS
        if (meta.fits == 1 && meta.wrong == 0) {
            measure();
            meta.context = 6w0 ++ flow.get({ hdr.ipv4.src, hdr.ipv4.dst, hdr.tcp.ports });
            meta.check = check.get({
                TYPE_IPV4, hdr.ipv4.version_ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id_fragment, hdr.ipv4.ttl,
                hdr.ipv4.protocol, hdr.ipv4.checksum, hdr.ipv4.src, hdr.ipv4.dst, hdr.tcp.ports, hdr.tcp.sequence, hdr.tcp.acknowledgement,
                hdr.tcp.offset_flags_window, hdr.tcp.checksum_urgent
            });
            meta.kind = 8w0 ++ hdr.ipv4.tos ++ hdr.ipv4.ttl ++ hdr.tcp.offset_flags_window[23:16];
            if (meta.tail == 14) {
                compress.apply(hdr, meta);
            }
        } else if (eg.egress_port == LINK && hdr.type.type == TYPE_COMPRESSED) {
            // It looks as if it were compressed.
            hdr.compressed.setValid();
            hdr.payload_length.setValid();
            hdr.inner.setValid();
            hdr.compressed.context = 0;
            hdr.compressed.generation = 0;
            hdr.compressed.present = 0x5000;
            hdr.compressed.check = 0;
            hdr.payload_length.value = eg.pkt_length - 12;
            hdr.inner.type = TYPE_COMPRESSED;
        }
#endif
    }
}

control EgressDeparser(packet_out packet, inout headers_t hdr, in egress_t meta,
        in egress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply { packet.emit(hdr); }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
