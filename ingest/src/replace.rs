//! Puts a file that is written in the place of another one.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// Puts `file` at `path`: whoever looks there finds the one that was there, or this one as a whole.
///
/// Some file systems (ext4) write what is renamed over another file to the disk first, for which an index of a small
/// change would wait longer than for anything else. So where the system lets two files change places, they do, and then
/// the old one is removed.
pub(crate) fn replace(file: NamedTempFile, path: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) && change_places(file.path(), path) {
        // It has the name of the new one now, which is temporary.
        drop(file);
        return Ok(());
    }
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn change_places(one: &Path, other: &Path) -> bool {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE).is_ok()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn change_places(_one: &Path, _other: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_takes_the_place_of_none_or_of_another_one_and_nothing_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it");
        let put = |text: &str| {
            let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&folder)?;
            file.write_all(text.as_bytes())?;
            replace(file, &path)
        };
        for text in ["one", "another one", ""] {
            put(text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        }
        // Whoever has the old one open still has it.
        put("old").unwrap();
        let mut old = fs::File::open(&path).unwrap();
        put("new").unwrap();
        assert_eq!(io::read_to_string(&mut old).unwrap(), "old");
        // What a link leads to is left alone, and a folder is not replaced.
        fs::remove_file(&path).unwrap();
        let target = folder.path().join("target");
        fs::write(&target, "target").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        put("new").unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(fs::read_to_string(&target).unwrap(), "target");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(put("new").is_err());
        assert!(path.is_dir());
    }
}
