//! Every system with the same small jobs.

use base_time::{Duration, Time};
use reduce_compared::daiet::Collision;
use reduce_compared::{Data, Links, Mode, Outcome, Shape, Trial};

const GBIT: u64 = 1_000_000_000;

const PUBLISHED: Mode = Mode::Daiet { collision: Collision::Overwrites, is_paced: true };
const DAIET: Mode = Mode::Daiet { collision: Collision::Overflows, is_paced: true };
const BLIND: Mode = Mode::Daiet { collision: Collision::Overflows, is_paced: false };
const PRINTED: Mode = Mode::Printed { is_repaired: false };
const REPAIRED: Mode = Mode::Printed { is_repaired: true };

fn shape(mappers: u16, has_two_tiers: bool) -> Shape {
    Shape { mappers, per_host: 1, has_two_tiers }
}

fn words(mappers: u16) -> Data {
    Data::words(mappers, 20_000, 1 << 20, 1000, 3)
}

fn trial(data: &Data, has_two_tiers: bool) -> Trial<'_> {
    let shape = shape(data.pairs.len() as u16, has_two_tiers);
    Trial { data, shape, links: Links::of(GBIT), slots: 2048, restarts: vec![] }
}

fn exact(trial: &Trial<'_>, mode: Mode) -> Outcome {
    let outcome = trial.run(mode).expect("the job fits");
    assert!(outcome.time.is_some() && outcome.wrong == 0, "{mode:?}: {outcome:?}");
    outcome
}

#[test]
fn all_but_the_published_daiet_are_exact_if_nothing_is_lost() {
    for has_two_tiers in [false, true] {
        let data = words(6);
        let trial = trial(&data, has_two_tiers);
        let plain = exact(&trial, Mode::Plain);
        assert_eq!(plain.pairs, data.sum());
        let hadoop = exact(&trial, Mode::Hadoop);
        assert_eq!(hadoop.pairs, data.sum());
        for mode in [DAIET, PRINTED, REPAIRED, Mode::Pipeline, Mode::Software] {
            let outcome = exact(&trial, mode);
            assert!(outcome.pairs < data.sum() && outcome.pairs >= data.distinct(), "{mode:?}: {outcome:?}");
        }
        let published = trial.run(PUBLISHED).expect("the job fits");
        assert!(published.time.is_some() && published.wrong > 1000, "{published:?}");
        assert!(published.pairs <= 2048, "every slot once: {published:?}");
    }
}

/// Each row of the far switch is a packet on the reducer's link.
#[test]
fn two_tiers_have_fewer_rounds_and_save_bytes() {
    let data = Data::words(12, 40_000, 1 << 20, 1000, 3);
    let [one, two] = [false, true].map(|tiers| exact(&trial(&data, tiers), Mode::Pipeline));
    let plain = exact(&trial(&data, true), Mode::Plain);
    assert!(two.rounds > 1 && two.rounds * 2 < one.rounds, "{one:?}, {two:?}");
    assert!(two.to.bytes < plain.to.bytes, "{plain:?}, {two:?}");
}

/// Mappers that send without an answer fill the queue of the reducer's link.
#[test]
fn daiet_without_pacing_loses_packets_and_is_wrong() {
    let data = Data::words(12, 100_000, 1 << 22, 1000, 3);
    let blind = trial(&data, false).run(BLIND).expect("the job fits");
    assert!(blind.lost > 100 && blind.wrong > 1000, "{blind:?}");
}

#[test]
fn losses_change_no_result_of_agg_and_end_the_others() {
    let data = words(6);
    let mut trial = trial(&data, false);
    trial.links.loss_ppm = 5000;
    for mode in [Mode::Plain, Mode::Hadoop, Mode::Pipeline, Mode::Software] {
        assert!(exact(&trial, mode).lost > 0);
    }
    let daiet = trial.run(DAIET).expect("the job fits");
    assert!(daiet.wrong > 0, "{daiet:?}");
    let printed = trial.run(PRINTED).expect("the job fits");
    assert_eq!(printed.time, None, "a lost packet or acknowledgement stops its mapper for ever");
    let repaired = trial.run(REPAIRED).expect("the job fits");
    assert!(repaired.time.is_some() && repaired.wrong > 0, "{repaired:?}");
}

#[test]
fn a_restart_of_the_switch_changes_no_result_of_agg_and_loses_the_others() {
    let data = words(6);
    for has_two_tiers in [false, true] {
        let mut trial = trial(&data, has_two_tiers);
        for mode in [Mode::Pipeline, Mode::Software] {
            let before = exact(&trial, mode);
            // While pairs travel: the texts of keys come after them.
            trial.restarts = vec![(Time::ZERO + before.sent.scaled(1, 2), trial.shape.switches() - 1)];
            let after = exact(&trial, mode);
            assert!(after.time > before.time, "{mode:?}: {after:?} after {before:?}");
            trial.restarts.clear();
        }
        trial.restarts = vec![(Time::ZERO + Duration::from_us(200), trial.shape.switches() - 1)];
        for mode in [DAIET, PRINTED] {
            let outcome = trial.run(mode).expect("the job fits");
            assert!(outcome.wrong > 0, "{mode:?}: {outcome:?}");
        }
    }
}

