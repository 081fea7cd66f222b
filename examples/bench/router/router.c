// SPDX-License-Identifier: Apache-2.0
//
// router.p4 by hand.

#include "checksum.h"
#include "lpm.h"
#include "next_hops.h"

static struct lpm routes;

static void setup(const struct entry *e, size_t count) {
    lpm_fill(&routes, e, count, "routes", 0, next_hop_of);
    next_hops_fill(e, count);
}

static void process(struct packet *p, unsigned count) {
    uint64_t sums[BATCH];
    uint32_t to[BATCH];
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *ip = p[i].data + 14;
        sums[i] = ipv4_sum(ip);
        to[i] = be32(ip + 16);
        lpm_prefetch(&routes, to[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        uint8_t *d = p[i].data, *ip = d + 14;
        p[i].out_port = DROPPED;
        int good = p[i].len >= 34 && load16(d + 12) == __builtin_bswap16(ETH_IPV4) && ip[0] == 0x45 && ip[8] > 1 &&
                   ipv4_right(ip, sums[i]);
        if (!good) continue;
        const struct next_hop *hop = next_hop(lpm_find(&routes, to[i]));
        if (!hop) continue;
        ipv4_hop(ip, sums[i]);
        forward(&p[i], hop);
    }
}
