/*
 * The connections of a load balancer, each with its backend. A new connection goes to the backend with the fewest connections; of several, to the first.
 *
 * A connection ends `idle` seconds after the client's last packet, and with the next look after a RST. Each server of a group counts its own connections.
 *
 * Configuration: backends=N idle=SECONDS
 */
#include "balancer.h"

#define MOST 65536u
#define BACKENDS 64u
#define RST 4u

struct connection {
    uint32_t client;
    uint16_t client_port, port;
    uint8_t protocol, backend, is_alive, unused;
    uint32_t next;        /* in the chain of its hash, or of free ones: index + 1 */
    uint64_t ends_ms;
};

struct memory {
    uint64_t backends, idle_ms;
    uint32_t free, used;  /* first free one: index + 1; those that were ever used */
    uint32_t alive;
    uint32_t count[BACKENDS];
    uint32_t chains[MOST];
    struct connection all[MOST];
};

int balance_init(p4r_ctx *ctx, const char *config) {
    struct memory *m = p4r_alloc(ctx, sizeof *m);
    if (!m) return P4R_DROP;
    m->backends = p4r_number(p4r_config(config, "backends"), 0);
    m->idle_ms = p4r_number(p4r_config(config, "idle"), 60) * 1000;
    return m->backends >= 1 && m->backends <= BACKENDS ? P4R_OK : P4R_DROP;
}

static uint32_t *chain(struct memory *m, uint32_t client, uint16_t client_port, uint16_t port, uint8_t protocol) {
    uint64_t hash = (uint64_t)client << 32 | (uint64_t)client_port << 16 | port;
    hash = (hash ^ protocol) * UINT64_C(0x9e3779b97f4a7c15);
    return &m->chains[(hash ^ hash >> 32) % MOST];
}

int balance(p4r_ctx *ctx, const balance_request_t *q, balance_response_t *r) {
    struct memory *m = p4r_memory(ctx);
    uint64_t now_ms = p4r_now_ns(ctx) / 1000000;
    uint32_t client = balance_request_t_client(q);
    uint16_t client_port = balance_request_t_client_port(q), port = balance_request_t_port(q);
    uint8_t protocol = balance_request_t_protocol(q);
    uint32_t *head = chain(m, client, client_port, port, protocol), at = *head;
    for (; at != 0; at = m->all[at - 1].next) {
        const struct connection *known = &m->all[at - 1];
        if (known->client == client && known->client_port == client_port && known->port == port && known->protocol == protocol) break;
    }
    if (at == 0) {
        if (m->free != 0) {
            at = m->free;
            m->free = m->all[at - 1].next;
        } else if (m->used < MOST) {
            at = ++m->used;
        } else {
            return P4R_DROP;
        }
        uint8_t backend = 0;
        for (uint8_t other = 1; other < m->backends; other++) {
            if (m->count[other] < m->count[backend]) backend = other;
        }
        m->count[backend]++;
        m->all[at - 1] = (struct connection){ .client = client, .client_port = client_port, .port = port, .protocol = protocol,
                                              .backend = backend, .is_alive = 1, .next = *head };
        *head = at;
        if (m->alive++ == 0) p4r_tick_at(ctx, p4r_now_ns(ctx) + 1000000000u);
    }
    struct connection *found = &m->all[at - 1];
    found->ends_ms = balance_request_t_tcp_flags(q) & RST ? now_ms : now_ms + m->idle_ms;
    balance_response_t_set_backend(r, found->backend);
    return P4R_OK;
}

/* Once a second while there are connections: those whose time has come end. */
void balance_tick(p4r_ctx *ctx, uint64_t now_ns) {
    struct memory *m = p4r_memory(ctx);
    for (uint32_t at = 1; at <= m->used; at++) {
        struct connection *one = &m->all[at - 1];
        if (!one->is_alive || one->ends_ms > now_ns / 1000000) continue;
        uint32_t *link = chain(m, one->client, one->client_port, one->port, one->protocol);
        while (*link != at) link = &m->all[*link - 1].next;
        *link = one->next;
        one->is_alive = 0, one->next = m->free;
        m->free = at;
        m->count[one->backend]--, m->alive--;
    }
    if (m->alive > 0) p4r_tick_at(ctx, now_ns + 1000000000u);
}
