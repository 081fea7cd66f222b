//! Processing of frames, and its effects on stored values.

use crate::mix;
use crate::packet::{Datagram, PORT, Seen, answer, read};
use crate::pending::{About, Asker, Pending, Stamps, Written};
use crate::sketch::Mortal;
use crate::store::{Entry, Server, Store};
use crate::text::{self, Request, Stored, Value, keys};
use base_time::{Duration, Time};
use smallvec::SmallVec;

/// Bytes of text that memcached puts into one datagram.
const LONGEST_ANSWER: usize = 1400 - crate::packet::FRAME_HEADER;
/// The server's seconds may be so much shorter than ours, all together.
const TICKS: u64 = 2;
/// Keys of one request that are looked at; of more nobody knows.
const MOST_KEYS: usize = 64;
const END: &[u8] = b"END\r\n";

/// Counters of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counted {
    /// Reads answered.
    pub hits: u64,
    /// Reads that went on.
    pub misses: u64,
    /// Requests to change something.
    pub writes: u64,
    /// Values kept.
    pub kept: u64,
    /// Number of times that the cache was emptied.
    pub emptied: u64,
}

/// The cache.
#[derive(Clone, Debug)]
pub struct KvCache {
    pub(crate) max_age: Option<Duration>,
    pub(crate) store: Store,
    pub(crate) pending: Pending,
    pub(crate) mortal: Mortal,
    /// Stamps: one for each of a number of sets of keys, and one for all.
    pub(crate) stamps: Vec<u64>,
    pub(crate) all: u64,
    /// Until then, nothing is stored: a server was asked to forget everything at that time.
    pub(crate) closed_until: Time,
    pub(crate) counted: Counted,
}

/// A key of a server, with its hash.
type At = (Server, u64);

/// The keys of a read: nearly always one.
type Asked<'a> = SmallVec<[(At, &'a [u8]); 1]>;

pub(crate) fn at(server: Server, key: &[u8]) -> At {
    let (words, rest) = key.as_chunks::<8>();
    let mut hash = mix(u64::from(u32::from_be_bytes(server)), key.len() as u64);
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    let last = rest.iter().rev().fold(0, |last, byte| last << 8 | u64::from(*byte));
    (server, mix(hash, last))
}

impl KvCache {
    /// An empty one. `max_age` is how long values of answers are kept at most.
    pub fn new(entries: usize, max_age: Option<Duration>) -> KvCache {
        KvCache {
            max_age,
            store: Store::new(entries),
            pending: Pending::default(),
            mortal: Mortal::new(entries),
            stamps: vec![0; entries.next_power_of_two() * 4],
            all: 0,
            closed_until: Time::ZERO,
            counted: Counted::default(),
        }
    }

    /// Counters so far.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// A frame passes: the answer that goes on in its place, or `None` if it goes on itself.
    pub fn process(&mut self, frame: &[u8], now: Time) -> Option<Vec<u8>> {
        if self.closed_until > Time::ZERO && self.closed_until <= now {
            self.closed_until = Time::ZERO;
            self.forget_all();
        }
        match read(frame) {
            Seen::Other => None,
            Seen::Unreadable => {
                self.forget_all();
                None
            }
            Seen::Datagram(datagram) if datagram.destination.1 == PORT => self.request(&datagram, now),
            Seen::Datagram(datagram) => {
                self.answered(&datagram, now);
                None
            }
        }
    }

