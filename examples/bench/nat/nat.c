// SPDX-License-Identifier: Apache-2.0
//
// nat.p4 by hand.

#include "checksum.h"
#include "lpm.h"
#include "next_hops.h"

EXACT(sessions, 1)

static struct lpm routes;
static struct sessions from_inside, from_outside;
static uint8_t inside[512];

static void setup(const struct entry *e, size_t count) {
    lpm_fill(&routes, e, count, "routes", 0, next_hop_of);
    next_hops_fill(e, count);
    sessions_init(&from_inside, entries_of(e, count, "from_inside"));
    sessions_init(&from_outside, entries_of(e, count, "from_outside"));
    for (size_t i = 0; i < count; i++) {
        const struct key *k = e[i].keys;
        if (is_table(&e[i], "sides")) inside[k[0].value & 511] = (uint8_t)e[i].args[0];
        int out = is_table(&e[i], "from_inside");
        if (!out && !is_table(&e[i], "from_outside")) continue;
        uint64_t key = (uint64_t)k[0].value << 24 | (uint64_t)k[1].value << 16 | (uint64_t)k[2].value;
        sessions_add(out ? &from_inside : &from_outside, &key, 1ull << 63 | e[i].args[0] << 16 | e[i].args[1]);
    }
}

static void process(struct packet *p, unsigned count) {
    uint64_t sums[BATCH], keys[BATCH];
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *ip = p[i].data + 14;
        int in = inside[p[i].in_port];
        sums[i] = ipv4_sum(ip);
        keys[i] = (uint64_t)be32(ip + (in ? 12 : 16)) << 24 | (uint64_t)ip[9] << 16 | be16(ip + (in ? 20 : 22));
        sessions_prefetch(in ? &from_inside : &from_outside, &keys[i]);
        if (in) lpm_prefetch(&routes, be32(ip + 16));
    }
    for (unsigned i = 0; i < count; i++) {
        uint8_t *d = p[i].data, *ip = d + 14, *l4 = ip + 20;
        p[i].out_port = DROPPED;
        int plain = ip[0] == 0x45 && !(load16(ip + 6) & __builtin_bswap16(0x1fff)) && (ip[9] == TCP || ip[9] == UDP);
        if (load16(d + 12) != __builtin_bswap16(ETH_IPV4) || !plain || ip[8] < 2 || !ipv4_right(ip, sums[i])) continue;
        int in = inside[p[i].in_port];
        uint64_t session = sessions_find(in ? &from_inside : &from_outside, &keys[i]);
        if (!session) {
            if (in) p[i].out_port = CPU_PORT;
            continue;
        }
        // In the machine's byte order: sums of the Internet checksum are the same in both.
        uint8_t *address = ip + (in ? 12 : 16), *port = l4 + (in ? 0 : 2);
        uint32_t new_address = __builtin_bswap32((uint32_t)(session >> 16));
        uint16_t new_port = __builtin_bswap16((uint16_t)session);
        uint64_t sum = sums[i] - load16(address) - load16(address + 2) + (new_address & 0xffff) + (new_address >> 16);
        uint64_t change = (uint64_t)(load16(address) ^ 0xffff) + (load16(address + 2) ^ 0xffff) + (load16(port) ^ 0xffff) +
                          (new_address & 0xffff) + (new_address >> 16) + new_port;
        store32(address, new_address);
        store16(port, new_port);
        uint8_t *check = l4 + (ip[9] == TCP ? 16 : 6);
        if (ip[9] == TCP || load16(check)) {
            uint16_t folded = fold((uint64_t)(load16(check) ^ 0xffff) + change);
            store16(check, ip[9] == UDP && folded == 0xffff ? 0xffff : (uint16_t)~folded);
        }
        uint16_t route = lpm_find(&routes, be32(ip + 16));
        const struct next_hop *hop = route ? next_hop(route) : NULL;
        if (!hop) continue;
        ipv4_hop(ip, sum);
        forward(&p[i], hop);
    }
}
