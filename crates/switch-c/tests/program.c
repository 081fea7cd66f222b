/* A switch of DCTCP and one of HULL; the directory of the examples is the argument. */
#include "p4rack.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                                     \
    do {                                                                                                                     \
        if (!(condition)) {                                                                                                  \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                          \
            exit(1);                                                                                                         \
        }                                                                                                                    \
    } while (0)

static char why[4096];

static p4r_switch *load(const char *examples, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s.p4", examples, name, name);
    p4r_switch *made = p4r_load(path, NULL, 0, 1, why, sizeof why);
    if (!made) fprintf(stderr, "%s\n", why);
    CHECK(made);
    snprintf(path, sizeof path, "%s/%s/entries.stf", examples, name);
    CHECK(p4r_entries(made, path) == 0);
    return made;
}

/* An IPv4 packet of `length` bytes for host 9, ECN capable; its checksum is whatever the switch makes of it. */
static void fill(uint8_t *frame, size_t length) {
    static const uint8_t head[] = {2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 2};
    memset(frame, 0, length);
    memcpy(frame, head, sizeof head);
}

/* The ECN bits of a packet that leaves a queue of so many. */
static int ecn_after(p4r_switch *tor, uint32_t depth, uint64_t now) {
    uint8_t frame[100];
    fill(frame, sizeof frame);
    const struct p4r_queued *queued;
    size_t n;
    CHECK(p4r_ingress(tor, 1, frame, sizeof frame, now, &queued, &n) == 0);
    CHECK(n == 1 && queued->port == 9 && queued->length == sizeof frame && queued->priority == 0);
    struct p4r_stay stay = {now, depth, 0};
    struct p4r_result result;
    CHECK(p4r_egress(tor, queued->packet, &stay, now + 1000, &result) == 0);
    CHECK(result.n_queued == 0 && result.frames == 1 && result.frame->port == 9 && result.frame->length == sizeof frame);
    return result.frame->bytes[15] & 3;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(!p4r_load("missing.p4", NULL, 0, 1, why, sizeof why) && strstr(why, "missing.p4"));
    CHECK(!p4r_load(NULL, NULL, 0, 1, why, 8) && strlen(why) == 7);

    p4r_switch *tor = load(argv[1], "dctcp");
    CHECK(ecn_after(tor, 19, 1000) == 2 && ecn_after(tor, 20, 3000) == 3);

    uint8_t frame[100];
    fill(frame, sizeof frame);
    const struct p4r_frame *frames;
    size_t n;
    CHECK(p4r_process(tor, 1, frame, sizeof frame, 5000, &frames, &n) == 0);
    CHECK(n == 1 && frames->port == 9 && (frames->bytes[15] & 3) == 2);
    frame[5] = 77;
    CHECK(p4r_process(tor, 1, frame, sizeof frame, 6000, &frames, &n) == 0 && n == 0);
    CHECK(p4r_write(tor, "add hosts hdr.ethernet.dst_addr:0x02000000004d forward(port:5)\n") == 0);
    CHECK(p4r_process(tor, 1, frame, sizeof frame, 7000, &frames, &n) == 0 && n == 1 && frames->port == 5);
    CHECK(p4r_write(tor, "add nothing\n") == -1 && *p4r_error(tor));
    CHECK(p4r_ingress(tor, 100000, frame, sizeof frame, 8000, NULL, NULL) == -1 && strstr(p4r_error(tor), "100000"));

    /* A queue that is full. */
    const struct p4r_queued *queued;
    CHECK(p4r_ingress(tor, 1, frame, sizeof frame, 9000, &queued, &n) == 0 && n == 1);
    p4r_drop(tor, queued->packet);
    CHECK(p4r_deadline(tor) == UINT64_MAX);
    CHECK(p4r_tick(tor, 10000, &queued, &n) == 0 && n == 0);
    p4r_close(tor);

    /* The phantom queue of port 9 is a register: two packets of 100 bytes, 1 us apart, of which it drains at most 119. */
    p4r_switch *hull = load(argv[1], "hull");
    uint64_t phantom;
    CHECK(ecn_after(hull, 0, 100000000) == 2);
    CHECK(p4r_register(hull, "HullEgress.phantoms", 9, &phantom) == 0 && phantom == 100);
    CHECK(p4r_register(hull, "phantom", 9, &phantom) == -1 && *p4r_error(hull));
    CHECK(p4r_register(hull, "HullEgress.phantoms", 1000, &phantom) == -1);
    p4r_close(hull);
    p4r_close(NULL);

    /* A program with a macro. */
    const char *defines[] = {"EXACT=1"};
    char path[1024];
    snprintf(path, sizeof path, "%s/qcn/qcn.p4", argv[1]);
    p4r_switch *qcn = p4r_load(path, defines, 1, 1, why, sizeof why);
    CHECK(qcn);
    p4r_close(qcn);
    puts("ok");
    return 0;
}
