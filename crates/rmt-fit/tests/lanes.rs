//! Programs of lanes: in each, a register of 16,384 pairs folds a pair of the packet, and says whether it did. Pairs that were folded leave the
//! packet. The stages are those of the open compiler's Tofino back end.

#[path = "../examples/compare/families.rs"]
#[allow(dead_code)]
mod families;
#[path = "../examples/compare/measured.rs"]
#[allow(dead_code)]
mod measured;

use aggregate::program::Program;
use aggregate::{Layout, Op};
use base_diag::{SourceMap, Style};
use rmt_fit::{Device, Fit};

/// How folded pairs leave the packet.
#[derive(Clone, Copy, PartialEq)]
enum Leave {
    /// All pairs stay; a flag says which were folded.
    Never,
    /// A condition for each lane.
    Alone,
    /// A table for each four lanes, with an action for each set of them.
    InFours,
}

/// Declaration of lanes: headers of their own, or a stack.
#[derive(Clone, Copy, PartialEq)]
enum Lanes {
    Headers,
    Stack,
}

impl Lanes {
    fn name(self, at: usize) -> String {
        if self == Lanes::Stack { format!("h.lane[{at}]") } else { format!("h.lane{at}") }
    }
}

/// All lanes in one state of the parser; each in a state that always follows the one before it; or in one that it selects.
#[derive(Clone, Copy, PartialEq)]
enum States {
    One,
    Chain,
    Each,
}

