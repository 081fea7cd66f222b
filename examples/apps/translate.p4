// Translation of addresses and ports: checksums of TCP and UDP are corrected by what changed (RFC 1624, equation 3).

#ifndef APPS_TRANSLATE
#define APPS_TRANSLATE

// ~old + new of an address and a port, as a sum of 16-bit words.
#define CHANGE(OLD_ADDR, OLD_PORT, NEW_ADDR, NEW_PORT) \
    ((bit<32>)(~OLD_ADDR[31:16]) + (bit<32>)(~OLD_ADDR[15:0]) + (bit<32>)(~OLD_PORT) + \
     (bit<32>)NEW_ADDR[31:16] + (bit<32>)NEW_ADDR[15:0] + (bit<32>)NEW_PORT)

// A checksum after such a change, which is a sum of at most 2^16 words.
#define CORRECT(CHECKSUM, CHANGE) { \
    bit<32> sum = (bit<32>)(~CHECKSUM) + CHANGE; \
    sum = (sum & 0xffff) + (sum >> 16); \
    sum = (sum & 0xffff) + (sum >> 16); \
    CHECKSUM = ~sum[15:0]; }

// Writes ports to the header of TCP or UDP, and corrects its checksum. Zero in UDP means that there is none.
#define WRITE_L4(L4, CHANGE) \
    if (hdr.tcp.isValid()) { \
        hdr.tcp.src = L4.src; \
        hdr.tcp.dst = L4.dst; \
        CORRECT(hdr.tcp.checksum, CHANGE) \
    } else { \
        hdr.udp.src = L4.src; \
        hdr.udp.dst = L4.dst; \
        if (hdr.udp.checksum != 0) { \
            CORRECT(hdr.udp.checksum, CHANGE) \
            if (hdr.udp.checksum == 0) { hdr.udp.checksum = 0xffff; } \
        } \
    }

#endif
