// SPDX-License-Identifier: Apache-2.0
// t2na.p4: the native architecture of Tofino 2.
//
// As TNA, with more metadata, a stateful ALU of four results, a packet generator, and a ghost thread that sees the
// queues.
#ifndef _TOFINO2_NATIVE_ARCHITECTURE_
#define _TOFINO2_NATIVE_ARCHITECTURE_

#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 2
#endif

#if __TARGET_TOFINO__ != 2
#error t2na.p4 is for Tofino 2
#endif
#include <tofino2_specs.p4>
#include <tofino2_arch.p4>

#endif
