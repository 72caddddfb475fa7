//! Whether anybody opened, read, made or changed anything in folders of this machine: what the kernel says (inotify).

use std::ffi::CString;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::FromRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Folders that are watched, since when this was made.
pub(super) struct Untouched(File);

impl Untouched {
    /// Watches those folders and files; of a folder, what lies directly in it too.
    #[expect(unsafe_code, reason = "no safe function of a crate that is here asks the kernel for this")]
    pub(super) fn watch(paths: &[&Path]) -> Self {
        // SAFETY: it takes flags and gives a descriptor, or less than none.
        let descriptor = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        assert!(descriptor >= 0, "{}", std::io::Error::last_os_error());
        for path in paths {
            let name = CString::new(path.as_os_str().as_bytes()).unwrap();
            let what = libc::IN_ALL_EVENTS & !libc::IN_CLOSE_NOWRITE & !libc::IN_CLOSE_WRITE;
            // SAFETY: the name ends with a zero and lives as long as the call.
            let watched = unsafe { libc::inotify_add_watch(descriptor, name.as_ptr(), what) };
            assert!(watched >= 0, "{}: {}", path.display(), std::io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and is nobody else's.
        Self(unsafe { File::from_raw_fd(descriptor) })
    }

    /// How much the kernel has to tell, in bytes: nothing where nobody came.
    pub(super) fn told(&mut self) -> usize {
        let mut events = [0; 4096];
        match self.0.read(&mut events) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            told => told.unwrap(),
        }
    }
}

#[test]
fn whoever_reads_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "a").unwrap();
    let mut untouched = Untouched::watch(&[folder.path()]);
    assert_eq!(untouched.told(), 0);
    std::fs::read(folder.path().join("a")).unwrap();
    assert!(untouched.told() > 0);
    assert_eq!(untouched.told(), 0);
    std::fs::read_dir(folder.path()).unwrap().count();
    assert!(untouched.told() > 0);
}