    fn request(&mut self, datagram: &Datagram<'_>, now: Time) -> Option<Vec<u8>> {
        let server = datagram.destination.0;
        let request = match datagram.datagrams {
            // A request in several datagrams cannot be read from one of them.
            1 => text::request(datagram.text),
            _ => Request::Unknown,
        };
        let about = match request {
            Request::Read { list, unique } => {
                let mut asked = Asked::new();
                keys(list).for_each(|key| asked.push((at(server, key), key)));
                if let Some(answer) = self.hit(datagram, &asked, unique, now) {
                    self.counted.hits += 1;
                    return Some(answer);
                }
                self.counted.misses += 1;
                // The answer may fill the cache, if no key was written meanwhile: stamps show that.
                match asked.len() > MOST_KEYS {
                    true => About::Unknown,
                    false => {
                        let mut stamps = Stamps::new();
                        asked.iter().for_each(|(at, _)| stamps.push(self.stamp(*at)));
                        About::Read { list: list.into(), stamps, at: now }
                    }
                }
            }
            Request::Write { list, value, expires, noreply } => {
                self.counted.writes += 1;
                for key in keys(list) {
                    self.forget(at(server, key), key);
                    if expires {
                        self.mortal.add(at(server, key).1);
                    }
                }
                // No answer will come, so nothing is pending.
                if noreply {
                    return None;
                }
                let stamp = self.stamp(at(server, list));
                let value = value.and_then(|value| written(&value, now)).map(|written| (stamp, written));
                About::Write { list: list.into(), value }
            }
            Request::Flush { delay } => {
                self.forget_all();
                if delay > 0 {
                    let over = now + Duration::from_s(delay.saturating_add(TICKS));
                    self.closed_until = self.closed_until.max(over);
                }
                About::Unknown
            }
            Request::Harmless => About::Nothing,
            // The server may understand the request and change any value.
            Request::Unknown => {
                self.forget_all();
                About::Unknown
            }
        };
        self.pending.add(asker(datagram.source, server, datagram.id), about);
        None
    }

    /// The answer to a read, if all that is asked for is kept.
    fn hit(
        &mut self,
        datagram: &Datagram<'_>,
        asked: &Asked<'_>,
        unique: bool,
        now: Time,
    ) -> Option<Vec<u8>> {
        asked.iter().for_each(|((_, hash), _)| self.store.frequency.count(*hash));
        let mut entries = SmallVec::<[&Entry; 1]>::new();
        for (at, key) in asked {
            let entry = self.store.get(*at, key)?;
            if entry.until <= now || unique && entry.unique.is_none() {
                return None;
            }
            entries.push(entry);
        }
        let length = entries.iter().map(|entry| entry.answer_length()).sum::<usize>() + END.len();
        if length > LONGEST_ANSWER {
            return None;
        }
        Some(answer(datagram, length, |out| {
            entries.iter().for_each(|entry| entry.write(unique, out));
            out.put(END);
        }))
    }

    fn answered(&mut self, datagram: &Datagram<'_>, now: Time) {
        let server = datagram.source.0;
        let asker = asker(datagram.destination, server, datagram.id);
        let text = Some(datagram.text).filter(|_| datagram.datagrams == 1);
        match self.pending.answered(asker, datagram.datagrams) {
            None | Some(About::Unknown) => self.forget_all(),
            Some(About::Nothing) => {}
            Some(About::Read { list, stamps, at: asked }) => {
                let values = text.and_then(text::values).unwrap_or_default();
                for (key, stamp) in keys(&list).zip(stamps) {
                    let value = values.iter().find(|value| value.key == key);
                    self.was_read(at(server, key), key, value, stamp, (asked, now));
                }
                for value in values.iter().filter(|value| keys(&list).all(|key| key != value.key)) {
                    self.forget(at(server, value.key), value.key);
                }
            }
            Some(About::Write { list, value }) => {
                let one = at(server, &list);
                let value = value.filter(|(stamp, _)| *stamp == self.stamp(one));
                keys(&list).for_each(|key| self.forget(at(server, key), key));
                let stored = text.is_some_and(text::is_stored);
                if let Some((_, Written { flags, until, data })) = value.filter(|_| stored) {
                    self.keep(one, &Value { key: &list, flags, unique: None, data: &data }, (until, now));
                }
            }
        }
    }

    /// An answer shows the value of a key at a moment between `asked` and `now`.
    fn was_read(
        &mut self,
        at: At,
        key: &[u8],
        value: Option<&Value<'_>>,
        stamp: u64,
        (asked, now): (Time, Time),
    ) {
        let is_current = stamp == self.stamp(at);
        let until = self.max_age.map_or(Time::MAX, |age| asked + age);
        if let (Some(kept), Some(read)) = (self.store.get(at, key), value) {
            let same = kept.is_same(read) && (read.unique.is_none() || read.unique == kept.unique);
            if same && kept.until > now {
                return;
            }
        }
        self.forget(at, key);
        if let Some(read) = value.filter(|_| is_current && !self.mortal.may_have(at.1)) {
            self.keep(at, read, (until, now));
        }
    }

