// SPDX-License-Identifier: Apache-2.0
//
// Next hops of the routers: a port and both addresses, `forward(port, src_addr, dst_addr)`.

#ifndef NEXT_HOPS_H
#define NEXT_HOPS_H

#include "exact.h"

// The addresses as they stand in the frame, in 16 bytes.
struct next_hop {
    uint8_t addresses[12];
    uint16_t port;
    uint16_t known;
};

EXACT(hops, 1)

static struct hops hops;
static struct next_hop *next_hops;

static void next_hops_fill(const struct entry *e, size_t count) {
    size_t n = entries_of(e, count, "next_hops"), at = 1;
    hops_init(&hops, n);
    next_hops = calloc(n + 1, sizeof *next_hops);
    for (size_t i = 0; i < count; i++) {
        if (!is_table(&e[i], "next_hops")) continue;
        uint64_t key = (uint64_t)e[i].keys[0].value;
        next_hops[at].port = (uint16_t)e[i].args[0];
        next_hops[at].known = 1;
        put_mac(next_hops[at].addresses, e[i].args[2]);
        put_mac(next_hops[at].addresses + 6, e[i].args[1]);
        hops_add(&hops, &key, at++);
    }
}

// The next hop of this number, or none.
static inline const struct next_hop *next_hop(uint64_t number) {
    uint64_t at = hops_find(&hops, &number);
    return at ? &next_hops[at] : NULL;
}

// What a route says: `set_next_hop(next_hop)`; 0 for anything else.
static uint16_t next_hop_of(const struct entry *e) {
    return is_action(e, "set_next_hop") ? (uint16_t)e->args[0] : 0;
}

static inline void forward(struct packet *p, const struct next_hop *hop) {
    memcpy(p->data, hop->addresses, 12);
    p->out_port = hop->port;
}

#endif
