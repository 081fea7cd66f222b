//! Errors of writes, and profiles.

use base_bits::Bits;
use control_writes::Match;
use dataplane_tables::*;

fn field(kind: MatchKind, width: u32) -> Field {
    Field { kind, width }
}

fn one_table(fields: &[Field], size: u32) -> Control {
    let layout = KeyLayout::new(fields);
    let spec = TableSpec { layout, size, data_words: 1, profile: None, const_entries: false };
    Control::new(vec![spec], &[], 1)
}

fn drop_packet() -> Run {
    Run::Action(1, vec![])
}

#[test]
fn refuses_what_does_not_suit_the_key() {
    let fields = [field(MatchKind::Exact, 12), field(MatchKind::Lpm, 16), field(MatchKind::Exact, 4)];
    let layout = KeyLayout::new(&fields);
    let key = |matches: [Match; 3]| layout.entry_key(&matches, 0).map(|_| ());
    let exact = |width, value| Match::Exact(Bits::new(width, value));
    let good = Match::Lpm { value: Bits::new(16, 0x1200), prefix_len: 8 };
    assert_eq!(key([exact(12, 1), good.clone(), exact(4, 1)]), Ok(()));
    assert_eq!(key([exact(64, 4095), good.clone(), exact(4, 1)]), Ok(()));
    assert_eq!(key([exact(64, 4096), good.clone(), exact(4, 1)]), Err(KeyError::Width(0)));
    assert_eq!(key([Match::Any, good.clone(), exact(4, 1)]), Err(KeyError::Kind(0)));
    let long = Match::Lpm { value: Bits::new(16, 0), prefix_len: 17 };
    assert_eq!(key([exact(12, 1), long, exact(4, 1)]), Err(KeyError::Width(1)));
    let holes = Match::Ternary { value: Bits::new(16, 0), mask: Bits::new(16, 0xf0f0) };
    assert_eq!(key([exact(12, 1), holes, exact(4, 1)]), Err(KeyError::NoPrefix(1)));
    assert_eq!(layout.entry_key(&[exact(12, 1)], 0), Err(KeyError::Length));
    assert_eq!(layout.entry_key(&[exact(12, 1), good, exact(4, 1)], 3), Err(KeyError::Priority));
    let mut control = one_table(&fields, 10);
    let bad = EntryKey { value: vec![1 << 40], mask: vec![u64::MAX], priority: 0 };
    assert!(matches!(control.insert(0, &bad, &drop_packet()), Err(WriteError::Key(_))));
    let range = KeyLayout::new(&[field(MatchKind::Range { signed: true }, 8)]);
    let bounds = |lo, hi| Match::Range { lo: Bits::new(8, lo), hi: Bits::new(8, hi) };
    assert_eq!(range.entry_key(&[bounds(0x80, 0x7f)], 0).map(|_| ()), Ok(()));
    assert_eq!(range.entry_key(&[bounds(0x7f, 0x80)], 0), Err(KeyError::EmptyRange(0)));
}

#[test]
fn tables_without_keys_only_have_a_default() {
    let mut control = one_table(&[], 10);
    let mut tables = Tables::new(&control);
    assert_eq!(control.insert(0, &EntryKey::default(), &drop_packet()), Err(WriteError::NoKeys));
    control.set_default(0, &Run::Action(5, vec![6])).unwrap();
    tables.publish(&mut control);
    assert_eq!(tables.table(0).lookup(&[]), MISS);
    assert_eq!(tables.table(0).records().action(MISS)[..2], [5, 6]);
    assert_eq!(control.default_run(0), Run::Action(5, vec![6]));
}

