// SPDX-License-Identifier: Apache-2.0
// tofino2_specs.p4: the widths of Tofino 2.
#define _TOFINO_WIDTHS_ 2
#include <tofino_specs.p4>
