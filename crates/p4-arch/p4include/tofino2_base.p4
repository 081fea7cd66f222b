// SPDX-License-Identifier: Apache-2.0
// tofino2_base.p4: the metadata and externs of t2na.p4.
#define _TOFINO_NATIVE_ 2
#include <tofino_base.p4>
