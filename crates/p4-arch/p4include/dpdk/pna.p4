// SPDX-License-Identifier: Apache-2.0
// dpdk/pna.p4: PNA with the calls and algorithms of DPDK's software switch.
#define __PNA_DPDK__
#include <pna.p4>
