//! Servers and frames that they are not to get, or not to wait for.

use server_groups::group::Limits;
use server_groups::server::Limits as ServerLimits;
use server_groups::{
    Command, Effect, Frame, Group, Hop, Instruction, Member, Refusal, Report, RowId, Server, Write,
};

type Flow = u32;

#[test]
fn a_server_refuses_what_it_is_not_to_get() {
    let mut server: Server<Flow, u32> =
        Server::new(Member(0), ServerLimits { flows: 2, ..ServerLimits::default() });
    let mut out = vec![];
    let instruction = Instruction::Members { version: 1, alive: [Member(0), Member(1)].into() };
    server.receive(Frame::Instruction(instruction), 0, &mut out);
    out.clear();
    let packet = |flow: Flow, hop: Hop| Frame::Packet { flow, bucket: 0, hop, packet: 0 };
    server.receive(packet(1, Hop::Probe { back: Member(9), number: 0 }), 0, &mut out);
    server.receive(packet(1, Hop::Forwarded { back: Member(0) }), 0, &mut out);
    server.receive(packet(1, Hop::Returned { from: Member(1) }), 0, &mut out);
    server.receive(Frame::Ask { flow: 1, bucket: 0, from: Member(7), number: 0, is_last: true }, 0, &mut out);
    server.receive(Frame::Answer { flow: 1, bucket: 0, from: Member(1), number: 0, owns: true }, 0, &mut out);
    assert!(out.is_empty(), "{out:?}");
    let counters = server.counters;
    assert_eq!((counters.drops.refused, counters.drops.stray), (4, 1));
    for flow in 0..5 {
        server.receive(packet(flow, Hop::First { previous: None }), 0, &mut out);
    }
    assert_eq!((out.len(), server.counters.drops.no_room), (2, 3));
}

#[test]
fn a_hold_is_bounded_and_ends_though_nobody_answers() {
    let limits = ServerLimits { held: 3, patience: 10, tries: 2, ..ServerLimits::default() };
    let mut server: Server<Flow, u32> = Server::new(Member(0), limits);
    let mut out = vec![];
    let instruction = Instruction::Members { version: 1, alive: [Member(0), Member(1)].into() };
    server.receive(Frame::Instruction(instruction), 0, &mut out);
    let hop = Hop::First { previous: Some(Member(1)) };
    for packet in 0..6 {
        server.receive(Frame::Packet { flow: 1, bucket: 0, hop, packet }, 0, &mut out);
    }
    assert_eq!((server.held(), server.counters.drops.not_held), (3, 2));
    for now in [5, 11, 22, 33, 44] {
        server.tick(now, &mut out);
    }
    assert_eq!((server.held(), server.waiting(), server.counters.drops.no_answer), (0, 0, 3));
    let asked =
        out.iter().filter(|effect| matches!(effect, Effect::Send { frame: Frame::Ask { .. }, .. })).count();
    assert_eq!(asked, 2);
}

/// SplitMix64.
fn draws() -> impl FnMut(u64) -> u64 {
    let mut state = 7_u64;
    move |below| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % below
    }
}

