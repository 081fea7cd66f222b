// SPDX-License-Identifier: Apache-2.0
//
// dcswitch.p4 by hand: for unicast between stations that are known. Names are those of the P4 program.

#include "checksum.h"
#include "crc.h"
#include "exact.h"
#include "lpm.h"
#include "ternary.h"

EXACT(exact, 1)
EXACT(hosts6, 3)

enum { VRFS = 3, ECMP = 0x4000, DENY = 1 << 16, CLASS = 1 << 17 };
enum { DROP_PORT = 1, DROP_VLAN, DROP_BLOCKED, DROP_INSANE, DROP_MAC_ACL, DROP_IP_ACL, DROP_REVERSE_PATH, DROP_NO_ROUTE,
       DROP_NO_NEXT_HOP, DROP_NO_LINK, DROP_TTL, DROP_CHECKSUM };

struct domain { uint16_t vrf, rmac_group, stp_group, acl_label; uint8_t reverse_path; };
struct members { uint16_t first, mask; uint8_t known; };
struct next_hop { uint64_t mac; uint16_t ifindex, bd; uint8_t known; };
struct egress_domain { uint8_t mac_index, mtu_index; uint64_t packets, bytes; };
struct counted { uint64_t packets, bytes; };

static uint16_t ifindexes[512];
static struct exact port_vlans, spanning_tree, sources, router_macs, stations, ipv4_hosts, vlans;
static struct hosts6 ipv6_hosts;
static struct domain domains[65536];
static struct ternary sanity, classes, mac_acl, ipv4_acl, ipv6_acl, system_acl, egress_acl;
static struct counted mac_hits[1024], ipv4_hits[1024], ipv6_hits[1024];
static struct lpm reverse_paths[VRFS], ipv4_routes[VRFS];
static struct lpm6 ipv6_routes[VRFS];
static struct members ecmp_groups[65536], lag_groups[65536];
static uint16_t ecmp_members[65536], lag_members[65536], dscps[8];
static struct next_hop next_hops[65536];
static uint8_t egress_ports[512];
static struct egress_domain egress_domains[65536];
static uint64_t source_macs[256], mtus[256], reasons[256];

static uint16_t route(const struct entry *e) {
    return is_action(e, "refuse") ? 0 : (uint16_t)((is_action(e, "set_ecmp") ? ECMP : 0) | e->args[0]);
}

static uint16_t present(const struct entry *e) { return !is_action(e, "refuse"); }

// What an entry of a filter does, above its priority, which is its own in its table.
static uint64_t filter(const struct entry *e) {
    uint64_t number = (uint64_t)e->priority & 1023;
    if (is_action(e, "deny")) return DENY | e->args[0] << 20 | number;
    if (is_action(e, "permit_as")) return CLASS | e->args[0] << 20 | number;
    return number;
}

static uint64_t one(const struct entry *e) { (void)e; return 1; }
static uint64_t class(const struct entry *e) { return 1 + e->args[0]; }

// 1 nothing, 2 drop, 3 to the controller.
static uint64_t last_word(const struct entry *e) { return is_action(e, "drop") ? 2 : is_action(e, "to_controller") ? 3 : 1; }

static void exact_fill(struct exact *t, const struct entry *e, size_t count, const char *table, const unsigned *shifts,
                       const char *action) {
    exact_init(t, entries_of(e, count, table));
    for (size_t i = 0; i < count; i++) {
        if (!is_table(&e[i], table)) continue;
        uint64_t key = 0;
        for (unsigned k = 0; k < e[i].n_keys; k++) key |= (uint64_t)e[i].keys[k].value << shifts[k];
        uint64_t value = e[i].n_args ? route(&e[i]) : is_action(&e[i], action);
        if (value) exact_add(t, &key, value);
    }
}

