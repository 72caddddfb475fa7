//! What the machine gave: cores used by each process, and how long its disk takes.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use sqlx::PgConnection;

/// CPU seconds, or cores, of each side.
#[derive(Debug, Clone)]
pub(super) struct Cpu {
    at: Instant,
    pub(super) syncd: f64,
    postgres: f64,
    callers: f64,
}

impl Cpu {
    /// Seconds used so far. Postgres is 0 where it does not run on this machine.
    pub(super) async fn now(syncd: u32, postgres: &mut PgConnection) -> Self {
        let backend: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(postgres).await.unwrap();
        let postmaster = u32::try_from(backend).ok().and_then(stat).map(|backend| backend.parent);
        let all = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
            let id = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((id, stat(id)?))
        });
        let of_postgres = all.filter(|(id, stat)| Some(*id) == postmaster || Some(stat.parent) == postmaster);
        Self {
            at: Instant::now(),
            syncd: stat(syncd).map_or(0.0, |stat| stat.seconds),
            postgres: of_postgres.map(|(_, stat)| stat.seconds).sum(),
            callers: stat(std::process::id()).map_or(0.0, |stat| stat.seconds),
        }
    }

    /// Cores used since then.
    pub(super) fn since(&self, before: &Self) -> Self {
        let took = self.at.duration_since(before.at).as_secs_f64();
        Self {
            at: self.at,
            syncd: (self.syncd - before.syncd) / took,
            postgres: (self.postgres - before.postgres) / took,
            callers: (self.callers - before.callers) / took,
        }
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        let (syncd, postgres, callers) = (self.syncd, self.postgres, self.callers);
        write!(f, "syncd {syncd:.2}, Postgres {postgres:.2}, callers {callers:.2} of {cores}")
    }
}

struct Stat {
    parent: u32,
    seconds: f64,
}

/// What `/proc` says of a process.
fn stat(process: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold spaces and parentheses; what follows the last one is: state, parent, …, user and system time.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u32>().ok()? + fields.get(12)?.parse::<u32>().ok()?;
    // Linux counts in hundredths of a second wherever Sync runs.
    Some(Stat { parent: fields.get(1)?.parse().ok()?, seconds: f64::from(ticks) / 100.0 })
}

/// What `pg_test_fsync` says of fdatasync, where the program is found.
pub(super) fn pg_test_fsync() -> String {
    let given = std::env::var_os("SYNC_PG_BIN").map(PathBuf::from);
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let installed = installed.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    let programs = given.into_iter().chain(installed).chain(on_path).map(|folder| folder.join("pg_test_fsync"));
    let Some(program) = programs.into_iter().find(|program| program.is_file()) else {
        return "(no pg_test_fsync here)".to_owned();
    };
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(program).args(["-s", "1", "-f"]).arg(folder.path().join("written")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| line.trim().strip_prefix("fdatasync"));
    line.map_or_else(|| said.clone(), |line| line.split_whitespace().collect::<Vec<_>>().join(" "))
}
