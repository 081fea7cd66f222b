// NetCache: the switch answers reads of a server's most popular keys. Values have 1 to 8 blocks of 16 bytes.
//
// A read that hits a valid value is answered here. A write or a deletion of a cached key makes the value invalid, gets a number, and goes to the server. The server
// changes its value, answers, and then sends an update with that number, which makes the value valid unless the switch has numbered another write of the key since then. So a value
// that the switch gives away is never older than an answered write.
//
//   client             switch                    server
//     | PUT k v          |                         |
//     |----------------->| valid = 0, number = 7   |
//     |                  |--- PUT k v, 7 --------->| store
//     |<-----------------|<-- PUT_REPLY -----------|
//     |                  |<-- UPDATE k v, 7 -------| repeated until it is answered
//     |                  | valid = 1 if number = 7 |
//     |                  |--- UPDATE_REPLY, 7 ---->|
//
// Keys that miss often are reported: a count-min sketch counts them, a Bloom filter reports each once until the controller clears it.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"

const bit<16> PORT_CACHE = 50000;

const bit<8> GET = 1;
const bit<8> PUT = 2;
const bit<8> DELETE = 3;
const bit<8> GET_REPLY = 4;
const bit<8> UPDATE = 6;
const bit<8> UPDATE_REPLY = 7;

header query_h {
    bit<8>   op;
    // Blocks of the value; 0: the key has none.
    bit<8>   blocks;
    // The sender's own.
    bit<16>  client;
    bit<32>  request;
    // Of a write that has made a cached value invalid; else 0.
    bit<32>  number;
    bit<128> key;
}

header block_h { bit<128> data; }

struct cache_headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_h      udp;
    query_h    query;
    block_h    b0;
    block_h    b1;
    block_h    b2;
    block_h    b3;
    block_h    b4;
    block_h    b5;
    block_h    b6;
    block_h    b7;
}

struct metadata_t {
    bit<16> slot;
    bit<32> hot;
    // A packet of the switch's own.
    bit<1>  made;
    bit<1>  is_server;
}

struct hot_key_t {
    bit<128> key;
}

parser CacheParser(packet_in packet, out cache_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { TYPE_IPV4: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment & 0x3fff, hdr.ipv4.protocol) {
            (5, 0, PROTO_UDP): udp; default: accept; }
    }
    state udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.src, hdr.udp.dst) { (PORT_CACHE, _): query; (_, PORT_CACHE): query; default: accept; }
    }
    state query {
        packet.extract(hdr.query);
        transition select(hdr.query.op, hdr.query.blocks) {
            (UPDATE, 1 .. 8): b0; default: accept; }
    }
#define BLOCK(HERE, N, NEXT) \
    state HERE { \
        packet.extract(hdr.HERE); \
        transition select(hdr.query.blocks) { N: accept; default: NEXT; } \
    }
    BLOCK(b0, 1, b1)
    BLOCK(b1, 2, b2)
    BLOCK(b2, 3, b3)
    BLOCK(b3, 4, b4)
    BLOCK(b4, 5, b5)
    BLOCK(b5, 6, b6)
    BLOCK(b6, 7, b7)
    state b7 { packet.extract(hdr.b7); transition accept; }
}

control CacheVerify(inout cache_headers_t hdr, inout metadata_t meta) {
    apply { }
}

// A block of the values: written by an update, read by a hit.
control Blocks(in bit<16> slot, in bit<1> writes, in bit<1> is_there, inout block_h data) {
    register<bit<128>, bit<16>>(65536) values;

    apply {
        if (is_there == 1) {
            if (writes == 1) {
                values.write(slot, data.data);
            } else {
                data.setValid();
                values.read(data.data, slot);
            }
        }
    }
}