#[test]
fn whatever_comes_memory_stays_bounded() {
    let limits = ServerLimits {
        flows: 40,
        waiting: 10,
        held: 4,
        all_held: 12,
        patience: 100,
        ..ServerLimits::default()
    };
    let mut server: Server<Flow, u32> = Server::new(Member(0), limits);
    let mut draw = draws();
    let mut out = vec![];
    let (mut most_waiting, mut most_held, mut handled) = (0, 0, 0);
    for now in 0..50_000 {
        let (flow, bucket, from) = (draw(200) as Flow, draw(4) as u32, Member(draw(4) as u16));
        let (number, packet) = (draw(1 << 16) as u16, now as u32);
        let previous = Some(from).filter(|_| draw(3) > 0);
        let row = RowId { bucket, pin: Some(flow).filter(|_| draw(2) == 0) };
        let (epoch, is_last) = (draw(5) as u32, draw(2) == 0);
        let kept = (0..draw(20)).map(|at| (bucket, at as Flow)).collect();
        let frame = match draw(10) {
            0..4 => Frame::Packet { flow, bucket, hop: Hop::First { previous }, packet },
            4 => Frame::Packet { flow, bucket, hop: Hop::Probe { back: from, number }, packet },
            5 => Frame::Packet { flow, bucket, hop: Hop::Returned { from }, packet },
            6 => Frame::Ask { flow, bucket, from, number, is_last },
            7 => Frame::Answer { flow, bucket, from, number, owns: is_last },
            8 => Frame::Instruction(Instruction::Close { row, epoch, previous: from, kept }),
            _ => match draw(3) {
                0 => Frame::Instruction(Instruction::Settle {
                    row,
                    epoch,
                    current: from,
                    most: draw(30) as usize,
                }),
                1 => Frame::Instruction(Instruction::Check { flows: kept }),
                _ => {
                    let alive = (0..4).filter(|_| draw(2) == 0).map(Member).collect();
                    Frame::Instruction(Instruction::Members { version: now as u32, alive })
                }
            },
        };
        server.receive(frame, now, &mut out);
        if draw(20) == 0 {
            server.tick(now, &mut out);
        }
        if draw(30) == 0 {
            server.end_unused(now.saturating_sub(50), &mut out);
        }
        handled += out.iter().filter(|effect| matches!(effect, Effect::Handle { .. })).count() as u64;
        most_waiting = most_waiting.max(server.waiting());
        most_held = most_held.max(server.held());
        assert!(server.owned().count() <= limits.flows + limits.waiting);
        out.clear();
    }
    assert_eq!(server.counters.handled, handled);
    // The last questions of a row that is closed may come beside probes.
    assert!(most_waiting > 0 && most_waiting <= limits.flows + limits.waiting, "{most_waiting}");
    assert!(most_held > 0 && most_held <= limits.all_held, "{most_held}");
}

#[test]
fn reports_of_strangers_and_of_other_rows_change_nothing() {
    let members = [(Member(0), 1), (Member(1), 1)];
    let mut group: Group<Flow> = Group::new(&members, 8, Limits::default());
    for member in [0, 1, 7] {
        group.report(Member(member), Report::Members { version: 1 }, 0);
    }
    let before = group.clone();
    let row = RowId::bucket(3);
    let reports = [
        Report::Settled { row, epoch: 0, kept: vec![(3, 1)] },
        Report::Settled { row: RowId::bucket(99), epoch: 0, kept: vec![] },
        Report::Busy { row, epoch: 0, count: 9 },
        Report::Closed { row, epoch: 0 },
        Report::Ended { bucket: 3, flow: 5 },
    ];
    for report in reports {
        group.report(Member(1), report, 0);
    }
    assert_eq!(group.rows(), before.rows());
    assert_eq!((group.pins().count(), group.refused), (0, 2));
    assert!(group.is_steady());
}

/// Servers that keep nothing of a flow: nobody is asked about flows, and a member leaves at once.
#[test]
fn buckets_of_a_stateless_group_move_at_once() {
    let members = [(Member(0), 1), (Member(1), 1)];
    let mut group: Group<Flow> = Group::new(&members, 8, Limits::default()).stateless();
    let mut version = 1;
    let mut announce = |group: &mut Group<Flow>, members: &[u16]| {
        members.iter().for_each(|one| group.report(Member(*one), Report::Members { version }, 0));
        version += 1;
    };
    announce(&mut group, &[0, 1]);
    group.add(Member(2), 2, 0).expect("it is new");
    announce(&mut group, &[0, 1, 2]);
    let at =
        |group: &Group<Flow>, member| group.rows().iter().filter(|row| row.current == Member(member)).count();
    assert_eq!([0, 1, 2].map(|member| at(&group, member)), [2, 2, 4]);
    group.drain(Member(2), true, 0).expect("others are left");
    assert!(group.rows().iter().all(|row| row.previous.is_none()));
    assert!(group.standing(Member(2)).is_none());
    let mut instructions = std::iter::from_fn(|| group.command());
    let is_about_members = |command: Command<Flow>| {
        matches!(
            command,
            Command::Write(_) | Command::Instruction { instruction: Instruction::Members { .. }, .. }
        )
    };
    assert!(instructions.all(is_about_members));
}