static void setup(const struct entry *e, size_t count) {
    crc_init();
    exact_fill(&port_vlans, e, count, "port_vlans", (unsigned[]){ 16, 12, 0 }, "");
    exact_fill(&spanning_tree, e, count, "spanning_tree", (unsigned[]){ 16, 0 }, "blocked");
    exact_fill(&sources, e, count, "sources", (unsigned[]){ 48, 0 }, "");
    exact_fill(&router_macs, e, count, "router_macs", (unsigned[]){ 48, 0 }, "route");
    exact_fill(&stations, e, count, "stations", (unsigned[]){ 48, 0 }, "");
    exact_fill(&ipv4_hosts, e, count, "ipv4_hosts", (unsigned[]){ 32, 0 }, "");
    exact_fill(&vlans, e, count, "DcEgress.vlans", (unsigned[]){ 16, 0 }, "");
    hosts6_init(&ipv6_hosts, entries_of(e, count, "ipv6_hosts"));
    for (unsigned vrf = 0; vrf < VRFS; vrf++) {
        lpm_fill(&reverse_paths[vrf], e, count, "reverse_paths", vrf, present);
        lpm_fill(&ipv4_routes[vrf], e, count, "ipv4_routes", vrf, route);
        lpm6_fill(&ipv6_routes[vrf], e, count, "ipv6_routes", vrf, route);
    }
    ternary_fill(&sanity, e, count, "sanity", (unsigned[]){ 6, 2, 1, 1, 0 }, 1, one);
    ternary_fill(&classes, e, count, "classes", (unsigned[]){ 1, 1, 0 }, 1, class);
    ternary_fill(&mac_acl, e, count, "mac_acl", (unsigned[]){ 2, 6, 6, 2, 0 }, 1, filter);
    ternary_fill(&ipv4_acl, e, count, "ipv4_acl", (unsigned[]){ 2, 4, 4, 1, 2, 2, 1, 0 }, 4, filter);
    ternary_fill(&ipv6_acl, e, count, "ipv6_acl", (unsigned[]){ 2, 16, 16, 1, 2, 2, 1, 0 }, 2, filter);
    ternary_fill(&system_acl, e, count, "system_acl", (unsigned[]){ 1, 6, 2, 1, 2, 0 }, 1, last_word);
    ternary_fill(&egress_acl, e, count, "egress_acl", (unsigned[]){ 2, 2, 1, 2, 0 }, 1, last_word);
    for (size_t i = 0; i < count; i++) {
        const struct entry *f = &e[i];
        uint64_t key = (uint64_t)f->keys[0].value & 0xffff;
        const uint64_t *a = f->args;
        if (is_table(f, "admission.ports")) ifindexes[key & 511] = (uint16_t)a[0];
        if (is_table(f, "admission.domains"))
            domains[key] = (struct domain){ (uint16_t)a[0], (uint16_t)a[1], (uint16_t)a[2], (uint16_t)a[3], (uint8_t)a[4] };
        if (is_table(f, "ecmp_groups")) ecmp_groups[key] = (struct members){ (uint16_t)a[0], (uint16_t)a[1], 1 };
        if (is_table(f, "lag_groups")) lag_groups[key] = (struct members){ (uint16_t)a[0], (uint16_t)a[1], 1 };
        if (is_table(f, "ecmp_members")) ecmp_members[key] = (uint16_t)a[0];
        if (is_table(f, "lag_members")) lag_members[key] = (uint16_t)a[0];
        if (is_table(f, "forwarding.next_hops")) next_hops[key] = (struct next_hop){ a[2], (uint16_t)a[0], (uint16_t)a[1], 1 };
        if (is_table(f, "DcEgress.ports")) egress_ports[key & 511] = (uint8_t)(1 + a[0]);
        if (is_table(f, "DcEgress.domains")) egress_domains[key] = (struct egress_domain){ (uint8_t)a[0], (uint8_t)a[1], 0, 0 };
        if (is_table(f, "source_macs")) source_macs[key & 255] = a[0];
        if (is_table(f, "mtus")) mtus[key & 255] = a[0];
        if (is_table(f, "class_marks")) dscps[key & 7] = (uint16_t)(a[0] + 1);
        if (is_table(f, "ipv6_hosts")) {
            uint64_t host[3] = { key, (uint64_t)(f->keys[1].value >> 64), (uint64_t)f->keys[1].value };
            hosts6_add(&ipv6_hosts, host, route(f));
        }
    }
}

