//! Getting a repository: the commits that are asked for, bare, read-only, over https and nothing else.
//!
//! Nothing of the user, the system or the environment configures it; nothing that was fetched is run, or written as a
//! file of its own: no work tree, no hooks, no submodules, no filters.

mod answer;
mod bounded;
mod mirror;
mod pack;
mod remote;
#[cfg(test)]
mod tests;
mod url;
mod wanted;
mod watch;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix::ObjectId;
use sync_core::text::shown;

pub use answer::{
    Credential, Fault, FaultCode, FetchAnswer, FetchLimits, FetchRequest, Fetched, Head, LeftOut, Network, Proxy,
};
pub use mirror::{Held, current, hold, last_head, remove};
pub use url::{RemoteUrl, UrlError, repository_name};
pub use watch::size_of;

use self::mirror::{Heads, Mirror};
use self::remote::Remote;
use self::wanted::{Choice, Chosen, Wanted, choose};
use crate::tree::reason;

/// Most refs of one remote that a mirror keeps.
const MAX_KEPT: usize = 256;

/// Lists the heads that are asked for and, where there is a mirror, brings them there: only what is new since the last
/// time, each commit without its history. A mirror is made anew where it is damaged or worn.
///
/// May be killed at any time; several at once on one mirror follow one another. After [`FaultCode::Timeout`] and
/// [`FaultCode::TooLarge`] a thread may be left that waits for the remote: the caller should be a process that ends.
pub fn fetch(request: &FetchRequest) -> Result<Fetched, Fault> {
    let url = RemoteUrl::local(&request.url).map_err(|error| Fault::new(FaultCode::Refused, error.to_string()))?;
    let wanted = request.refs.iter().map(|text| Ok((text.clone(), Wanted::parse(text)?)));
    let wanted = wanted.collect::<Result<Vec<_>, Fault>>()?;
    if wanted.is_empty() {
        return Err(Fault::new(FaultCode::Refused, "no ref is named"));
    }
    let run = Run { url, wanted, request: request.clone() };
    let written = || request.mirror.as_deref().map(mirror::largest).unwrap_or_default();
    watch::watched(&request.url, written, &request.limits, move |interrupt| run.run(interrupt))
}

struct Run {
    url: RemoteUrl,
    wanted: Vec<(String, Wanted)>,
    request: FetchRequest,
}

impl Run {
    fn run(&self, interrupt: &AtomicBool) -> Result<Fetched, Fault> {
        let mirror = self.request.mirror.as_deref().map(|folder| self.written(Mirror::lock(folder))).transpose()?;
        let mut remote = self.connect()?;
        let kinds: Vec<_> = self.wanted.iter().map(|(_, wanted)| wanted.clone()).collect();
        let listed = remote.refs(&kinds, &self.request.limits)?;
        let choice = choose(&self.wanted, &listed, self.request.limits.refs);
        let mut fetched =
            Fetched { missing: choice.missing.clone(), left_out: choice.left_out.clone(), ..Fetched::default() };
        if choice.chosen.is_empty() && kinds.contains(&Wanted::Head) {
            let branches = [Wanted::Pattern("*".to_owned())];
            fetched.empty = remote.refs(&branches, &self.request.limits)?.iter().all(|one| one.unpack().1.is_none());
        }
        match mirror {
            None => fetched.heads = choice.chosen.iter().map(|chosen| head(chosen, chosen.commit, None)).collect(),
            Some(mirror) => self.bring(&mirror, &mut remote, &choice, &mut fetched, interrupt)?,
        }
        fetched.bytes = remote.meter.read();
        Ok(fetched)
    }

    fn connect(&self) -> Result<Remote, Fault> {
        let FetchRequest { credential, proxy, limits, .. } = &self.request;
        Remote::connect(&self.url, credential.as_ref(), proxy.as_ref(), limits)
    }

    /// Brings what was chosen into the repository that is there, or else into a new one.
    fn bring(
        &self,
        mirror: &Mirror,
        remote: &mut Remote,
        choice: &Choice,
        fetched: &mut Fetched,
        interrupt: &AtomicBool,
    ) -> Result<(), Fault> {
        self.written(mirror.clear())?;
        if let Some(repository) = mirror.current().filter(|path| !self.request.fresh && self.is_good(path)) {
            match self.bring_into(&repository, remote, choice, fetched, interrupt) {
                Ok(()) => return Ok(()),
                // It may be the repository here that is at fault, so it is tried once more without it.
                Err(Fault { code: FaultCode::Protocol | FaultCode::Disk, what }) => {
                    tracing::debug!(what, "a mirror is made anew");
                    *remote = self.connect()?;
                }
                Err(fault) => return Err(fault),
            }
        }
        if choice.chosen.is_empty() {
            return Ok(());
        }
        let fresh = self.written(mirror.begin())?;
        let made = self.create(&fresh).and_then(|()| self.bring_into(&fresh, remote, choice, fetched, interrupt));
        // What was written since it was last looked at counts too.
        let made = made.and_then(|()| match size_of(&fresh) {
            size if size > self.request.limits.bytes => Err(watch::too_large(&self.request.url, &self.request.limits)),
            _ => Ok(()),
        });
        if let Err(fault) = made {
            // The fault that is reported says more than one of clearing up.
            let _ = fs::remove_dir_all(&fresh);
            return Err(fault);
        }
        fetched.repository = Some(self.written(mirror.finish(&fresh))?);
        // What is still read from stays until the next time.
        self.written(mirror.clear())
    }

