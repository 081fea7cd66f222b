//! Symbols that an object file uses and defines.
//!
//! A handler may use the functions of its own sources, and those of [`ALLOWED`], which depend on their arguments alone. It has no
//! variables of its own: they would not be in its snapshot.

use std::collections::BTreeSet;

/// Functions of the C library and of the compiler that a handler may use.
pub const ALLOWED: [&str; 35] = [
    "abort",
    "abs",
    "labs",
    "llabs",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "strchr",
    "strcmp",
    "strlen",
    "strncmp",
    "strrchr",
    "strspn",
    "strcspn",
    "strstr",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "qsort",
    "bsearch",
    "__assert_fail",
    "__stack_chk_fail",
    "__memcpy_chk",
    "__memset_chk",
    "__memmove_chk",
    "__divti3",
    "__modti3",
    "__udivti3",
    "__umodti3",
    "__popcountdi2",
    "_GLOBAL_OFFSET_TABLE_",
    "__isoc23_strtoul",
];

/// Symbols that sanitizers add.
const SANITIZERS: [&str; 4] = ["__asan_", "__ubsan_", "__sanitizer_", "__lsan_"];

/// Reason why a function is refused, and what to use instead.
const KNOWN: [(&[&str], &str, &str); 6] = [
    (
        &["time", "clock", "clock_gettime", "gettimeofday", "nanosleep", "sleep", "usleep", "times"],
        "it reads a clock or waits",
        "use `p4r_now_ns(ctx)`, and `p4r_tick_at` for timers",
    ),
    (
        &["malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "mmap", "sbrk", "alloca"],
        "it takes memory that is not in the handler's snapshot",
        "use `p4r_alloc(ctx, size)`",
    ),
    (
        &["rand", "rand_r", "random", "srand", "srandom", "getrandom", "getentropy", "arc4random", "drand48"],
        "its numbers differ from run to run",
        "use `p4r_random(ctx)`",
    ),
    (
        &[
            "socket", "connect", "bind", "listen", "accept", "send", "sendto", "recv", "recvfrom", "select",
            "poll",
        ],
        "it uses a socket",
        "give a response: the program sends packets",
    ),
    (
        &[
            "fork",
            "vfork",
            "clone",
            "execve",
            "system",
            "signal",
            "sigaction",
            "exit",
            "_exit",
            "kill",
            "syscall",
        ],
        "it starts or ends threads or processes",
        "a handler is called once for each packet, by one thread",
    ),
    (
        &[
            "printf", "fprintf", "puts", "putchar", "fopen", "open", "read", "write", "close", "fwrite",
            "fputs",
        ],
        "it uses a file",
        "return the value in the response",
    ),
];

/// Symbols of an object file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Symbols {
    /// Used and not defined.
    pub undefined: BTreeSet<String>,
    /// Defined for other files.
    pub defined: BTreeSet<String>,
    /// Variables that can be written.
    pub variables: BTreeSet<String>,
}

/// Something that a handler must not use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The symbol.
    pub name: String,
    /// Reason.
    pub why: String,
    /// Advice.
    pub help: String,
}

impl Symbols {
    /// The symbols of an ELF object file for 64-bit machines, least significant byte first; `None` if it is another file, or damaged.
    pub fn read(file: &[u8]) -> Option<Symbols> {
        const SYMBOLS: u64 = 2;
        const WRITABLE: u64 = 1;
        if file.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let sections_at = number(file, 0x28, 8)?;
        let (entry, count) = (number(file, 0x3a, 2)?, number(file, 0x3c, 2)?);
        let section = |index: u64| -> Option<u64> {
            let at = sections_at.checked_add(index.checked_mul(entry)?)?;
            (index < count).then_some(at)
        };
        let names = section(number(file, 0x3e, 2)?)?;
        let mut found = Symbols::default();
        for index in 0..count {
            let at = section(index)?;
            if number(file, at + 4, 4)? != SYMBOLS {
                continue;
            }
            let (start, size) = (number(file, at + 0x18, 8)?, number(file, at + 0x20, 8)?);
            let texts = section(number(file, at + 0x28, 4)?)?;
            for n in 0..size / 24 {
                let symbol = start.checked_add(n * 24)?;
                let name = text(file, texts, number(file, symbol, 4)?)?;
                let (info, home) = (number(file, symbol + 4, 1)?, number(file, symbol + 6, 2)?);
                let (is_local, kind) = (info >> 4 == 0, info & 15);
                const UNDEFINED: u64 = 0;
                const COMMON: u64 = 0xfff2;
                if name.is_empty() {
                    continue;
                }
                if home == UNDEFINED {
                    found.undefined.insert(name);
                    continue;
                }
                if !is_local {
                    found.defined.insert(name.clone());
                }
                // Objects, common ones, and those of threads.
                let is_object = matches!(kind, 1 | 5 | 6);
                let is_writable = home == COMMON
                    || section(home).is_some_and(|at| {
                        let flags = number(file, at + 8, 8).unwrap_or(0);
                        let of = number(file, at, 4).and_then(|name| text(file, names, name));
                        flags & WRITABLE != 0 && !of.unwrap_or_default().starts_with(".data.rel.ro")
                    });
                if is_object && is_writable {
                    found.variables.insert(name);
                }
            }
        }
        Some(found)
    }

