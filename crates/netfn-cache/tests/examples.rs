//! Requests and answers by hand.

use crate::support;

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{Emitter, FrameExtern, Registry};
use expect_test::expect;
use netfn_cache::KvCache;
use support::*;

/// A client's request; if it is not answered, the server does. Tells by whom.
fn ask(cache: &mut KvCache, server: &mut Server, text_of: &str, now: Time) -> String {
    let request = request(1, 9, text_of);
    if let Some(answer) = cache.process(&request, now) {
        assert_eq!(answer[..12], [&request[6..12], &request[..6]].concat());
        assert_eq!(answer[26..34], [&request[30..34], &request[26..30]].concat());
        assert_eq!(answer[34..38], [&request[36..38], &request[34..36]].concat());
        return format!("cache: {}", text(&answer).replace("\r\n", " "));
    }
    let Some(text) = server.serve(text_of, now) else { return "server: nothing".into() };
    assert_eq!(cache.process(&answer(1, 9, &text), now), None);
    format!("server: {}", text.replace("\r\n", " "))
}

/// The answers to all of `requests`, a line each.
fn session(cache: &mut KvCache, requests: &[&str]) -> String {
    let mut server = Server::default();
    let lines = requests.iter().map(|request| {
        let (at, request) = request.split_once(": ").unwrap_or(("0", request));
        ask(cache, &mut server, &request.replace('|', "\r\n"), ms(at.parse().unwrap())) + "\n"
    });
    lines.collect()
}

