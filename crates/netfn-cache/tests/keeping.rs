//! Admission, expiry and eviction of values.

use crate::support;

use base_time::{Duration, Time};
use netfn_cache::KvCache;
use support::{answer, ms, request, text};

/// A cache with a server behind it that has a value for every key.
struct Path {
    cache: KvCache,
    id: u16,
}

impl Path {
    fn new(entries: usize, max_age_ms: u64) -> Path {
        let max_age = (max_age_ms > 0).then(|| Duration::from_ms(max_age_ms));
        Path { cache: KvCache::new(entries, max_age), id: 0 }
    }

    /// Reads `key`; true if the cache answers.
    fn get(&mut self, key: &str, now: Time) -> bool {
        self.id += 1;
        let value = format!("VALUE {key} 0 1\r\nv\r\nEND\r\n");
        match self.cache.process(&request(1, self.id, &format!("get {key}\r\n")), now) {
            Some(frame) => {
                assert_eq!(text(&frame), value);
                true
            }
            None => {
                assert_eq!(self.cache.process(&answer(1, self.id, &value), now), None);
                false
            }
        }
    }

    /// Something that goes to the server, and its answer.
    fn ask(&mut self, text: &str, reply: &str, now: Time) {
        self.id += 1;
        assert_eq!(self.cache.process(&request(1, self.id, text), now), None);
        assert_eq!(self.cache.process(&answer(1, self.id, reply), now), None);
    }
}

#[test]
fn what_is_asked_for_once_displaces_nothing_that_is_asked_for_often() {
    let mut path = Path::new(4, 0);
    let often = ["a", "b", "c", "d"];
    for n in 0..80 {
        path.get(often[n % 4], ms(0));
    }
    for n in 0..200 {
        assert!(!path.get(&format!("once-{n}"), ms(0)));
        assert!(path.get(often[n % 4], ms(0)), "{n}");
    }
}

/// A key that nobody asks for any more makes place for one that is asked for now, long before that was asked for as often.
#[test]
fn what_was_asked_for_long_ago_counts_less() {
    let mut path = Path::new(1, 0);
    assert_eq!((0..1000).filter(|_| path.get("old", ms(0))).count(), 999);
    let asked = (1..).find(|_| path.get("new", ms(0)));
    assert!(asked.is_some_and(|asked| (10..150).contains(&asked)), "{asked:?}");
}

#[test]
fn what_has_ended_makes_place_at_once() {
    let mut path = Path::new(1, 0);
    path.ask("set a 0 5 1\r\nv\r\n", "STORED\r\n", ms(0));
    assert!((0..100).all(|_| path.get("a", ms(1))));
    assert!(!path.get("b", ms(2)) && !path.get("b", ms(2)), "it is asked for less than `a`");
    assert!(!path.get("b", ms(4000)) && path.get("b", ms(4000)));
}

/// A value seen again in an answer is stored for the full time again.
#[test]
fn a_value_that_is_seen_again_is_kept_again() {
    let mut path = Path::new(8, 10);
    assert!(!path.get("a", ms(0)) && path.get("a", ms(9)));
    assert!(!path.get("a", ms(10)) && path.get("a", ms(19)) && !path.get("a", ms(20)));
}

/// `flush_all 3`: until the server's clock has gone so far nothing may be kept, and what was is gone.
#[test]
fn nothing_is_kept_until_a_flush_is_over() {
    for (flushes, over) in [(&["flush_all 3\r\n"][..], 5000), (&["flush_all 3\r\n", "flush_all 1\r\n"], 5000)]
    {
        let mut path = Path::new(8, 0);
        path.ask("set a 0 0 1\r\nv\r\n", "STORED\r\n", ms(0));
        flushes.iter().for_each(|line| path.ask(line, "OK\r\n", ms(0)));
        for now in [1, 1000, 2999, 4000, over - 1] {
            assert!(!path.get("a", ms(now)) && !path.get("a", ms(now)), "{now}");
        }
        assert!(!path.get("a", ms(over)) && path.get("a", ms(over)));
    }
}

/// More keys than are followed: whatever the answer says, nothing is kept, and the rest is forgotten.
#[test]
fn a_read_of_very_many_keys_empties_the_cache() {
    for (count, fits) in [(64, true), (65, false)] {
        let mut path = Path::new(256, 0);
        path.ask("set other 0 0 1\r\nv\r\n", "STORED\r\n", ms(0));
        let names: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        let values: String = names.iter().map(|name| format!("VALUE {name} 0 1\r\nv\r\n")).collect();
        path.ask(&format!("get {}\r\n", names.join(" ")), &(values + "END\r\n"), ms(0));
        // Some share a stamp, which keeps them out.
        assert!(if fits { 50..=65 } else { 1..=1 }.contains(&path.cache.counted().kept));
        assert_eq!(path.get("other", ms(0)), fits);
    }
}
