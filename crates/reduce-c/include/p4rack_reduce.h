/* Programs that fold arrays and key-value pairs together, through switches. Link with libp4rack_reduce.
 *
 *   struct p4r_group *group = p4r_open("out/sums.group.json", rank, "10.0.0.1:9600", 300, why, sizeof why);
 *   p4r_allreduce_i32(group, gradients, n, P4R_ADD);
 *
 *   p4r_push(group, keys, values, n);
 *   p4r_reduce(group, P4R_ADD, &pairs);      pairs.keys, pairs.values, pairs.n
 *
 * All programs make the same calls in the same order. A function that can fail returns 0, or -1; p4r_error() then says why. After an error the
 * group is over. A group is used by one thread at a time.
 */
#ifndef P4RACK_REDUCE_H
#define P4RACK_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct p4r_group;

enum { P4R_ADD = 0, P4R_MAX = 1, P4R_MIN = 2, P4R_OR = 3 };

/* Distinct keys in order, and their values. Keys that were pushed as text are in `texts`, one after the other, each of `lengths` bytes,
 * and `keys` is null. */
struct p4r_pairs {
    size_t n;
    const uint64_t *keys;
    const char *texts;
    const size_t *lengths;
    const int64_t *values;
};

/* What the last call took on the link of rank 0. */
struct p4r_report {
    uint64_t pairs_sent, pairs_that_arrived, bytes_to_root, bytes_from_root, restarts;
    uint32_t rounds;
    /* 1 if switches have folded pairs. */
    uint32_t is_switched;
};

/* Joins a group, and waits until all programs have, for at most `timeout` seconds. `plan` is the file that `p4rack job compile` writes; rank 0 listens
 * at `root`. Null if it fails; `why` then says so, in at most `size` bytes with the zero at its end. */
struct p4r_group *p4r_open(const char *plan, uint32_t rank, const char *root, double timeout, char *why, size_t size);

uint32_t p4r_rank(const struct p4r_group *);
uint32_t p4r_size(const struct p4r_group *);

/* Folds arrays of all programs place by place, in the array itself. */
int p4r_allreduce_i32(struct p4r_group *, int32_t *, size_t n, int op);
int p4r_allreduce_u32(struct p4r_group *, uint32_t *, size_t n, int op);
int p4r_allreduce_i64(struct p4r_group *, int64_t *, size_t n, int op);
int p4r_allreduce_u64(struct p4r_group *, uint64_t *, size_t n, int op);

/* Adds pairs to those of the next p4r_reduce(): numbers, or texts, but not both. */
int p4r_push(struct p4r_group *, const uint64_t *keys, const int64_t *values, size_t n);
int p4r_push_text(struct p4r_group *, const char *key, size_t length, int64_t value);

/* Folds the pairs of all programs that were pushed. The result is valid until the next call of p4r_reduce() or p4r_close(). */
int p4r_reduce(struct p4r_group *, int op, struct p4r_pairs *);

struct p4r_report p4r_report(const struct p4r_group *);

/* The last error; an empty text if there was none. Valid until the next call. */
const char *p4r_error(const struct p4r_group *);

/* Leaves the group. Null is left alone. */
void p4r_close(struct p4r_group *);

#ifdef __cplusplus
}
#endif
#endif