#[test]
fn reads_are_answered_from_values_that_passed() {
    let reply = session(
        &mut KvCache::new(8, None),
        &[
            "get a|",
            "set a 5 0 3|foo|",
            "get a|",
            "gets a|",
            "gets a|",
            "get a|",
            "get a b|",
            "set b 0 0 0||",
            "get a b a|",
            "gets b a|",
            "delete a|",
            "get a|",
            "get b|",
            "add b 0 0 1|x|",
            "get b|",
            "get b|",
            "replace b 4294967295 0 1|y|",
            "get b|",
        ],
    );
    expect![[r#"
        server: END 
        server: STORED 
        cache: VALUE a 5 3 foo END 
        server: VALUE a 5 3 1 foo END 
        cache: VALUE a 5 3 1 foo END 
        cache: VALUE a 5 3 foo END 
        server: VALUE a 5 3 foo END 
        server: STORED 
        cache: VALUE a 5 3 foo VALUE b 0 0  VALUE a 5 3 foo END 
        server: VALUE b 0 0 2  VALUE a 5 3 1 foo END 
        server: DELETED 
        server: END 
        cache: VALUE b 0 0  END 
        server: NOT_STORED 
        server: VALUE b 0 0  END 
        cache: VALUE b 0 0  END 
        server: STORED 
        cache: VALUE b 4294967295 1 y END 
    "#]]
    .assert_eq(&reply);
}

#[test]
fn values_with_an_end_of_life_end_in_time() {
    let reply = session(
        &mut KvCache::new(8, None),
        &[
            "900: set a 0 5 1|a|",
            "1000: get a|",
            "3899: get a|",
            "3900: get a|",
            "4000: get a|",
            "6000: get a|",
            "6000: set a 0 2 1|b|",
            "6001: get a|",
            "7000: touch a 9|",
            "7001: get a|",
            "7002: get a|",
            "7003: set a 0 0 1|c|",
            "7004: get a|",
            "7005: set a 0 2592001 1|d|",
            "7006: get a|",
        ],
    );
    expect![[r#"
        server: STORED 
        cache: VALUE a 0 1 a END 
        cache: VALUE a 0 1 a END 
        server: VALUE a 0 1 a END 
        server: VALUE a 0 1 a END 
        server: END 
        server: STORED 
        server: VALUE a 0 1 b END 
        server: TOUCHED 
        server: VALUE a 0 1 b END 
        server: VALUE a 0 1 b END 
        server: STORED 
        cache: VALUE a 0 1 c END 
        server: STORED 
        server: VALUE a 0 1 d END 
    "#]]
    .assert_eq(&reply);
    let mut short = KvCache::new(8, Some(Duration::from_ms(10)));
    let reply = session(
        &mut short,
        &[
            "0: get a|",
            "0: set a 0 0 1|a|",
            "50: get b|",
            "50: delete a|",
            "50: add a 0 0 1|a|",
            "60: gets a|",
            "69: gets a|",
            "70: gets a|",
        ],
    );
    assert!(
        reply.ends_with(
            "server: VALUE a 0 1 2 a END \ncache: VALUE a 0 1 2 a END \nserver: VALUE a 0 1 2 a END \n"
        ),
        "{reply}"
    );
}

#[test]
fn what_is_not_understood_empties_the_cache() {
    for odd in [
        "incr a 1 2 3|",
        "mg a v|",
        "set a 0 0 1|a|get a|",
        "set a 0 0 9|a|",
        "flush_all|",
        "flush_all 1|",
        "flush_all -1|",
        "\u{80}",
    ] {
        let reply = session(&mut KvCache::new(8, None), &["set b 0 0 1|b|", "get b|", odd, "get b|"]);
        let lines: Vec<&str> = reply.lines().collect();
        assert!(
            lines[1].starts_with("cache") && lines.last().unwrap().starts_with("server"),
            "{odd}: {reply}"
        );
    }
    for harmless in ["version|", "stats|", "get c|", "delete c|", "touch c 1|", "delete c 0 noreply|"] {
        let reply = session(&mut KvCache::new(8, None), &["set b 0 0 1|b|", harmless, "get b|"]);
        assert!(reply.lines().last().unwrap().starts_with("cache"), "{harmless}: {reply}");
    }
    let filled = || {
        let mut cache = KvCache::new(8, None);
        session(&mut cache, &["set b 0 0 1|b|"]);
        cache
    };
    let is_kept = |cache: &mut KvCache| cache.process(&request(1, 3, "get b\r\n"), ms(1)).is_some();
    // A fragment, an answer to nobody's request.
    let mut fragment = request(1, 4, "set b 0 0 1\r\nc\r\n");
    fragment[20] |= 0x20;
    let checksum = u16::from_be_bytes([fragment[24], fragment[25]]).wrapping_sub(0x2000);
    fragment[24..26].copy_from_slice(&checksum.to_be_bytes());
    for odd in [fragment, answer(1, 77, "STORED\r\n")] {
        let mut cache = filled();
        cache.process(&odd, ms(0));
        assert!(!is_kept(&mut cache));
    }
    // A frame that no receiver accepts is no evidence.
    let mut broken = request(1, 4, "set b 0 0 1\r\nc\r\n");
    *broken.last_mut().unwrap() ^= 1;
    let mut cache = filled();
    cache.process(&broken, ms(0));
    assert!(is_kept(&mut cache));
}

/// Messages that overtake one another: what is kept must never be older than what somebody knows.
#[test]
fn nothing_old_is_kept() {
    let mut cache = KvCache::new(8, None);
    let pass = |cache: &mut KvCache, frame: &[u8]| assert_eq!(cache.process(frame, ms(0)), None);
    let is_kept = |cache: &mut KvCache| {
        let kept = cache.process(&request(9, 99, "get a\r\n"), ms(0));
        pass(cache, &answer(9, 99, "ERROR\r\n"));
        kept.map(|frame| text(&frame))
    };
    // A read goes on, a change passes and is answered, then the read's answer comes.
    pass(&mut cache, &request(1, 1, "get a\r\n"));
    pass(&mut cache, &request(2, 1, "set a 0 0 1\r\n2\r\n"));
    pass(&mut cache, &answer(2, 1, "STORED\r\n"));
    pass(&mut cache, &answer(1, 1, "VALUE a 0 1\r\n1\r\nEND\r\n"));
    assert_eq!(is_kept(&mut cache), None);
    // Two changes at once: nobody knows which was last.
    pass(&mut cache, &request(1, 2, "set a 0 0 1\r\n3\r\n"));
    pass(&mut cache, &request(2, 2, "set a 0 0 1\r\n4\r\n"));
    pass(&mut cache, &answer(2, 2, "STORED\r\n"));
    pass(&mut cache, &answer(1, 2, "STORED\r\n"));
    assert_eq!(is_kept(&mut cache), None);
    // A change that the server refused.
    pass(&mut cache, &request(1, 3, "add a 0 0 1\r\n5\r\n"));
    pass(&mut cache, &answer(1, 3, "NOT_STORED\r\n"));
    assert_eq!(is_kept(&mut cache), None);
    // Two reads, whose answers differ: a change without an answer came between.
    pass(&mut cache, &request(1, 4, "get a\r\n"));
    pass(&mut cache, &request(2, 4, "get a\r\n"));
    pass(&mut cache, &answer(2, 4, "VALUE a 0 1\r\n7\r\nEND\r\n"));
    pass(&mut cache, &answer(1, 4, "VALUE a 0 1\r\n6\r\nEND\r\n"));
    assert_eq!(is_kept(&mut cache), None);
    // The same id twice: the answers may be of either.
    pass(&mut cache, &request(1, 5, "get a\r\n"));
    pass(&mut cache, &request(1, 5, "get b\r\n"));
    pass(&mut cache, &answer(1, 5, "VALUE a 0 1\r\n6\r\nEND\r\n"));
    assert_eq!(is_kept(&mut cache), None);
    // Not visible before the server has accepted it.
    pass(&mut cache, &request(1, 6, "set a 0 0 1\r\n8\r\n"));
    assert_eq!(cache.process(&request(2, 6, "get a\r\n"), ms(0)), None);
    pass(&mut cache, &answer(2, 6, "VALUE a 0 1\r\n7\r\nEND\r\n"));
    pass(&mut cache, &answer(1, 6, "STORED\r\n"));
    assert_eq!(
        cache.process(&request(2, 7, "get a\r\n"), ms(0)).map(|frame| text(&frame)),
        None,
        "the read's answer came between"
    );
}

#[test]
fn memory_moves_and_wrong_arguments_are_refused() {
    let mut registry = Registry::default();
    netfn_cache::register(&mut registry);
    let make = |entries: u128| registry.get("kv-cache").unwrap()(&[Bits::new(32, entries), Bits::new(48, 0)]);
    assert_eq!(make(0).err().unwrap().0, "`entries` of `kv-cache` is 1 to 1048576, and not 0");
    let mut cache = KvCache::new(3, None);
    session(&mut cache, &["set a 0 0 1|a|", "set b 0 0 1|b|", "delete a|", "gets c|", "set d 0 0 1|d|"]);
    cache.process(&request(3, 1, "set e 0 7 1\r\ne\r\n"), ms(0));
    cache.process(&request(3, 2, "get f g\r\n"), ms(0));
    let bytes = cache.snapshot();
    let mut other = make(3).unwrap();
    other.restore(&bytes).unwrap();
    assert_eq!(other.snapshot(), bytes);
    let mut out = Emitter::default();
    other.call("process", &[], &request(1, 9, "get b\r\n"), ms(0), &mut out);
    let emitted = out.take();
    assert!(emitted[0].carries_on && text(&emitted[0].frame) == "VALUE b 0 1\r\nb\r\nEND\r\n");
    assert!(make(4).unwrap().restore(&bytes).is_err());
    for length in (0..bytes.len()).step_by(7) {
        assert!(make(3).unwrap().restore(&bytes[..length]).is_err());
    }
}

/// Flightplan's test: 250 values of 1,024 bytes under keys of 64 are set and read.
#[test]
fn two_hundred_and_fifty_sets_and_gets_reach_the_server_once() {
    let (mut cache, mut server) = (KvCache::new(1000, None), Server::default());
    let key = |n: usize| format!("{n:064}");
    let value = |n: usize| format!("{n:01024}");
    for n in 0..250 {
        let reply = ask(
            &mut cache,
            &mut server,
            &format!("set {} 0 0 1024\r\n{}\r\n", key(n), value(n)),
            ms(n as u64),
        );
        assert_eq!(reply, "server: STORED ");
    }
    for n in 0..250 {
        let reply = ask(&mut cache, &mut server, &format!("get {}\r\n", key(n)), ms(1000 + n as u64));
        assert_eq!(reply, format!("cache: VALUE {} 0 1024 {} END ", key(n), value(n)));
    }
    assert_eq!((server.writes, server.reads), (250, 0));
}