#[test]
fn arrays_are_summed_by_all() {
    let data = Data::gradients(6, 5000, 1);
    for has_two_tiers in [false, true] {
        let mut trial = trial(&data, has_two_tiers);
        trial.slots = 6144;
        let plain = exact(&trial, Mode::Hadoop);
        let switched = exact(&trial, Mode::SwitchMl);
        assert_eq!(switched.pairs, 5000);
        assert!(switched.to.bytes * 4 < plain.to.bytes, "{switched:?} {plain:?}");
        exact(&trial, Mode::Pipeline);
        let arrays = exact(&trial, Mode::Dense);
        assert_eq!(arrays.pairs, 5000);
        assert!(arrays.to.bytes * 4 < plain.to.bytes, "{arrays:?} {plain:?}");
        trial.links.loss_ppm = 5000;
        assert!(exact(&trial, Mode::Dense).lost > 0);
        let lossy = exact(&trial, Mode::SwitchMl);
        assert!(lossy.lost > 0, "{lossy:?}");
    }
    let error = trial(&words(3), false).run(Mode::SwitchMl).expect_err("words are no array");
    assert!(error.contains("arrays"), "{error}");
}

/// 625 results, of which about 12 are lost on the way to the reducer.
#[test]
fn a_result_of_switchml_that_is_lost_is_repeated() {
    let data = Data::gradients(4, 40_000, 1);
    for has_two_tiers in [false, true] {
        let mut trial = trial(&data, has_two_tiers);
        let usual = exact(&trial, Mode::SwitchMl);
        trial.links.loss_ppm = 20_000;
        let lossy = exact(&trial, Mode::SwitchMl);
        assert_eq!((usual.pairs, lossy.pairs), (40_000, 40_000));
        assert!(lossy.lost > 50 && lossy.time > usual.time, "{lossy:?} after {usual:?}");
        // Without losses the reducer's link carries every result once.
        assert_eq!(usual.to.packets, 625);
        assert!(lossy.to.packets > 625, "{lossy:?}");
    }
}

#[test]
fn a_slow_mapper_and_shared_hosts_change_times_and_not_results() {
    let data = words(6);
    let mut trial = trial(&data, false);
    let usual = exact(&trial, Mode::Software).time.expect("it ended");
    trial.links.slow = Some(0);
    let slow = exact(&trial, Mode::Software).time.expect("it ended");
    assert!(slow > usual.scaled(2, 1), "{slow} after {usual}");
    trial.links.slow = None;
    // All of them: the link of two mappers carries less than that of the reducer.
    trial.shape.per_host = 6;
    let shared = exact(&trial, Mode::Software).time.expect("it ended");
    assert!(shared > usual, "{shared} after {usual}");
}

/// The pairs that a switch leaves travel beside others, and no queue overflows. In such a small job, the reducer's link is idle until the slots are full.
#[test]
fn a_shuffle_is_nearly_as_fast_as_the_pairs_that_repeat_allow() {
    let data = Data::words(12, 156_250, 1 << 16, 1000, 7);
    let best = data.sum() as f64 / data.distinct() as f64;
    let trial = Trial { slots: 16_384, ..trial(&data, false) };
    let (plain, folded) = (exact(&trial, Mode::PlainWhole), exact(&trial, Mode::Software));
    assert_eq!((plain.lost, folded.lost), (0, 0));
    let times = |outcome: &Outcome| outcome.time.map_or(0, |time| time.as_ns()) as f64;
    let ratio = times(&plain) / times(&folded);
    assert!(best > 5.0 && ratio > 0.65 * best, "{ratio} of {best}: {plain:?} {folded:?}");
}

/// Goodput of a host, as a share of the bound of the format: pairs of a full packet of its bytes on a link.
fn goodput(trial: &Trial, mode: Mode) -> f64 {
    let (lanes, pair, packet) = if mode == Mode::Pipeline { (24, 10, 342) } else { (64, 22, 1522) };
    let outcome = exact(trial, mode);
    let hosts = u64::from(trial.shape.mappers / trial.shape.per_host);
    let bits = (trial.data.sum() / hosts * pair * 8) as f64;
    let bound = trial.links.rate as f64 * (lanes * pair) as f64 / packet as f64;
    bits / outcome.sent.as_ns() as f64 * 1e9 / bound
}

/// Keys that find slots: the mappers' links are busy, too.
#[test]
fn mappers_send_at_the_rate_of_their_links() {
    let data = Data { op: aggregate::Op::Max, is_dense: false, ..Data::gradients(3, 150_000, 7) };
    for (mode, lanes, least) in [(Mode::Pipeline, 24, 0.92), (Mode::Software, 64, 0.96)] {
        let links = Links::of(10 * GBIT);
        let trial = Trial { slots: lanes << 15, links, ..trial(&data, false) };
        let share = goodput(&trial, mode);
        assert!((least..1.0).contains(&share), "{mode:?}: {share}");
    }
}

/// With the slots of a switch pipeline, one mapper and two on each host: no round trip is lost between rounds, and few packets go to slots that have another key.
#[test]
fn mappers_send_at_the_rate_of_their_links_in_many_rounds() {
    for per_host in [1, 2] {
        let keys = 200_000 / u32::from(per_host);
        let data = Data { op: aggregate::Op::Max, is_dense: false, ..Data::gradients(3 * per_host, keys, 7) };
        let shape = Shape { mappers: 3 * per_host, per_host, has_two_tiers: false };
        let trial = Trial { slots: 24 << 13, links: Links::of(10 * GBIT), shape, ..trial(&data, false) };
        let share = goodput(&trial, Mode::Pipeline);
        assert!((0.92..1.0).contains(&share), "{per_host}: {share}");
    }
}
