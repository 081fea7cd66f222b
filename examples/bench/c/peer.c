// SPDX-License-Identifier: Apache-2.0
//
// Runs a job (see peer.h) on packets in memory: `peer ENTRIES PACKETS`, then commands on standard input, one a line.
//
//   check FILE    each packet once; what comes out of it is written to FILE           answers: ok PACKETS
//   time MS       packets again and again, for so much processor time                 answers: ok PACKETS CPU_NS WALL_NS
//
// Receiving is copying a packet's first 128 bytes to its work buffer. What a job does not touch stays where it is.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace.h"
#include JOB

static void check(const char *name) {
    struct packet p[BATCH];
    out = fopen(name, "wb");
    if (!out) give_up(name);
    next = 0;
    for (uint32_t left = n_trace; left;) {
        unsigned n = receive(p, left < BATCH ? left : BATCH, 1);
        process(p, n);
        for (unsigned i = 0; i < n; i++) record(p[i].out_port, p[i].out_port == DROPPED ? 0 : p[i].len, p[i].data);
        left -= n;
    }
    fclose(out);
    out = NULL;
    printf("ok %u\n", n_trace);
}

static void measure(unsigned long ms) {
    struct packet p[BATCH];
    uint64_t packets = 0, wall = now(CLOCK_MONOTONIC), start = now(CLOCK_PROCESS_CPUTIME_ID), cpu;
    do {
        for (unsigned i = 0; i < 32; i++) {
            unsigned n = receive(p, BATCH, 0);
            process(p, n);
            packets += n;
        }
        cpu = now(CLOCK_PROCESS_CPUTIME_ID) - start;
    } while (cpu < ms * 1000000u);
    printf("ok %lu %lu %lu\n", packets, cpu, now(CLOCK_MONOTONIC) - wall);
}

int main(int argc, char **argv) {
    if (argc != 3) give_up("usage: peer ENTRIES PACKETS");
    buffers = pages(BATCH * STRIDE);
    read_packets(argv[2]);
    read_entries(argv[1]);
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