/// With filters, a change waits until they change roles, and the next change of roles until the flows of previous servers have pins.
#[test]
fn buckets_of_a_filtered_group_move_when_the_filters_change_roles() {
    let members = [(Member(0), 1), (Member(1), 1)];
    let limits = Limits { settle_after: 5, patience: 10, pins: 64, pins_of_bucket: 2, open: 4 };
    let mut group: Group<Flow> = Group::new(&members, 8, limits).filtered(100);
    let commands = |group: &mut Group<Flow>| std::iter::from_fn(|| group.command()).collect::<Vec<_>>();
    let roles = |commands: &[Command<Flow>]| {
        let writes = commands.iter().filter_map(|command| match command {
            Command::Write(writes) => Some(writes),
            Command::Instruction { .. } => None,
        });
        writes.flatten().find_map(|write| match write {
            Write::Roles { current, older } => Some((*current, *older)),
            _ => None,
        })
    };
    assert_eq!(group.roles(), Some(Write::Roles { current: 1, older: 65_534 }));
    for member in [0, 1] {
        group.report(Member(member), Report::Members { version: 1 }, 0);
    }
    group.add(Member(2), 1, 10).expect("it is new");
    for member in [0, 1, 2] {
        group.report(Member(member), Report::Members { version: 2 }, 20);
    }
    group.poll(99);
    assert_eq!(roles(&commands(&mut group)), None);
    assert!(!group.is_steady() && group.rows().iter().all(|row| row.current != Member(2)));
    group.poll(100);
    assert_eq!(roles(&commands(&mut group)), Some((2, 1)));
    let moved = group.rows().into_iter().filter(|row| row.previous.is_some()).collect::<Vec<_>>();
    assert!(moved.len() == 2 && moved.iter().all(|row| row.current == Member(2)), "{moved:?}");
    assert!(!group.is_steady(), "a server has flows of buckets that are another's");
    // The next time, the previous servers are asked. They hold no packets: nobody forwards any.
    group.poll(199);
    assert!(commands(&mut group).is_empty());
    group.poll(200);
    group.poll(201);
    let mut asked = vec![];
    for command in commands(&mut group) {
        let Command::Instruction { to, instruction } = command else { panic!("{command:?}") };
        let Instruction::Settle { row, epoch, current, most } = instruction else {
            panic!("{instruction:?}")
        };
        assert_eq!((current, most), (to, 2));
        asked.push((to, row, epoch));
    }
    let [(first, row, epoch), (second, other, other_epoch)] = asked[..] else { panic!("{asked:?}") };
    let kept = vec![(row.bucket, 7)];
    group.report(first, Report::Settled { row, epoch, kept: kept.clone() }, 210);
    let check = Command::Instruction { to: first, instruction: Instruction::Check { flows: kept } };
    let made = commands(&mut group);
    assert!(
        matches!(&made[..], [Command::Write(pins), last] if pins.len() == 1 && *last == check),
        "{made:?}"
    );
    group.report(second, Report::Busy { row: other, epoch: other_epoch, count: 3 }, 211);
    assert_eq!(roles(&commands(&mut group)), None, "another one has too many flows");
    group.poll(220);
    group.report(second, Report::Settled { row: other, epoch: other_epoch, kept: vec![] }, 230);
    assert_eq!(roles(&commands(&mut group)), Some((3, 2)));
    assert!(group.is_steady() && group.rows().iter().all(|row| row.previous.is_none()));
    assert_eq!(group.pins().map(|(flow, row)| (*flow, row.current)).collect::<Vec<_>>(), [(7, first)]);
    // Without changes, the filters change roles, too: else the current one would fill.
    group.poll(329);
    assert_eq!(roles(&commands(&mut group)), None);
    group.poll(330);
    assert_eq!(commands(&mut group), [Command::Write(vec![Write::Roles { current: 4, older: 3 }])]);
    group.report(first, Report::Ended { bucket: row.bucket, flow: 7 }, 340);
    assert_eq!(commands(&mut group), [Command::Write(vec![Write::Unpin { flow: 7 }])]);
}