    /// All of them, of files that become one library.
    pub fn joined(files: impl IntoIterator<Item = Symbols>) -> Symbols {
        let mut all = Symbols::default();
        for file in files {
            all.undefined.extend(file.undefined);
            all.defined.extend(file.defined);
            all.variables.extend(file.variables);
        }
        all.undefined.retain(|name| !all.defined.contains(name));
        all
    }

    /// The symbols that a handler must not use or define.
    pub fn refused(&self) -> Vec<Refused> {
        let is_added = |name: &str| SANITIZERS.iter().any(|prefix| name.starts_with(prefix));
        let allowed = |name: &str| ALLOWED.contains(&name) || is_added(name);
        let used = self.undefined.iter().filter(|name| !allowed(name)).map(|name| {
            let is_it = |names: &&[&str]| names.contains(&name.as_str());
            let known = KNOWN.iter().find(|(names, ..)| is_it(names));
            let threads = name.starts_with("pthread_") || name.starts_with("thrd_");
            let known = known.or_else(|| threads.then(|| &KNOWN[4]));
            let (why, help) = known.map_or(
                ("it is not among the functions that handlers may use", "define it in the handler's source"),
                |(_, why, help)| (*why, *help),
            );
            Refused { name: name.clone(), why: why.to_string(), help: help.to_string() }
        });
        // A symbol with a number from the compiler was a `static` in a function.
        let plain = |name: &String| name.split('.').next().unwrap_or(name).to_string();
        let variables = self.variables.iter().filter(|name| !is_added(name)).map(|name| Refused {
            name: plain(name),
            why: "it is a variable outside of the arena, which no snapshot has".to_string(),
            help: "keep it in memory from `p4r_alloc(ctx, size)`, or make it `const`".to_string(),
        });
        used.chain(variables).collect()
    }
}

/// A number of at most 8 bytes, least significant first.
fn number(file: &[u8], at: u64, size: usize) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let bytes = file.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// A text in the string section whose header is at `section`.
fn text(file: &[u8], section: u64, offset: u64) -> Option<String> {
    let start = number(file, section.checked_add(0x18)?, 8)?.checked_add(offset)?;
    let rest = file.get(usize::try_from(start).ok()?..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_have_no_symbols() {
        assert_eq!(Symbols::read(b""), None);
        assert_eq!(Symbols::read(b"\x7fELF\x02\x01"), None);
        let mut file = vec![0xff; 200];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(Symbols::read(&file), None);
    }

    #[test]
    fn what_is_refused_has_a_reason() {
        let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect();
        let used =
            names(&["memcpy", "time", "malloc", "pthread_create", "socket", "own", "getpid", "__asan_init"]);
        let file = Symbols { undefined: used, variables: names(&["calls.0"]), ..Symbols::default() };
        let other = Symbols { defined: names(&["own"]), ..Symbols::default() };
        let refused = Symbols::joined([file, other]).refused();
        let shown: Vec<&str> = refused.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(shown, ["getpid", "malloc", "pthread_create", "socket", "time", "calls"]);
        assert_eq!(refused[2].why, "it starts or ends threads or processes");
        assert_eq!(refused[4].help, "use `p4r_now_ns(ctx)`, and `p4r_tick_at` for timers");
    }
}
