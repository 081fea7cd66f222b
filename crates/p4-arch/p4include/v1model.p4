// SPDX-License-Identifier: Apache-2.0
// v1model.p4: the architecture of BMv2's simple_switch.
//
// One parser, two match-action controls around a traffic manager, one deparser. What the fields and calls do
// when a packet runs is in the documentation of simple_switch; below is only what the checker needs.
//
// V1MODEL_VERSION chooses the interface: from 20200408 on, ports have a name (PortId_t) and the index of
// counters, meters and registers has a type parameter.
#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#include <core.p4>

#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif
#if V1MODEL_VERSION < 20180101 || V1MODEL_VERSION > 20200408
#error "V1MODEL_VERSION is unknown: the first is 20180101, the last 20200408"
#endif

match_kind {
    range,     // lowest..highest, both included
    optional,  // one value or any
    selector   // feeds the hash of an action selector; takes no part in the match
}

const bit<32> __v1model_version = V1MODEL_VERSION;

#if V1MODEL_VERSION >= 20200408
typedef bit<9> PortId_t;
#endif

// ---- Standard metadata -------------------------------------------------------------------------------------

// What the switch and the program tell each other about a packet. @alias is the field's name inside BMv2.
@metadata
@name("standard_metadata")
struct standard_metadata_t {
#if V1MODEL_VERSION >= 20200408
    PortId_t ingress_port;  // where the packet came in
    PortId_t egress_spec;   // where ingress wants it to go
    PortId_t egress_port;   // where it goes; known in egress
#else
    bit<9> ingress_port;    // where the packet came in
    bit<9> egress_spec;     // where ingress wants it to go
    bit<9> egress_port;     // where it goes; known in egress
#endif
    bit<32> instance_type;  // normal, clone, recirculated, ...
    bit<32> packet_length;  // bytes

    // The queue between ingress and egress, as it was for this packet; known in egress.
    @alias("queueing_metadata.enq_timestamp") bit<32> enq_timestamp;
    @alias("queueing_metadata.enq_qdepth") bit<19> enq_qdepth;
    @alias("queueing_metadata.deq_timedelta") bit<32> deq_timedelta;
    @alias("queueing_metadata.deq_qdepth") bit<19> deq_qdepth;

    // Microseconds since the switch started.
    @alias("intrinsic_metadata.ingress_global_timestamp") bit<48> ingress_global_timestamp;
    @alias("intrinsic_metadata.egress_global_timestamp") bit<48> egress_global_timestamp;

    // Multicast: the group ingress chooses (0 is none) and which of its copies egress sees.
    @alias("intrinsic_metadata.mcast_grp") bit<16> mcast_grp;
    @alias("intrinsic_metadata.egress_rid") bit<16> egress_rid;

    bit<1> checksum_error;  // 1 when a verify_checksum failed
    error parser_error;     // how parsing ended
    @alias("intrinsic_metadata.priority") bit<3> priority;  // of the queue
}

// ---- State -------------------------------------------------------------------------------------------------

enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

enum MeterType {
    packets,
    bytes
}

// `size` counters, written here and read by the control plane. An index past the end does nothing.
#if V1MODEL_VERSION >= 20200408
extern counter<I> {
    counter(bit<32> size, CounterType type);
    void count(in I index);
}
#else
extern counter {
    counter(bit<32> size, CounterType type);
    void count(in bit<32> index);
}
#endif

// One counter for each entry of the table that names it in `counters`; every hit counts, called or not.
extern direct_counter {
    direct_counter(CounterType type);
    void count();
}

// The colours a meter answers.
#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

// `size` two-rate three-colour meters; the control plane sets the rates.
#if V1MODEL_VERSION >= 20200408
extern meter<I> {
    meter(bit<32> size, MeterType type);
    void execute_meter<T>(in I index, out T result);
}
#else
extern meter {
    meter(bit<32> size, MeterType type);
    void execute_meter<T>(in bit<32> index, out T result);
}
#endif

// One meter for each entry of the table that names it in `meters`.
extern direct_meter<T> {
    direct_meter(MeterType type);
    void read(out T result);
}

// `size` cells that the data plane reads and writes; 0 at the start.
#if V1MODEL_VERSION >= 20200408
extern register<T, I> {
    register(bit<32> size);
    @noSideEffects
    void read(out T result, in I index);
    void write(in I index, in T value);
}
#else
extern register<T> {
    register(bit<32> size);
    @noSideEffects
    void read(out T result, in bit<32> index);
    void write(in bit<32> index, in T value);
}
#endif

// For a table's `implementation`: entries share action data through members.
extern action_profile {
    action_profile(bit<32> size);
}

// ---- Calls -------------------------------------------------------------------------------------------------

// A number from lo to hi, both included.
extern void random<T>(out T result, in T lo, in T hi);

// Sends `data`, as it is now, to the control plane. The receiver is ignored.
extern void digest<T>(in bit<32> receiver, in T data);

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,
    xor16
}

@deprecated("Please use mark_to_drop(standard_metadata) instead.")
extern void mark_to_drop();

// egress_spec becomes the drop port and mcast_grp 0; a later write of either takes the drop back.
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

// base + H(data) mod max; base where max is 0.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

// For a table's `implementation`: groups of members, one of them chosen by the hash of the `selector` keys.
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

enum CloneType {
    I2E,
    E2E
}

@deprecated("Please use verify_checksum/update_checksum instead.")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

// In VerifyChecksum: sets checksum_error where `condition` holds and the checksum of `data` is another.
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

// In ComputeChecksum: writes the checksum of `data` where `condition` holds.
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

// The same two over `data` and then every byte that the parser left.
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

// Copies of the packet, made by the traffic manager. `session` is set up by the control plane; the user metadata
// kept is the fields marked @field_list(index). Of several calls in one pass the last one counts.
extern void clone(in CloneType type, in bit<32> session);

// Starts the packet over, as it came in (ingress) or as it was deparsed (egress).
@deprecated("Please use 'resubmit_preserving_field_list' instead")
extern void resubmit<T>(in T data);
extern void resubmit_preserving_field_list(bit<8> index);
@deprecated("Please use 'recirculate_preserving_field_list' instead")
extern void recirculate<T>(in T data);
extern void recirculate_preserving_field_list(bit<8> index);

@deprecated("Please use 'clone_preserving_field_list' instead")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

// Cuts what is sent to `length` bytes.
extern void truncate(in bit<32> length);

// The run stops where `check` is false.
extern void assert(in bool check);
extern void assume(in bool check);

// Writes a line to the switch's log; each {} stands for the next member of `data`.
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

// ---- The pipeline ------------------------------------------------------------------------------------------
// H: a struct of headers, header stacks and header unions. M: the program's own metadata, a struct.

parser Parser<H, M>(
    packet_in b,
    out H parsedHdr,
    inout M meta,
    inout standard_metadata_t standard_metadata);

control VerifyChecksum<H, M>(inout H hdr, inout M meta);

@pipeline
control Ingress<H, M>(inout H hdr, inout M meta, inout standard_metadata_t standard_metadata);

@pipeline
control Egress<H, M>(inout H hdr, inout M meta, inout standard_metadata_t standard_metadata);

control ComputeChecksum<H, M>(inout H hdr, inout M meta);

@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(
    Parser<H, M> p,
    VerifyChecksum<H, M> vr,
    Ingress<H, M> ig,
    Egress<H, M> eg,
    ComputeChecksum<H, M> ck,
    Deparser<H> dep);

#endif
