// SPDX-License-Identifier: Apache-2.0
// tna.p4: the Tofino Native Architecture.
//
// Up to four pipelines, each with ingress and egress: parser, control, deparser. __TARGET_TOFINO__ says which
// generation's widths count: 1, if the program is compiled without it, or 2.
#ifndef _TOFINO1_NATIVE_ARCHITECTURE_
#define _TOFINO1_NATIVE_ARCHITECTURE_

#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 1
#endif

#if __TARGET_TOFINO__ == 1
#include <tofino1_specs.p4>
#elif __TARGET_TOFINO__ == 2
#include <tofino2_specs.p4>
#else
#error tna.p4 is for Tofino 1 and Tofino 2
#endif
#include <tofino1_arch.p4>

#endif
