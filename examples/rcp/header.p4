// SPDX-License-Identifier: Apache-2.0
//
// The header of RCP, after UDP's.

// The receivers' port of RCP.
const bit<16> PORT_RCP = 9300;
// Flags of RCP's header.
const bit<4> RCP_SYN = 1;
const bit<4> RCP_REF = 2;
const bit<4> RCP_DATA = 4;
const bit<4> RCP_ACK = 8;

header rcp_h {
    bit<4>  version;
    bit<4>  flags;
    bit<24> rtt_us;     // the sender's round trip; 0 if it does not know any
    bit<32> rate;       // kbit/s; the sender writes what it wishes, each switch lowers it to what it offers
    bit<32> rate_back;  // kbit/s; the receiver's answer: the rate that came
}