control CacheIngress(inout cache_headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // The number of the last write of a cached key, and whether the value is valid.
    register<bit<32>, bit<16>>(65536) numbers;
    register<bit<1>, bit<16>>(65536) valid;
    register<bit<8>, bit<16>>(65536) lengths;
    Blocks() blocks_0;
    Blocks() blocks_1;
    Blocks() blocks_2;
    Blocks() blocks_3;
    Blocks() blocks_4;
    Blocks() blocks_5;
    Blocks() blocks_6;
    Blocks() blocks_7;
    // Reads that the switch has answered, and those of cached keys that were not valid.
    counter<bit<1>>(2, CounterType.packets) reads;
    register<bit<32>, bit<16>>(65536) count_0;
    register<bit<32>, bit<16>>(65536) count_1;
    register<bit<32>, bit<16>>(65536) count_2;
    register<bit<1>, bit<16>>(65536) reported;

    ROUTES(1024)

    action cached(bit<16> slot) { meta.slot = slot; }
    table keys {
        key = { hdr.query.key: exact; }
        actions = { cached; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    // Ports that updates come from.
    action is_server() { meta.is_server = 1; }
    table servers {
        key = { standard_metadata.ingress_port: exact; }
        actions = { is_server; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    // Misses in a window that make a key hot.
    action hot_from(bit<32> misses) { meta.hot = misses; }
    table hot {
        actions = { hot_from; }
        default_action = hot_from(0xffffffff);
    }

    action answer() {
        mac_t mac = hdr.ethernet.src;
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = mac;
        ipv4_t address = hdr.ipv4.src;
        hdr.ipv4.src = hdr.ipv4.dst;
        hdr.ipv4.dst = address;
        hdr.ipv4.ttl = 64;
        bit<16> l4_port = hdr.udp.src;
        hdr.udp.src = hdr.udp.dst;
        hdr.udp.dst = l4_port;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
        meta.made = 1;
    }

#define MISSED(ROW, AT) \
    ROW.read(count, AT); \
    count = count |+| 1; \
    ROW.write(AT, count); \
    if (count < least) { least = count; }

    apply {
        servers.apply();
        if (!hdr.ipv4.isValid() || hdr.ipv4.ttl <= 1 || standard_metadata.parser_error != error.NoError ||
            (hdr.query.isValid() && hdr.query.op == UPDATE && (meta.is_server == 0 || hdr.query.blocks > 8))) {
            mark_to_drop(standard_metadata);
            return;
        }
        if (hdr.query.isValid()) {
            bit<8> op = hdr.query.op;
            bool is_cached = keys.apply().hit;
            if (op == UPDATE) {
                // For the switch alone. An update of another key, or of an older write, changes nothing.
                if (is_cached) {
                    bit<32> number;
                    numbers.read(number, meta.slot);
                    if (number == hdr.query.number) {
                        valid.write(meta.slot, 1);
                        lengths.write(meta.slot, hdr.query.blocks);
                    } else {
                        is_cached = false;
                    }
                }
            } else if (is_cached && op == GET) {
                bit<1> is_valid;
                valid.read(is_valid, meta.slot);
                reads.count(1 - is_valid);
                if (is_valid == 1) {
                    lengths.read(hdr.query.blocks, meta.slot);
                } else {
                    is_cached = false;
                }
            } else if (is_cached && (op == PUT || op == DELETE)) {
                valid.write(meta.slot, 0);
                bit<32> number;
                numbers.read(number, meta.slot);
                number = number + 1;
                numbers.write(meta.slot, number);
                hdr.query.number = number;
                hdr.udp.checksum = 0;
                is_cached = false;
            } else if (op == GET) {
                bit<32> h;
                bit<32> count;
                bit<32> least = 0xffffffff;
                hot.apply();
                hash(h, HashAlgorithm.crc32, 32w0, { hdr.query.key }, 33w0x100000000);
                bit<16> h2;
                hash(h2, HashAlgorithm.crc16, 16w0, { hdr.query.key }, 32w0x10000);
                MISSED(count_0, h[31:16])
                MISSED(count_1, h[15:0])
                MISSED(count_2, h2)
                if (least >= meta.hot) {
                    bit<1> is_reported;
                    reported.read(is_reported, h[23:8]);
                    reported.write(h[23:8], 1);
                    if (is_reported == 0) {
                        hot_key_t report = { hdr.query.key };
                        digest(1, report);
                    }
                }
            } else {
                is_cached = false;
            }
            if (is_cached) {
                bit<1> writes = 0;
                bit<8> blocks = hdr.query.blocks;
                if (op == UPDATE) { writes = 1; }
#define RUN(I, B) \
    bit<1> is_##I = 0; \
    if (blocks > I) { is_##I = 1; } \
    blocks_##I.apply(meta.slot, writes, is_##I, hdr.B);
                RUN(0, b0)
                RUN(1, b1)
                RUN(2, b2)
                RUN(3, b3)
                RUN(4, b4)
                RUN(5, b5)
                RUN(6, b6)
                RUN(7, b7)
            }
            if (op == UPDATE) {
                hdr.query.op = UPDATE_REPLY;
                hdr.query.blocks = 0;
                hdr.b0.setInvalid();
                hdr.b1.setInvalid();
                hdr.b2.setInvalid();
                hdr.b3.setInvalid();
                hdr.b4.setInvalid();
                hdr.b5.setInvalid();
                hdr.b6.setInvalid();
                hdr.b7.setInvalid();
                answer();
            } else if (is_cached && op == GET) {
                hdr.query.op = GET_REPLY;
                answer();
            }
            if (meta.made == 1) {
                bit<16> bytes = 36 + ((bit<16>)hdr.query.blocks << 4);
                hdr.udp.length = bytes;
                hdr.udp.checksum = 0;
                hdr.ipv4.total_len = 20 + bytes;
                truncate(34 + (bit<32>)bytes);
                return;
            }
        }
        routes.apply();
    }
}

control CacheEgress(inout cache_headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control CacheCompute(inout cache_headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control CacheDeparser(packet_out packet, in cache_headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.query);
        packet.emit(hdr.b0);
        packet.emit(hdr.b1);
        packet.emit(hdr.b2);
        packet.emit(hdr.b3);
        packet.emit(hdr.b4);
        packet.emit(hdr.b5);
        packet.emit(hdr.b6);
        packet.emit(hdr.b7);
    }
}

V1Switch(CacheParser(), CacheVerify(), CacheIngress(), CacheEgress(), CacheCompute(), CacheDeparser()) main;