/// Marks of the two filters are never the same, also when they begin again.
#[test]
fn marks_of_filters_take_turns() {
    let mut group: Group<Flow> = Group::new(&[(Member(0), 1)], 1, Limits::default()).filtered(1);
    let mut last = 1;
    for now in 1..70_000 {
        group.poll(now);
        let Some(Write::Roles { current, older }) = group.roles() else { panic!("it has filters") };
        assert!(older == last && current > 0 && current % 2 != older % 2, "{current} after {last}");
        last = current;
    }
}

#[test]
fn members_are_refused_that_are_there_or_would_leave_nobody() {
    let mut group: Group<Flow> = Group::new(&[(Member(0), 1)], 8, Limits::default());
    assert_eq!(group.drain(Member(0), true, 0), Err(Refusal::Last));
    assert_eq!(group.drain(Member(5), true, 0), Err(Refusal::Unknown));
    assert_eq!(group.add(Member(0), 1, 0), Err(Refusal::Present));
    assert_eq!(group.add(Member(1), 0, 0), Err(Refusal::NoWeight));
    assert_eq!(group.weigh(Member(0), 0, 0), Err(Refusal::NoWeight));
    assert_eq!(group.add(Member(1), 3, 0), Ok(()));
    assert_eq!(group.status()[&Member(1)].current, 0, "the others do not know it yet");
    for member in [0, 1] {
        group.report(Member(member), Report::Members { version: 2 }, 0);
    }
    assert_eq!(group.status()[&Member(1)].current, 6, "three quarters");
    assert_eq!(group.drain(Member(0), true, 0), Ok(()));
    assert_eq!(group.drain(Member(1), true, 0), Err(Refusal::Last));
    assert!(group.status()[&Member(0)].previous > 0, "it stays while it may have flows");
    assert_eq!(group.died(Member(1), 0), Ok(()));
    assert_eq!(group.status()[&Member(0)].current, 8, "buckets go back to where their flows are");
}

#[test]
fn pinned_flows_do_not_keep_a_bucket_from_settling() {
    let mut server: Server<Flow, u32> = Server::new(Member(0), ServerLimits::default());
    let mut out = vec![];
    server.receive(
        Frame::Instruction(Instruction::Members { version: 1, alive: [Member(0), Member(1)].into() }),
        0,
        &mut out,
    );
    let hop = Hop::First { previous: None };
    server.receive(Frame::Packet { flow: 1, bucket: 0, hop, packet: 0 }, 0, &mut out);
    let mut settle = |server: &mut Server<Flow, u32>, row: RowId<Flow>, most: usize| {
        out.clear();
        let instruction = Instruction::Settle { row, epoch: 1, current: Member(1), most };
        server.receive(Frame::Instruction(instruction), 0, &mut out);
        out.pop()
    };
    let (bucket, pin) = (RowId::bucket(0), RowId { bucket: 0, pin: Some(1) });
    let busy = Report::Busy { row: bucket, epoch: 1, count: 1 };
    assert_eq!(settle(&mut server, bucket, 0), Some(Effect::Report(busy)));
    server.receive(Frame::Instruction(Instruction::Check { flows: vec![(0, 1)] }), 0, &mut vec![]);
    let settled = |row, kept| Some(Effect::Report(Report::Settled { row, epoch: 1, kept }));
    assert_eq!(settle(&mut server, bucket, 0), settled(bucket, vec![]));
    assert_eq!(settle(&mut server, pin, 1), settled(pin, vec![(0, 1)]));
}

/// Server 0, which knows servers 1 and 2.
fn third_of_three() -> Server<Flow, u32> {
    let mut server = Server::new(Member(0), ServerLimits::default());
    let alive = [Member(0), Member(1), Member(2)].into();
    server.receive(Frame::Instruction(Instruction::Members { version: 1, alive }), 0, &mut vec![]);
    server
}

fn first(previous: Option<Member>, packet: u32) -> Frame<Flow, u32> {
    Frame::Packet { flow: 1, bucket: 0, hop: Hop::First { previous }, packet }
}

