//! What a child of the service gives up for good before it touches what others made. Each part holds for all threads and
//! processes that it starts later, so it comes before the first of them.
//!
//! | what | how | where |
//! |---|---|---|
//! | an index has no network | a network namespace of its own, and no sockets at all (seccomp) | Linux; the second on x86-64 and aarch64 |
//! | a fetch reaches the proxy only | a network namespace of its own, and a socket file; else Landlock on the proxy's port | Linux that lets a process make namespaces; else Linux 6.7 |
//! | files: only the tree, and only the cache or mirror is written | Landlock | Linux 5.13 with Landlock on |
//! | privileges of root but to read and write files | capabilities: with others, root reads the secrets of other processes | Linux |
//! | memory, processor, sizes and numbers of files | limits of resources ([`crate::limits`]) | everywhere |
//!
//! What a system does not have is said on stderr as a `note: `, which the service logs; the child goes on.

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod sockets;
mod tunnel;

use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::git::{Network, Proxy};
use crate::limits;

/// What an index gives up: the network, and files but those of `tree`, and of `cache` which it may write.
///
/// Gives what this system could not do, in words.
pub(crate) fn enter_index(tree: &[PathBuf], cache: Option<&Path>) -> Result<Vec<String>, Errno> {
    let mut notes = Vec::new();
    let alone = leave_network();
    limits::enter_index()?;
    note_privileges(&mut notes);
    note_files(&mut notes, tree, cache, None);
    if let (Err(error), Err(reason)) = (alone, no_sockets()) {
        notes.push(format!("the network could not be cut off on this system ({error}; {reason})"));
    }
    Ok(notes)
}

/// What a fetch gives up: the network but the way through `proxy`, and files but those of certificates, and of `mirror`
/// which it may write.
///
/// Gives the proxy as it is reached from now on, how the network is kept away, and what this system could not do.
pub(crate) fn enter_fetch(proxy: &Proxy, mirror: Option<&Path>) -> Result<(Proxy, Network, Vec<String>), Errno> {
    let mut notes = Vec::new();
    let (proxy, network) = match &proxy.socket {
        Some(socket) if leave_network().is_ok() => {
            let address = tunnel::open(socket)?;
            (Proxy { address: address.to_string(), ..proxy.clone() }, Network::Namespace)
        }
        _ => (proxy.clone(), Network::Open),
    };
    note_privileges(&mut notes);
    let port = (network == Network::Open).then(|| proxy.address.rsplit_once(':')?.1.parse().ok()).flatten();
    let is_port_kept = note_files(&mut notes, &certificates(), mirror, port);
    let network = if is_port_kept { Network::Port } else { network };
    if network == Network::Open {
        notes.push("nothing but its own code keeps the fetch to its proxy on this system".to_owned());
    }
    Ok((proxy, network, notes))
}

/// Leaves the network for good. Works where the kernel lets a process make a network namespace.
fn leave_network() -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    {
        use nix::sched::{CloneFlags, unshare};
        // With privileges the first form is enough; without, a user namespace gives them.
        unshare(CloneFlags::CLONE_NEWNET).or_else(|_| unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET))
    }
    #[cfg(not(target_os = "linux"))]
    Err(Errno::ENOSYS)
}

fn note_privileges(notes: &mut Vec<String>) {
    #[cfg(target_os = "linux")]
    if let Err(reason) = privileges::give_up() {
        notes.push(format!("privileges could not be given up on this system ({reason})"));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = notes;
}

fn no_sockets() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    return sockets::none();
    #[cfg(not(target_os = "linux"))]
    Err("this system has no seccomp".to_owned())
}

/// Whether the port could be made the only one.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "other systems have no Landlock"))]
fn note_files(notes: &mut Vec<String>, read: &[PathBuf], written: Option<&Path>, port: Option<u16>) -> bool {
    #[cfg(target_os = "linux")]
    let kept = files::only(read, written, port);
    #[cfg(not(target_os = "linux"))]
    let kept: Result<bool, String> = Err("this system has no Landlock".to_owned());
    match kept {
        Ok(is_port_kept) => is_port_kept,
        Err(reason) => {
            notes.push(format!("files outside could not be cut off on this system ({reason})"));
            false
        }
    }
}

/// Where certificate authorities are.
fn certificates() -> Vec<PathBuf> {
    const USUAL: [&str; 8] = [
        "/etc/ssl",
        "/etc/pki",
        "/etc/ca-certificates",
        "/usr/lib/ssl",
        "/usr/share/ca-certificates",
        "/usr/local/share/ca-certificates",
        "/usr/local/share/certs",
        "/opt/homebrew/etc/ca-certificates",
    ];
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().filter_map(std::env::var_os);
    let named = named.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
    named.chain(USUAL.iter().map(PathBuf::from)).filter(|path| path.exists()).collect()
}

