// SPDX-License-Identifier: Apache-2.0
//
// Ternary matches by bit vectors (Lakshman, Stiliadis 1998): each key alone gives the entries that it satisfies, as bits; the
// first of those that all keys satisfy wins. Entries are in the order of their priority.
//
// What a key satisfies is found by its kind: up to 16 bits, a table of all values; more, where all entries want prefixes, the
// ranges between their ends; else a table for each byte. Equal vectors are kept once.

#ifndef TERNARY_H
#define TERNARY_H

#include "peer.h"

#define TERNARY_WORDS 16
#define TERNARY_KEYS 8

struct ternary_key {
    enum { VALUES, RANGES, BYTES } by;
    unsigned width;
    unsigned count;
    // The vector of each value, range, or byte and value.
    uint16_t *which;
    u128 *starts;
};

struct ternary {
    struct ternary_key keys[TERNARY_KEYS];
    unsigned n_keys;
    unsigned words;
    uint64_t *vectors;
    unsigned n_vectors;
    unsigned room;
    uint64_t values[TERNARY_WORDS * 64];
};

static int by_priority(const void *a, const void *b) {
    long x = (*(const struct entry *const *)a)->priority, y = (*(const struct entry *const *)b)->priority;
    return x > y ? -1 : x < y;
}

static int by_start(const void *a, const void *b) {
    u128 x = *(const u128 *)a, y = *(const u128 *)b;
    return x < y ? -1 : x > y;
}

// The number of a vector like this.
static uint16_t ternary_vector(struct ternary *t, const uint64_t *bits) {
    for (unsigned i = 0; i < t->n_vectors; i++)
        if (!memcmp(t->vectors + i * t->words, bits, 8 * t->words)) return (uint16_t)i;
    if (t->n_vectors == t->room) give_up("too many different vectors");
    memcpy(t->vectors + t->n_vectors * t->words, bits, 8 * t->words);
    return (uint16_t)t->n_vectors++;
}

static u128 ternary_mask(const struct key *k, unsigned width) {
    u128 ones = width == 16 ? ~(u128)0 : ((u128)1 << 8 * width) - 1;
    if (k->kind == PREFIX) return k->length ? ones << (8 * width - k->length) & ones : 0;
    return k->mask & ones;
}

// The entries that `value` satisfies in the bits of `part`.
static uint16_t ternary_satisfied(struct ternary *t, const struct entry **e, unsigned n, unsigned k, u128 value, u128 part) {
    uint64_t bits[TERNARY_WORDS] = { 0 };
    for (unsigned r = 0; r < n; r++) {
        u128 mask = ternary_mask(&e[r]->keys[k], t->keys[k].width) & part;
        if (!((value ^ e[r]->keys[k].value) & mask)) bits[r / 64] |= 1ull << r % 64;
    }
    return ternary_vector(t, bits);
}

static void ternary_key(struct ternary *t, const struct entry **e, unsigned n, unsigned k) {
    struct ternary_key *key = &t->keys[k];
    unsigned width = key->width;
    int prefixes = 1;
    for (unsigned r = 0; r < n; r++) {
        u128 mask = ternary_mask(&e[r]->keys[k], width), end = mask & -mask;
        u128 ones = width == 16 ? ~(u128)0 : ((u128)1 << 8 * width) - 1;
        prefixes &= !mask || (mask | (end - 1)) == ones;
    }
    key->by = width <= 2 ? VALUES : prefixes ? RANGES : BYTES;
    if (key->by == RANGES) {
        u128 ones = width == 16 ? ~(u128)0 : ((u128)1 << 8 * width) - 1, *all = calloc(2 * n + 1, sizeof *all);
        unsigned count = 1;
        for (unsigned r = 0; r < n; r++) {
            u128 mask = ternary_mask(&e[r]->keys[k], width), first = e[r]->keys[k].value & mask, last = first | (~mask & ones);
            all[count++] = first;
            if (last != ones) all[count++] = last + 1;
        }
        qsort(all, count, sizeof *all, by_start);
        key->starts = all;
        key->which = calloc(count, sizeof *key->which);
        for (unsigned i = 0; i < count; i++)
            if (!i || all[i] != all[i - 1]) all[key->count++] = all[i];
        for (unsigned i = 0; i < key->count; i++) key->which[i] = ternary_satisfied(t, e, n, k, all[i], ones);
        return;
    }
    unsigned tables = key->by == VALUES ? 1 : width, each = key->by == VALUES ? 1u << 8 * width : 256;
    key->which = calloc((size_t)tables * each, sizeof *key->which);
    for (unsigned b = 0; b < tables; b++)
        for (unsigned v = 0; v < each; v++) {
            unsigned shift = key->by == VALUES ? 0 : 8 * (width - 1 - b);
            u128 part = (u128)(each - 1) << shift;
            key->which[b * each + v] = ternary_satisfied(t, e, n, k, (u128)v << shift, part);
        }
}

// `widths` are the bytes of each key, up to a zero; there is room for 64 entries a word. The value of an entry is what
// `value` makes of it, and not zero.
static void ternary_fill(struct ternary *t, const struct entry *e, size_t count, const char *table,
                         const unsigned *widths, unsigned words, uint64_t (*value)(const struct entry *)) {
    const struct entry *found[TERNARY_WORDS * 64];
    unsigned n = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_table(&e[i], table)) continue;
        if (n == words * 64) give_up("too many ternary entries");
        found[n++] = &e[i];
    }
    qsort(found, n, sizeof *found, by_priority);
    t->words = words;
    t->room = 16384;
    t->vectors = pages(8ull * words * t->room);
    for (; widths[t->n_keys]; t->n_keys++) {
        t->keys[t->n_keys].width = widths[t->n_keys];
        ternary_key(t, found, n, t->n_keys);
    }
    for (unsigned r = 0; r < n; r++) t->values[r] = value(found[r]);
}

static inline unsigned ternary_range(const struct ternary_key *key, u128 value) {
    const u128 *base = key->starts;
    for (unsigned n = key->count; n > 1;) {
        unsigned half = n / 2;
        base = base[half] <= value ? base + half : base;
        n -= half;
    }
    return (unsigned)(base - key->starts);
}

// `key` is the bytes of all keys; `words` is that of the table, and a constant where this is inlined.
static inline __attribute__((always_inline)) uint64_t ternary_find(const struct ternary *t, const uint8_t *key, unsigned words) {
    uint64_t all[TERNARY_WORDS];
    for (unsigned w = 0; w < words; w++) all[w] = ~0ull;
    for (unsigned k = 0; k < t->n_keys; k++) {
        const struct ternary_key *part = &t->keys[k];
        unsigned tables = 1, at = 0;
        if (part->by == BYTES) tables = part->width;
        else if (part->by == VALUES) at = part->width == 1 ? key[0] : be16(key);
        else if (part->width == 4) at = ternary_range(part, be32(key));
        else if (part->width == 16) at = ternary_range(part, (u128)be64(key) << 64 | be64(key + 8));
        else if (part->width == 6) at = ternary_range(part, mac(key));
        for (unsigned b = 0; b < tables; b++) {
            if (part->by == BYTES) at = b * 256 + key[b];
            const uint64_t *bits = t->vectors + part->which[at] * words;
            for (unsigned w = 0; w < words; w++) all[w] &= bits[w];
        }
        key += part->width;
    }
    for (unsigned w = 0; w < words; w++)
        if (all[w]) return t->values[w * 64 + (unsigned)__builtin_ctzll(all[w])];
    return 0;
}

#endif
