//! memcached's text protocol, as far as a cache must understand it (`protocol.txt` of memcached).
//!
//! A request that is not understood may change anything: [`Request::Unknown`].

use smallvec::SmallVec;

/// The longest key, in bytes.
pub const LONGEST_KEY: usize = 250;

/// Requests of clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request<'a> {
    /// `get` or `gets`.
    Read {
        /// The keys, with spaces between them: see [`keys`].
        list: &'a [u8],
        /// `gets`: with the number for `cas`.
        unique: bool,
    },
    /// A change of some keys.
    Write {
        /// The keys.
        list: &'a [u8],
        /// Value that is stored if the answer is `STORED`; `None` if the request does not contain it.
        value: Option<Stored<'a>>,
        /// The keys may have an end of life from now on.
        expires: bool,
        /// There will be no answer.
        noreply: bool,
    },
    /// `flush_all`, after so many seconds.
    Flush {
        /// 0 at once.
        delay: u64,
    },
    /// Changes nothing, says nothing of values.
    Harmless,
    /// Anything else.
    Unknown,
}

/// A value that is to be stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored<'a> {
    /// The client's flags.
    pub flags: u32,
    /// Seconds to live; 0 is for ever.
    pub seconds: u64,
    /// The value.
    pub data: &'a [u8],
}

/// A value in an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// The number for `cas`.
    pub unique: Option<u64>,
    /// The value.
    pub data: &'a [u8],
}

/// The values of an answer: nearly always one.
pub type Values<'a> = SmallVec<[Value<'a>; 1]>;

/// Seconds above this are a point in time, which the cache's clock does not know.
const RELATIVE: u64 = 60 * 60 * 24 * 30;

/// The keys of a list.
pub fn keys(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let key;
        (key, rest) = token(rest)?;
        Some(key)
    })
}

/// Reads a request, which is all of a datagram's text.
pub fn request(text: &[u8]) -> Request<'_> {
    understood(text).unwrap_or(Request::Unknown)
}

fn understood(text: &[u8]) -> Option<Request<'_>> {
    let (line, data) = line(text)?;
    let (verb, rest) = token(line)?;
    let only_line = || data.is_empty().then_some(());
    match verb {
        b"get" | b"gets" => {
            only_line()?;
            list(rest).map(|list| Request::Read { list, unique: verb == b"gets" })
        }
        b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => storage(verb, rest, data),
        b"delete" => {
            only_line()?;
            let (key, rest) = key(rest)?;
            let noreply = match token(rest) {
                Some((b"0", rest)) => noreply(rest)?,
                _ => noreply(rest)?,
            };
            Some(Request::Write { list: key, value: None, expires: false, noreply })
        }
        b"incr" | b"decr" => {
            only_line()?;
            let (key, rest) = key(rest)?;
            let (_, rest) = token(rest)?;
            Some(Request::Write { list: key, value: None, expires: false, noreply: noreply(rest)? })
        }
        b"touch" => {
            only_line()?;
            let (key, rest) = key(rest)?;
            let (_, rest) = token(rest)?;
            Some(Request::Write { list: key, value: None, expires: true, noreply: noreply(rest)? })
        }
        b"gat" | b"gats" => {
            only_line()?;
            let (_, rest) = token(rest)?;
            list(rest).map(|list| Request::Write { list, value: None, expires: true, noreply: false })
        }
        b"flush_all" => {
            only_line()?;
            match token(rest) {
                None => Some(Request::Flush { delay: 0 }),
                Some((b"noreply", _)) => Some(Request::Flush { delay: 0 }),
                Some((delay, _)) => Some(Request::Flush { delay: number(delay)? }),
            }
        }
        b"version" | b"stats" | b"verbosity" => only_line().map(|()| Request::Harmless),
        _ => None,
    }
}