/// Namespaces, Landlock and seccomp hold for the thread that asks for them and those that it starts: so each test enters
/// on a thread of its own.
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::io::{self, Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn alone<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(work).join().unwrap()
    }

    fn is_denied<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Containers may refuse what this system has; the children then say so, and these tests have nothing to look at.
    fn has_landlock() -> bool {
        let has = alone(|| files::only(&[], None, None).is_ok());
        if !has {
            assert!(!Path::new("/sys/kernel/security/landlock").exists());
        }
        has
    }

    #[test]
    fn only_what_is_let_through_is_read_and_written() {
        if !has_landlock() {
            return;
        }
        let (read, written) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = tempfile::NamedTempFile::new().unwrap();
        for folder in [&read, &written] {
            fs::write(folder.path().join("a"), "a").unwrap();
        }
        let (from, to, outside) = (read.path().to_owned(), written.path().to_owned(), secret.path().to_owned());
        alone(move || {
            privileges::give_up().unwrap();
            files::only(std::slice::from_ref(&from), Some(&to), None).unwrap();
            assert_eq!(fs::read(from.join("a")).unwrap(), b"a");
            assert!(is_denied(fs::write(from.join("b"), "b")));
            fs::write(to.join("b"), "b").unwrap();
            fs::rename(to.join("b"), to.join("c")).unwrap();
            for path in [outside, "/etc/passwd".into(), "/etc/hostname".into()] {
                assert!(is_denied(fs::read(&path)), "{}", path.display());
            }
            assert!(is_denied(fs::read_dir("/etc")) && is_denied(fs::read_dir("/")));
            std::os::unix::fs::symlink("/etc/passwd", to.join("link")).unwrap();
            assert!(is_denied(fs::read(to.join("link"))), "a link is no way around");
            // What belongs to other processes: their environment may hold secrets.
            let parent = PathBuf::from("/proc").join(nix::unistd::getppid().to_string());
            assert!(fs::read(parent.join("environ")).is_err());
            // A child of the same executable starts.
            let own = std::env::current_exe().unwrap();
            let listed = std::process::Command::new(own).arg("--list").output().unwrap();
            assert!(listed.status.success() && !listed.stdout.is_empty());
            assert!(std::process::Command::new("/bin/sh").arg("-c").arg("true").status().is_err());
        });
    }

    #[test]
    fn no_socket_can_be_made_after_that() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        alone(move || {
            assert!(TcpStream::connect(address).is_ok());
            sockets::none().unwrap();
            assert!(is_denied(TcpStream::connect(address)));
            assert!(is_denied(std::net::UdpSocket::bind("127.0.0.1:0")));
            assert!(is_denied(std::os::unix::net::UnixStream::connect("/nonexistent")));
            let inherited = alone(move || is_denied(TcpStream::connect(address)));
            assert!(inherited);
            // What is made of pipes goes on.
            assert!(std::process::Command::new("/bin/sh").arg("-c").arg("true").output().unwrap().status.success());
        });
    }

    #[test]
    fn the_only_port_is_the_one_of_the_proxy() {
        if !has_landlock() {
            return;
        }
        let (proxy, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (port, others) = (proxy.local_addr().unwrap().port(), other.local_addr().unwrap());
        alone(move || {
            if files::only(&[], None, Some(port)).unwrap() {
                assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
                assert!(is_denied(TcpStream::connect(others)));
            }
        });
    }

    #[test]
    fn from_a_network_of_its_own_only_the_tunnel_leads_out() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("proxy");
        let outside = UnixListener::bind(&socket).unwrap();
        let forbidden = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = forbidden.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in outside.incoming().flatten() {
                let mut heard = [0; 4];
                stream.read_exact(&mut heard).unwrap();
                stream.write_all(&heard).unwrap();
            }
        });
        alone(move || {
            // A process with several threads makes a network only with privileges.
            if leave_network().is_err() {
                return;
            }
            let tunnel = tunnel::open(&socket).unwrap();
            assert!(TcpStream::connect(address).is_err(), "the loopback address is another one");
            for _ in 0..3 {
                let mut stream = TcpStream::connect(tunnel).unwrap();
                stream.write_all(b"ping").unwrap();
                let mut heard = Vec::new();
                stream.read_to_end(&mut heard).unwrap();
                assert_eq!(heard, b"ping");
            }
        });
        forbidden.set_nonblocking(true).unwrap();
        assert!(forbidden.accept().is_err(), "nobody came");
    }
}
