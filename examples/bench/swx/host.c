// SPDX-License-Identifier: Apache-2.0
//
// Runs a pipeline of DPDK's SWX on packets in memory: `host SPEC NUMBER ENTRIES PACKETS`, then the commands of c/peer.c.
// NUMBER keeps several hosts apart.
//
// SPEC is a part of the language that DPDK's own specifications are written in (structs, headers, metadata, actions, exact and
// wildcard tables, register arrays, `apply`), one statement a line; DPDK's packages for Debian have no reader for it. It is
// told to the library call by call. The port that a packet came in by stands in front of it, in 16 bits (`h.port`).
//
// There is one input port and one output port, both ours: packets are received as c/trace.h does it, without buffers of
// DPDK's, and what is sent to NO_PORT is dropped.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace.h"
#include <rte_eal.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_port.h>
#include <unistd.h>

enum { RING = 64, OUT_PORTS = 1024, NO_PORT = OUT_PORTS - 1, WORDS = 64, LINES = 256, IN_FRONT = 2 };

static struct rte_swx_pipeline *pipeline;
static struct rte_swx_ctl_pipeline *control;

// Checking: one packet at a time, with all of its bytes; how many may be received, and are on their way.
static int checking;
static uint32_t allowed, on_the_way;
static uint64_t finished;

static int receive_one(void *port, struct rte_swx_pkt *pkt) {
    (void)port;
    static unsigned slot;
    if (!allowed || (checking && on_the_way)) return 0;
    const struct source *s = &trace[next];
    uint8_t *to = buffers + slot * STRIDE;
    if (checking) memcpy(to + HEADROOM, s->data, s->len);
    else if (s->len <= 64) memcpy(to + HEADROOM, s->data, 64);
    else memcpy(to + HEADROOM, s->data, RECEIVED);
    put16(to + HEADROOM - IN_FRONT, s->port);
    *pkt = (struct rte_swx_pkt){ .handle = to, .pkt = to, .offset = HEADROOM - IN_FRONT, .length = s->len + IN_FRONT };
    slot = (slot + 1) % RING;
    if (++next == n_trace) next = 0;
    allowed--;
    on_the_way++;
    return 1;
}

static void send_one(void *port, struct rte_swx_pkt *pkt) {
    uintptr_t number = (uintptr_t)port - 1;
    finished++;
    on_the_way--;
    if (!checking) return;
    if (number == NO_PORT) record(DROPPED, 0, "");
    else record((uint32_t)number, pkt->length, pkt->pkt + pkt->offset);
}

static void *create_in(void *args) { return args; }
static void *create_out(void *args) { return args; }
static void free_port(void *port) { (void)port; }
static void in_stats(void *port, struct rte_swx_port_in_stats *s) { (void)port; memset(s, 0, sizeof *s); }
static void out_stats(void *port, struct rte_swx_port_out_stats *s) { (void)port; memset(s, 0, sizeof *s); }
static void send_clone(void *port, struct rte_swx_pkt *pkt, uint32_t length) { (void)port; (void)pkt; (void)length; }
static void send_fast_clone(void *port, struct rte_swx_pkt *pkt) { (void)port; (void)pkt; }

static struct rte_swx_port_in_ops in_ops = { create_in, free_port, receive_one, in_stats };
static struct rte_swx_port_out_ops out_ops = { .create = create_out, .free = free_port, .pkt_tx = send_one,
                                               .pkt_fast_clone_tx = send_fast_clone, .pkt_clone_tx = send_clone,
                                               .flush = free_port, .stats_read = out_stats };

static void want(int status, const char *what) {
    if (!status) return;
    fprintf(stderr, "host: %s: error %d\n", what, status);
    exit(1);
}

// The specification.

static char *text;
static unsigned line_number;

// The words of the next line that has any; none at the end.
static unsigned words(char **word) {
    for (char *line; (line = strsep(&text, "\n"));) {
        unsigned n = 0;
        line_number++;
        line[strcspn(line, "#")] = 0;
        for (char *w; (w = strsep(&line, " \t"));)
            if (*w && n < WORDS) word[n++] = w;
        if (n) return n;
    }
    return 0;
}

__attribute__((noreturn)) static void wrong(const char *what) {
    fprintf(stderr, "host: line %u: %s\n", line_number, what);
    exit(1);
}

// Lines up to a closing brace, as texts.
static unsigned block(const char **lines) {
    char *word[WORDS];
    for (unsigned n = 0;; n++) {
        unsigned count = words(word);
        if (!count || n == LINES) wrong("a `}` is missing");
        if (word[0][0] == '}') return n;
        char *whole = calloc(1, 1024);
        for (unsigned i = 0; i < count; i++) {
            if (i) strcat(whole, " ");
            strcat(whole, word[i]);
        }
        lines[n] = whole;
    }
}

