//! The text of a program for TNA, the architecture of a Tofino 1: the same packets and results as those of the text for v1model.
//!
//! A packet visits a register once, by one of at most four actions, which give one result. So a READ passes the switch twice for a row, for
//! the tags and for the values of its slots, and once more to see whether it goes on. Tables with constant entries decide, because a chain of
//! conditions takes a stage for each. The stages of a Tofino 1, with 24 lanes:
//!
//! ```text
//!  1  jobs, senders, routes, kinds   what the packet is, and what its job has
//!  2  requests                       bank: opened, closed, looked at
//!  3  rows, numbers, plans           cell of the number; what the lanes do
//!  4..9  visits                      four lanes in each stage
//! 10                                 flags of the lanes become a map
//! 11  maps, joins                    map of the first copy of a packet; map of the row before
//! 12  leave, ends                    two lanes for each table; answer or way on
//! egress: lengths, answers to the sender, copies of requests, marks of ECN
//! ```

mod egress;
mod entries;
mod headers;
mod ingress;
mod lanes;

use super::Program;
use super::text::{most_length, numbers, sizes, title};

/// The whole source.
pub(super) fn source(program: &Program) -> String {
    let parts = [
        head(program),
        headers::headers(program),
        headers::parser(program),
        lanes::controls(program),
        ingress::ingress(program),
        egress::egress(),
    ];
    parts.join("\n")
}

fn head(program: &Program) -> String {
    format!(
        "{}#include <core.p4>\n#include <tna.p4>\n\n{}{}\
         // Mirror session of the copies of requests; its port is AROUND, by which packets come around.\nconst bit<10> COPIES = {};\nconst bit<9>  AROUND = {};\n\
         // UDP length up to which a packet has room for another row.\nconst bit<16> MOST_LENGTH = {};\n\
         // Cells of a queue, of 80 bytes each, from which on packets are marked (ECN).\nconst bit<32> MARK_AT = {};\n\n{KINDS}",
        title(program),
        numbers(program),
        sizes(program),
        Program::COPIES,
        Program::AROUND,
        most_length(program),
        program.mark_at,
    )
}

const KINDS: &str = "// Kinds of packets. Those that only pass:
typedef bit<8> kind_t;
const kind_t PASSES = 0;
// Streams of pairs: DATA, what another switch has left, and a row of another switch.
const kind_t IS_DATA = 1;
const kind_t IS_LEFT = 2;
const kind_t IS_ROW = 3;
// Requests. A long READ asks for several answers, a half one for the values of a row whose tags it has.
const kind_t IS_OPEN = 4;
const kind_t IS_CLOSE = 5;
const kind_t IS_READ = 6;
const kind_t IS_LONG = 7;
const kind_t IS_HALF = 8;
const kind_t IS_CLEAR = 9;
// A request for no rows, or for too many.
const kind_t IS_WRONG = 10;
// A packet that makes no sense to its job; a damaged one.
const kind_t IS_BAD = 11;
const kind_t IS_DAMAGED = 12;
// Another boot number, another port, a bank that has changed on the way.
const kind_t MISFITS = 13;
const kind_t REFUSED = 14;
const kind_t DROPPED = 15;

// Tasks of lanes, and ways of a packet.
typedef bit<8> task_t;
const task_t GO_ON = 0;
const task_t FOLD = 1;
const task_t FOLD_ROW = 2;
const task_t FETCH_TAGS = 3;
const task_t FETCH_VALUES = 4;
const task_t EMPTY = 5;
const task_t SPLIT = 6;
const task_t REPORT = 7;
const task_t REPORT_BACK = 8;
const task_t ANSWER_OPEN = 9;
const task_t ANSWER_CLOSE = 10;
const task_t ANSWER_READ = 11;
const task_t ANSWER_CLEAR = 12;
const task_t REFUSE = 13;
const task_t DROP = 14;

// The bank of a packet: of another generation, closed, or open.
typedef bit<8> bank_t;
const bank_t OTHER = 0;
const bank_t SHUT = 1;
const bank_t FREE = 2;

// The number of a packet: before that in its cell, the same, or after it.
typedef bit<8> age_t;
const age_t OLD = 0;
const age_t SAME = 1;
const age_t NEW = 2;

// Lanes that stay in a packet.
typedef bit<8> keep_t;
const keep_t KEEP_ALL = 0;
const keep_t KEEP_MAP = 1;
const keep_t KEEP_NONE = 2;

// Steps of egress, and reasons why a packet comes around: its next row, or the values of a row.
typedef bit<8> step_t;
const step_t PLAIN = 0;
const step_t ON = 1;
const step_t BACK = 2;
const step_t NEXT_ROW = 3;
const step_t VALUES = 4;
const step_t TWO_WAYS = 5;
// The first byte of a mirrored packet.
const step_t COPY = 6;
";
