// Recirculation after a header is removed: what the second pass extracts is not the field of the same name.
#include "frame.p4"
INGRESS {
    table first { key = { hdr.ipv4.dst: exact; } actions = { NoAction; } }
    apply { first.apply(); hdr.labels.pop_front(1); }
}
EGRESS { apply { if (std.instance_type == 0) { recirculate_preserving_field_list(1); } } }
SWITCH
