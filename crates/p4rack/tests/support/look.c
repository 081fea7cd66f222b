#include "look.h"
int look(p4r_ctx *ctx, const request_t *q, response_t *r) {
    t_key key;
    t_entry entry;
    t_key_set_hdr_packet_dst(&key, request_t_port(q));
    if (!t_look_up(ctx, &key, &entry) || t_entry_action(&entry) != t_entry_action_mark) return P4R_DROP;
    response_t_set_mark(r, t_entry_mark_mark(&entry));
    return P4R_OK;
}
