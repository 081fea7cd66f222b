// SPDX-License-Identifier: Apache-2.0
//
// What a job in C is given, and what it gives. A job is one file, included by peer.c:
//
//   static void setup(const struct entry *entries, size_t count);       once, before the first packet
//   static void process(struct packet *packets, unsigned count);        up to BATCH packets, in order
//
// It changes packets where they stand. There is room for HEADROOM bytes in front of each.

#ifndef PEER_H
#define PEER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BATCH 64
#define HEADROOM 128
#define DROPPED 0xffff
#define CPU_PORT 510

typedef unsigned __int128 u128;

struct packet {
    uint8_t *data;
    uint32_t len;
    uint16_t in_port;
    uint16_t out_port;
};

enum kind { EXACT, PREFIX, MASK, ANY };

struct key {
    enum kind kind;
    u128 value;
    u128 mask;
    unsigned length;
};

struct entry {
    const char *table;
    const char *action;
    long priority;
    unsigned n_keys;
    unsigned n_args;
    struct key keys[8];
    uint64_t args[8];
};

static void setup(const struct entry *entries, size_t count);
static void report(const void *data, unsigned length);

static inline int is_table(const struct entry *e, const char *table) { return strcmp(e->table, table) == 0; }
static inline int is_action(const struct entry *e, const char *action) { return strcmp(e->action, action) == 0; }

__attribute__((noreturn)) static void give_up(const char *what) {
    fprintf(stderr, "peer: %s\n", what);
    exit(1);
}

// Zeroed memory in huge pages, where there are some.
static void *pages(size_t bytes) {
    bytes = (bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);
    void *at = NULL;
    if (posix_memalign(&at, 2u << 20, bytes)) give_up("no memory");
    madvise(at, bytes, MADV_HUGEPAGE);
    return memset(at, 0, bytes);
}

static inline uint16_t load16(const void *p) { uint16_t v; memcpy(&v, p, 2); return v; }
static inline uint32_t load32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t load64(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline void store16(void *p, uint16_t v) { memcpy(p, &v, 2); }
static inline void store32(void *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void store64(void *p, uint64_t v) { memcpy(p, &v, 8); }
static inline uint16_t be16(const void *p) { return __builtin_bswap16(load16(p)); }
static inline uint32_t be32(const void *p) { return __builtin_bswap32(load32(p)); }
static inline uint64_t be64(const void *p) { return __builtin_bswap64(load64(p)); }
static inline void put16(void *p, uint16_t v) { store16(p, __builtin_bswap16(v)); }
static inline void put32(void *p, uint32_t v) { store32(p, __builtin_bswap32(v)); }
static inline void put64(void *p, uint64_t v) { store64(p, __builtin_bswap64(v)); }
static inline uint64_t mac(const void *p) { return (uint64_t)be16(p) << 32 | be32((const uint8_t *)p + 2); }
static inline void put_mac(uint8_t *p, uint64_t v) { put16(p, v >> 32); put32(p + 2, (uint32_t)v); }

enum { ETH_IPV4 = 0x0800, ETH_IPV6 = 0x86dd, ETH_VLAN = 0x8100, TCP = 6, UDP = 17 };

#endif
