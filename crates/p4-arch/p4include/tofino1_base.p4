// SPDX-License-Identifier: Apache-2.0
// tofino1_base.p4: the metadata and externs of tna.p4.
#define _TOFINO_NATIVE_ 1
#include <tofino_base.p4>
