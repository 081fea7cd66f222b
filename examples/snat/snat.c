/*
 * The mappings of a source NAT: (inside address, port, protocol, peer) to a port of the public address.
 *
 * Ports are leased to the servers of a group in blocks of 64, so that the switch finds the server of an inbound packet by its port. A lease
 * moves to another server when no port of the block is in use or rests. A
 * mapping that no outbound packet used for `idle` seconds ends, and its port rests for `quarantine` seconds before it is used again. Inbound
 * packets do not prolong a mapping (RFC 4787, REQ-6): they say nothing to the server of the outbound flow.
 *
 * Configuration: address=A.B.C.D first=PORT last=PORT idle=SECONDS quarantine=SECONDS. The ports are whole blocks.
 */
#include "snat.h"

#define BLOCK 64u

/* The states of a port. */
enum { FREE = 0, MAPPED = 1, RESTING = 2 };

struct mapping {
    uint32_t address, peer;
    uint16_t port, peer_port;
    uint8_t protocol, state;
    uint16_t unused;
    uint32_t next;      /* in the chain of its hash: index + 1 */
    uint32_t unused_too;
    uint64_t since;     /* last packet, or end of the mapping, in seconds */
};

struct memory {
    uint32_t public_address, first, count, block;
    uint64_t ticks;                  /* there are ports that are not free */
    uint64_t idle, quarantine;
    uint64_t mappings_at, chains_at; /* in the arena */
    uint32_t used[1024];             /* ports of each block that are not free */
};

static struct mapping *mappings(p4r_ctx *ctx, const struct memory *m) { return (void *)(ctx->arena + m->mappings_at); }
static uint32_t *chains(p4r_ctx *ctx, const struct memory *m) { return (void *)(ctx->arena + m->chains_at); }
static uint64_t seconds(const p4r_ctx *ctx) { return p4r_now_ns(ctx) / 1000000000u; }

static uint32_t address(const char *text) {
    uint32_t value = 0;
    for (int i = 0; text && i < 4; i++) {
        value = value << 8 | (uint32_t)(p4r_number(text, 0) & 255);
        while (*text >= '0' && *text <= '9') text++;
        if (*text == '.') text++;
    }
    return value;
}

int snat_init(p4r_ctx *ctx, const char *config) {
    struct memory *m = p4r_alloc(ctx, sizeof *m);
    if (!m) return P4R_DROP;
    uint64_t first = p4r_number(p4r_config(config, "first"), 1024);
    uint64_t last = p4r_number(p4r_config(config, "last"), 65535);
    m->public_address = address(p4r_config(config, "address"));
    m->idle = p4r_number(p4r_config(config, "idle"), 120);
    m->quarantine = p4r_number(p4r_config(config, "quarantine"), 30);
    if (!m->public_address || first == 0 || last > 65535 || first > last || first % BLOCK != 0 || (last + 1) % BLOCK != 0) return P4R_DROP;
    m->first = (uint32_t)first;
    m->count = (uint32_t)(last - first + 1);
    void *all = p4r_alloc(ctx, m->count * sizeof(struct mapping));
    void *heads = p4r_alloc(ctx, m->count * sizeof(uint32_t));
    if (!all || !heads) return P4R_DROP;
    m->mappings_at = (uint64_t)((uint8_t *)all - ctx->arena);
    m->chains_at = (uint64_t)((uint8_t *)heads - ctx->arena);
    return P4R_OK;
}

