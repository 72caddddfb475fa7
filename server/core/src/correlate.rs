//! Which call of the code a span of production was made by: the rule that leads to the rung `observed`. Pure.
//!
//! Nothing is guessed. Either exactly one call is left at the end, which also reaches the operation that the span
//! reached, or there is a [`Reason`], which is counted and shown. A line means something only in the code that was
//! running, so that it is looked up in the index of the span's own commit and carried from there to the current one,
//! where the call is provably the same.
//!
//! From a span to a decision:
//! 1. [`Resource`] and [`Code`] read the attributes in all their spellings.
//! 2. [`Span::asked`] is the gate: what kind of span, from where, whether it was answered.
//! 3. [`repository()`] says which repository the service is built from.
//! 4. [`needed`] says which two files' calls have to be loaded, and [`correlate`] decides.
//!
//! Steps 3 and 4 depend only on the service and on what [`Asked`] has in it, and can be kept until an index or a mapping changes.
//! Of step 2, [`Exchange::refusal`] is each span's own; of both, the smaller reason is told.

mod attributes;
pub mod carry;
mod files;
mod path;
mod reason;
mod repository;
mod resource;
mod site;
#[cfg(test)]
mod tests;

pub use attributes::{Code, Location, Value};
pub use files::{Files, Found, Match, Prefixes};
pub use path::{MAX_PATH_BYTES, SpanPath};
pub use reason::{About, BadReason, Reason};
pub use repository::{Candidate, RepositoryUrl, repository};
pub use resource::{PRODUCTION, Resource, environment_counts};
use site::is_written_at;
pub use site::{Performed, Site, agrees, choose};

/// Decides.
///
/// `revision` is the index of the commit that the span reports, `current` the one that readers see; both of the
/// repository that the service is built from.
pub fn correlate<'a, I: Index + ?Sized>(
    asked: &Asked<'_>,
    revision: Revision<&I>,
    current: &'a I,
    prefixes: &Prefixes,
) -> Decision<'a> {
    let (then, found) = match located(asked.location.path, revision, current, prefixes) {
        Ok(located) => located,
        Err(reason) => return Decision::refused(reason),
    };
    let sites = then.sites(found.path);
    let chosen = match choose(sites, asked.location.line, asked.location.column) {
        Ok(chosen) => chosen,
        Err(reason) => return Decision::refused(reason),
    };
    let agreed = agrees(chosen, asked.performed);
    // Of another operation at another column nobody says that it was this call: it is one that is not known.
    let is_elsewhere = asked.location.column.is_some_and(|column| !is_written_at(chosen, asked.location.line, column));
    if agreed.is_err() && is_elsewhere {
        return Decision::refused(Reason::NoSiteAtLine);
    }
    // What the span contradicts is carried too, so that it can be told of the code as it is now.
    let carried = carry::file(found.path, then.files(), current.files()).and_then(|path| {
        let same_content = then.files().content_of(found.path) == current.files().content_of(path);
        Some(Place { path, site: carry::site(chosen, sites, same_content, current.sites(path))? })
    });
    match (agreed, carried) {
        (Ok(()), Some(place)) => Decision::Exact { place, by: found.by },
        (Ok(()), None) => Decision::refused(Reason::SiteChanged),
        (Err(reason), place) => Decision::Refused { reason, place },
    }
}

/// The files whose calls [`correlate`] asks for, so that a caller can load those of many spans at once. Nothing where
/// it asks for none.
pub fn needed<'a, I: Index + ?Sized>(
    path: &str,
    revision: Revision<&'a I>,
    current: &'a I,
    prefixes: &Prefixes,
) -> Option<Needed<'a>> {
    let (then, found) = located(path, revision, current, prefixes).ok()?;
    Some(Needed { then: found.path, now: carry::file(found.path, then.files(), current.files()) })
}

