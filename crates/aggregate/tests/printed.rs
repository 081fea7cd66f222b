//! The printed program of four lanes, to be read, and what is refused.

use aggregate::program::{Program, Seat, Sender, copies_stf};
use aggregate::{Kind, Layout, Op};
use expect_test::expect_file;

#[test]
fn the_program_of_four_lanes() {
    let layout = Layout { lanes: 4, tag_bits: 32, index_bits: 10, window: 64, evict: false };
    let program = Program::new(layout, Op::Add, 8);
    expect_file!["four-lanes.p4"].assert_eq(&program.source().expect("it prints"));
}

#[test]
fn the_program_of_four_lanes_for_tna() {
    let layout = Layout { lanes: 4, tag_bits: 32, index_bits: 10, window: 64, evict: false };
    let program = Program { operators: vec![Op::Add, Op::Max], ..Program::new(layout, Op::Add, 8) };
    expect_file!["four-lanes.tna.p4"].assert_eq(&program.tna().expect("it prints"));
}

#[test]
fn the_program_of_a_switch_after_others() {
    let layout = Layout { lanes: 4, tag_bits: 32, index_bits: 10, window: 64, evict: false };
    let program = Program { is_parent: true, ..Program::new(layout, Op::Add, 8) };
    expect_file!["parent.p4"].assert_eq(&program.source().expect("it prints"));
}

/// With as many slots as a job of 8,192 in the public program.
#[test]
fn the_program_for_workers_of_switchml() {
    expect_file!["switchml.p4"]
        .assert_eq(&aggregate::switchml::source(8192).expect("there are not too many"));
}

/// The files of `examples/wordcount`.
#[test]
fn the_programs_and_the_entries_of_the_example() {
    let pipeline = Layout { index_bits: 8, ..Layout::PIPELINE };
    let program = Program::new(pipeline, Op::Add, 3);
    expect_file!["../../../examples/wordcount/wordcount.p4"].assert_eq(&program.source().expect("it prints"));
    expect_file!["../../../examples/wordcount/wordcount.stf"].assert_eq(&entries(&pipeline));
    let software = Layout { index_bits: 6, ..Layout::SOFTWARE };
    let program = Program::new(software, Op::Add, 3);
    expect_file!["../../../examples/wordcount/software.p4"].assert_eq(&program.source().expect("it prints"));
    assert_eq!(entries(&software), entries(&pipeline), "one file serves both");
}

/// The files of `examples/jobs`, which `p4rack job compile` has written.
#[test]
fn the_programs_of_the_tree() {
    let layout = Layout { index_bits: 4, ..Layout::PIPELINE };
    let source = |channels, is_parent| {
        let program = Program { is_parent, ..Program::new(layout, Op::Add, channels) };
        program.source().expect("it prints")
    };
    expect_file!["../../../examples/jobs/left.p4"].assert_eq(&source(2, false));
    expect_file!["../../../examples/jobs/right.p4"].assert_eq(&source(1, false));
    expect_file!["../../../examples/jobs/spine.p4"].assert_eq(&source(4, true));
}

/// Mapper `n` is at port `n`, the master at port 4.
fn entries(layout: &Layout) -> String {
    let sender =
        |port: u16| Sender { kind: Kind::Data, port: port.into(), channel: port - 1, place: port - 1 };
    let senders = (1..=3).map(sender).collect();
    let seat = Seat { job: 1, place: 0, switch: 0, boot: 1, reducer_port: 4, has_parent: false, senders };
    let route = |(port, address): (u32, u32)| {
        let keys = format!("hdr.ipv4.dst_addr:{address:#x}/32");
        let next_hop = 0x0200_0000_0000 | u64::from(address);
        format!("add AggIngress.routes {keys} AggIngress.forward(port:{port}, next_hop:{next_hop:#x})")
    };
    let hosts = [(1, 0x0a00_0101), (2, 0x0a00_0102), (3, 0x0a00_0103), (4, 0x0a00_0001)];
    let own = seat.entries(layout);
    let lines: Vec<String> =
        own.iter().map(|entry| entry.stf()).chain(hosts.map(route)).chain([copies_stf(4)]).collect();
    format!("# Job 1: mapper n is at port n, the master at port 4.\n{}\n", lines.join("\n"))
}

#[test]
fn sizes_that_no_program_has_are_refused() {
    let layout = Layout::PIPELINE;
    let wrong = [
        (Program::new(Layout { lanes: 6, ..layout }, Op::Add, 8), "a multiple of four lanes"),
        (Program::new(Layout { window: 100, ..layout }, Op::Add, 8), "a power of two"),
        (Program::new(Layout { index_bits: 17, ..layout }, Op::Add, 8), "at most 16 bits"),
        (Program::new(Layout { tag_bits: 48, ..layout }, Op::Add, 8), "32 or 128 bits"),
        (Program::new(layout, Op::Add, 0), "at least one"),
        (Program { operators: Op::ALL.to_vec(), ..Program::new(layout, Op::Add, 8) }, "1 to 3 operators"),
    ];
    for (program, what) in wrong {
        let problem = program.source().expect_err(what).to_string();
        assert!(problem.contains(what), "{problem}");
    }
}

/// A packet with a row more than a request may have grown by 512 bytes: two rows of 24 lanes, one of 128 values.
#[test]
fn programs_for_bmv2_have_shorter_answers() {
    let most_length = |program: &Program| {
        let source = program.source().expect("it prints");
        let (_, rest) = source.split_once("const bit<16> MOST_LENGTH = ").expect("there is one");
        rest.split_once(';').and_then(|(number, _)| number.parse::<u32>().ok())
    };
    let pipeline = Program::new(Layout::PIPELINE, Op::Add, 8);
    assert_eq!(
        [&pipeline, &pipeline.for_bmv2()].map(most_length),
        [Some(1237), Some(8 + 24 + 512 - 3 - 240)]
    );
    let four = Program::new(Layout { lanes: 4, ..Layout::PIPELINE }, Op::Add, 8);
    assert_eq!(most_length(&four.for_bmv2()), Some(8 + 24 + 512 - 1 - 40));
    let arrays = Program::new(Layout::DENSE, Op::Add, 8).for_bmv2();
    assert_eq!((arrays.growth, arrays.most_bytes()), (Some(512), Layout::DENSE.header_bytes() + 512));
    assert!(arrays.source().is_ok());
    let software = Program::new(Layout::SOFTWARE, Op::Add, 8).for_bmv2();
    let problem = software.source().expect_err("a row is longer").to_string();
    assert!(problem.contains("grow by 512 bytes, and a row of slots has 1408"), "{problem}");
}

#[test]
fn programs_that_no_tofino_has_are_refused() {
    let program = Program::new(Layout::PIPELINE, Op::Add, 8);
    let three = vec![Op::Add, Op::Max, Op::Or];
    let wrong = [
        (Program { layout: Layout::SOFTWARE, ..program.clone() }, "tags of 32 bits"),
        (Program { layout: Layout::DENSE, ..program.clone() }, "tags of 32 bits"),
        (Program { layout: Layout { evict: true, ..Layout::PIPELINE }, ..program.clone() }, "no eviction"),
        (Program { layout: Layout { lanes: 36, ..Layout::PIPELINE }, ..program.clone() }, "at most 32 lanes"),
        (Program { operators: three, ..program.clone() }, "at most 2 operators"),
        (Program { channels: 0, ..program }, "at least one"),
    ];
    for (program, what) in wrong {
        let problem = program.tna().expect_err(what).to_string();
        assert!(problem.contains(what), "{problem}");
    }
}
