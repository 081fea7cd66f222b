// SPDX-License-Identifier: Apache-2.0
// tofino_specs.p4: the widths of the two Tofino generations; _TOFINO_WIDTHS_ is 1 or 2.
#ifndef _TOFINO_SPECS_P4_
#define _TOFINO_SPECS_P4_

#include <core.p4>

#define PORT_ID_WIDTH            9
#define MULTICAST_GROUP_ID_WIDTH 16
#define RESUBMIT_TYPE_WIDTH      3
#define DIGEST_TYPE_WIDTH        3
#define REPLICATION_ID_WIDTH     16
#define L1_EXCLUSION_ID_WIDTH    16
#define L2_EXCLUSION_ID_WIDTH    9
#if _TOFINO_WIDTHS_ == 1
#define QUEUE_ID_WIDTH           5
#define MIRROR_TYPE_WIDTH        3
#define MIRROR_ID_WIDTH          10
#define _PORT_METADATA_BITS      32w64
#else
#define QUEUE_ID_WIDTH           7
#define MIRROR_TYPE_WIDTH        4
#define MIRROR_ID_WIDTH          8
#define _PORT_METADATA_BITS      32w192
#endif

@noWarn("unused")
typedef bit<PORT_ID_WIDTH> PortId_t;
@noWarn("unused")
typedef bit<MULTICAST_GROUP_ID_WIDTH> MulticastGroupId_t;
@noWarn("unused")
typedef bit<QUEUE_ID_WIDTH> QueueId_t;
@noWarn("unused")
typedef bit<MIRROR_TYPE_WIDTH> MirrorType_t;
@noWarn("unused")
typedef bit<MIRROR_ID_WIDTH> MirrorId_t;
@noWarn("unused")
typedef bit<RESUBMIT_TYPE_WIDTH> ResubmitType_t;
@noWarn("unused")
typedef bit<DIGEST_TYPE_WIDTH> DigestType_t;
@noWarn("unused")
typedef bit<REPLICATION_ID_WIDTH> ReplicationId_t;
@noWarn("unused")
typedef bit<L1_EXCLUSION_ID_WIDTH> L1ExclusionId_t;
@noWarn("unused")
typedef bit<L2_EXCLUSION_ID_WIDTH> L2ExclusionId_t;
#if _TOFINO_WIDTHS_ != 1
@noWarn("unused")
typedef MirrorType_t CloneId_t;
#endif
@noWarn("unused")
typedef error ParserError_t;

// What the parser finds before the packet's bytes: set for each port by the control plane.
@noWarn("unused")
const bit<32> PORT_METADATA_SIZE = _PORT_METADATA_BITS;

// A device port is a pipe and a port of that pipe.
#define DEVPORT_PIPE_MASK  0x180
#define DEVPORT_PIPE(port) (port)[8:7]
#define DEVPORT_PORT_MASK  0x7f
#define DEVPORT_PORT(port) (port)[6:0]

#endif
