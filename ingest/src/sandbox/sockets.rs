//! No sockets (seccomp): whoever cannot make one reaches no network, in whatever namespace it is.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

/// What makes a socket. `io_uring` does it without the first call; pairs of connected sockets lead nowhere.
const CALLS: [libc::c_long; 2] = [libc::SYS_socket, libc::SYS_io_uring_setup];

/// Refuses this process and all that it starts any socket.
pub(super) fn none() -> Result<(), String> {
    let refused = |error: &dyn std::error::Error| format!("seccomp: {error}");
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| refused(&error))?;
    let denied = u32::try_from(libc::EPERM).unwrap_or(1);
    let calls = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, SeccompAction::Errno(denied), arch);
    let program: BpfProgram = filter
        .map_err(|error| refused(&error))?
        .try_into()
        .map_err(|error: seccompiler::BackendError| refused(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| refused(&error))
}
