// SPDX-License-Identifier: Apache-2.0
// tofino1_specs.p4: the widths of Tofino 1.
#define _TOFINO_WIDTHS_ 1
#include <tofino_specs.p4>
