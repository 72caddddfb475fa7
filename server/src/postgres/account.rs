//! Which account the server runs as: Postgres refuses root, so root drops to another.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use nix::unistd::{Gid, Uid, User};

use super::PostgresError;

/// The account of the server and of initdb.
#[derive(Debug, Clone)]
pub(super) struct Account {
    uid: Uid,
    gid: Gid,
    name: String,
    drops: bool,
}

impl Account {
    /// The caller's own, or for root `postgres`, else `nobody`.
    pub(super) fn choose() -> Result<Self, PostgresError> {
        let uid = Uid::effective();
        if !uid.is_root() {
            return Ok(Self { uid, gid: Gid::effective(), name: "this user".to_owned(), drops: false });
        }
        let user = ["postgres", "nobody"].into_iter().find_map(|name| User::from_name(name).ok().flatten());
        match user {
            Some(user) => {
                Ok(Self { uid: user.uid, gid: user.gid, name: format!("the account `{}`", user.name), drops: true })
            }
            None => Err(PostgresError::new(
                "Postgres refuses to run as root, and there is no account `postgres` or `nobody` to run it as",
                "run as a plain user, or make an account `postgres`",
            )),
        }
    }

    /// Whether it is another than the caller's.
    pub(super) fn drops(&self) -> bool {
        self.drops
    }

    pub(super) fn uid(&self) -> u32 {
        self.uid.as_raw()
    }

    /// Gives the account a file or folder.
    pub(super) fn own(&self, path: &Path) -> Result<(), PostgresError> {
        if !self.drops {
            return Ok(());
        }
        chown(path, Some(self.uid.as_raw()), Some(self.gid.as_raw()))
            .map_err(|e| PostgresError::io("giving away", path, &e))
    }

    /// A command that runs as the account (std drops the supplementary groups too), with an empty environment: what
    /// the caller has in PGDATA or LC_ALL is not meant for this server.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
        if self.drops {
            command.uid(self.uid.as_raw()).gid(self.gid.as_raw());
        }
        command
    }

    /// Root sees every folder, the account that it drops to does not: name the first that is closed to it.
    pub(super) fn check_reaches(&self, path: &Path) -> Result<(), PostgresError> {
        if !self.drops {
            return Ok(());
        }
        for folder in path.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
            let found = fs::metadata(folder).map_err(|e| PostgresError::io("opening", folder, &e))?;
            let open = if found.uid() == self.uid.as_raw() {
                0o100
            } else if found.gid() == self.gid.as_raw() {
                0o010
            } else {
                0o001
            };
            if found.mode() & open == 0 {
                return Err(PostgresError::new(
                    format!(
                        "{}, as which Postgres runs because you are root, cannot enter `{}` on the way to `{}`",
                        self.name,
                        folder.display(),
                        path.display()
                    ),
                    "choose a folder that is not below a closed one (--data-dir), or run as a plain user",
                ));
            }
        }
        Ok(())
    }
}
