//! TAP interfaces: a file whose reads and writes are the frames that the kernel sends and receives (tuntap.txt of the kernel's documentation).

use crate::sys;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// The TAP interface with this name, which is up; it is made if there is none, and then ends with the file. Neither reads nor writes of the file wait, and each is one frame.
///
/// ```no_run
/// use std::io::Write;
/// linux_net::open_tap("tap0")?.write_all(&[0; 60])?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn open_tap(name: &str) -> io::Result<File> {
    let mut request = sys::InterfaceRequest::new(name)?;
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    request.set_flags(libc::IFF_TAP | libc::IFF_NO_PI);
    request.ask(file.as_fd(), libc::TUNSETIFF)?;
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    request.ask(socket.as_fd(), libc::SIOCGIFFLAGS)?;
    request.set_flags(request.flags() | libc::IFF_UP);
    request.ask(socket.as_fd(), libc::SIOCSIFFLAGS)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::open_tap;

    #[test]
    fn names_that_no_interface_can_have_are_refused() {
        for name in ["", "sixteen-bytes-xx", "a\0b"] {
            let error = open_tap(name).expect_err("no interface");
            assert_eq!(
                error.to_string(),
                "an interface's name has 1 to 15 bytes, and none of them is 0",
                "{name:?}"
            );
        }
    }

    // Where this machine allows none, there is nothing to test.
    #[test]
    fn an_interface_is_up_and_ends_with_its_file() {
        let name = format!("p4t{}", std::process::id());
        let Ok(file) = open_tap(&name) else { return };
        assert!(crate::find(&name).expect("netlink answers").expect("there is one").is_up);
        let one = std::io::Write::write(&mut &file, &[0; 60]).expect("a frame");
        assert_eq!(one, 60);
        drop(file);
        assert_eq!(crate::find(&name).expect("netlink answers"), None);
    }
}
