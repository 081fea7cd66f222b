// SPDX-License-Identifier: Apache-2.0
//
// firewall.p4 by hand. Filters are arrays of bits.

#include "checksum.h"
#include "crc.h"
#include "lpm.h"
#include "next_hops.h"

#define FILTER_BITS (1u << 20)

EXACT(services, 1)

static struct lpm routes;
static struct services services;
static uint8_t inside[512];
static uint64_t *filter_1, *filter_2;
static uint64_t refused[2];

static void setup(const struct entry *e, size_t count) {
    crc_init();
    lpm_fill(&routes, e, count, "routes", 0, next_hop_of);
    next_hops_fill(e, count);
    services_init(&services, entries_of(e, count, "services"));
    filter_1 = pages(FILTER_BITS / 8);
    filter_2 = pages(FILTER_BITS / 8);
    for (size_t i = 0; i < count; i++) {
        const struct key *k = e[i].keys;
        if (is_table(&e[i], "sides")) inside[k[0].value & 511] = (uint8_t)e[i].args[0];
        if (!is_table(&e[i], "services")) continue;
        uint64_t key = (uint64_t)k[0].value << 24 | (uint64_t)k[1].value << 16 | (uint64_t)k[2].value;
        services_add(&services, &key, 1);
    }
}

// The flow as seen from inside, in both orders.
static inline void columns(const uint8_t *ip, int in, uint32_t *first, uint32_t *second) {
    const uint8_t *near = ip + (in ? 12 : 16), *far = ip + (in ? 16 : 12);
    const uint8_t *near_port = ip + (in ? 20 : 22), *far_port = ip + (in ? 22 : 20);
    uint8_t key[13];
    memcpy(key, near, 4);
    memcpy(key + 4, far, 4);
    key[8] = ip[9];
    memcpy(key + 9, near_port, 2);
    memcpy(key + 11, far_port, 2);
    *first = crc32(key, 13) % FILTER_BITS;
    memcpy(key, far_port, 2);
    memcpy(key + 2, near_port, 2);
    key[4] = ip[9];
    memcpy(key + 5, far, 4);
    memcpy(key + 9, near, 4);
    *second = crc32(key, 13) % FILTER_BITS;
}

static inline int has_ports(const uint8_t *ip) {
    return ip[0] == 0x45 && !(load16(ip + 6) & __builtin_bswap16(0x1fff)) && (ip[9] == TCP || ip[9] == UDP);
}

static void process(struct packet *p, unsigned count) {
    uint64_t sums[BATCH];
    uint32_t first[BATCH], second[BATCH];
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *ip = p[i].data + 14;
        sums[i] = ipv4_sum(ip);
        lpm_prefetch(&routes, be32(ip + 16));
        columns(ip, inside[p[i].in_port], &first[i], &second[i]);
        __builtin_prefetch(&filter_1[first[i] / 64]);
        __builtin_prefetch(&filter_2[second[i] / 64]);
    }
    for (unsigned i = 0; i < count; i++) {
        uint8_t *d = p[i].data, *ip = d + 14;
        p[i].out_port = DROPPED;
        if (load16(d + 12) != __builtin_bswap16(ETH_IPV4) || ip[8] < 2 || !ipv4_right(ip, sums[i])) continue;
        uint64_t bit_1 = 1ull << first[i] % 64, bit_2 = 1ull << second[i] % 64;
        if (has_ports(ip)) {
            if (inside[p[i].in_port]) {
                filter_1[first[i] / 64] |= bit_1;
                filter_2[second[i] / 64] |= bit_2;
            } else if (!(filter_1[first[i] / 64] & bit_1) || !(filter_2[second[i] / 64] & bit_2)) {
                uint64_t key = (uint64_t)be32(ip + 16) << 24 | (uint64_t)ip[9] << 16 | be16(ip + 22);
                if (!services_find(&services, &key)) {
                    refused[0]++;
                    continue;
                }
            }
        } else if (!inside[p[i].in_port] && ip[9] != 1) {
            refused[1]++;
            continue;
        }
        uint16_t route = lpm_find(&routes, be32(ip + 16));
        const struct next_hop *hop = route ? next_hop(route) : NULL;
        if (!hop) continue;
        ipv4_hop(ip, sums[i]);
        forward(&p[i], hop);
    }
}
