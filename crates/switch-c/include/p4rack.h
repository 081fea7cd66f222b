/* SPDX-License-Identifier: Apache-2.0
 *
 * A switch with a P4 program, for C and C++: for simulators of networks, which have links, queues and time of their own.
 *
 *     char why[4096];
 *     p4r_switch *tor = p4r_load("rcp.p4", NULL, 0, 1, why, sizeof why);
 *     p4r_entries(tor, "entries.stf");
 *     p4r_ingress(tor, port, frame, length, now, &queued, &n);          a frame arrives: packets for queues
 *     ...                                                               the caller's queue of queued[i].port
 *     p4r_egress(tor, queued[i].packet, &stay, now, &result);           a packet leaves its queue: perhaps a frame to send
 *     p4r_close(tor);
 *
 * Build: `cargo build --release -p switch-c` makes target/release/libp4rack_switch.so.
 *
 * Times are in nanoseconds since any beginning, and do not decrease. Functions with an int return 0, or -1 after a mistake, which p4r_error
 * describes. Results that are shown by pointers are valid until the next call with the same switch. A switch belongs to one thread at a time.
 */
#ifndef P4RACK_H
#define P4RACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A switch with its tables and memory. */
typedef struct p4r_switch p4r_switch;

/* A packet between ingress and egress. It belongs to the caller, who passes it to p4r_egress or p4r_drop, once, before p4r_close. */
typedef struct p4r_packet p4r_packet;

/* A packet for the queue of a port. Priority 0 is the lowest. `length` is in bytes. */
struct p4r_queued {
    uint32_t port;
    uint32_t priority;
    uint32_t length;
    p4r_packet *packet;
};

/* A frame that leaves by a port. */
struct p4r_frame {
    uint32_t port;
    size_t length;
    const uint8_t *bytes;
};

/* A packet's time in its queue: when it came, and the packets that were in the queue then and that are left now. */
struct p4r_stay {
    uint64_t enqueued;
    uint32_t depth_at_enqueue;
    uint32_t depth_at_dequeue;
};

/* What comes out of egress: at most one frame, and packets that go to queues again (clones, and packets that were recirculated). */
struct p4r_result {
    size_t frames;
    const struct p4r_frame *frame;
    size_t n_queued;
    const struct p4r_queued *queued;
};

/* Compiles a program; `defines` are `n` macros like "EXACT=1". After a mistake null, with its description in `why`, of `size` bytes. */
p4r_switch *p4r_load(const char *program, const char *const *defines, size_t n, uint64_t seed, char *why, size_t size);

/* Writes the entries of a file: STF, TOML, commands of simple_switch_CLI, or P4Runtime updates as text. */
int p4r_entries(p4r_switch *of, const char *file);

/* Writes entries given as text in one of these languages. */
int p4r_write(p4r_switch *of, const char *entries);

/* A frame arrives on a port. */
int p4r_ingress(p4r_switch *of, uint32_t port, const uint8_t *bytes, size_t length, uint64_t now, const struct p4r_queued **queued,
                size_t *n);

/* A packet leaves its queue. */
int p4r_egress(p4r_switch *of, p4r_packet *packet, const struct p4r_stay *stay, uint64_t now, struct p4r_result *result);

/* A packet does not fit into its queue. */
void p4r_drop(p4r_switch *of, p4r_packet *packet);

/* A frame arrives on a port, and all that comes of it leaves at once: queues are empty. */
int p4r_process(p4r_switch *of, uint32_t port, const uint8_t *bytes, size_t length, uint64_t now, const struct p4r_frame **frames, size_t *n);

/* When a timer of the program runs out; UINT64_MAX if none is set. */
uint64_t p4r_deadline(const p4r_switch *of);

/* Runs the timers that are due. */
int p4r_tick(p4r_switch *of, uint64_t now, const struct p4r_queued **queued, size_t *n);

/* A cell of a register, by the register's control-plane name; cells of more than 64 bits are refused. */
int p4r_register(p4r_switch *of, const char *name, uint64_t index, uint64_t *value);

/* The last mistake; an empty text before the first. */
const char *p4r_error(const p4r_switch *of);

/* Ends a switch; null is allowed. */
void p4r_close(p4r_switch *of);

#ifdef __cplusplus
}
#endif

#endif
