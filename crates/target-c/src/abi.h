#ifndef P4R_ABI
#define P4R_ABI 3

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a handler gives. The call gives `true` to the program after P4R_OK, else `false`, and the response is all zero. */
enum { P4R_OK = 0, P4R_DROP = 1 };

/* What a handler says of a block of numbers: nothing of it is in use, some of it is, or the handler never uses it. */
enum { P4R_EMPTY = 0, P4R_BUSY = 1, P4R_FOREIGN = 2 };

/* A handler's context. Use it by the functions below. */
typedef struct p4r_ctx {
    uint64_t now_ns;
    uint64_t tick_at_ns;
    uint64_t random;
    uint64_t arena_size;
    uint64_t arena_used;
    uint8_t *arena;
    uint32_t worker;
    uint16_t server;
    uint16_t servers;
    void (*look_up)(struct p4r_ctx *ctx, uint32_t table, const uint8_t *key, size_t key_size, uint8_t *entry, size_t entry_size);
    void *tables;
    const uint8_t *blocks;
    uint64_t blocks_size;
} p4r_ctx;

/* The time of the packet, in nanoseconds. In an emulated rack it is virtual time. */
static inline uint64_t p4r_now_ns(const p4r_ctx *ctx) { return ctx->now_ns; }

/* The number of the worker that calls, from 0. */
static inline uint32_t p4r_worker(const p4r_ctx *ctx) { return ctx->worker; }

/*
 * True if the block of this number is leased to the server that calls. The servers of a group share the blocks: no two have the same one at any
 * time. The only server has all. A lease may end between two calls: then the handler takes no more numbers of the block, and those that are in use
 * stay so. See NAME_block.
 */
static inline _Bool p4r_leased(const p4r_ctx *ctx, uint64_t block) {
    if (ctx->blocks) return block / 8 < ctx->blocks_size && (ctx->blocks[block / 8] >> block % 8 & 1);
    return ctx->servers <= 1 || block % ctx->servers == ctx->server;
}

/* Looks up a table of the program, which has a function of its own below. In `init` there is nothing to find. */
static inline void p4r_look_up(p4r_ctx *ctx, uint32_t table, const uint8_t *key, size_t key_size, uint8_t *entry, size_t entry_size) {
    memset(entry, 0, entry_size);
    if (ctx->look_up) ctx->look_up(ctx, table, key, key_size, entry, entry_size);
}

/* A random number (splitmix64). The sequence is the same in each run. */
static inline uint64_t p4r_random(p4r_ctx *ctx) {
    uint64_t z = (ctx->random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A random number below `bound`, which is not 0. */
static inline uint64_t p4r_random_below(p4r_ctx *ctx, uint64_t bound) {
    return (uint64_t)(((unsigned __int128)p4r_random(ctx) * bound) >> 64);
}

/*
 * Zeroed memory of the handler, aligned to 16 bytes; NULL if none is left. It is never given back.
 *
 * The arena is all the memory that a handler has between calls, and the snapshot of a handler without a function for it is a copy of the
 * arena. So it holds indices, not pointers: a copy may stand at another address.
 */
static inline void *p4r_alloc(p4r_ctx *ctx, size_t size) {
    uint64_t left = ctx->arena_size - ctx->arena_used, needed = ((uint64_t)size + 15) & ~UINT64_C(15);
    if (needed > left || needed < size) return NULL;
    void *given = ctx->arena + ctx->arena_used;
    ctx->arena_used += needed;
    return given;
}

/* What the first p4r_alloc gave. */
static inline void *p4r_memory(const p4r_ctx *ctx) { return ctx->arena; }

/* Asks for one call of the handler's tick function, at or soon after this time; P4R_NEVER takes the wish back. */
#define P4R_NEVER UINT64_MAX
static inline void p4r_tick_at(p4r_ctx *ctx, uint64_t when_ns) { ctx->tick_at_ns = when_ns; }

/* Numbers in bytes, most significant first. */
static inline uint64_t p4r_get(const uint8_t *from, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) value = value << 8 | from[i];
    return value;
}

static inline void p4r_put(uint8_t *to, size_t size, uint64_t value) {
    for (size_t i = size; i-- > 0; value >>= 8) to[i] = (uint8_t)value;
}

/* The text after `name=` in a configuration of `name=value` words; NULL if the word is not there. It ends at a space or at the end. */
static inline const char *p4r_config(const char *config, const char *name) {
    size_t length = strlen(name);
    for (const char *at = config; *at;) {
        if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
        while (*at && *at != ' ') at++;
        while (*at == ' ') at++;
    }
    return NULL;
}

/* The number at the start of a text; `otherwise` if there is none. */
static inline uint64_t p4r_number(const char *text, uint64_t otherwise) {
    if (!text || *text < '0' || *text > '9') return otherwise;
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++) value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

#endif
