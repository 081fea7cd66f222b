/*
 * The gaps of TCP flows, and what the segments are that come back to bytes before the highest one.
 *
 * A segment that fills a part of a gap was overtaken, if the gap is younger than `reorder` microseconds; else it was lost before the tap
 * and is a retransmission. A segment without a gap repeats bytes that have passed. Only flows with gaps have memory here: 64 gaps each.
 * Sequence numbers are compared as serial numbers (RFC 1982).
 *
 * Configuration: reorder=MICROSECONDS keeps=SECONDS
 */
#include "trd.h"

#define FLOWS 4096u
#define GAPS 64u
#define PROBES 32u

struct gap { uint32_t from, to; uint64_t since; /* microseconds */ };
struct flow {
    uint32_t src, dst;
    uint16_t src_port, dst_port;
    uint16_t count;    /* gaps; a flow without gaps has no memory */
    uint16_t unknown;  /* there was a gap without room: verdicts are not sure any more */
    uint64_t last;     /* microseconds */
    struct gap gaps[GAPS];
};
struct memory { uint64_t reorder, keeps; struct flow flows[FLOWS]; };

static uint64_t micros(const p4r_ctx *ctx) { return p4r_now_ns(ctx) / 1000u; }
static int before(uint32_t a, uint32_t b) { return (int32_t)(a - b) < 0; }

int trd_init(p4r_ctx *ctx, const char *config) {
    struct memory *m = p4r_alloc(ctx, sizeof *m);
    if (!m) return P4R_DROP;
    m->reorder = p4r_number(p4r_config(config, "reorder"), 3000);
    m->keeps = p4r_number(p4r_config(config, "keeps"), 60) * 1000000u;
    return P4R_OK;
}

static int is_used(const struct flow *flow) { return flow->count > 0 || flow->unknown; }

/* The memory of a flow; if it has none and `make` is set, new memory, or that of a flow whose gaps are old. 0 if there is none. */
static struct flow *find(struct memory *m, const trd_request_t *q, uint64_t now, int make) {
    uint32_t src = trd_request_t_src(q), dst = trd_request_t_dst(q);
    uint16_t src_port = trd_request_t_src_port(q), dst_port = trd_request_t_dst_port(q);
    uint64_t hash = UINT64_C(0xcbf29ce484222325), words[3] = { src, dst, (uint32_t)src_port << 16 | dst_port };
    for (int i = 0; i < 3; i++) hash = (hash ^ words[i]) * UINT64_C(0x100000001b3), hash ^= hash >> 29;
    struct flow *room = 0;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct flow *flow = &m->flows[(hash + i) % FLOWS];
        if (is_used(flow) && now >= flow->last + m->keeps) memset(flow, 0, sizeof *flow);
        if (!is_used(flow)) {
            if (!room) room = flow;
        } else if (flow->src == src && flow->dst == dst && flow->src_port == src_port && flow->dst_port == dst_port) {
            return flow;
        }
    }
    if (!make || !room) return 0;
    memset(room, 0, sizeof *room);
    room->src = src, room->dst = dst, room->src_port = src_port, room->dst_port = dst_port;
    return room;
}

/* Adds a gap. There may be one too many: then verdicts of the flow are not sure any more. */
static void add(struct flow *flow, uint32_t from, uint32_t to, uint64_t since) {
    if (flow->count == GAPS) {
        flow->unknown = 1;
        return;
    }
    flow->gaps[flow->count++] = (struct gap){ .from = from, .to = to, .since = since };
}

/* Takes bytes out of all gaps. True if they were in one; `since` is then the time of the oldest of these. */
static int fill(struct flow *flow, uint32_t from, uint32_t to, uint64_t *since) {
    int found = 0;
    uint32_t count = flow->count;
    for (uint32_t i = 0; i < count; i++) {
        struct gap gap = flow->gaps[i];
        if (!before(gap.from, to) || !before(from, gap.to)) continue;
        if (!found || gap.since < *since) *since = gap.since;
        found = 1;
        flow->gaps[i].to = flow->gaps[i].from;
        if (before(gap.from, from)) flow->gaps[i].to = from;
        if (before(to, gap.to)) {
            if (flow->gaps[i].to == flow->gaps[i].from) flow->gaps[i] = (struct gap){ to, gap.to, gap.since };
            else add(flow, to, gap.to, gap.since);
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < flow->count; i++)
        if (flow->gaps[i].from != flow->gaps[i].to) flow->gaps[kept++] = flow->gaps[i];
    flow->count = (uint16_t)kept;
    return found;
}

int trd(p4r_ctx *ctx, const trd_request_t *q, trd_response_t *r) {
    struct memory *m = p4r_memory(ctx);
    uint64_t now = micros(ctx), since = now;
    int op = trd_request_t_op(q);
    struct flow *flow = find(m, q, now, op == trd_request_t_op_GAP);
    uint32_t start = trd_request_t_start(q), end = trd_request_t_end(q), next = trd_request_t_next(q);
    if (op == trd_request_t_op_OPEN) {
        if (flow) memset(flow, 0, sizeof *flow);
        return P4R_OK;
    }
    if (op == trd_request_t_op_GAP) {
        if (!flow) return P4R_DROP;
        flow->last = now;
        add(flow, next, start, now);
        return P4R_OK;
    }
    if (!flow) {
        trd_response_t_set_verdict(r, trd_response_t_verdict_SEEN);
        return P4R_OK;
    }
    if (before(next, end)) end = next;
    flow->last = now;
    int fills = fill(flow, start, end, &since);
    if (flow->unknown) trd_response_t_set_verdict(r, trd_response_t_verdict_UNKNOWN);
    else if (!fills) trd_response_t_set_verdict(r, trd_response_t_verdict_SEEN);
    else if (now - since < m->reorder) trd_response_t_set_verdict(r, trd_response_t_verdict_OUT_OF_ORDER);
    else trd_response_t_set_verdict(r, trd_response_t_verdict_BEFORE_TAP);
    return P4R_OK;
}
