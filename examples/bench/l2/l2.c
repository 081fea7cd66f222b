// SPDX-License-Identifier: Apache-2.0
//
// l2.p4 by hand: for stations that are known.

#include "exact.h"

EXACT(stations, 1)

static struct stations sources, destinations;
static uint16_t port_vlan[512];
static uint8_t trunk[512];

static void setup(const struct entry *e, size_t count) {
    stations_init(&sources, entries_of(e, count, "sources"));
    stations_init(&destinations, entries_of(e, count, "destinations"));
    for (size_t i = 0; i < count; i++) {
        uint64_t first = (uint64_t)e[i].keys[0].value & 0xffff;
        if (is_table(&e[i], "port_vlan")) port_vlan[first] = (uint16_t)e[i].args[0];
        if (is_table(&e[i], "trunks")) trunk[first] = 1;
        if (e[i].n_keys != 2) continue;
        uint64_t key = first << 48 | (uint64_t)e[i].keys[1].value;
        stations_add(is_table(&e[i], "sources") ? &sources : &destinations, &key, e[i].args[0]);
    }
}

static void learn(uint64_t key, uint16_t port) {
    // 48 bits of address, 12 of VLAN, 9 of port: 69 bits in 9 bytes.
    u128 all = ((u128)(key & 0xffffffffffff) << 12 | key >> 48) << 9 | port;
    uint8_t bytes[9];
    for (unsigned i = 0; i < 9; i++) bytes[i] = (uint8_t)(all >> 8 * (8 - i));
    report(bytes, sizeof bytes);
}

static void process(struct packet *p, unsigned count) {
    uint64_t from[BATCH], to[BATCH];
    for (unsigned i = 0; i < count; i++) {
        uint8_t *d = p[i].data;
        uint64_t vid = port_vlan[p[i].in_port];
        if (load16(d + 12) == __builtin_bswap16(ETH_VLAN)) {
            vid = be16(d + 14) & 0xfff;
            memmove(d + 4, d, 12);
            p[i].data += 4;
            p[i].len -= 4;
            d += 4;
        }
        to[i] = vid << 48 | mac(d);
        from[i] = vid << 48 | mac(d + 6);
        stations_prefetch(&sources, &from[i]);
        stations_prefetch(&destinations, &to[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        p[i].out_port = DROPPED;
        if (from[i] >> 48 == 0) continue;
        if (stations_find(&sources, &from[i]) != p[i].in_port) learn(from[i], p[i].in_port);
        uint64_t port = stations_find(&destinations, &to[i]);
        if (!port || port == p[i].in_port) continue;
        if (trunk[port]) {
            p[i].data -= 4;
            p[i].len += 4;
            memmove(p[i].data, p[i].data + 4, 12);
            put16(p[i].data + 12, ETH_VLAN);
            put16(p[i].data + 14, (uint16_t)(to[i] >> 48));
        }
        p[i].out_port = (uint16_t)port;
    }
}
