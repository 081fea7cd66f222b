
/*
 * The loop of a program that receives packets in batches, for measurements beside engines. A frame begins with the request, and has room for
 * the response after it. Its port is 1 after P4R_OK, else 2.
 */
void p4r_batch(const struct handler *handler, p4r_ctx *ctx, uint8_t *const *frames, size_t count, uint32_t *ports);
void p4r_batch(const struct handler *handler, p4r_ctx *ctx, uint8_t *const *frames, size_t count, uint32_t *ports) {
    for (size_t at = 0; at < count; at++) {
        if (at + 4 < count) __builtin_prefetch(frames[at + 4]);
        uint8_t *frame = frames[at];
        memset(frame + handler->request, 0, handler->response);
        ports[at] = handler->call(ctx, frame, frame + handler->request) == P4R_OK ? 1 : 2;
    }
}