static uint32_t *chain(p4r_ctx *ctx, struct memory *m, const snat_request_t *q) {
    const uint64_t words[2] = {
        (uint64_t)snat_request_t_address(q) << 32 | snat_request_t_peer(q),
        (uint64_t)snat_request_t_port(q) << 32 | (uint64_t)snat_request_t_peer_port(q) << 8 | snat_request_t_protocol(q),
    };
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const uint8_t *bytes = (const uint8_t *)&words;
    for (size_t i = 0; i < sizeof words; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return &chains(ctx, m)[(hash ^ hash >> 32) % m->count];
}

static int is_of(const struct mapping *mapping, const snat_request_t *q) {
    return mapping->address == snat_request_t_address(q) && mapping->port == snat_request_t_port(q) &&
           mapping->peer == snat_request_t_peer(q) && mapping->peer_port == snat_request_t_peer_port(q) &&
           mapping->protocol == snat_request_t_protocol(q);
}

/* A port of the block in use, at random; else of the next leased block that has one. `count` if all are taken. */
static uint32_t allocate(p4r_ctx *ctx, struct memory *m) {
    struct mapping *all = mappings(ctx, m);
    uint32_t blocks = m->count / BLOCK;
    for (uint32_t tried = 0; tried < blocks; tried++) {
        uint32_t block = (m->block + tried) % blocks;
        if (m->used[block] == BLOCK || !p4r_leased(ctx, m->first / BLOCK + block)) continue;
        uint32_t at = (uint32_t)p4r_random_below(ctx, BLOCK);
        while (all[block * BLOCK + at % BLOCK].state != FREE) at++;
        m->block = block, m->used[block]++;
        return block * BLOCK + at % BLOCK;
    }
    return m->count;
}

static int outbound(p4r_ctx *ctx, struct memory *m, const snat_request_t *q, snat_response_t *r) {
    struct mapping *all = mappings(ctx, m);
    uint32_t *head = chain(ctx, m, q), at = 0;
    for (at = *head; at != 0 && !is_of(&all[at - 1], q);) at = all[at - 1].next;
    if (at == 0) {
        uint32_t port = allocate(ctx, m);
        if (port == m->count) return P4R_DROP;
        struct mapping *made = &all[port];
        memset(made, 0, sizeof *made);
        made->address = snat_request_t_address(q), made->port = snat_request_t_port(q);
        made->peer = snat_request_t_peer(q), made->peer_port = snat_request_t_peer_port(q);
        made->protocol = snat_request_t_protocol(q), made->state = MAPPED;
        made->next = *head, *head = port + 1;
        at = port + 1;
        if (!m->ticks) m->ticks = 1, p4r_tick_at(ctx, p4r_now_ns(ctx) + 1000000000u);
    }
    all[at - 1].since = seconds(ctx);
    snat_response_t_set_address(r, m->public_address);
    snat_response_t_set_port(r, (uint16_t)(m->first + at - 1));
    return P4R_OK;
}

static int inbound(p4r_ctx *ctx, struct memory *m, const snat_request_t *q, snat_response_t *r) {
    uint32_t at = (uint32_t)snat_request_t_port(q) - m->first;
    if (snat_request_t_address(q) != m->public_address || at >= m->count) return P4R_DROP;
    struct mapping *mapping = &mappings(ctx, m)[at];
    if (mapping->state != MAPPED || mapping->protocol != snat_request_t_protocol(q) ||
        mapping->peer != snat_request_t_peer(q) || mapping->peer_port != snat_request_t_peer_port(q))
        return P4R_DROP;
    snat_response_t_set_address(r, mapping->address);
    snat_response_t_set_port(r, mapping->port);
    return P4R_OK;
}

int snat(p4r_ctx *ctx, const snat_request_t *q, snat_response_t *r) {
    struct memory *m = p4r_memory(ctx);
    if (snat_request_t_direction(q) == snat_request_t_direction_INBOUND) return inbound(ctx, m, q, r);
    return outbound(ctx, m, q, r);
}

int snat_block(p4r_ctx *ctx, uint64_t block) {
    const struct memory *m = p4r_memory(ctx);
    uint64_t first = m->first / BLOCK;
    if (block < first || block >= first + m->count / BLOCK) return P4R_FOREIGN;
    return m->used[block - first] ? P4R_BUSY : P4R_EMPTY;
}

/* Once a second while ports are in use: mappings without packets end, and ports that have rested are free. */
void snat_tick(p4r_ctx *ctx, uint64_t now_ns) {
    struct memory *m = p4r_memory(ctx);
    struct mapping *all = mappings(ctx, m);
    uint64_t now = seconds(ctx), in_use = 0;
    for (uint32_t at = 0; at < m->count; at++) {
        struct mapping *mapping = &all[at];
        if (mapping->state == MAPPED && now >= mapping->since + m->idle) {
            snat_request_t q;
            snat_request_t_set_direction(&q, snat_request_t_direction_OUTBOUND);
            snat_request_t_set_protocol(&q, mapping->protocol);
            snat_request_t_set_address(&q, mapping->address), snat_request_t_set_port(&q, mapping->port);
            snat_request_t_set_peer(&q, mapping->peer), snat_request_t_set_peer_port(&q, mapping->peer_port);
            uint32_t *link = chain(ctx, m, &q);
            while (*link != 0 && *link != at + 1) link = &all[*link - 1].next;
            if (*link != 0) *link = mapping->next;
            mapping->state = RESTING, mapping->since = now, mapping->next = 0;
        } else if (mapping->state == RESTING && now >= mapping->since + m->quarantine) {
            memset(mapping, 0, sizeof *mapping);
            m->used[at / BLOCK]--;
        }
        in_use += mapping->state != FREE;
    }
    m->ticks = in_use > 0;
    if (m->ticks) p4r_tick_at(ctx, now_ns + 1000000000u);
}
