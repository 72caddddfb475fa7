//! From a network of one's own to a socket file outside: what connects to the loopback address in here comes out there.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

/// Brings the loopback address of this network up and carries each connection to it to `socket`.
pub(super) fn open(socket: &Path) -> Result<SocketAddr, Errno> {
    bring_up()?;
    let failed = |error: io::Error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let socket = socket.to_owned();
    spawn(move || {
        while let Ok((inside, _)) = listener.accept() {
            // A connection that cannot be carried ends, which its owner hears of.
            let _ = carry(inside, &socket);
        }
    })
    .map_err(failed)?;
    Ok(address)
}

fn carry(inside: TcpStream, socket: &PathBuf) -> io::Result<()> {
    let outside = UnixStream::connect(socket)?;
    inside.set_nodelay(true)?;
    let (mut from_inside, mut to_inside) = (inside.try_clone()?, inside);
    let (mut from_outside, mut to_outside) = (outside.try_clone()?, outside);
    spawn(move || {
        let _ = io::copy(&mut from_inside, &mut to_outside);
        let _ = to_outside.shutdown(Shutdown::Write);
    })?;
    spawn(move || {
        let _ = io::copy(&mut from_outside, &mut to_inside);
        let _ = to_inside.shutdown(Shutdown::Both);
    })
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("tunnel".to_owned()).stack_size(256 << 10).spawn(work).map(drop)
}

/// A new network has a loopback address that is down.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no safe function sets the flags of an interface")]
fn bring_up() -> Result<(), Errno> {
    use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
    // SAFETY: the call takes three numbers; what it gives is a new file that nobody else closes.
    let socket = unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        OwnedFd::from_raw_fd(Errno::result(socket)?)
    };
    // SAFETY: all bits zero are a valid `ifreq`, which is plain data.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or_default();
    // SAFETY: `request` is what the request SIOCSIFFLAGS reads, and lives as long as the call.
    Errno::result(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) }).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn bring_up() -> Result<(), Errno> {
    Err(Errno::ENOSYS)
}