#[test]
fn constant_entries_stay() {
    let layout = KeyLayout::new(&[field(MatchKind::Ternary, 8)]);
    let spec = |const_entries| TableSpec {
        layout: layout.clone(),
        size: 4,
        data_words: 0,
        profile: None,
        const_entries,
    };
    let mut control = Control::new(vec![spec(true), spec(false)], &[], 1);
    let mut tables = Tables::new(&control);
    let key = |value, priority| EntryKey { value: vec![value], mask: vec![0xff], priority };
    for table in 0..2 {
        let number = control.insert_const(table, &key(1, 0), &drop_packet()).unwrap();
        tables.publish(&mut control);
        assert_eq!(control.modify(table, &key(1, 0), &drop_packet()), Err(WriteError::Constant));
        assert_eq!(control.delete(table, &key(1, 0)), Err(WriteError::Constant));
        control.clear(table);
        tables.publish(&mut control);
        assert_eq!(tables.table(table).lookup(&[1]), number);
    }
    assert_eq!(control.insert(0, &key(2, 0), &drop_packet()), Err(WriteError::Constant));
    assert!(control.insert(1, &key(2, 0), &drop_packet()).is_ok());
}

#[test]
fn a_write_that_is_refused_changes_nothing() {
    let mut control = one_table(&[field(MatchKind::Exact, 8)], 1);
    let mut tables = Tables::new(&control);
    let key = |value| EntryKey { value: vec![value], mask: vec![0xff], priority: 0 };
    let number = control.insert(0, &key(1), &Run::Action(1, vec![7])).unwrap();
    tables.publish(&mut control);
    assert_eq!(control.insert(0, &key(1), &Run::Action(2, vec![8])), Err(WriteError::Duplicate));
    assert_eq!(control.insert(0, &key(2), &Run::Action(2, vec![8])), Err(WriteError::Full(1)));
    assert_eq!(control.modify(0, &key(2), &Run::Action(2, vec![8])), Err(WriteError::NotFound));
    assert_eq!(control.modify(0, &key(1), &Run::Action(2, vec![8, 9])), Err(WriteError::Data));
    assert_eq!(control.modify(0, &key(1), &Run::Member(1)), Err(WriteError::Profile));
    tables.publish(&mut control);
    assert_eq!(control.entries(0).count(), 1);
    assert_eq!(control.find(0, &key(1)), Some(number));
    assert_eq!(tables.table(0).records().action(number)[..2], [1, 7]);
}

