//! Where the machine keeps Postgres.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::PostgresError;

/// The oldest major version that has what the schema needs (`security_invoker`).
const OLDEST_MAJOR: u32 = 15;

/// `initdb` and `postgres` of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    /// The folder that holds both.
    pub(super) dir: PathBuf,
    /// `15.18`.
    pub(super) version: String,
    major: u32,
}

impl Binaries {
    /// Those of `given` or of `SYNC_PG_BIN`, and no others; else the newest that this machine has. A cluster of a
    /// major version wants exactly that one.
    pub(super) fn find(given: Option<&Path>, cluster_major: Option<&str>) -> Result<Self, PostgresError> {
        let named = given.map(Path::to_path_buf).or_else(|| Some(PathBuf::from(std::env::var_os("SYNC_PG_BIN")?)));
        let found: Vec<Self> = match &named {
            Some(dir) => vec![Self::in_folder(dir).ok_or_else(|| {
                PostgresError::new(
                    format!("`{}` has no working `postgres` and `initdb`", dir.display()),
                    "set SYNC_PG_BIN to the folder that holds both, or unset it",
                )
            })?],
            None => candidates().iter().filter_map(|dir| Self::in_folder(dir)).collect(),
        };
        choose(found, cluster_major)
    }

    fn in_folder(dir: &Path) -> Option<Self> {
        if !dir.join("initdb").is_file() {
            return None;
        }
        // /usr/local/bin may be full of links; Postgres finds its files from where it really is.
        let postgres = fs::canonicalize(dir.join("postgres")).ok()?;
        let output = Command::new(&postgres).arg("--version").env_clear().output().ok()?;
        let said = String::from_utf8(output.stdout).ok()?;
        let version = version_in(&said)?;
        let major = version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
        Some(Self { dir: postgres.parent()?.to_path_buf(), version, major })
    }
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` gives `15.18`.
fn version_in(said: &str) -> Option<String> {
    let word = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(word.to_owned())
}

fn choose(found: Vec<Binaries>, cluster_major: Option<&str>) -> Result<Binaries, PostgresError> {
    let by_major: BTreeMap<u32, Binaries> =
        found.into_iter().rev().map(|binaries| (binaries.major, binaries)).collect();
    let versions = || by_major.values().map(|binaries| binaries.version.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(wanted) = cluster_major {
        return wanted.parse().ok().and_then(|major: u32| by_major.get(&major).cloned()).ok_or_else(|| {
            PostgresError::new(
                format!("the data directory was made by Postgres {wanted}; found here: {}", or_none(&versions())),
                format!("install Postgres {wanted}, or start on another data directory"),
            )
        });
    }
    match by_major.last_key_value() {
        Some((major, binaries)) if *major >= OLDEST_MAJOR => Ok(binaries.clone()),
        _ => Err(PostgresError::new(
            format!("no Postgres {OLDEST_MAJOR} or newer on this machine; found: {}", or_none(&versions())),
            "install it (Debian and Ubuntu: `apt-get install postgresql`; Fedora: `dnf install postgresql-server`; \
             macOS: `brew install postgresql`), or run deploy/dev/run, which brings it, or set SYNC_PG_BIN to a \
             folder with `postgres` and `initdb`, or SYNC_DATABASE_URL to a server that runs",
        )),
    }
}

fn or_none(versions: &str) -> &str {
    if versions.is_empty() { "none" } else { versions }
}

/// Folders that may hold the binaries, the more trusted first.
fn candidates() -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output()
        && output.status.success()
        && let Ok(dir) = String::from_utf8(output.stdout)
    {
        dirs.push(PathBuf::from(dir.trim()));
    }
    for (parent, below) in [
        ("/usr/lib/postgresql", "bin"),
        ("/usr/local/lib/postgresql", "bin"),
        ("/opt/homebrew/opt", "bin"),
        ("/usr/local/opt", "bin"),
    ] {
        let Ok(entries) = fs::read_dir(parent) else { continue };
        dirs.extend(entries.flatten().map(|entry| entry.path().join(below)));
    }
    for dir in ["/usr/pgsql/bin", "/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"] {
        dirs.push(PathBuf::from(dir));
    }
    if let Some(path) = std::env::var_os("PATH") {
        dirs.extend(std::env::split_paths(&path));
    }
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binaries(major: u32, version: &str) -> Binaries {
        Binaries { dir: PathBuf::from(format!("/pg/{version}")), version: version.to_owned(), major }
    }

    #[test]
    fn the_newest_major_wins_unless_a_cluster_wants_another() {
        let found = vec![binaries(15, "15.18"), binaries(17, "17.2"), binaries(14, "14.9")];
        assert_eq!(choose(found.clone(), None).unwrap().version, "17.2");
        assert_eq!(choose(found.clone(), Some("15")).unwrap().version, "15.18");
        let error = choose(found, Some("16")).unwrap_err().to_string();
        assert!(error.contains("made by Postgres 16") && error.contains("14.9, 15.18, 17.2"), "{error}");
    }

    #[test]
    fn an_old_one_or_none_names_the_remedies() {
        for found in [vec![], vec![binaries(14, "14.9")]] {
            let error = choose(found, None).unwrap_err().to_string();
            assert!(error.contains("apt-get install postgresql") && error.contains("SYNC_PG_BIN"), "{error}");
        }
    }

    #[test]
    fn versions_are_read_from_what_the_binary_says() {
        assert_eq!(version_in("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n").unwrap(), "15.18");
        assert_eq!(version_in("postgres (PostgreSQL) 18beta1\n").unwrap(), "18beta1");
        assert_eq!(version_in("segfault"), None);
    }
}
