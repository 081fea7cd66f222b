//! Batches that share a commit, and what is read back.

use base_time::Rng;
use p4runtime_proto::p4::v1::{
    ActionProfileGroup, ActionProfileMember, Entity, ForwardingPipelineConfig, RegisterEntry, TableEntry,
    entity::Entity as Kind,
};
use p4runtime_proto::p4rack::v1::MergeRow;
use state_journal::{Batch, FORMAT, Kept, MERGE_ROWS, Notes, Unreadable};
use std::collections::BTreeMap;

fn entity(rng: &mut Rng) -> (Entity, Entity) {
    let (id, metadata) = (1 + rng.below(4) as u32, vec![rng.below(256) as u8]);
    let query = TableEntry { table_id: id, ..TableEntry::default() };
    let both = match rng.below(4) {
        0 => [Kind::TableEntry(query.clone()), Kind::TableEntry(TableEntry { metadata, ..query })],
        1 => [id, 9].map(|member_id| {
            Kind::ActionProfileMember(ActionProfileMember { member_id, ..ActionProfileMember::default() })
        }),
        2 => [id, 9].map(|group_id| {
            Kind::ActionProfileGroup(ActionProfileGroup { group_id, ..ActionProfileGroup::default() })
        }),
        _ => [id, 9].map(|register_id| {
            Kind::RegisterEntry(RegisterEntry { register_id, ..RegisterEntry::default() })
        }),
    };
    let [query, now] = both.map(|kind| Entity { entity: Some(kind) });
    (query, now)
}

fn batch(rng: &mut Rng, is_first: bool) -> Batch {
    let mut notes = Notes::default();
    for _ in 0..rng.below(5) {
        let (query, now) = entity(rng);
        notes.note(query, (rng.below(3) > 0).then_some(now));
    }
    let program = (is_first || rng.below(8) == 0).then(|| ForwardingPipelineConfig {
        p4_device_config: vec![rng.below(256) as u8].into(),
        ..ForwardingPipelineConfig::default()
    });
    Batch { program, rows: notes.rows(|_| ()) }
}

/// However many batches share a commit, after each commit the state is that after its last batch: a crash at any point leaves the state
/// after an acknowledged batch, or after one whose acknowledgement was about to leave.
#[test]
fn batches_that_share_a_commit_are_done_in_order() {
    for seed in 0..1000 {
        let mut rng = Rng::new(seed);
        let batches: Vec<Batch> = (0..=rng.below(12)).map(|index| batch(&mut rng, index == 0)).collect();
        let (mut one_by_one, mut together, mut gathered) =
            (Kept::default(), Kept::default(), Batch::default());
        for batch in batches {
            one_by_one.follow(&batch);
            gathered.follow(batch);
            if rng.below(2) == 0 {
                together.follow(&std::mem::take(&mut gathered));
                assert_eq!(together, one_by_one, "seed {seed}");
            }
        }
    }
}

/// Entities come before those that refer to them.
#[test]
fn entities_come_back_in_an_order_in_which_they_can_be_written() {
    let mut notes = Notes::default();
    let mut rng = Rng::new(1);
    (0..64).map(|_| entity(&mut rng)).for_each(|(query, now)| notes.note(query, Some(now)));
    let mut kept = Kept::default();
    let program = Some(ForwardingPipelineConfig::default());
    kept.follow(&Batch { program, rows: notes.rows(|_| ()) });
    let rank = |entity: &Entity| match &entity.entity {
        Some(Kind::ActionProfileMember(_)) => 0,
        Some(Kind::ActionProfileGroup(_)) => 1,
        Some(Kind::TableEntry(_)) => 2,
        _ => 3,
    };
    let state = kept.state().unwrap().unwrap();
    assert_eq!(state.entities.len(), 16);
    assert!(state.entities.is_sorted_by_key(rank));
}

#[test]
fn other_forms_and_damaged_rows_are_refused() {
    let kept = |format: &str, row: &[u8]| Kept {
        format: format.to_string(),
        program: vec![],
        rows: [(vec![2], row.to_vec())].into(),
    };
    assert_eq!(Kept::default().state(), Ok(None));
    assert!(matches!(kept(FORMAT, &[]).state(), Ok(Some(_))));
    assert_eq!(kept("p4rack state 2", &[]).state(), Err(Unreadable::Version("p4rack state 2".to_string())));
    assert_eq!(kept("", &[]).state(), Err(Unreadable::Foreign));
    assert!(matches!(kept(FORMAT, &[0xff]).state(), Err(Unreadable::Row(_))));
}

/// Rows of the merge are no entities: they come back as they are, and go with the program that they are about.
#[test]
fn rows_of_the_merge_are_kept_apart() {
    let mut notes = Notes::default();
    let (query, now) = entity(&mut Rng::new(1));
    notes.note(query, Some(now));
    let mut rows = notes.rows(|_| ());
    rows.insert(vec![MERGE_ROWS, 7], Some(vec![0xff, 1]));
    let program = || Some(ForwardingPipelineConfig::default());
    let mut kept = Kept::default();
    kept.follow(&Batch { program: program(), rows });
    let state = kept.state().unwrap().unwrap();
    assert_eq!(state.entities.len(), 1);
    assert_eq!(state.merged, [MergeRow { key: vec![MERGE_ROWS, 7], value: vec![0xff, 1] }]);
    kept.follow(&Batch { program: program(), rows: BTreeMap::new() });
    assert_eq!(kept.state().unwrap().unwrap().merged, []);
}
