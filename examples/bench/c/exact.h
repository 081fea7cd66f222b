// SPDX-License-Identifier: Apache-2.0
//
// Exact matches: open addressing, at most half full, keys of WORDS 64-bit words. Values are not zero; 0 is none.
//
//   EXACT(stations, 1)   gives   struct stations, stations_init, stations_add, stations_prefetch, stations_find

#ifndef EXACT_H
#define EXACT_H

#include "peer.h"

#define EXACT(NAME, WORDS)                                                                                        \
    struct NAME {                                                                                                 \
        struct { uint64_t key[WORDS]; uint64_t value; } *slots;                                                   \
        uint64_t mask;                                                                                            \
    };                                                                                                            \
    static void NAME##_init(struct NAME *t, size_t entries) {                                                     \
        size_t size = 16;                                                                                         \
        while (size < 2 * entries) size *= 2;                                                                     \
        t->slots = pages(size * sizeof *t->slots);                                                                \
        t->mask = size - 1;                                                                                       \
    }                                                                                                             \
    static inline uint64_t NAME##_slot(const struct NAME *t, const uint64_t *key) {                               \
        uint64_t hash = 0;                                                                                        \
        for (unsigned i = 0; i < WORDS; i++) hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15u ^ hash >> 29;           \
        return hash >> 20 & t->mask;                                                                              \
    }                                                                                                             \
    static inline int NAME##_same(const uint64_t *a, const uint64_t *b) {                                         \
        uint64_t differ = 0;                                                                                      \
        for (unsigned i = 0; i < WORDS; i++) differ |= a[i] ^ b[i];                                               \
        return !differ;                                                                                           \
    }                                                                                                             \
    __attribute__((unused)) static inline void NAME##_prefetch(const struct NAME *t, const uint64_t *key) {       \
        __builtin_prefetch(&t->slots[NAME##_slot(t, key)]);                                                       \
    }                                                                                                             \
    static inline uint64_t NAME##_find(const struct NAME *t, const uint64_t *key) {                               \
        for (uint64_t at = NAME##_slot(t, key);; at = (at + 1) & t->mask) {                                       \
            if (!t->slots[at].value) return 0;                                                                    \
            if (NAME##_same(t->slots[at].key, key)) return t->slots[at].value;                                    \
        }                                                                                                         \
    }                                                                                                             \
    static void NAME##_add(struct NAME *t, const uint64_t *key, uint64_t value) {                                 \
        uint64_t at = NAME##_slot(t, key);                                                                        \
        while (t->slots[at].value) at = (at + 1) & t->mask;                                                       \
        memcpy(t->slots[at].key, key, sizeof t->slots[at].key);                                                   \
        t->slots[at].value = value;                                                                               \
    }

// Entries of a table.
__attribute__((unused)) static size_t entries_of(const struct entry *e, size_t count, const char *table) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += (size_t)is_table(&e[i], table);
    return n;
}

#endif