// What is known of a packet between the two passes.
struct work {
    const struct domain *domain;
    uint64_t sum;
    uint32_t flow_hash;
    uint32_t length;
    uint16_t ifindex, bd, ether_type, l4_src, l4_dst;
    uint8_t tagged, version, dscp, ttl, protocol, tcp_flags, reason;
};

static void learn(const uint8_t *d, uint16_t bd, uint16_t ifindex) {
    uint8_t told[10];
    memcpy(told, d + 6, 6);
    put16(told + 6, bd);
    put16(told + 8, ifindex);
    report(told, sizeof told);
}

// Reads headers, finds the domain, takes the tag away.
static inline void admit(struct packet *p, struct work *w) {
    uint8_t *d = p->data, *ip;
    *w = (struct work){ .length = p->len, .ether_type = be16(d + 12) };
    uint16_t outer = w->ether_type, vid = 0;
    if (w->ether_type == ETH_VLAN) {
        w->tagged = 1;
        vid = be16(d + 14) & 0xfff;
        w->ether_type = be16(d + 16);
        memmove(d + 4, d, 12);
        d = p->data += 4;
        p->len -= 4;
    }
    ip = d + 14;
    uint8_t key[37], *l4 = NULL;
    if (w->ether_type == ETH_IPV4) {
        w->version = ip[0] >> 4;
        w->dscp = ip[1] >> 2;
        w->ttl = ip[8];
        w->protocol = ip[9];
        w->sum = ipv4_sum(ip);
        if ((ip[0] & 15) == 5 && !(load16(ip + 6) & __builtin_bswap16(0x1fff))) l4 = ip + 20;
    } else if (w->ether_type == ETH_IPV6) {
        w->version = ip[0] >> 4;
        w->dscp = (uint8_t)((be16(ip) >> 6) & 63);
        w->ttl = ip[7];
        w->protocol = ip[6];
        l4 = ip + 40;
    }
    if (l4 && (w->protocol == TCP || w->protocol == UDP)) {
        w->l4_src = be16(l4);
        w->l4_dst = be16(l4 + 2);
        if (w->protocol == TCP) w->tcp_flags = l4[13];
    }
    if (w->ether_type == ETH_IPV4) {
        memcpy(key, ip + 12, 8);
        key[8] = w->protocol;
        put16(key + 9, w->l4_src);
        put16(key + 11, w->l4_dst);
        w->flow_hash = crc32(key, 13);
    } else if (w->ether_type == ETH_IPV6) {
        memcpy(key, ip + 8, 32);
        key[32] = w->protocol;
        put16(key + 33, w->l4_src);
        put16(key + 35, w->l4_dst);
        w->flow_hash = crc32(key, 37);
    }
    w->domain = &domains[0];
    w->ifindex = ifindexes[p->in_port];
    if (!w->ifindex) {
        w->reason = DROP_PORT;
        return;
    }
    uint64_t at = (uint64_t)w->ifindex << 16 | (uint64_t)w->tagged << 12 | vid;
    w->bd = (uint16_t)exact_find(&port_vlans, &at);
    if (!w->bd) {
        w->reason = DROP_VLAN;
        return;
    }
    w->domain = &domains[w->bd];
    at = (uint64_t)w->ifindex << 16 | w->domain->stp_group;
    if (exact_find(&spanning_tree, &at)) w->reason = DROP_BLOCKED;
    uint8_t sane[10];
    memcpy(sane, d + 6, 6);
    put16(sane + 6, outer);
    sane[8] = w->version;
    sane[9] = w->ttl;
    if (ternary_find(&sanity, sane, 1)) w->reason = DROP_INSANE;
    if (w->ether_type == ETH_IPV4 && !ipv4_right(ip, w->sum)) w->reason = DROP_CHECKSUM;
    uint64_t from = (uint64_t)w->bd << 48 | mac(d + 6), to = (uint64_t)w->bd << 48 | mac(d);
    exact_prefetch(&sources, &from);
    exact_prefetch(&stations, &to);
    if (w->ether_type == ETH_IPV4 && w->domain->vrf < VRFS) {
        uint64_t host = (uint64_t)w->domain->vrf << 32 | be32(ip + 16);
        exact_prefetch(&ipv4_hosts, &host);
        lpm_prefetch(&ipv4_routes[w->domain->vrf], be32(ip + 16));
    } else if (w->ether_type == ETH_IPV6) {
        uint64_t host[3] = { w->domain->vrf, be64(ip + 24), be64(ip + 32) };
        hosts6_prefetch(&ipv6_hosts, host);
    }
}

