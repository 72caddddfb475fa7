//! Privileges that a process has because it is root: given up, but for those over files, by which it reads what another
//! user may have made.

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};

const KEPT: [Capability; 2] = [Capability::CAP_DAC_OVERRIDE, Capability::CAP_DAC_READ_SEARCH];

/// Gives them up for this thread and all that it starts. Who has none gives up none.
pub(super) fn give_up() -> Result<(), String> {
    let said = |error: CapsError| format!("capabilities: {error}");
    let held = caps::read(None, CapSet::Permitted).map_err(said)?;
    if held.is_empty() {
        return Ok(());
    }
    if held.contains(&Capability::CAP_SETPCAP) {
        for other in caps::all().into_iter().filter(|other| !KEPT.contains(other)) {
            // A kernel may not know it.
            let _ = caps::drop(None, CapSet::Bounding, other);
        }
    }
    let kept: CapsHashSet = held.into_iter().filter(|one| KEPT.contains(one)).collect();
    caps::clear(None, CapSet::Inheritable).map_err(said)?;
    caps::set(None, CapSet::Effective, &kept).map_err(said)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(said)
}
