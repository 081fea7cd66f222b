//! Hit rate under Zipf's law, and the store against a model.

use crate::support;

use base_time::{Rng, Zipf};
use dataplane_api::FrameExtern;
use netfn_cache::KvCache;
use std::collections::BTreeMap;
use support::*;

/// 10,000 keys of 8 bytes with values of 512, 1,000 entries. A cache that knew all frequencies could answer 76.5 %.
#[test]
fn two_of_three_requests_are_answered() {
    let (mut cache, mut server) = (KvCache::new(1000, None), Server::default());
    for n in 0..10_000 {
        server.serve(&format!("set {n:08} 0 0 512\r\n{n:0512}\r\n"), ms(0));
    }
    let (zipf, mut rng) = (Zipf::new(10_000, 1000), Rng::new(1));
    let mut hits = 0;
    for round in 0..150_000u32 {
        let n = zipf.draw(&mut rng);
        let text_of = format!("get {n:08}\r\n");
        let id = round as u16;
        match cache.process(&request(1, id, &text_of), ms(0)) {
            Some(frame) => {
                hits += u32::from(round >= 50_000);
                assert_eq!(text(&frame), format!("VALUE {n:08} 0 512\r\n{n:0512}\r\nEND\r\n"));
            }
            None => {
                let reply = server.serve(&text_of, ms(0)).unwrap();
                cache.process(&answer(1, id, &reply), ms(0));
            }
        }
    }
    assert!(hits >= 66_000, "{hits} of 100,000");
}

/// One client after the other: the cache answers what the server would, whatever is asked.
#[test]
fn a_quiet_network_is_like_no_cache() {
    let mut hits = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut cache = KvCache::new(rng.between(1, 12) as usize, None);
        let (mut server, mut alone) = (Server::default(), Server::default());
        let mut now = 0;
        for id in 0..600u16 {
            now += rng.below(300);
            let keys = ["a", "b", "longer", "x:1", "x:2", "q", "r", "s", "t", "u", "v", "w"];
            let mut key = || (*rng.pick(&keys).unwrap()).to_string();
            let (one, two) = (key(), key());
            let value = "v".repeat(rng.index(5));
            let seconds = if rng.chance(1, 4) { rng.below(6) } else { 0 };
            let text_of = match rng.below(14) {
                0..=4 => format!("get {one}\r\n"),
                5 => format!("gets {one}\r\n"),
                6 => format!("get {one}  {two} {one}\r\n"),
                7 | 8 => format!("set {one} {id} {seconds} {}\r\n{value}\r\n", value.len()),
                9 => format!("add {one} 1 0 {}\r\n{value}\r\n", value.len()),
                10 => format!("replace {one} 2 {seconds} {} noreply\r\n{value}\r\n", value.len()),
                11 => format!("cas {one} 3 0 {} {}\r\n{value}\r\n", value.len(), rng.below(200)),
                12 => format!("delete {one}\r\n"),
                _ => format!("touch {one} {seconds}\r\n"),
            };
            let text_of = text_of.replace("  ", " ");
            let wanted = alone.serve(&text_of, ms(now));
            let reply = match cache.process(&request(1, id, &text_of), ms(now)) {
                Some(frame) => {
                    hits += 1;
                    Some(text(&frame))
                }
                None => {
                    let reply = server.serve(&text_of, ms(now));
                    reply.iter().for_each(|reply| drop(cache.process(&answer(1, id, reply), ms(now))));
                    reply
                }
            };
            assert_eq!(reply, wanted, "seed {seed}: {text_of}");
        }
    }
    assert!(hits > 3000, "{hits}");
}

/// Many keys, few entries: nothing is found under a wrong key, and memory stays as it is.
#[test]
fn keys_do_not_get_mixed_up() {
    let mut rng = Rng::new(7);
    let mut cache = KvCache::new(16, None);
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut most = 0;
    for id in 0..20_000u32 {
        let key = format!("{}", rng.below(64));
        if rng.chance(1, 3) {
            let value = format!("{id}");
            cache.process(
                &request(1, id as u16, &format!("set {key} 0 0 {}\r\n{value}\r\n", value.len())),
                ms(0),
            );
            cache.process(&answer(1, id as u16, "STORED\r\n"), ms(0));
            values.insert(key, value);
        } else if let Some(frame) = cache.process(&request(1, id as u16, &format!("get {key}\r\n")), ms(0)) {
            let value = &values[&key];
            assert_eq!(text(&frame), format!("VALUE {key} 0 {}\r\n{value}\r\nEND\r\n", value.len()));
        } else {
            let reply = values.get(&key).map(|v| format!("VALUE {key} 0 {}\r\n{v}\r\n", v.len()));
            cache.process(&answer(1, id as u16, &(reply.unwrap_or_default() + "END\r\n")), ms(0));
        }
        if id % 2000 == 0 {
            most = most.max(cache.snapshot().len());
        }
    }
    assert!(cache.counted().hits > 2000 && most < 20_000, "{:?}, {most}", cache.counted());
}