/// The profile's members and groups come and go with the tables' entries, in one publication.
#[test]
fn profiles_are_used_and_counted() {
    let layout = KeyLayout::new(&[field(MatchKind::Exact, 8)]);
    let spec = TableSpec { layout, size: 9, data_words: 0, profile: Some(0), const_entries: false };
    let profile = ProfileSpec { size: 4, max_group_weight: 5, data_words: 1, spread: Some(Spread::InOrder) };
    let mut control = Control::new(vec![spec], &[profile], 1);
    let mut tables = Tables::new(&control);
    let key = |value| EntryKey { value: vec![value], mask: vec![0xff], priority: 0 };
    assert_eq!(control.insert(0, &key(1), &Run::Member(0)), Err(WriteError::NoMember(0)));
    assert_eq!(control.insert(0, &key(1), &Run::Action(0, vec![])), Err(WriteError::Profile));
    let members: Vec<u32> = (0..3).map(|i| control.add_member(0, 4, &[i]).unwrap()).collect();
    assert_eq!(members, [0, 1, 2]);
    let group =
        control.add_group(0, &[Weighted::one(2), Weighted { weight: 2, ..Weighted::one(0) }]).unwrap();
    assert_eq!(control.add_group(0, &[Weighted::one(3)]), Err(WriteError::NoMember(3)));
    assert_eq!(control.add_group(0, &[Weighted { weight: 6, ..Weighted::one(0) }]), Err(WriteError::Weight));
    control.insert(0, &key(1), &Run::Member(1)).unwrap();
    let number = control.insert(0, &key(2), &Run::Group(group)).unwrap();
    tables.publish(&mut control);
    assert_eq!(tables.table(0).records().action(number)[0], action_word::GROUP | u64::from(group));
    let chosen: Vec<_> = (0..6).map(|hash| tables.profile(0).choose(group, hash)).collect();
    assert_eq!(chosen, [0, 0, 2, 0, 0, 2].map(Some));
    assert_eq!(tables.profile(0).members().action(2)[..2], [4, 2]);

    for member in [0, 1, 2] {
        assert_eq!(control.delete_member(0, member), Err(WriteError::InUse));
    }
    assert_eq!(control.delete_group(0, group), Err(WriteError::InUse));
    control.delete(0, &key(1)).unwrap();
    control.delete_member(0, 1).unwrap();
    control.modify(0, &key(2), &Run::Member(2)).unwrap();
    control.delete_group(0, group).unwrap();
    assert_eq!(control.delete_member(0, 2), Err(WriteError::InUse));
    control.delete_member(0, 0).unwrap();
    tables.publish(&mut control);
    assert_eq!(tables.profile(0).choose(group, 1), None);

    // Member 2 is left of four.
    let set = [(4, &[7u64][..], 1, None), (4, &[8][..], 2, Some(3)), (4, &[9][..], 1, None)];
    let one_shot = control.add_one_shot(0, &set).unwrap();
    assert_eq!(control.add_one_shot(0, &set[..1]), Err(WriteError::Full(4)));
    control.insert(0, &key(5), &Run::Group(one_shot)).unwrap();
    tables.publish(&mut control);
    let data = |tables: &Tables, hash| {
        let profile = tables.profile(0);
        profile.choose(one_shot, hash).map(|member| profile.members().action(member)[1])
    };
    assert_eq!((0..4).map(|h| data(&tables, h)).collect::<Vec<_>>(), [7, 8, 8, 9].map(Some));
    control.set_port(3, false);
    tables.publish(&mut control);
    assert_eq!((0..4).map(|h| data(&tables, h)).collect::<Vec<_>>(), [7, 9, 7, 9].map(Some));
    control.set_port(3, true);
    control.delete(0, &key(5)).unwrap();
    assert_eq!(control.members_and_groups(0), (vec![2], vec![]));
}

/// With stable slots the flows of a member that goes are the only ones that move, and shares follow the weights.
#[test]
fn stable_groups_move_few_flows() {
    let profile =
        ProfileSpec { size: 10, max_group_weight: 20, data_words: 0, spread: Some(Spread::Stable(1024)) };
    let mut control = Control::new(vec![], &[profile], 1);
    let mut tables = Tables::new(&control);
    for _ in 0..5 {
        control.add_member(0, 1, &[]).unwrap();
    }
    let member = |member, weight| Weighted { weight, ..Weighted::one(member) };
    let all: Vec<_> = (0..4).map(|m| member(m, 1 + u32::from(m == 3))).collect();
    let group = control.add_group(0, &all).unwrap();
    tables.publish(&mut control);
    let slots =
        |tables: &Tables| (0..1024).map(|h| tables.profile(0).choose(group, h).unwrap()).collect::<Vec<_>>();
    let before = slots(&tables);
    let share = |slots: &[u32], member| slots.iter().filter(|m| **m == member).count();
    assert!((0..3).all(|m| (150..260).contains(&share(&before, m))), "about a fifth");
    assert!((340..480).contains(&share(&before, 3)), "about two fifths");
    control.modify_group(0, group, &[all[0], all[2], all[3]]).unwrap();
    tables.publish(&mut control);
    let without = slots(&tables);
    assert!(before.iter().zip(&without).all(|(b, w)| b == w || *b == 1));
    control.modify_group(0, group, &[all.as_slice(), &[member(4, 1)]].concat()).unwrap();
    tables.publish(&mut control);
    let with = slots(&tables);
    assert!(before.iter().zip(&with).all(|(b, w)| b == w || *w == 4));
    assert!(share(&with, 4) > 100);
}