fn source(lanes: usize, of: Lanes, states: States, leave: Leave) -> String {
    let all = |text: &dyn Fn(usize) -> String| (0..lanes).map(text).collect::<String>();
    let declared = match of {
        Lanes::Stack => format!("lane_t[{lanes}] lane;"),
        Lanes::Headers => all(&|at| format!("lane_t lane{at}; ")),
    };
    let parse = match states {
        States::One => format!(
            "state lanes {{ {} transition accept; }}",
            all(&|at| format!("p.extract({}); ", of.name(at)))
        ),
        States::Chain | States::Each => all(&|at| {
            let (name, lane) = (if at == 0 { "lanes".to_string() } else { format!("lane{at}") }, of.name(at));
            let next = if at + 1 < lanes { format!("lane{}", at + 1) } else { "accept".to_string() };
            let transition = match states {
                States::Each => format!("select({lane}.at[15:15]) {{ 1: {next}; default: accept; }}"),
                _ => format!("{next};"),
            };
            format!("state {name} {{ p.extract({lane}); transition {transition} }}\n")
        }),
    };
    let registers = all(&|at| {
        let lane = of.name(at);
        format!(
            "  Register<pair_t, bit<14>>(16384) r{at};
  RegisterAction<pair_t, bit<14>, bit<1>>(r{at}) fold{at} = {{ void apply(inout pair_t v, out bit<1> miss) {{
    if (v.tag == {lane}.tag || v.tag == 0) {{ v.tag = {lane}.tag; v.val = v.val + {lane}.val; miss = 0; }} else {{ miss = 1; }} }} }};\n"
        )
    });
    let folds = all(&|at| format!("    m.miss{at} = fold{at}.execute({}.at[13:0]);\n", of.name(at)));
    let (tables, leaves) = match leave {
        Leave::Never => (String::new(), String::new()),
        Leave::Alone => (
            String::new(),
            all(&|at| format!("    if (m.miss{at} == 0) {{ {}.setInvalid(); }}\n", of.name(at))),
        ),
        Leave::InFours => {
            let mut tables = String::new();
            for first in (0..lanes).step_by(4) {
                for set in 1..16 {
                    let bits = (0..4).filter(|bit| set >> bit & 1 == 1);
                    let body: String =
                        bits.map(|bit| format!("{}.setInvalid(); ", of.name(first + bit))).collect();
                    tables += &format!("  action leave{first}_{set}() {{ {body}}}\n");
                }
                let keys: String = (0..4).map(|bit| format!("m.miss{}: exact; ", first + bit)).collect();
                let actions: String = (1..16).map(|set| format!("leave{first}_{set}; ")).collect();
                tables += &format!(
                    "  table leave{first} {{ key = {{ {keys}}} actions = {{ {actions}}} size = 16; }}\n"
                );
            }
            (tables, (0..lanes).step_by(4).map(|at| format!("    leave{at}.apply();\n")).collect())
        }
    };
    let flags = all(&|at| format!("bit<1> miss{at}; "));
    let zero = all(&|at| format!("m.miss{at} = 0; "));
    format!(
        "#include <core.p4>
#include <tna.p4>
struct pair_t {{ bit<32> tag; bit<32> val; }}
header eth_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
header ipv4_t {{ bit<96> head; bit<32> src; bit<32> dst; }}
header udp_t {{ bit<16> sport; bit<16> dport; bit<32> rest; }}
header agg_t {{ bit<32> job; }}
header lane_t {{ bit<16> at; bit<32> tag; bit<32> val; }}
struct h_t {{ eth_t eth; ipv4_t v4; udp_t udp; agg_t agg; {declared} }}
struct m_t {{ {flags} }}
parser IP(packet_in p, out h_t h, out m_t m, out ingress_intrinsic_metadata_t i) {{
  state start {{ p.extract(i); p.advance(PORT_METADATA_SIZE); {zero} p.extract(h.eth); transition select(h.eth.type) {{ 0x800: v4; default: accept; }} }}
  state v4 {{ p.extract(h.v4); transition select(h.v4.head[7:0]) {{ 17: udp; default: accept; }} }}
  state udp {{ p.extract(h.udp); transition select(h.udp.dport) {{ 5000: agg; default: accept; }} }}
  state agg {{ p.extract(h.agg); transition lanes; }}
  {parse}
}}
control I(inout h_t h, inout m_t m, in ingress_intrinsic_metadata_t i, in ingress_intrinsic_metadata_from_parser_t ip, inout ingress_intrinsic_metadata_for_deparser_t id, inout ingress_intrinsic_metadata_for_tm_t tm) {{
{registers}{tables}  apply {{
{folds}{leaves}    tm.ucast_egress_port = 1;
  }}
}}
control ID(packet_out p, inout h_t h, in m_t m, in ingress_intrinsic_metadata_for_deparser_t id) {{ apply {{ p.emit(h); }} }}
struct e_t {{ }}
struct em_t {{ }}
parser EP(packet_in p, out e_t h, out em_t m, out egress_intrinsic_metadata_t i) {{ state start {{ p.extract(i); transition accept; }} }}
control E(inout e_t h, inout em_t m, in egress_intrinsic_metadata_t i, in egress_intrinsic_metadata_from_parser_t ip, inout egress_intrinsic_metadata_for_deparser_t id, inout egress_intrinsic_metadata_for_output_port_t op) {{ apply {{ }} }}
control ED(packet_out p, inout e_t h, in em_t m, in egress_intrinsic_metadata_for_deparser_t id) {{ apply {{ }} }}
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"
    )
}

fn fit(source: &str, device: &str, map: &mut SourceMap) -> Fit {
    let device = Device::built_in(device).expect("it is built in");
    let program =
        measured::elaborate_text(source, device.tofino.unwrap_or(1), map).expect("the program is right");
    rmt_fit::fit(&program, &device).expect("it is lowered")
}

fn stages(lanes: usize, of: Lanes, states: States, leave: Leave) -> usize {
    fit(&source(lanes, of, states, leave), "tofino1", &mut SourceMap::new()).pipes[0].placement.stages.len()
}

#[test]
fn lanes_take_the_measured_stages() {
    for of in [Lanes::Headers, Lanes::Stack] {
        let all = |leave: Leave| [8, 16, 24, 28].map(|lanes| stages(lanes, of, States::One, leave));
        assert_eq!(all(Leave::Never), [2, 4, 6, 7]);
        assert_eq!(all(Leave::Alone), [9, 17, 25, 29]);
        assert_eq!(all(Leave::InFours), [3, 5, 7, 8]);
    }
}

