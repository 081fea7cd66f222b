// SPDX-License-Identifier: Apache-2.0
//
// The Internet checksum of IPv4 headers without options, in the machine's byte order (RFC 1071, section 2).

#ifndef CHECKSUM_H
#define CHECKSUM_H

#include "peer.h"

static inline uint16_t fold(uint64_t sum) {
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

// The sum of all words but the checksum's own, not folded; it is right if the header's is the folded sum's complement.
static inline uint64_t ipv4_sum(const uint8_t *ip) {
    uint64_t a = load64(ip), b = load64(ip + 8) & ~(uint64_t)0xffff0000;
    return (a & 0xffffffff) + (a >> 32) + (b & 0xffffffff) + (b >> 32) + load32(ip + 16);
}

static inline int ipv4_right(const uint8_t *ip, uint64_t sum) { return (load16(ip + 10) ^ fold(sum)) == 0xffff; }

// One hop less, and the checksum that goes with it. The time to live is the low byte of its word.
static inline void ipv4_hop(uint8_t *ip, uint64_t sum) {
    ip[8]--;
    store16(ip + 10, (uint16_t)~fold(sum - 1));
}

#endif