// What entries need: the names of an action's arguments, the kinds of a table's keys.
static struct action { char *name; unsigned n_args; char *args[WORDS]; } actions[64];
static unsigned n_actions;
static struct table { char *name; unsigned n_keys; int wildcard; } tables[64];
static unsigned n_tables;
static struct fields { char *name; unsigned n; char *fields[WORDS]; } structs[64];
static unsigned n_structs;

static void read_struct(char *name) {
    struct rte_swx_field_params fields[WORDS];
    struct fields *s = &structs[n_structs++];
    const char *lines[LINES];
    unsigned n = block(lines);
    s->name = strdup(name);
    for (unsigned i = 0; i < n; i++) {
        char *at = strdup(lines[i]), *type = strsep(&at, " ");
        if (strncmp(type, "bit<", 4) || !at || i == WORDS) wrong("a field is `bit<N> NAME`");
        fields[i] = (struct rte_swx_field_params){ at, (uint32_t)strtoul(type + 4, NULL, 10) };
        s->fields[s->n++] = at;
    }
    want(rte_swx_pipeline_struct_type_register(pipeline, s->name, fields, n, 0), s->name);
}

// `action NAME args none {` or `action NAME args instanceof STRUCT {`
static void read_action(char **word, unsigned count) {
    struct action *a = &actions[n_actions++];
    const char *lines[LINES];
    char *type = count > 4 && !strcmp(word[3], "instanceof") ? strdup(word[4]) : NULL;
    a->name = strdup(word[1]);
    for (unsigned i = 0; type && i < n_structs; i++)
        if (!strcmp(structs[i].name, type))
            for (; a->n_args < structs[i].n; a->n_args++) a->args[a->n_args] = structs[i].fields[a->n_args];
    unsigned n = block(lines);
    want(rte_swx_pipeline_action_config(pipeline, a->name, type, lines, n), a->name);
}

// `key`, `actions`, `default_action` and `size`, as DPDK has them.
static void read_table(char *name) {
    struct rte_swx_match_field_params keys[WORDS] = { 0 };
    struct rte_swx_pipeline_table_params params = { .fields = keys };
    struct table *t = &tables[n_tables++];
    const char *names[WORDS], *lines[LINES];
    unsigned size = 0, n = 0;
    char *word[WORDS];
    t->name = strdup(name);
    while ((n = words(word)) && word[0][0] != '}') {
        if (!strcmp(word[0], "size")) size = (unsigned)strtoul(word[1], NULL, 10);
        if (!strcmp(word[0], "default_action")) params.default_action_name = strdup(word[1]);
        if (!strcmp(word[0], "actions")) {
            params.n_actions = block(lines);
            memcpy(names, lines, sizeof names);
        }
        if (strcmp(word[0], "key")) continue;
        params.n_fields = t->n_keys = block(lines);
        for (unsigned i = 0; i < t->n_keys; i++) {
            char *kind = strdup(lines[i]);
            keys[i].name = strsep(&kind, " ");
            keys[i].match_type = RTE_SWX_TABLE_MATCH_EXACT;
            if (kind && !strcmp(kind, "wildcard")) keys[i].match_type = RTE_SWX_TABLE_MATCH_WILDCARD, t->wildcard = 1;
        }
    }
    params.action_names = names;
    want(rte_swx_pipeline_table_config(pipeline, t->name, &params, NULL, NULL, size), t->name);
}

static void read_specification(const char *name) {
    size_t length;
    const char *lines[LINES];
    char *word[WORDS];
    unsigned n;
    text = (char *)whole(name, &length);
    while ((n = words(word))) {
        if (!strcmp(word[0], "struct")) read_struct(word[1]);
        else if (!strcmp(word[0], "action")) read_action(word, n);
        else if (!strcmp(word[0], "table")) read_table(word[1]);
        else if (!strcmp(word[0], "header"))
            want(rte_swx_pipeline_packet_header_register(pipeline, strdup(word[1]), strdup(word[3])), word[1]);
        else if (!strcmp(word[0], "metadata"))
            want(rte_swx_pipeline_packet_metadata_register(pipeline, strdup(word[2])), word[2]);
        else if (!strcmp(word[0], "regarray"))
            want(rte_swx_pipeline_regarray_config(pipeline, strdup(word[1]), (uint32_t)strtoul(word[3], NULL, 10), 0), word[1]);
        else if (!strcmp(word[0], "apply")) {
            n = block(lines);
            want(rte_swx_pipeline_instructions_config(pipeline, lines, n), "apply");
        } else wrong("this is no statement");
    }
}

// Entries.

static unsigned hex(char *to, u128 value) {
    return (unsigned)(value >> 64 ? sprintf(to, "0x%lx%016lx", (uint64_t)(value >> 64), (uint64_t)value)
                                  : sprintf(to, "0x%lx", (uint64_t)value));
}

