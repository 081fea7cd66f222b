// SPDX-License-Identifier: Apache-2.0
//
// Ternary matches: for each byte of the key and each of its values, the entries that it satisfies, as bits; the first
// of those that all bytes satisfy wins (Lakshman, Stiliadis 1998). Above them one bit says whether any of 64 is set: only
// words are looked at that all of these have (Baboescu, Varghese 2001). Entries are in the order of their priority.

#ifndef TERNARY_H
#define TERNARY_H

#include "peer.h"

#define TERNARY_BYTES 40
#define TERNARY_WORDS 16

struct ternary {
    // [byte of the key][value][word]
    uint64_t *bits;
    // [byte of the key][value]
    uint16_t (*any)[256];
    unsigned bytes;
    unsigned words;
    uint64_t values[TERNARY_WORDS * 64];
};

static int by_priority(const void *a, const void *b) {
    long x = (*(const struct entry *const *)a)->priority, y = (*(const struct entry *const *)b)->priority;
    return x > y ? -1 : x < y;
}

// `widths` are the bytes of each key; there is room for 64 entries a word. The value of an entry is what `value` makes
// of it, and not zero.
static void ternary_fill(struct ternary *t, const struct entry *e, size_t count, const char *table,
                         const unsigned *widths, unsigned words, uint64_t (*value)(const struct entry *)) {
    const struct entry *found[TERNARY_WORDS * 64];
    unsigned n = 0, keys = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_table(&e[i], table)) continue;
        if (n == words * 64) give_up("too many ternary entries");
        found[n++] = &e[i];
        keys = e[i].n_keys;
    }
    qsort(found, n, sizeof *found, by_priority);
    t->words = words;
    t->bytes = 0;
    t->bits = pages(sizeof *t->bits * TERNARY_BYTES * 256 * words);
    for (unsigned k = 0; k < keys; k++)
        for (unsigned byte = 0; byte < widths[k]; byte++, t->bytes++) {
            unsigned shift = 8 * (widths[k] - 1 - byte), width = 8 * widths[k];
            for (unsigned r = 0; r < n; r++) {
                const struct key *key = &found[r]->keys[k];
                u128 ones = width == 128 ? ~(u128)0 : ((u128)1 << width) - 1, mask = key->mask & ones;
                if (key->kind == PREFIX) mask = key->length ? ones & ~(key->length >= width ? 0 : ones >> key->length) : 0;
                uint8_t m = (uint8_t)(mask >> shift), v = (uint8_t)(key->value >> shift);
                for (unsigned b = 0; b < 256; b++)
                    if ((b & m) == (v & m)) t->bits[(t->bytes * 256 + b) * words + r / 64] |= 1ull << r % 64;
            }
        }
    t->any = calloc(TERNARY_BYTES, sizeof *t->any);
    for (unsigned i = 0; i < t->bytes * 256 * words; i++)
        if (t->bits[i]) t->any[i / words / 256][i / words % 256] |= (uint16_t)(1 << i % words);
    for (unsigned r = 0; r < n; r++) t->values[r] = value(found[r]);
}

// `bytes` and `words` are those of the table, and constants where this is inlined.
static inline __attribute__((always_inline)) uint64_t ternary_find(const struct ternary *t, const uint8_t *key,
                                                                   unsigned bytes, unsigned words) {
    unsigned any = (1u << words) - 1;
    for (unsigned b = 0; b < bytes; b++) any &= t->any[b][key[b]];
    for (; any; any &= any - 1) {
        unsigned w = (unsigned)__builtin_ctz(any);
        uint64_t all = ~0ull;
        for (unsigned b = 0; b < bytes; b++) all &= t->bits[(b * 256 + key[b]) * words + w];
        if (all) return t->values[w * 64 + (unsigned)__builtin_ctzll(all)];
    }
    return 0;
}

#endif