// Counts a filter's entry; gives the reason if it denies, and sets the class if it says one.
static inline uint8_t apply(uint64_t found, struct counted *hits, uint32_t length, uint8_t *traffic_class) {
    if (!found) return 0;
    hits[found & 1023].packets++;
    hits[found & 1023].bytes += length;
    if (found & CLASS) *traffic_class = (uint8_t)(found >> 20);
    return found & DENY ? (uint8_t)(found >> 20) : 0;
}

static inline uint8_t filters(const uint8_t *d, const struct work *w, uint8_t *traffic_class) {
    const uint8_t *ip = d + 14;
    uint8_t key[40], reason;
    put16(key, w->domain->acl_label);
    memcpy(key + 2, d + 6, 6);
    memcpy(key + 8, d, 6);
    put16(key + 14, w->ether_type);
    reason = apply(ternary_find(&mac_acl, key, 1), mac_hits, w->length, traffic_class);
    int v4 = w->ether_type == ETH_IPV4;
    if (reason || (!v4 && w->ether_type != ETH_IPV6)) return reason;
    unsigned at = v4 ? 10 : 34;
    if (v4) memcpy(key + 2, ip + 12, 8);
    else memcpy(key + 2, ip + 8, 32);
    key[at] = w->protocol;
    put16(key + at + 1, w->l4_src);
    put16(key + at + 3, w->l4_dst);
    key[at + 5] = w->tcp_flags;
    return v4 ? apply(ternary_find(&ipv4_acl, key, 4), ipv4_hits, w->length, traffic_class)
              : apply(ternary_find(&ipv6_acl, key, 2), ipv6_hits, w->length, traffic_class);
}

