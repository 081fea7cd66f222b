// SPDX-License-Identifier: Apache-2.0
//
// Routing, for the inside of a control with `hdr`, `meta` and `standard_metadata`: longest prefix, then the neighbour's address.

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action via(ipv4_t next_hop, bit<9> port) {
        meta.next_hop = next_hop;
        standard_metadata.egress_spec = port;
    }

    action direct(bit<9> port) {
        meta.next_hop = hdr.ipv4.dst_addr;
        standard_metadata.egress_spec = port;
    }

    table ipv4_forwarding {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { via; direct; drop; }
        default_action = drop();
        size = 1024;
    }

    // The sum follows the TTL here (RFC 1141), and not behind egress: functions on frames come before that.
    action rewrite(mac_t src_addr, mac_t dst_addr) {
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        bit<17> sum = (bit<17>)hdr.ipv4.hdr_checksum + 0x100;
        hdr.ipv4.hdr_checksum = sum[15:0] + (bit<16>)sum[16:16];
    }

    table neighbours {
        key = { meta.next_hop: exact; }
        actions = { rewrite; drop; }
        default_action = drop();
        size = 1024;
    }
