// SPDX-License-Identifier: Apache-2.0
//
// CRC-32 (IEEE 802.3) of keys of constant length: one independent table look-up for each byte.

#ifndef CRC_H
#define CRC_H

#include "peer.h"

#define CRC_BYTES 40

static uint32_t crc_tables[CRC_BYTES][256];

static void crc_init(void) {
    for (unsigned b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (unsigned i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        crc_tables[0][b] = crc;
    }
    for (unsigned n = 1; n < CRC_BYTES; n++)
        for (unsigned b = 0; b < 256; b++) {
            uint32_t crc = crc_tables[n - 1][b];
            crc_tables[n][b] = crc >> 8 ^ crc_tables[0][crc & 0xff];
        }
}

static inline __attribute__((always_inline)) uint32_t crc32(const uint8_t *bytes, unsigned length) {
    uint32_t crc = 0xffffffff;
    for (unsigned i = 0; i < length; i++) crc ^= crc_tables[length - 1 - i][(uint8_t)(bytes[i] ^ (i < 4 ? 0xff : 0))];
    return crc;
}

#endif
