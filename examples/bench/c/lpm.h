// SPDX-License-Identifier: Apache-2.0
//
// Longest prefixes. IPv4: DIR-24-8 (Gupta, Lin, McKeown 1998): a table by the first 24 bits, and tables of 256 for longer prefixes.
// IPv6: the starts of all ranges in order, searched without branches; prefixes have up to 64 bits.
// Values are below 0x8000; 0 is none.

#ifndef LPM_H
#define LPM_H

#include "peer.h"

struct lpm {
    uint16_t *first;
    uint16_t *rest;
    unsigned groups;
};

#define LPM_GROUPS 4096

static void lpm_init(struct lpm *t) {
    t->first = pages(sizeof *t->first << 24);
    t->rest = pages(sizeof *t->rest * 256 * LPM_GROUPS);
    t->groups = 0;
}

// Shorter prefixes before longer ones.
static void lpm_add(struct lpm *t, uint32_t prefix, unsigned length, uint16_t value) {
    if (length <= 24) {
        for (uint32_t i = 0; i < 1u << (24 - length); i++) t->first[(prefix >> 8) + i] = value;
        return;
    }
    uint16_t *at = &t->first[prefix >> 8];
    if (!(*at & 0x8000)) {
        if (t->groups == LPM_GROUPS) give_up("too many long prefixes");
        for (unsigned i = 0; i < 256; i++) t->rest[t->groups * 256 + i] = *at;
        *at = (uint16_t)(0x8000 | t->groups++);
    }
    for (uint32_t i = 0; i < 1u << (32 - length); i++) t->rest[(*at & 0x7fff) * 256 + (prefix & 0xff) + i] = value;
}

static inline void lpm_prefetch(const struct lpm *t, uint32_t address) { __builtin_prefetch(&t->first[address >> 8]); }

static inline uint16_t lpm_find(const struct lpm *t, uint32_t address) {
    uint16_t value = t->first[address >> 8];
    if (__builtin_expect(value & 0x8000, 0)) value = t->rest[(value & 0x7fff) * 256 + (address & 0xff)];
    return value;
}

// Adds the routes of `table` whose first key, if there are two, is `scope`. The value is what `value` makes of an entry.
static void lpm_fill(struct lpm *t, const struct entry *e, size_t count, const char *table, u128 scope,
                     uint16_t (*value)(const struct entry *)) {
    lpm_init(t);
    for (unsigned length = 0; length <= 32; length++)
        for (size_t i = 0; i < count; i++) {
            const struct key *k = &e[i].keys[e[i].n_keys - 1];
            if (!is_table(&e[i], table) || (e[i].n_keys == 2 && e[i].keys[0].value != scope)) continue;
            if ((k->kind == PREFIX ? k->length : 32) == length) lpm_add(t, (uint32_t)k->value, length, value(&e[i]));
        }
}

struct lpm6 {
    uint64_t *starts;
    uint16_t *values;
    unsigned count;
};

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void lpm6_fill(struct lpm6 *t, const struct entry *e, size_t count, const char *table, u128 scope,
                      uint16_t (*value)(const struct entry *)) {
    t->starts = calloc(2 * count + 1, sizeof *t->starts);
    unsigned n = 1;
    for (size_t i = 0; i < count; i++) {
        const struct key *k = &e[i].keys[e[i].n_keys - 1];
        if (!is_table(&e[i], table) || (e[i].n_keys == 2 && e[i].keys[0].value != scope)) continue;
        if (k->kind != PREFIX || k->length > 64 || !k->length) give_up("an IPv6 prefix is longer than 64 bits");
        uint64_t start = (uint64_t)(k->value >> 64), size = k->length == 64 ? 1 : 1ull << (64 - k->length);
        t->starts[n++] = start;
        if (start + size) t->starts[n++] = start + size;
    }
    qsort(t->starts, n, sizeof *t->starts, by_number);
    unsigned kept = 1;
    for (unsigned i = 1; i < n; i++)
        if (t->starts[i] != t->starts[kept - 1]) t->starts[kept++] = t->starts[i];
    t->count = kept;
    t->values = calloc(kept, sizeof *t->values);
    for (unsigned length = 1; length <= 64; length++)
        for (size_t i = 0; i < count; i++) {
            const struct key *k = &e[i].keys[e[i].n_keys - 1];
            if (!is_table(&e[i], table) || (e[i].n_keys == 2 && e[i].keys[0].value != scope)) continue;
            if (k->length != length) continue;
            uint64_t start = (uint64_t)(k->value >> 64), last = start | (length == 64 ? 0 : ~0ull >> length);
            for (unsigned at = 0; at < kept; at++)
                if (t->starts[at] >= start && t->starts[at] <= last) t->values[at] = value(&e[i]);
        }
}

static inline uint16_t lpm6_find(const struct lpm6 *t, uint64_t high) {
    const uint64_t *base = t->starts;
    unsigned n = t->count;
    while (n > 1) {
        unsigned half = n / 2;
        base = base[half] <= high ? base + half : base;
        n -= half;
    }
    return t->values[base - t->starts];
}

#endif
