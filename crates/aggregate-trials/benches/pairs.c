// SPDX-License-Identifier: Apache-2.0
//
// The switch program of AGG for packets with pairs, hand-written: pairs.rs compares its frames with those of the machine code, and its time.
//
// Compiled with LANES, TAG (bytes of a tag), FORMAT, ROWS, WINDOW, EVICT, PORT, JOB, BOOT, NUMBER, CHANNELS,
// REDUCER_PORT. Standard input has batches: the number of frames, their port, then length and bytes of each. Standard output has for each batch the nanoseconds
// that the processor took, then length and bytes of each frame, 0 for one that is dropped.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXTENSION (LANES > 32 ? 12 : 0)
#define HEADER (24 + EXTENSION)
#define PAIR (2 + TAG + 4)
#define CELLS (CHANNELS * WINDOW)
#define AHEAD 8
#define WAYS (EVICT ? 2 : 1)

enum { DATA = 1, ACK = 2, OPEN = 6, OPENED = 7, BOOTED = 14 };

#if TAG == 4
typedef uint32_t tag_t;
#else
typedef unsigned __int128 tag_t;
#endif
#if LANES > 32
typedef uint64_t map_t;
#else
typedef uint32_t map_t;
#endif

// Tag and value stand side by side: one line of the cache for each pair.
struct slot { tag_t tag; uint32_t value; } __attribute__((packed));

static struct slot slots[LANES][2 * ROWS], shadow[LANES][CELLS];
static uint32_t generations[2], cells[CELLS];
static uint8_t opens[2];
static map_t overflows[CELLS];

