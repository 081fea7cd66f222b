/* A program of a group. Arguments: the group's file, the address of rank 0, the rank. */
#include "p4rack_reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(what)                                                                   \
    if (!(what)) {                                                                   \
        fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, p4r_error(group));     \
        exit(1);                                                                     \
    }

int main(int count, char **words) {
    uint32_t rank = (uint32_t)atoi(words[3]);
    char why[200] = "";
    struct p4r_group *group = p4r_open("nothing.json", rank, words[2], 60, why, sizeof why);
    MUST(count == 4 && !group && strstr(why, "nothing.json"));
    group = p4r_open(words[1], rank, words[2], 60, why, sizeof why);
    if (!group) return fprintf(stderr, "%s\n", why), 1;
    int32_t size = (int32_t)p4r_size(group);
    MUST(p4r_rank(group) == rank && size == 3);

    int32_t values[1000];
    for (int at = 0; at < 1000; at++) values[at] = at - 500 + (int32_t)rank;
    MUST(p4r_allreduce_i32(group, values, 1000, P4R_ADD) == 0);
    for (int at = 0; at < 1000; at++) MUST(values[at] == 3 * (at - 500) + 3);
    struct p4r_report report = p4r_report(group);
    MUST(report.pairs_sent == 2000 && report.bytes_to_root > 0);

    uint64_t keys[3] = {7, rank, UINT64_MAX};
    int64_t numbers[3] = {-5, 1, (int64_t)rank};
    MUST(p4r_push(group, keys, numbers, 2) == 0);
    MUST(p4r_push(group, keys + 2, numbers + 2, 1) == 0);
    MUST(p4r_push_text(group, "a", 1, 1) == -1 && strstr(p4r_error(group), "numbers"));
    struct p4r_pairs pairs;
    MUST(p4r_reduce(group, P4R_ADD, &pairs) == 0);
    MUST(pairs.n == 5 && pairs.keys[3] == 7 && pairs.values[3] == -15 && pairs.keys[4] == UINT64_MAX && pairs.values[4] == 3);

    MUST(p4r_push_text(group, "word", 4, 1) == 0 && p4r_push_text(group, "wo", 2, rank) == 0);
    MUST(p4r_reduce(group, P4R_MAX, &pairs) == 0);
    MUST(pairs.n == 2 && !pairs.keys && !memcmp(pairs.texts, "woword", 6) && pairs.lengths[0] == 2 && pairs.values[0] == 2);

    MUST(p4r_allreduce_i32(group, values, 1, 9) == -1 && strstr(p4r_error(group), "P4R_ADD"));
    uint32_t bits = 1u << rank;
    MUST(p4r_allreduce_u32(group, &bits, 1, P4R_OR) == 0 && bits == 7);
    p4r_close(group);
    p4r_close(NULL);
    puts("ok");
    return 0;
}
