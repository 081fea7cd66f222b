//! Has the allocator return large blocks to the system when they are freed.
//!
//! By default, glibc's allocator raises the size from which it does so to that of the largest block it has seen freed, up to 32 MiB.
//! A switch that has served one large request would then keep the memory of all later ones. The settings that prevent this are read
//! when a process starts, so the switch starts itself again with them.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// The allocator's settings: the size in bytes from which blocks are returned, how many free bytes at the end of the heap it keeps,
/// and how many heaps there are.
const SETTINGS: [(&str, &str); 3] =
    [("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "262144"), ("MALLOC_ARENA_MAX", "4")];

/// Starts the same command again in this process, unless the user has chosen settings. Returns if that is not possible.
pub(crate) fn give_back() {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return;
    }
    if SETTINGS.iter().any(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut args = std::env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = args.next() {
        command.arg0(name);
    }
    // Without them it serves all the same.
    let _ = command.args(args).envs(SETTINGS).exec();
}