// An entry in the language of DPDK's control: `match KEY... priority N action NAME ARGUMENT VALUE...`. Prefixes are
// masks; the least priority wins. Entries of tables that the pipeline does not have are left out.
static void add(const struct entry *e) {
    const struct table *t = NULL;
    const struct action *a = NULL;
    char line[4096];
    unsigned at = (unsigned)sprintf(line, "match");
    uint32_t priority = e->priority ? 65535 - (uint32_t)e->priority : 0;
    int blank;
    for (unsigned i = 0; i < n_tables; i++)
        if (is_table(e, tables[i].name)) t = &tables[i];
    for (unsigned i = 0; i < n_actions; i++)
        if (is_action(e, actions[i].name)) a = &actions[i];
    if (!t || !a) return;
    for (unsigned i = 0; i < e->n_keys; i++) {
        const struct key *k = &e->keys[i];
        line[at++] = ' ';
        at += hex(line + at, k->value);
        if (!t->wildcard) continue;
        line[at++] = '/';
        u128 mask = k->mask;
        if (k->kind == PREFIX) {
            if (k->length > 32) give_up("prefixes are of 32 bits");
            mask = k->length ? UINT32_MAX << (32 - k->length) & UINT32_MAX : 0;
            priority = 32 - k->length;
        }
        at += hex(line + at, mask);
    }
    if (t->wildcard) at += (unsigned)sprintf(line + at, " priority %u", priority);
    at += (unsigned)sprintf(line + at, " action %s", a->name);
    for (unsigned i = 0; i < a->n_args && i < e->n_args; i++)
        at += (unsigned)sprintf(line + at, " %s 0x%lx", a->args[i], e->args[i]);
    struct rte_swx_table_entry *made = rte_swx_ctl_pipeline_table_entry_read(control, t->name, line, &blank);
    if (!made) give_up(line);
    want(rte_swx_ctl_pipeline_table_entry_add(control, t->name, made), line);
}

static void setup(const struct entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++) add(&entries[i]);
    want(rte_swx_ctl_pipeline_commit(control, 1), "the entries");
}

static void check(const char *name) {
    out = fopen(name, "wb");
    if (!out) give_up(name);
    checking = 1;
    allowed = n_trace;
    next = 0;
    while (allowed || on_the_way) rte_swx_pipeline_run(pipeline, 1000);
    checking = 0;
    fclose(out);
    out = NULL;
    printf("ok %u\n", n_trace);
}

static void measure(unsigned long ms) {
    uint64_t before = finished, wall = now(CLOCK_MONOTONIC), start = now(CLOCK_PROCESS_CPUTIME_ID), cpu;
    do {
        allowed = UINT32_MAX / 2;
        rte_swx_pipeline_run(pipeline, 100000);
        cpu = now(CLOCK_PROCESS_CPUTIME_ID) - start;
    } while (cpu < ms * 1000000u);
    // What is on its way is counted when it arrives.
    allowed = 0;
    while (on_the_way) rte_swx_pipeline_run(pipeline, 1000);
    printf("ok %lu %lu %lu\n", finished - before, cpu, now(CLOCK_MONOTONIC) - wall);
}

int main(int argc, char **argv) {
    if (argc != 5) give_up("usage: host SPEC NUMBER ENTRIES PACKETS");
    // The library speaks on standard output: ours are the answers only.
    int answers = dup(1);
    if (answers < 0 || dup2(2, 1) < 0) give_up("no descriptors");
    char *eal[] = { "host", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "-m", "512", "-l", "0", NULL };
    if (rte_eal_init(sizeof eal / sizeof *eal - 1, eal) < 0) give_up("DPDK does not start");
    fflush(stdout);
    if (dup2(answers, 1) < 0) give_up("no descriptors");
    buffers = pages(RING * STRIDE);
    read_packets(argv[4]);
    want(rte_swx_pipeline_config(&pipeline, "bench", 0), "the pipeline");
    want(rte_swx_pipeline_port_in_type_register(pipeline, "trace", &in_ops), "the input port");
    want(rte_swx_pipeline_port_out_type_register(pipeline, "trace", &out_ops), "the output port");
    want(rte_swx_pipeline_port_in_config(pipeline, 0, "trace", &trace), "the input port");
    for (uintptr_t i = 0; i < OUT_PORTS; i++)
        want(rte_swx_pipeline_port_out_config(pipeline, (uint32_t)i, "trace", (void *)(i + 1)), "an output port");
    read_specification(argv[1]);
    want(rte_swx_pipeline_build(pipeline), "building the pipeline");
    control = rte_swx_ctl_pipeline_create(pipeline);
    if (!control) give_up("no control");
    read_entries(argv[3]);
    printf("ok %u\n", n_trace);
    fflush(stdout);
    for (char line[4096]; fgets(line, sizeof line, stdin);) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "check ", 6)) check(line + 6);
        else if (!strncmp(line, "time ", 5)) measure(strtoul(line + 5, NULL, 10));
        else give_up("no such command");
        fflush(stdout);
    }
    return 0;
}
