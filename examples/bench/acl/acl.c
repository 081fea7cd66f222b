// SPDX-License-Identifier: Apache-2.0
//
// acl.p4 by hand.

#include "checksum.h"
#include "lpm.h"
#include "next_hops.h"
#include "ternary.h"

enum { PERMIT = 1, DENY, BYTES_V6 = 16 + 16 + 1 + 2 + 2 + 1 };

static struct lpm routes_v4;
static struct lpm6 routes_v6;
static struct ternary acl_v4, acl_v6;

static uint64_t verdict(const struct entry *e) { return is_action(e, "deny") ? DENY : PERMIT; }

static void setup(const struct entry *e, size_t count) {
    static const unsigned widths_v4[] = { 4, 4, 1, 2, 2, 1, 0 }, widths_v6[] = { 16, 16, 1, 2, 2, 1, 0 };
    lpm_fill(&routes_v4, e, count, "routes_v4", 0, next_hop_of);
    lpm6_fill(&routes_v6, e, count, "routes_v6", 0, next_hop_of);
    ternary_fill(&acl_v4, e, count, "acl_v4", widths_v4, TERNARY_WORDS, verdict);
    ternary_fill(&acl_v6, e, count, "acl_v6", widths_v6, TERNARY_WORDS, verdict);
    next_hops_fill(e, count);
}

// Ports and flags as they stand in the keys.
static inline void l4(uint8_t *key, uint8_t protocol, const uint8_t *at) {
    key[0] = protocol;
    memset(key + 1, 0, 5);
    if (protocol != TCP && protocol != UDP) return;
    memcpy(key + 1, at, 4);
    if (protocol == TCP) key[5] = at[13];
}

static void process(struct packet *p, unsigned count) {
    uint64_t sums[BATCH];
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *ip = p[i].data + 14;
        if (load16(p[i].data + 12) != __builtin_bswap16(ETH_IPV4)) continue;
        sums[i] = ipv4_sum(ip);
        lpm_prefetch(&routes_v4, be32(ip + 16));
    }
    for (unsigned i = 0; i < count; i++) {
        uint8_t *d = p[i].data, *ip = d + 14, key[BYTES_V6];
        uint16_t type = load16(d + 12), route;
        p[i].out_port = DROPPED;
        if (type == __builtin_bswap16(ETH_IPV4)) {
            if (ip[8] < 2 || !ipv4_right(ip, sums[i])) continue;
            memcpy(key, ip + 12, 8);
            // Options and fragments have no ports to look at.
            int plain = ip[0] == 0x45 && !(load16(ip + 6) & __builtin_bswap16(0x1fff));
            l4(key + 8, ip[9], ip + 20);
            if (!plain) memset(key + 9, 0, 5);
            if (ternary_find(&acl_v4, key, TERNARY_WORDS) == DENY) continue;
            route = lpm_find(&routes_v4, be32(ip + 16));
        } else if (type == __builtin_bswap16(ETH_IPV6)) {
            if (ip[7] < 2) continue;
            memcpy(key, ip + 8, 32);
            l4(key + 32, ip[6], ip + 40);
            if (ternary_find(&acl_v6, key, TERNARY_WORDS) == DENY) continue;
            route = lpm6_find(&routes_v6, be64(ip + 24));
        } else {
            continue;
        }
        const struct next_hop *hop = route ? next_hop(route) : NULL;
        if (!hop) continue;
        if (type == __builtin_bswap16(ETH_IPV4)) ipv4_hop(ip, sums[i]);
        else ip[7]--;
        forward(&p[i], hop);
    }
}