/// The file that is meant, in the index of the span's own commit.
fn located<'a, I: Index + ?Sized>(
    path: &str,
    revision: Revision<&'a I>,
    current: &I,
    prefixes: &Prefixes,
) -> Result<(&'a I, Found<'a>), Reason> {
    let path = SpanPath::read(path)?;
    match revision {
        Revision::Kept(index) => Ok((index, index.files().locate(&path, prefixes)?)),
        Revision::NotKept => Err(Reason::RevisionNotIndexed),
        // It promotes nothing; but a path that leads nowhere is mended first, so that this is what is told.
        Revision::NotSent => Err(match current.files().locate(&path, prefixes)?.by {
            Match::Partial => Reason::PartialPathNeedsSameRevision,
            Match::Full | Match::Mapped => Reason::RevisionUnknown,
        }),
    }
}

/// What a decision depends on, of a span that passed the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// Where it began.
    pub location: Location<'a>,
    /// What it reached.
    pub performed: Performed<'a>,
}

/// The index of the commit that a span reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision<I> {
    /// It is there.
    Kept(I),
    /// A commit was reported whose index is not there.
    NotKept,
    /// No commit was reported.
    NotSent,
}

/// One index of a repository.
pub trait Index {
    /// Its files.
    fn files(&self) -> &Files;
    /// The calls to vendors in one file; none where there are none. Asked only for what [`needed`] says.
    fn sites(&self, path: &str) -> &[Site];
}

/// A call of the current index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// Its file.
    pub path: &'a str,
    /// The call.
    pub site: &'a Site,
}

/// Which files' calls a decision asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed<'a> {
    /// In the index of the span's own commit.
    pub then: &'a str,
    /// In the current index; nothing where the file is gone.
    pub now: Option<&'a str>,
}

/// What a span says of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<'a> {
    /// This call was made: it is observed.
    Exact {
        /// In the current index.
        place: Place<'a>,
        /// How the path was found to mean the file, in the span's own commit.
        by: Match,
    },
    /// It promotes nothing.
    Refused {
        /// Why.
        reason: Reason,
        /// The call that it is about, where one was found that the span does not agree with
        /// ([`Reason::ContradictsStaticOperation`], [`Reason::FillsUnmappedOperation`],
        /// [`Reason::OperationNotNamed`]) and that is still there.
        place: Option<Place<'a>>,
    },
}

impl Decision<'_> {
    const fn refused(reason: Reason) -> Self {
        Self::Refused { reason, place: None }
    }
}

/// What the gate looks at.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    /// CLIENT or PRODUCER.
    pub is_client: bool,
    /// [`Code::location`].
    pub location: Result<Location<'a>, Reason>,
    /// [`environment_counts`].
    pub environment_counts: bool,
    /// What it reached, where the catalog knows one operation for it.
    pub performed: Option<Performed<'a>>,
    /// How it went.
    pub exchange: Exchange,
}

impl<'a> Span<'a> {
    /// What there is to decide.
    ///
    /// # Errors
    /// The first reason for which there is nothing, up to and with [`Reason::Redirect`].
    pub fn asked(&self) -> Result<Asked<'a>, Reason> {
        if !self.is_client {
            return Err(Reason::NotClient);
        }
        let location = self.location?;
        if !self.environment_counts {
            return Err(Reason::EnvironmentNotCounted);
        }
        let performed = self.performed.ok_or(Reason::UnknownOperation)?;
        match self.exchange.refusal() {
            Some(reason) => Err(reason),
            None => Ok(Asked { location, performed }),
        }
    }
}

/// How one request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exchange {
    /// `http.response.status_code`, or its older spelling.
    pub http_status: Option<u16>,
    /// Whether a status of an RPC is there.
    pub rpc_status: bool,
    /// `http.request.resend_count`, or its older spelling.
    pub resend_count: u64,
}

impl Exchange {
    /// Why the request proves nothing, whatever made it.
    pub fn refusal(&self) -> Option<Reason> {
        match self.http_status.filter(|status| (100..600).contains(status)) {
            None if !self.rpc_status => Some(Reason::NoResponse),
            _ if self.resend_count > 0 => Some(Reason::Resent),
            Some(300..400) => Some(Reason::Redirect),
            _ => None,
        }
    }
}