static inline uint16_t be16(const void *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }
static inline uint32_t be32(const void *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline void put16(void *p, uint16_t v) { v = __builtin_bswap16(v); memcpy(p, &v, 2); }
static inline void put32(void *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }

static inline uint16_t checksum(const uint8_t *ip) {
    uint32_t sum = 0;
    for (int at = 0; at < 20; at += 2) sum += be16(ip + at);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~((sum & 0xffff) + (sum >> 16));
}

static inline void turn(uint8_t *frame) {
    uint8_t card[6], address[4], port[2];
    memcpy(card, frame, 6), memcpy(frame, frame + 6, 6), memcpy(frame + 6, card, 6);
    memcpy(address, frame + 26, 4), memcpy(frame + 26, frame + 30, 4), memcpy(frame + 30, address, 4);
    memcpy(port, frame + 34, 2), memcpy(frame + 34, frame + 36, 2), memcpy(frame + 36, port, 2);
}

// The map of lanes; the extension has its words most significant first, as one number of 96 bits.
static inline map_t get_map(const uint8_t *agg) {
    map_t map = be32(agg + 16);
#if LANES > 32
    map |= (map_t)be32(agg + 32) << 32;
#endif
    return map;
}

static inline void put_map(uint8_t *agg, map_t map) {
    put32(agg + 16, (uint32_t)map);
#if LANES > 32
    put32(agg + 24, 0), put32(agg + 28, 0), put32(agg + 32, (uint32_t)(map >> 32));
#endif
}

// The new length; 0: the frame is dropped.
static unsigned process(uint8_t *frame, unsigned length, unsigned port) {
    uint8_t *ip = frame + 14, *agg = frame + 42;
    if (length < 42 + HEADER || be16(frame + 12) != 0x0800 || ip[0] != 0x45 || (be16(ip + 6) & 0x3fff) != 0 || ip[9] != 17) return 0;
    if (checksum(ip) != 0 || be16(ip + 22) != PORT || be16(agg + 2) != JOB || agg[0] >> 4 != 2 || agg[1] != FORMAT) return 0;
    uint32_t generation = be32(agg + 4), seq = be32(agg + 12);
    unsigned bank = generation & 1, type = agg[0] & 15;
    if (type == OPEN) {
        if (port != REDUCER_PORT || be16(agg + 8) != BOOT || be16(agg + 10) != NUMBER || generation < generations[bank]) return 0;
        if (generation > generations[bank]) generations[bank] = generation, opens[bank] = 1;
        agg[0] = 1 << 4 | OPENED;
        turn(frame);
        return length;
    }
    unsigned channel = be16(agg + 10);
    if (type != DATA || channel >= CHANNELS || port != channel + 1) return 0;
    map_t valid = get_map(agg), left = 0;
    unsigned pairs = 0;
    if (generation != generations[bank] || !opens[bank]) {
        agg[0] = 1 << 4 | BOOTED;
        put16(agg + 8, BOOT), put16(agg + 10, NUMBER);
    } else {
        uint32_t cell = channel * WINDOW + (seq & (WINDOW - 1));
        if (seq < cells[cell]) return 0;
        uint8_t *pair = agg + HEADER, *kept = pair;
        int is_new = seq > cells[cell];
        if (!is_new) left = overflows[cell] & valid;
        cells[cell] = seq;
        for (unsigned lane = 0; lane < LANES; lane++) {
            if (!(valid >> lane & 1)) continue;
            tag_t tag;
            memcpy(&tag, pair + 2, TAG);
            uint32_t value = be32(pair + 2 + TAG);
            int is_left = left >> lane & 1;
            if (is_new) {
                struct slot *slot = &slots[lane][bank * ROWS + (be16(pair) & (ROWS - WAYS))];
                if (slot->tag == tag) {
                    slot->value += value;
                } else if (slot->tag == 0) {
                    *slot = (struct slot){ tag, value };
                } else if (!EVICT) {
                    is_left = 1, left |= (map_t)1 << lane;
                } else if (slot[1].tag == tag) {
                    slot[1].value += value;
                } else {
                    // The new pair comes first, and the older one leaves.
                    struct slot before = slot[1];
                    slot[1] = slot[0], slot[0] = (struct slot){ tag, value };
                    if (before.tag != 0) {
                        is_left = 1, left |= (map_t)1 << lane;
                        shadow[lane][cell] = before;
                        tag = before.tag, value = before.value;
                    }
                }
            } else if (EVICT && is_left) {
                tag = shadow[lane][cell].tag, value = shadow[lane][cell].value;
            }
            if (EVICT && is_left) {
                memmove(kept, pair, 2), memcpy(kept + 2, &tag, TAG), put32(kept + 2 + TAG, value);
                kept += PAIR, pairs++;
            }
            pair += PAIR;
        }
        if (is_new) overflows[cell] = left;
        agg[0] = 1 << 4 | ACK;
        put32(agg + 20, (ip[1] & 3) == 3);
    }
    put_map(agg, left);
    put16(ip + 24, 8 + HEADER + pairs * PAIR), put16(ip + 2, 28 + HEADER + pairs * PAIR), put16(ip + 26, 0);
    put16(ip + 10, 0), put16(ip + 10, checksum(ip));
    turn(frame);
    return 42 + HEADER + pairs * PAIR;
}

// Asks for the lines of the slots of a packet that comes soon.
static inline void prefetch(const uint8_t *frame) {
    const uint8_t *agg = frame + 42, *pair = agg + HEADER;
    map_t valid = get_map(agg);
    unsigned bank = be32(agg + 4) & 1;
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (!(valid >> lane & 1)) continue;
        __builtin_prefetch(&slots[lane][bank * ROWS + (be16(pair) & (ROWS - WAYS))], 1);
        pair += PAIR;
    }
}

static void get(void *to, size_t bytes) { if (fread(to, 1, bytes, stdin) != bytes) exit(0); }

int main(void) {
    for (;;) {
        uint32_t count, port;
        get(&count, 4);
        get(&port, 4);
        uint8_t **frames = malloc(count * sizeof *frames);
        uint32_t *lengths = malloc(count * sizeof *lengths);
        for (uint32_t at = 0; at < count; at++) {
            get(&lengths[at], 4);
            frames[at] = malloc(lengths[at]);
            get(frames[at], lengths[at]);
        }
        struct timespec start, end;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        for (uint32_t at = 0; at < count; at++) {
            if (at + AHEAD < count) prefetch(frames[at + AHEAD]);
            lengths[at] = process(frames[at], lengths[at], port);
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        uint64_t ns = (end.tv_sec - start.tv_sec) * 1000000000ull + end.tv_nsec - start.tv_nsec;
        fwrite(&ns, 8, 1, stdout);
        for (uint32_t at = 0; at < count; at++) {
            fwrite(&lengths[at], 4, 1, stdout);
            fwrite(frames[at], 1, lengths[at], stdout);
            free(frames[at]);
        }
        fflush(stdout);
        free(frames), free(lengths);
    }
}
