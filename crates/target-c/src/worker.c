/* A worker process: calls one handler for frames on standard input. A frame is its length without the length (4 bytes), an operation and
 * its operands; an answer is its length, a status and the results. Numbers are least significant byte first. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 80 << 20 };
static uint8_t *in, *out;
static p4r_ctx ctx;
static uint8_t leased[8192];

static int fully(int fd, uint8_t *bytes, size_t size, int writes) {
    while (size > 0) {
        ssize_t n = writes ? write(fd, bytes, size) : read(fd, bytes, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        bytes += n;
        size -= (size_t)n;
    }
    return 1;
}

static uint64_t load(const uint8_t *from, size_t size) {
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | from[i];
    return value;
}

static void store(uint8_t *to, size_t size, uint64_t value) {
    for (size_t i = 0; i < size; i++, value >>= 8) to[i] = (uint8_t)value;
}

/* Asks the other side for a table's entry during a call: a frame with this status, the table's number and the key. The answer is a frame that is the
 * entry. */
enum { LOOK_UP = 2 };
static void look_up(p4r_ctx *c, uint32_t table, const uint8_t *key, size_t key_size, uint8_t *entry, size_t entry_size) {
    (void)c;
    uint8_t head[9], size[4];
    store(head, 4, 1 + 4 + key_size), head[4] = LOOK_UP, store(head + 5, 4, table);
    if (!fully(1, head, 9, 1) || !fully(1, (uint8_t *)key, key_size, 1) || !fully(0, size, 4, 0)) exit(4);
    if (load(size, 4) != entry_size || !fully(0, entry, entry_size, 0)) exit(4);
}

static uint64_t processor_ns(void) {
    struct timespec time = {0, 0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Memory that ends at a page that nobody may touch. */
static uint8_t *guarded(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page + 1;
    uint8_t *all = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + (pages - 1) * page, page, PROT_NONE) != 0) exit(3);
    return all + (pages - 1) * page - size;
}

int main(int argc, char **argv) {
    const struct handler *h = NULL;
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (argc > 1 && strcmp(argv[1], handlers[i].name) == 0) h = &handlers[i];
    if (!h) return 2;
    in = malloc(MOST), out = malloc(MOST);
    if (!in || !out) return 3;
    ctx.arena_size = ARENA, ctx.tick_at_ns = P4R_NEVER;
    ctx.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ctx.arena == MAP_FAILED) return 3;
    uint8_t *request = guarded(h->request), *response = guarded(h->response), size_bytes[4];
    while (fully(0, size_bytes, 4, 0)) {
        size_t size = load(size_bytes, 4), more = 0;
        if (size < 1 || size > MOST || !fully(0, in, size, 0)) return 4;
        uint8_t *body = in + 1, *answer = out + 5;
        long left = (long)size - 1;
        int status = P4R_OK;
        switch (in[0]) {
        case 'i': /* seed, worker, server, servers, configuration */
            ctx.random = load(body, 8), ctx.worker = (uint32_t)load(body + 8, 4);
            ctx.server = (uint16_t)load(body + 12, 2), ctx.servers = (uint16_t)load(body + 14, 2);
            if (h->init) status = h->init(&ctx, (const char *)body + 16);
            break;
        case 'c': { /* now, request: tick, processor time, response */
            ctx.now_ns = load(body, 8);
            memcpy(request, body + 8, h->request);
            memset(response, 0, h->response);
            ctx.look_up = look_up;
            uint64_t began = processor_ns();
            status = h->call(&ctx, request, response);
            store(answer + 8, 8, processor_ns() - began);
            ctx.look_up = NULL;
            store(answer, 8, ctx.tick_at_ns);
            memcpy(answer + 16, response, h->response);
            more = 16 + h->response;
            break;
        }
        case 't': /* now: tick */
            ctx.now_ns = load(body, 8), ctx.tick_at_ns = P4R_NEVER;
            ctx.look_up = look_up;
            if (h->tick) h->tick(&ctx, ctx.now_ns);
            ctx.look_up = NULL;
            store(answer, 8, ctx.tick_at_ns);
            more = 8;
            break;
        case 's': { /* random, tick, memory */
            long length = (long)ctx.arena_used;
            const void *copy = h->snapshot && h->restore ? h->snapshot(&ctx, &length) : ctx.arena;
            if (length < 0 || length > MOST - 64 || (!copy && length > 0)) return 5;
            store(answer, 8, ctx.random), store(answer + 8, 8, ctx.tick_at_ns);
            memcpy(answer + 16, copy, (size_t)length);
            more = 16 + (size_t)length;
            break;
        }
        case 'r': /* random, tick, memory */
            if (h->snapshot && h->restore) {
                status = h->restore(&ctx, body + 16, left - 16);
            } else if (left < 16 || (uint64_t)left - 16 > ctx.arena_size) {
                status = P4R_DROP;
            } else {
                uint64_t used = (uint64_t)left - 16;
                if (ctx.arena_used > used) memset(ctx.arena + used, 0, ctx.arena_used - used);
                memcpy(ctx.arena, body + 16, used);
                ctx.arena_used = used;
            }
            if (status == P4R_OK) ctx.random = load(body, 8), ctx.tick_at_ns = load(body + 8, 8);
            break;
        case 'e': { /* key: state */
            long length = h->export ? h->export(&ctx, body, answer, MOST - 64) : 0;
            if (length < 0 || length > MOST - 64) return 5;
            more = (size_t)length;
            break;
        }
        case 'l': /* set of blocks: those that can be used, set of those in use */
            if (left < 0 || (size_t)left > sizeof leased) return 4;
            memcpy(leased, body, (size_t)left);
            ctx.blocks = leased, ctx.blocks_size = (uint64_t)left;
            if (!h->block) {
                status = P4R_DROP;
                break;
            }
            more = 4 + (size_t)left;
            memset(answer, 0, more);
            for (uint64_t block = 1, usable = 0; block < (uint64_t)left * 8; block++) {
                int said = h->block(&ctx, block);
                if (said == P4R_BUSY) answer[4 + block / 8] |= (uint8_t)(1 << block % 8);
                usable += said != P4R_FOREIGN && p4r_leased(&ctx, block);
                store(answer, 4, usable);
            }
            break;
        case 'm': /* key, state */
            status = h->import ? h->import(&ctx, body, body + h->key, left - (long)h->key) : P4R_DROP;
            break;
        default:
            return 4;
        }
        store(out, 4, 1 + more), out[4] = status != P4R_OK;
        if (!fully(1, out, 5 + more, 1)) return 4;
    }
    return 0;
}
