// What most tests share: one header, that says what is done with the packet, and what each pipeline saw.
#include <core.p4>
#include <psa.p4>

header data_t {
    bit<8>  op;
    bit<8>  port;
    bit<16> a;
    bit<32> b;
}

// Where the packet has been: one for each pipeline.
header trail_t {
    bit<8>  path;
    bit<8>  instance;
    bit<16> carried;
}

struct headers_t {
    trail_t trail;
    data_t  data;
}

struct meta_t {
    bit<16> kept;
}

struct carried_t {
    bit<16> value;
}

struct none_t {}

bit<8> number(in PSA_PacketPath_t path) {
    bit<8> result = 0xff;
    switch (path) {
        PSA_PacketPath_t.NORMAL: { result = 0; }
        PSA_PacketPath_t.NORMAL_UNICAST: { result = 1; }
        PSA_PacketPath_t.NORMAL_MULTICAST: { result = 2; }
        PSA_PacketPath_t.CLONE_I2E: { result = 3; }
        PSA_PacketPath_t.CLONE_E2E: { result = 4; }
        PSA_PacketPath_t.RESUBMIT: { result = 5; }
        PSA_PacketPath_t.RECIRCULATE: { result = 6; }
    }
    return result;
}
