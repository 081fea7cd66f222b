// A table whose key an earlier action has rewritten: its key is a function of the earlier table's entry.
#include "frame.p4"
INGRESS {
    direct_counter(CounterType.packets) used;
    action translate(bit<32> addr) { hdr.ipv4.src = addr; used.count(); }
    table nat {
        key = { hdr.ipv4.src: exact; hdr.ipv4.dst: exact; }
        actions = { translate; NoAction; }
        default_action = NoAction();
        counters = used;
    }
    action forward(bit<9> port) { std.egress_spec = port; }
    table routes { key = { hdr.ipv4.dst: lpm; } actions = { forward; } }
    table checks { key = { hdr.ipv4.src: exact; } actions = { forward; } }
    @replicated_max(64) table ports { key = { std.egress_spec: exact; } actions = { forward; } }
    apply {
        if (hdr.ipv4.ttl > 1) { nat.apply(); }
        routes.apply();
        checks.apply();
        ports.apply();
    }
}
NO_EGRESS
SWITCH
