// SPDX-License-Identifier: Apache-2.0
// dpdk/psa.p4: PSA with the calls of DPDK's software switch, which take the packet's length.
#define __PSA_DPDK__
#include <psa.p4>