#[test]
fn only_the_last_question_of_the_right_server_ends_a_hold() {
    let mut server = third_of_three();
    let mut out = vec![];
    server.receive(first(None, 0), 0, &mut out);
    let row = RowId::bucket(0);
    server.receive(
        Frame::Instruction(Instruction::Settle { row, epoch: 1, current: Member(1), most: 1 }),
        0,
        &mut out,
    );
    server.receive(first(None, 1), 0, &mut out);
    for (from, is_last, held) in [(2, true, 1), (1, false, 1), (1, true, 0)] {
        let ask = Frame::Ask { flow: 1, bucket: 0, from: Member(from), number: 9, is_last };
        server.receive(ask, 0, &mut out);
        assert_eq!(server.held(), held, "{from} {is_last}");
    }
    assert_eq!(server.counters.handled, 2);
}

#[test]
fn answers_to_earlier_questions_do_not_count_and_a_closed_row_leaves_nothing() {
    let mut server = third_of_three();
    let mut out = vec![];
    server.receive(first(Some(Member(1)), 0), 0, &mut out);
    let Some(Effect::Send { frame: Frame::Packet { hop: Hop::Probe { number, .. }, .. }, .. }) = out.pop()
    else {
        panic!("no probe");
    };
    let answer = |number: u16| Frame::Answer { flow: 1, bucket: 0, from: Member(1), number, owns: true };
    server.receive(answer(number.wrapping_sub(1)), 0, &mut out);
    assert_eq!((server.waiting(), server.counters.drops.refused), (1, 1));
    server.receive(answer(number), 0, &mut out);
    let (row, kept) = (RowId::bucket(0), vec![]);
    server.receive(
        Frame::Instruction(Instruction::Close { row, epoch: 2, previous: Member(1), kept }),
        0,
        &mut out,
    );
    let asks = out.iter().any(|effect| {
        matches!(effect, Effect::Send { to: Member(1), frame: Frame::Ask { is_last: true, .. } })
    });
    assert!(asks, "{out:?}");
    server.receive(answer(number + 1), 0, &mut out);
    assert_eq!(out.last(), Some(&Effect::Report(Report::Closed { row, epoch: 2 })));
    server.receive(first(None, 3), 0, &mut out);
    assert_eq!(out.last(), Some(&Effect::Handle { flow: 1, packet: 3 }));
}

type Sent = (Member, u32, Vec<u8>);

/// Instructions to members about blocks, and whether the switch was told before.
fn sent(group: &mut Group<Flow>) -> (Vec<Sent>, bool) {
    let (mut sent, mut is_written) = (vec![], false);
    while let Some(command) = group.command() {
        match command {
            Command::Instruction { to, instruction: Instruction::Lease { version, blocks } } => {
                sent.push((to, version, blocks));
            }
            Command::Write(writes) => {
                let is_lease = writes.iter().any(|write| matches!(write, Write::Lease { .. }));
                is_written |= is_lease && sent.is_empty();
            }
            Command::Instruction { .. } => {}
        }
    }
    (sent, is_written)
}

#[test]
fn a_member_gets_flows_when_it_has_a_block() {
    let members = [(Member(0), 1), (Member(1), 1)];
    let limits = Limits::default();
    let mut group: Group<Flow> = Group::new(&members, 8, limits).leasing(3, 7, 1_000);
    let answer = |group: &mut Group<Flow>, sent: &[Sent], busy: &[u8], now: u64| {
        for (from, version, blocks) in sent {
            let usable = blocks.iter().map(|byte| byte.count_ones()).sum();
            group.report(*from, Report::Leased { version: *version, busy: busy.to_vec(), usable }, now);
        }
    };
    for member in [0, 1] {
        group.report(Member(member), Report::Members { version: 1 }, 0);
    }
    assert!(!group.is_steady(), "nobody has confirmed a lease");
    let (first, _) = sent(&mut group);
    assert_eq!(first.len(), 2);
    answer(&mut group, &first, &[], 0);
    assert!(group.is_steady());
    group.add(Member(2), 1, 10).expect("it is new");
    for member in [0, 1, 2] {
        group.report(Member(member), Report::Members { version: 2 }, 10);
    }
    let (withdrawn, is_written) = sent(&mut group);
    assert!(!is_written && withdrawn.contains(&(Member(2), withdrawn[withdrawn.len() - 1].1, vec![])));
    // Blocks 2 and 5 would be its own, and are in use.
    answer(&mut group, &withdrawn, &[0b10_0100], 20);
    assert_eq!((group.status()[&Member(2)].current, group.blocks(Member(2))), (0, Some(vec![])));
    // A member that drains still takes flows as long as nobody else can.
    group.drain(Member(0), false, 30).expect("others are left");
    group.drain(Member(1), false, 30).expect("another is left");
    assert_eq!(group.status()[&Member(2)].current, 0);
    // Also those of a member that dies.
    let mut other = group.clone();
    other.died(Member(1), 35).expect("it was there");
    let status = other.status();
    assert_eq!((status[&Member(0)].current, status[&Member(2)].current), (8, 0));
    other.died(Member(0), 36).expect("it was there");
    assert_eq!(other.status()[&Member(2)].current, 8, "rather it than nobody");
    sent(&mut group);
    group.poll(30 + limits.patience);
    let (again, _) = sent(&mut group);
    answer(&mut group, &again, &[], 40 + limits.patience);
    let (given, is_written) = sent(&mut group);
    assert!(is_written, "the switch knows first: {given:?}");
    assert_eq!(group.blocks(Member(2)), Some(vec![0b10_0100]));
    answer(&mut group, &given, &[], 50 + limits.patience);
    // The other four have just gone from one member to another, and wait until they are settled.
    assert_eq!(group.status()[&Member(2)].current, 4);
    // Its blocks rest when it is dead.
    group.died(Member(2), 60 + limits.patience).expect("it was there");
    let entries = group.leased();
    group.poll(1_059 + limits.patience);
    assert_eq!(group.leased(), entries);
}