    fn is_good(&self, repository: &Path) -> bool {
        let is_small = size_of(repository) <= self.request.limits.bytes / 4 * 3;
        is_small && !mirror::is_worn(repository) && mirror::sweep(repository).is_ok()
    }

    fn create(&self, folder: &Path) -> Result<(), Fault> {
        let made = gix::ThreadSafeRepository::init_opts(
            folder,
            gix::create::Kind::Bare,
            gix::create::Options::default(),
            isolated(),
        );
        made.map_err(|error| self.unwritable(&reason(&error)))?;
        // Samples that nobody runs.
        self.written(fs::remove_dir_all(folder.join("hooks")).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        }))
    }

    fn bring_into(
        &self,
        path: &Path,
        remote: &mut Remote,
        choice: &Choice,
        fetched: &mut Fetched,
        interrupt: &AtomicBool,
    ) -> Result<(), Fault> {
        let limits = &self.request.limits;
        let damaged = |error: &gix::Error| self.unwritable(&reason(error));
        let repository = gix::ThreadSafeRepository::open_opts(path, isolated()).map_err(|error| damaged(&error))?;
        let repository = repository.to_thread_local();
        let mut heads = Heads::read(path);
        let haves = whole(&repository, &heads);
        let wants: BTreeSet<ObjectId> =
            choice.chosen.iter().filter(|one| !haves.contains(&one.commit)).map(|one| one.id).collect();
        if !wants.is_empty() {
            let (wants, haves): (Vec<_>, Vec<_>) = (wants.into_iter().collect(), haves.into_iter().collect());
            forget_boundary(&repository, &haves).map_err(|error| self.unwritable(&error.to_string()))?;
            remote.meter.allow(limits.bytes);
            pack::receive(remote, &repository, &wants, &haves, limits, interrupt)
                .map_err(|error| remote.fault(limits, &error))?;
        }
        let (mut found, mut no_commits) = (Vec::new(), Vec::new());
        for chosen in &choice.chosen {
            // Where the commit was here already, the tag that names it was not asked for.
            let object = repository.find_object(chosen.id).or_else(|_| repository.find_object(chosen.commit));
            let Ok(object) = object else {
                let what = format!("`{}` did not send `{}`", self.url, shown(&chosen.name, 100));
                return Err(Fault::new(FaultCode::Protocol, what));
            };
            match object.peel_to_commit() {
                Ok(commit) => {
                    let time = commit.time().map(|time| time.seconds).unwrap_or_default();
                    found.push(head(chosen, commit.id, Some(time)));
                }
                Err(_) => no_commits.push(LeftOut { name: shown(&chosen.name, 100), reason: "no_commit".to_owned() }),
            }
        }
        heads.note(&found, &choice.missing, MAX_KEPT);
        self.written(heads.write(path))?;
        fetched.repository = Some(path.to_owned());
        fetched.heads = found;
        fetched.left_out.extend(no_commits);
        Ok(())
    }

    fn written<T>(&self, result: std::io::Result<T>) -> Result<T, Fault> {
        result.map_err(|error| self.unwritable(&error.to_string()))
    }

    fn unwritable(&self, reason: &str) -> Fault {
        let mirror = self.request.mirror.as_deref().unwrap_or(Path::new("")).display();
        Fault::new(FaultCode::Disk, format!("the mirror `{mirror}` cannot be written: {reason}"))
    }
}

fn head(chosen: &Chosen, commit: ObjectId, committed_at: Option<i64>) -> Head {
    Head {
        asked: chosen.asked.clone(),
        name: chosen.name.clone(),
        branch: chosen.branch.clone(),
        commit: commit.to_hex().to_string(),
        committed_at,
    }
}

/// Commits that a repository has with their trees.
fn whole(repository: &gix::Repository, heads: &Heads) -> BTreeSet<ObjectId> {
    let is_whole = |id: &ObjectId| {
        let commit = repository.find_commit(*id).ok();
        commit.and_then(|commit| commit.tree_id().ok()).is_some_and(|tree| repository.find_tree(tree).is_ok())
    };
    heads.commits().filter_map(|text| ObjectId::from_hex(text.as_bytes()).ok()).filter(is_whole).collect()
}

/// The boundary of what is here is told to the remote, so only what is offered to it stays in it.
fn forget_boundary(repository: &gix::Repository, haves: &[ObjectId]) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut file = tempfile::NamedTempFile::new_in(repository.path())?;
    for have in haves {
        writeln!(file, "{}", have.to_hex())?;
    }
    file.persist(repository.path().join("shallow")).map(drop).map_err(|error| error.error)
}

/// Nothing of the user, the system or the environment is read.
fn isolated() -> gix::open::Options {
    gix::open::Options::isolated().with(gix::sec::Trust::Full)
}
