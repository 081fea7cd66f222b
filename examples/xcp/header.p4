// SPDX-License-Identifier: Apache-2.0
//
// The header of XCP, after UDP's.

// The receivers' port of XCP.
const bit<16> PORT_XCP = 9301;
// Flag of the receiver's answer, which brings the coefficients back.
const bit<4> XCP_ACK = 8;

header xcp_h {
    bit<4>  version;
    bit<4>  flags;
    bit<24> rtt_us;     // the sender's round trip; 0 if it does not know any
    bit<32> inverse;    // rtt s / cwnd in us with 8 bits after the point; 0 if the sender has no round trip
    bit<32> positive;   // xi_p; the sender writes all ones, each switch lowers it
    bit<32> negative;   // xi_n; the sender writes 0, each switch raises it
}
