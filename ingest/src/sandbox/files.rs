//! No files but those that are needed (Landlock).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope, path_beneath_rules,
};

/// The rights to files that are ruled: an older kernel knows fewer, and then rules those.
const FILES: ABI = ABI::V5;
/// What every process reads: itself, and how many processors it has.
const OWN: [&str; 2] = ["/proc", "/sys/fs/cgroup"];
/// Written to by whoever wants nothing to be kept.
const NOTHING: &str = "/dev/null";

/// Leaves this process and all that it starts the paths of `read`, those of `written` to write to, what its executables
/// are made of, and with a `port` no other one to connect to. Whether the port is kept is what it gives.
pub(super) fn only(read: &[PathBuf], written: Option<&Path>, port: Option<u16>) -> Result<bool, String> {
    let said = |error: RulesetError| format!("Landlock: {error}");
    let status = rule(read, written, port).map_err(said)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("the kernel has no Landlock".to_owned());
    }
    // What the kernel does not rule is left out in silence, so it is asked.
    Ok(port.is_some() && is_kept())
}

fn rule(
    read: &[PathBuf],
    written: Option<&Path>,
    port: Option<u16>,
) -> Result<landlock::RestrictionStatus, RulesetError> {
    let reading = AccessFs::from_read(FILES) & !AccessFs::Execute;
    let executed = AccessFs::ReadFile | AccessFs::Execute;
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(FILES))?.scope(Scope::from_all(ABI::V6))?;
    if port.is_some() {
        rules = rules.handle_access(AccessNet::ConnectTcp | AccessNet::BindTcp)?;
    }
    let mut rules = rules
        .create()?
        .add_rules(path_beneath_rules(OWN.iter().map(Path::new), reading))?
        .add_rules(path_beneath_rules(read, reading))?
        .add_rules(path_beneath_rules(mapped(), executed))?
        .add_rules(path_beneath_rules([NOTHING], AccessFs::ReadFile | AccessFs::WriteFile))?
        .add_rules(path_beneath_rules(written, AccessFs::from_all(FILES) & !AccessFs::Execute))?;
    if let Some(port) = port {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    rules.restrict_self()
}

/// Files that this process is made of, which are those of a child of the same executable.
fn mapped() -> BTreeSet<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
    let mut paths: BTreeSet<_> = paths.filter(|path| path.is_file()).collect();
    paths.extend(std::env::current_exe());
    paths
}

/// Whether another port is refused before anything is sent: who is let connect hears that nobody is there.
fn is_kept() -> bool {
    let nobody = std::net::TcpListener::bind(("127.0.0.1", 0));
    nobody.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}