#[test]
fn bits_that_the_parser_sets_apart_are_packed_as_the_stages_need_them() {
    assert_eq!(stages(24, Lanes::Headers, States::Each, Leave::Alone), 7);
    // One container for all would take nine, which a chip has.
    assert_eq!(stages(8, Lanes::Headers, States::Each, Leave::Alone), 3);
    // States that always follow each other are one.
    assert_eq!(stages(24, Lanes::Headers, States::Chain, Leave::Alone), 25);
    // All of a stack are one field, however they are parsed.
    assert_eq!(stages(24, Lanes::Stack, States::Each, Leave::Alone), 25);
}

#[test]
fn the_parser_of_tofino_2_sets_bits_one_by_one() {
    let of = |of: Lanes| {
        let text = source(16, of, States::One, Leave::Alone);
        let text = text.replace("tna.p4", "t2na.p4");
        fit(&text, "tofino2", &mut SourceMap::new()).pipes[0].placement.stages.len()
    };
    assert_eq!((of(Lanes::Headers), of(Lanes::Stack)), (5, 17));
}

#[test]
fn the_error_names_the_bits() {
    let mut map = SourceMap::new();
    let fit = fit(&source(12, Lanes::Headers, States::One, Leave::Alone), "tofino1", &mut map);
    let text: String =
        fit.diagnostics(&map).iter().map(|d| base_diag::render(d, &map, Style::Plain)).collect();
    expect_test::expect![[r#"
        error[P4R0810]: 13 stages needed, tofino1 has 12
          --> main.p4:68:25
           |
        68 |     if (m.miss0 == 0) { h.lane0.setInvalid(); }
           |                         ^^^^^^^^^^^^^^^^^^^^^ writes one of these bits
           |
           = note: 12 validity bits are in one container: `h.lane0.$valid`, `h.lane1.$valid`, `h.lane2.$valid`, `h.lane3.$valid`, and 8 more
           = note: a stage writes a container in one action: tables that write these bits are in different stages
           = help: write several of these bits in one table, with an action for each combination; 4 stages are needed without this limit
    "#]].assert_eq(&text);
}

#[test]
fn branches_that_exclude_each_other_write_one_container_in_one_stage() {
    let text = source(4, Lanes::Headers, States::One, Leave::Alone);
    let of = |text: &str| fit(text, "tofino1", &mut SourceMap::new()).pipes[0].placement.stages.len();
    let exclusive = text.replace("}\n    if (m.miss", "}\n    else if (m.miss");
    assert_eq!((of(&text), of(&exclusive)), (5, 2));
}

/// A program for TNA that `aggregate` prints: 24 lanes of 16,384 slots.
fn printed(program: &Program) -> Fit {
    fit(&program.tna().expect("it prints"), "tofino1", &mut SourceMap::new())
}

#[test]
fn the_printed_programs_of_24_lanes_fit() {
    let program = Program::new(Layout::PIPELINE, Op::Add, 64);
    let two = vec![Op::Add, Op::Max];
    let smaller = Layout { index_bits: 12, ..Layout::PIPELINE };
    for program in [
        program.clone(),
        Program { is_parent: true, operators: two.clone(), ..program.clone() },
        Program { layout: smaller, operators: two, jobs: 2, ..program.clone() },
    ] {
        let fit = printed(&program);
        let found = fit.diagnostics(&SourceMap::new());
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(fit.pipes[0].placement.stages.len(), 12);
    }
    let fewer = Program { layout: Layout { lanes: 16, ..Layout::PIPELINE }, ..program.clone() };
    assert_eq!(printed(&fewer).pipes[0].placement.stages.len(), 10);
    let more = Program { layout: Layout { lanes: 28, ..Layout::PIPELINE }, ..program };
    assert_eq!(printed(&more).pipes[0].placement.stages.len(), 13);
}

/// Each lane reads its slot, compares and writes it in steps of their own, and requests for rows are decided one condition after the other.
#[test]
fn the_program_for_v1model_does_not_fit() {
    let program = Program::new(Layout::PIPELINE, Op::Add, 64);
    let fit = fit(&program.source().expect("it prints"), "tofino1", &mut SourceMap::new());
    assert!(fit.pipes[0].placement.stages.len() > 100);
}