    /// Keeps a value, whose key is not there, if there is a place for it.
    fn keep(&mut self, at: At, value: &Value<'_>, (until, now): (Time, Time)) {
        let fits = Entry::answer_length_of(value) + END.len() <= LONGEST_ANSWER;
        if !fits || until <= now || self.closed_until > now {
            return;
        }
        if let Some(place) = self.store.place(at.1, now) {
            self.store.put(place, Entry::new(at, value, until));
            self.counted.kept += 1;
        }
    }

    /// Stamp of a key; it changes when a frame passes that may show another state of the key.
    fn stamp(&self, (_, hash): At) -> u64 {
        self.stamps[self.place(hash)].wrapping_add(self.all)
    }

    fn place(&self, hash: u64) -> usize {
        (hash >> 20) as usize & (self.stamps.len() - 1)
    }

    fn forget(&mut self, at: At, key: &[u8]) {
        self.store.remove(at, key);
        let place = self.place(at.1);
        self.stamps[place] = self.stamps[place].wrapping_add(1);
    }

    fn forget_all(&mut self) {
        self.store.clear();
        self.all = self.all.wrapping_add(1);
        self.counted.emptied += 1;
    }
}

fn asker(client: ([u8; 4], u16), server: Server, id: u16) -> Asker {
    Asker { client, server, id }
}

/// Part of a value written at `now` that may be stored.
fn written(value: &Stored<'_>, now: Time) -> Option<Written> {
    let until = match value.seconds {
        0 => Time::MAX,
        seconds => now + Duration::from_s(seconds.checked_sub(TICKS).filter(|left| *left > 0)?),
    };
    Some(Written { flags: value.flags, until, data: value.data.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Entry, Store};

    const SERVER: Server = [10, 0, 0, 1];

    /// Two keys of 16 bytes with one hash: their products of the last step are equal.
    fn with_one_hash() -> [Vec<u8>; 2] {
        let first = |prefix: u64| mix(mix(u64::from(u32::from_be_bytes(SERVER)), 16), prefix);
        let last = |other: u64| first(other) ^ 0x9e37_79b9_7f4a_7c15 ^ 0xbf58_476d_1ce4_e5b9;
        let key = |own: u64, other: u64| [own.to_le_bytes(), last(other).to_le_bytes()].concat();
        let prefix = |n: u64| u64::from_le_bytes(*b"key-0000") + (n << 56);
        let mut pairs = (0..9).flat_map(|a| (0..9).map(move |b| (prefix(a), prefix(b))));
        let fits = |key: &[u8]| key.iter().all(|byte| *byte > b' ' && *byte != 127);
        let pair = pairs.find(|(a, b)| a != b && fits(&key(*a, *b)) && fits(&key(*b, *a)));
        pair.map(|(a, b)| [key(a, b), key(b, a)]).unwrap()
    }

    #[test]
    fn keys_with_one_hash_are_two() {
        let [one, two] = with_one_hash();
        assert!(one != two && at(SERVER, &one) == at(SERVER, &two));
        let mut store = Store::new(4);
        let mut keep = |key: &[u8], data: &[u8]| {
            let value = Value { key, flags: 0, unique: None, data };
            let place = store.place(at(SERVER, key).1, Time::ZERO).unwrap();
            store.put(place, Entry::new(at(SERVER, key), &value, Time::MAX));
        };
        keep(&one, b"1");
        keep(&two, b"2");
        let data =
            |store: &Store, key: &[u8]| store.get(at(SERVER, key), key).map(|entry| entry.data().to_vec());
        assert_eq!((data(&store, &one), data(&store, &two)), (Some(b"1".to_vec()), Some(b"2".to_vec())));
        store.remove(at(SERVER, &one), &one);
        assert_eq!((data(&store, &one), data(&store, &two)), (None, Some(b"2".to_vec())));
    }
}
