/* A fuzz target: an input is the sequence of a handler's requests, one after the other, 1 us apart. Unused bits are cleared, as a
 * program sends none. Built with `-fsanitize=fuzzer`, libFuzzer makes the inputs; else the main below makes random ones:
 * `fuzz-NAME [RUNS [SEED]]`. */

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t *arena;
    if (!arena) arena = calloc(1, ARENA);
    if (!arena) return 0;
    p4r_ctx ctx = { .random = 1, .arena_size = ARENA, .arena = arena, .tick_at_ns = P4R_NEVER };
    const struct handler *h = &handlers[FUZZED];
    if (!h->init || h->init(&ctx, CONFIG) == P4R_OK) {
        for (; size >= h->request; data += h->request, size -= h->request) {
            uint8_t *request = malloc(h->request), *response = calloc(1, h->response + (h->response == 0));
            if (!request || !response) return 0;
            for (size_t i = 0; i < h->request; i++) request[i] = data[i] & h->bits[i];
            ctx.now_ns += 1000;
            if (ctx.tick_at_ns <= ctx.now_ns) {
                ctx.tick_at_ns = P4R_NEVER;
                if (h->tick) h->tick(&ctx, ctx.now_ns);
            }
            h->call(&ctx, request, response);
            free(request), free(response);
        }
    }
    memset(arena, 0, ctx.arena_used);
    return 0;
}

#ifndef P4R_LIBFUZZER
int main(int argc, char **argv) {
    unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    p4r_ctx chance = { .random = argc > 2 ? strtoul(argv[2], NULL, 10) : 1 };
    for (unsigned long run = 0; run < runs; run++) {
        uint8_t input[4096];
        size_t size = p4r_random_below(&chance, sizeof input);
        /* Few values, so that requests meet again. */
        uint8_t mask = (uint8_t)p4r_random(&chance);
        for (size_t i = 0; i < size; i++) input[i] = (uint8_t)p4r_random(&chance) & mask;
        LLVMFuzzerTestOneInput(input, size);
    }
    printf("%lu inputs\n", runs);
    return 0;
}
#endif