fn storage<'a>(verb: &[u8], rest: &'a [u8], data: &'a [u8]) -> Option<Request<'a>> {
    let (list, rest) = key(rest)?;
    let (flags, rest) = token(rest)?;
    let (seconds, rest) = token(rest)?;
    let (length, rest) = token(rest)?;
    let rest = if verb == b"cas" { token(rest)?.1 } else { rest };
    let noreply = noreply(rest)?;
    let flags = u32::try_from(number(flags)?).ok()?;
    let length = usize::try_from(number(length)?).ok()?;
    let data = data.strip_suffix(b"\r\n").filter(|data| data.len() == length)?;
    let forever = seconds == b"0";
    // A point in time, or one that has passed: it may end at any moment.
    let seconds = number(seconds).filter(|seconds| *seconds <= RELATIVE);
    let whole = !matches!(verb, b"append" | b"prepend");
    let value = seconds.filter(|_| whole).map(|seconds| Stored { flags, seconds, data });
    Some(Request::Write { list, value, expires: whole && !forever, noreply })
}

/// The values of an answer to `get`; `None` if it is no such answer.
pub fn values(mut text: &[u8]) -> Option<Values<'_>> {
    let mut values = Values::new();
    loop {
        let (line, behind) = line(text)?;
        if line == b"END" {
            return behind.is_empty().then_some(values);
        }
        let (key, rest) = key(line.strip_prefix(b"VALUE ")?)?;
        let (flags, rest) = token(rest)?;
        let (length, rest) = token(rest)?;
        let unique = match token(rest) {
            None => None,
            Some((unique, rest)) if token(rest).is_none() => Some(number(unique)?),
            Some(_) => return None,
        };
        let (data, behind) = behind.split_at_checked(usize::try_from(number(length)?).ok()?)?;
        values.push(Value { key, flags: u32::try_from(number(flags)?).ok()?, unique, data });
        text = behind.strip_prefix(b"\r\n")?;
    }
}

/// True if the answer to a change is that it was stored.
pub fn is_stored(text: &[u8]) -> bool {
    text == b"STORED\r\n"
}

/// The first line without its end, and the rest.
fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = find(b'\n', text)?;
    let line = &text[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), &text[end + 1..]))
}

/// The next word, and the rest.
fn token(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(|byte| *byte != b' ')?;
    let text = &text[start..];
    Some(text.split_at(find(b' ', text).unwrap_or(text.len())))
}

/// Position of the first occurrence of a byte, searched eight bytes at a time.
fn find(byte: u8, text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let differs = u64::from_le_bytes(*word) ^ (u64::from(byte) * ONES);
        // The high bit of each byte that is zero, and of some that follow such a byte.
        let zeros = differs.wrapping_sub(ONES) & !differs & (ONES << 7);
        if zeros != 0 {
            return Some(at * 8 + zeros.trailing_zeros() as usize / 8);
        }
    }
    let behind = rest.iter().position(|other| *other == byte)?;
    Some(words.len() * 8 + behind)
}

fn key(text: &[u8]) -> Option<(&[u8], &[u8])> {
    token(text).filter(|(key, _)| is_key(key))
}

fn is_key(key: &[u8]) -> bool {
    key.len() <= LONGEST_KEY && !key.iter().any(|byte| byte.is_ascii_control())
}

/// A list of keys, at least one.
fn list(text: &[u8]) -> Option<&[u8]> {
    let has_keys = text.iter().any(|byte| *byte != b' ');
    let fit = text.len() <= LONGEST_KEY || keys(text).all(|key| key.len() <= LONGEST_KEY);
    let is_broken = text.iter().fold(false, |broken, byte| broken | byte.is_ascii_control());
    (has_keys && fit && !is_broken).then_some(text)
}

/// Nothing is left, or the word `noreply`.
fn noreply(rest: &[u8]) -> Option<bool> {
    match token(rest) {
        None => Some(false),
        Some((b"noreply", rest)) if token(rest).is_none() => Some(true),
        Some(_) => None,
    }
}

/// A decimal number.
fn number(digits: &[u8]) -> Option<u64> {
    if !(1..=20).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}