static void process(struct packet *p, unsigned count) {
    struct work work[BATCH];
    for (unsigned i = 0; i < count; i++) admit(&p[i], &work[i]);
    for (unsigned i = 0; i < count; i++) {
        struct work *w = &work[i];
        uint8_t *d = p[i].data, *ip = d + 14, traffic_class = 0, reason = w->reason;
        uint16_t out_ifindex = 0, out_bd = w->bd;
        int v4 = w->ether_type == ETH_IPV4, v6 = w->ether_type == ETH_IPV6, routed = 0;
        p[i].out_port = DROPPED;
        if (!reason) {
            uint64_t from = (uint64_t)w->bd << 48 | mac(d + 6);
            if (exact_find(&sources, &from) != w->ifindex) learn(d, w->bd, w->ifindex);
            uint64_t found = ternary_find(&classes, (uint8_t[]){ w->version, w->dscp }, 1);
            if (found) traffic_class = (uint8_t)(found - 1);
            reason = filters(d, w, &traffic_class);
        }
        if (!reason) {
            uint64_t key = (uint64_t)w->domain->rmac_group << 48 | mac(d);
            routed = exact_find(&router_macs, &key) && (v4 || v6);
            uint16_t vrf = w->domain->vrf < VRFS ? w->domain->vrf : 0, next = 0;
            if (routed && w->ttl < 2) {
                reason = DROP_TTL;
            } else if (routed && v4) {
                if (w->domain->reverse_path && !lpm_find(&reverse_paths[vrf], be32(ip + 12))) reason = DROP_REVERSE_PATH;
                key = (uint64_t)vrf << 32 | be32(ip + 16);
                next = (uint16_t)exact_find(&ipv4_hosts, &key);
                if (!next) next = lpm_find(&ipv4_routes[vrf], be32(ip + 16));
                ip[8]--;
            } else if (routed) {
                uint64_t host[3] = { vrf, be64(ip + 24), be64(ip + 32) };
                next = (uint16_t)hosts6_find(&ipv6_hosts, host);
                if (!next) next = lpm6_find(&ipv6_routes[vrf], host[1]);
                ip[7]--;
            } else {
                key = (uint64_t)w->bd << 48 | mac(d);
                out_ifindex = (uint16_t)exact_find(&stations, &key);
                // The rest is flooded; no load has it.
                if (!out_ifindex) continue;
            }
            if (routed && !reason) {
                if (!next) reason = DROP_NO_ROUTE;
                if (next & ECMP) {
                    const struct members *m = &ecmp_groups[next & ~ECMP];
                    next = ecmp_members[(uint16_t)(m->first + (w->flow_hash & m->mask))];
                    if (!m->known || !next) reason = DROP_NO_NEXT_HOP;
                }
                const struct next_hop *hop = &next_hops[next];
                if (!reason && !hop->known) reason = DROP_NO_NEXT_HOP;
                if (!reason) {
                    out_ifindex = hop->ifindex;
                    out_bd = hop->bd;
                    put_mac(d, hop->mac);
                }
            }
        }
        uint16_t port = 0;
        if (!reason) {
            const struct members *m = &lag_groups[out_ifindex];
            port = lag_members[(uint16_t)(m->first + (w->flow_hash >> 16 & m->mask))];
            if (!m->known || !port) reason = DROP_NO_LINK;
        }
        uint8_t word[12] = { reason };
        memcpy(word + 1, d, 6);
        put16(word + 7, w->ether_type);
        word[9] = w->protocol;
        put16(word + 10, w->l4_dst);
        uint64_t said = ternary_find(&system_acl, word, 1);
        if (reason) reasons[reason]++;
        if (said == 3) port = CPU_PORT;
        else if (reason || said == 2) continue;
        if (port != CPU_PORT) {
            if ((!routed && port == p[i].in_port) || !egress_ports[port & 511]) continue;
            struct egress_domain *domain = &egress_domains[out_bd];
            domain->packets++;
            domain->bytes += w->length;
            if (routed) {
                if (source_macs[domain->mac_index]) put_mac(d + 6, source_macs[domain->mac_index]);
                if (mtus[domain->mtu_index] && w->length > mtus[domain->mtu_index]) continue;
                uint16_t mark = dscps[traffic_class & 7];
                if (mark && v4) ip[1] = (uint8_t)((mark - 1) << 2 | (ip[1] & 3));
                if (mark && v6) put16(ip, (uint16_t)((be16(ip) & 0xf03f) | (mark - 1) << 6));
            }
            uint8_t key[7];
            put16(key, port);
            memcpy(key + 2, word + 7, 5);
            if (ternary_find(&egress_acl, key, 1) == 2) continue;
        }
        if (v4) store16(ip + 10, (uint16_t)~fold(ipv4_sum(ip)));
        uint64_t key = (uint64_t)port << 16 | out_bd, vid;
        if (port != CPU_PORT && egress_ports[port & 511] == 2 && (vid = exact_find(&vlans, &key))) {
            d = p[i].data -= 4;
            p[i].len += 4;
            memmove(d, d + 4, 12);
            put16(d + 12, ETH_VLAN);
            put16(d + 14, (uint16_t)(traffic_class << 13 | vid));
        }
        p[i].out_port = port;
    }
}
