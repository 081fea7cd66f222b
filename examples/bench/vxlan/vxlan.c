// SPDX-License-Identifier: Apache-2.0
//
// vxlan.p4 by hand. Outer headers are made once for each tunnel; a packet adds its lengths, its network and its port.

#include "checksum.h"
#include "crc.h"
#include "exact.h"

enum { OUTER = 14 + 20 + 8 + 8, UDP_VXLAN = 4789, TO_TUNNEL = 1 << 30 };

EXACT(stations, 2)
EXACT(ends, 1)

struct tunnel {
    uint8_t headers[OUTER];
    uint16_t port;
    // Of the IPv4 header without its length.
    uint64_t sum;
};

static struct stations stations;
static struct ends ends;
static struct tunnel tunnels[65536];
static uint32_t access_vni[512][4096];

static void setup(const struct entry *e, size_t count) {
    crc_init();
    stations_init(&stations, entries_of(e, count, "stations"));
    ends_init(&ends, entries_of(e, count, "tunnel_ends"));
    for (size_t i = 0; i < count; i++) {
        const struct key *k = e[i].keys;
        const uint64_t *args = e[i].args;
        uint64_t first = (uint64_t)k[0].value;
        if (is_table(&e[i], "access")) access_vni[first & 511][k[1].value & 4095] = (uint32_t)args[0] + 1;
        if (is_table(&e[i], "tunnel_ends")) ends_add(&ends, &first, 1);
        if (is_table(&e[i], "stations")) {
            uint64_t key[2] = { first, (uint64_t)k[1].value };
            int local = is_action(&e[i], "to_access");
            stations_add(&stations, key, 1ull << 63 | (local ? args[0] << 16 | args[1] : TO_TUNNEL | args[0]));
        }
        if (is_table(&e[i], "tunnels")) {
            struct tunnel *t = &tunnels[first & 65535];
            uint8_t *ip = t->headers + 14, *udp = ip + 20;
            t->port = (uint16_t)args[0];
            put_mac(t->headers, args[2]);
            put_mac(t->headers + 6, args[1]);
            put16(t->headers + 12, ETH_IPV4);
            ip[0] = 0x45;
            ip[6] = 0x40;
            ip[8] = 64;
            ip[9] = UDP;
            put32(ip + 12, (uint32_t)args[3]);
            put32(ip + 16, (uint32_t)args[4]);
            t->sum = ipv4_sum(ip);
            put16(udp + 2, UDP_VXLAN);
            udp[8] = 8;
        }
    }
}

static inline int is_tunnel(const uint8_t *d) {
    const uint8_t *ip = d + 14;
    return load16(d + 12) == __builtin_bswap16(ETH_IPV4) && ip[0] == 0x45 && !(load16(ip + 6) & __builtin_bswap16(0x1fff)) &&
           ip[9] == UDP && load16(ip + 22) == __builtin_bswap16(UDP_VXLAN);
}

static void process(struct packet *p, unsigned count) {
    uint64_t keys[BATCH][2];
    uint8_t kinds[BATCH];
    enum { NOTHING, FROM_ACCESS, FROM_TUNNEL };
    for (unsigned i = 0; i < count; i++) {
        uint8_t *d = p[i].data, *ip = d + 14;
        kinds[i] = NOTHING;
        if (is_tunnel(d)) {
            uint64_t to = be32(ip + 16);
            if (!ipv4_right(ip, ipv4_sum(ip)) || !(ip[28] & 8) || !ends_find(&ends, &to)) continue;
            keys[i][0] = be32(ip + 32) >> 8;
            p[i].data += OUTER;
            p[i].len -= OUTER;
            kinds[i] = FROM_TUNNEL;
        } else if (load16(d + 12) == __builtin_bswap16(ETH_VLAN)) {
            uint32_t vni = access_vni[p[i].in_port][be16(d + 14) & 0xfff];
            if (!vni) continue;
            keys[i][0] = vni - 1;
            memmove(d + 4, d, 12);
            p[i].data += 4;
            p[i].len -= 4;
            kinds[i] = FROM_ACCESS;
        } else {
            continue;
        }
        keys[i][1] = mac(p[i].data);
        stations_prefetch(&stations, keys[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        p[i].out_port = DROPPED;
        if (kinds[i] == NOTHING) continue;
        uint64_t station = stations_find(&stations, keys[i]);
        if (!station) continue;
        uint8_t *d = p[i].data;
        if (!(station & TO_TUNNEL)) {
            d = p[i].data -= 4;
            p[i].len += 4;
            memmove(d, d + 4, 12);
            put16(d + 12, ETH_VLAN);
            put16(d + 14, (uint16_t)station);
            p[i].out_port = (uint16_t)(station >> 16);
            continue;
        }
        const struct tunnel *t = &tunnels[station & 0xffff];
        if (kinds[i] == FROM_TUNNEL || !t->port) continue;
        uint8_t key[14];
        memcpy(key, d + 6, 6);
        memcpy(key + 6, d, 6);
        memcpy(key + 12, d + 12, 2);
        uint16_t length = (uint16_t)(p[i].len + OUTER - 14);
        uint8_t *o = d - OUTER, *ip = o + 14, *udp = ip + 20;
        memcpy(o, t->headers, OUTER);
        put16(ip + 2, length);
        store16(ip + 10, (uint16_t)~fold(t->sum + __builtin_bswap16(length)));
        put16(udp, (uint16_t)(0xc000 | crc32(key, 14) % 16384));
        put16(udp + 4, (uint16_t)(length - 20));
        put32(udp + 12, (uint32_t)keys[i][0] << 8);
        p[i].data = o;
        p[i].len += OUTER;
        p[i].out_port = t->port;
    }
}
