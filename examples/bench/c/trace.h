// SPDX-License-Identifier: Apache-2.0
//
// The entries and the packets that a peer is started with, and what it writes about them.

#ifndef TRACE_H
#define TRACE_H

#include "peer.h"
#include <time.h>

#define STRIDE (35 * 64)
#define RECEIVED 128

struct source {
    uint8_t *data;
    uint32_t len;
    uint16_t port;
};

static struct source *trace;
static uint32_t n_trace;
static FILE *out;
static uint32_t n_reports;

static uint8_t *whole(const char *name, size_t *length) {
    FILE *f = fopen(name, "rb");
    if (!f || fseek(f, 0, SEEK_END)) give_up(name);
    *length = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*length + 1);
    if (!bytes || fread(bytes, 1, *length, f) != *length) give_up(name);
    bytes[*length] = 0;
    fclose(f);
    return bytes;
}

static u128 number(char **at) {
    u128 value = 0;
    for (;; (*at)++) {
        char c = **at;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return value;
        value = value << 4 | (unsigned)digit;
    }
}

// `TABLE ACTION PRIORITY KEYS ARGS key... arg...`; a key is `HEX`, `HEX/LENGTH`, `HEX&HEX` or `*`.
static void read_entry(char *line, struct entry *e) {
    char *at = line;
    e->table = strsep(&at, " ");
    e->action = strsep(&at, " ");
    e->priority = strtol(at, &at, 10);
    e->n_keys = (unsigned)strtoul(at, &at, 10);
    e->n_args = (unsigned)strtoul(at, &at, 10);
    if (e->n_keys > 8 || e->n_args > 8) give_up("an entry has too many keys or arguments");
    for (unsigned i = 0; i < e->n_keys; i++) {
        struct key *k = &e->keys[i];
        at++;
        k->kind = EXACT;
        k->mask = ~(u128)0;
        if (*at == '*') {
            at++;
            k->kind = ANY;
            k->mask = 0;
            continue;
        }
        k->value = number(&at);
        if (*at == '/') {
            k->kind = PREFIX;
            k->length = (unsigned)strtoul(at + 1, &at, 10);
        } else if (*at == '&') {
            at++;
            k->kind = MASK;
            k->mask = number(&at);
        }
    }
    for (unsigned i = 0; i < e->n_args; i++) {
        at++;
        e->args[i] = (uint64_t)number(&at);
    }
}

static void read_entries(const char *name) {
    size_t length, count = 0, lines = 0;
    char *at = (char *)whole(name, &length);
    for (char *c = at; *c; c++) lines += *c == '\n';
    struct entry *entries = calloc(lines + 1, sizeof *entries);
    if (!entries) give_up("no memory");
    for (char *line; (line = strsep(&at, "\n"));)
        if (*line) read_entry(line, &entries[count++]);
    setup(entries, count);
}

// For each packet its port and length, 32 bits each, and its bytes.
static void read_packets(const char *name) {
    size_t length;
    uint8_t *bytes = whole(name, &length), *end = bytes + length;
    size_t room = 0;
    for (uint8_t *at = bytes; at < end; at += 8 + load32(at + 4)) {
        n_trace++;
        room += (load32(at + 4) + 63) / 64 * 64;
    }
    if (!n_trace) give_up("no packets");
    trace = calloc(n_trace, sizeof *trace);
    uint8_t *to = pages(room + RECEIVED), *at = bytes;
    for (uint32_t i = 0; i < n_trace; i++) {
        trace[i] = (struct source){ to, load32(at + 4), (uint16_t)load32(at) };
        memcpy(to, at + 8, trace[i].len);
        to += (trace[i].len + 63) / 64 * 64;
        at += 8 + trace[i].len;
    }
    free(bytes);
}

static uint8_t *buffers;
static uint32_t next;

// The next packets, into their buffers; with `all`, all of their bytes.
static unsigned receive(struct packet *p, unsigned count, int all) {
    for (unsigned i = 0; i < count; i++) {
        const struct source *s = &trace[next];
        uint8_t *to = buffers + i * STRIDE + HEADROOM;
        if (all) memcpy(to, s->data, s->len);
        else if (s->len <= 64) memcpy(to, s->data, 64);
        else memcpy(to, s->data, RECEIVED);
        p[i] = (struct packet){ to, s->len, s->port, DROPPED };
        if (++next == n_trace) next = 0;
    }
    return count;
}

static void record(uint32_t port, uint32_t length, const void *bytes) {
    uint32_t head[2] = { port, length };
    fwrite(head, sizeof head, 1, out);
    fwrite(bytes, 1, length, out);
}

static void report(const void *data, unsigned length) {
    n_reports++;
    if (out) record(UINT32_MAX, length, data);
}

static uint64_t now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