/// A bucket moves while it has a flow, which gets a pin; then the flow ends, and its pin moves in the same steps. Each instruction is lost once.
#[test]
fn instructions_about_buckets_and_pins_are_repeated() {
    let limits = Limits { settle_after: 5, patience: 10, ..Limits::default() };
    let mut group: Group<Flow> = Group::new(&[(Member(0), 1), (Member(1), 1)], 1, limits);
    for member in [0, 1] {
        group.report(Member(member), Report::Members { version: 1 }, 0);
    }
    let before = group.rows()[0].current;
    let after = Member(1 - before.0);
    group.drain(before, false, 0).expect("the other one stays");
    let instructions = |group: &mut Group<Flow>| -> Vec<(Member, Instruction<Flow>)> {
        let commands = std::iter::from_fn(|| group.command());
        let sent = commands.filter_map(|command| match command {
            Command::Instruction { to, instruction } => Some((to, instruction)),
            Command::Write(_) => None,
        });
        sent.collect()
    };
    instructions(&mut group);
    let polled = |group: &mut Group<Flow>, now: u64| {
        group.poll(now);
        instructions(group)
    };
    let bucket = RowId::bucket(0);
    let pin = RowId { bucket: 0, pin: Some(9) };
    // The row, when it moves, and the flows that the server keeps.
    for (row, moved, kept) in [(bucket, 0, vec![(0, 9)]), (pin, 100, vec![])] {
        if row.pin.is_some() {
            group.report(before, Report::Ended { bucket: 0, flow: 9 }, moved);
        }
        assert_eq!(polled(&mut group, moved + 4), []);
        let asked = polled(&mut group, moved + 5);
        let [(to, Instruction::Settle { row: of, epoch, .. })] = asked.as_slice() else {
            panic!("{asked:?}")
        };
        let epoch = *epoch;
        assert_eq!((*to, of), (before, &row));
        assert_eq!(polled(&mut group, moved + 14), []);
        assert_eq!(polled(&mut group, moved + 15), asked);
        group.report(before, Report::Settled { row, epoch, kept }, moved + 20);
        let closes = instructions(&mut group);
        let [(to, Instruction::Close { row: of, epoch, .. })] = closes.as_slice() else {
            panic!("{closes:?}")
        };
        let epoch = *epoch;
        assert_eq!((*to, of), (after, &row));
        assert_eq!(polled(&mut group, moved + 29), []);
        assert_eq!(polled(&mut group, moved + 30), closes);
        group.report(after, Report::Closed { row, epoch }, moved + 31);
        assert_eq!(polled(&mut group, moved + 50), []);
        assert_eq!(group.pins().count(), usize::from(row.pin.is_none()));
    }
    assert!(group.is_steady());
}
