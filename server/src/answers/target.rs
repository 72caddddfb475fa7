//! Which index answers: the repository named, pinned or alone, at the ref named or its default branch.

use serde_json::Value;
use sync_core::text::is_commit;
use sync_store::{Index, Repository, RepositoryState};

use super::error::{AnswerError, MAX_NAMES};
use crate::audit::{Asker, Reading};

/// Where an answer comes from, or why there is none.
#[derive(Debug)]
pub(super) enum Target {
    /// An index.
    Index(Repository, Box<Index>),
    /// No index; the repository where one was found.
    Absent(Option<Repository>, Absence),
}

/// Why there is nothing to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Absence {
    /// The code of it.
    pub reason: &'static str,
    /// A sentence about it, with the next step.
    pub explanation: String,
}

impl Absence {
    /// Nothing to read, and why.
    pub(super) fn new(reason: &'static str, explanation: impl Into<String>) -> Self {
        Self { reason, explanation: explanation.into() }
    }
}

/// Which repository is meant.
#[derive(Debug)]
pub(super) enum Choice {
    /// This one.
    One(Repository),
    /// Several are visible and none was named; the first names, and how many there are.
    Several(Vec<String>, u64),
    /// None is visible at all.
    None,
}

/// Finds the repository that is meant.
///
/// A name that is given or pinned decides, and where it is not visible the answer is `repository_not_found` after
/// the one same statement, whether such a repository exists elsewhere or not. A pinned repository that does not hold
/// `path`, and no name at all among several, give way to the one readable repository that does hold it.
pub(super) async fn choose(
    reading: &mut Reading,
    asker: &Asker,
    named: Option<&str>,
    path: Option<&str>,
) -> Result<Choice, AnswerError> {
    let pinned = asker.pinned_repository.as_deref();
    if let (Some(named), Some(pinned)) = (named, pinned)
        && named != pinned
    {
        let allowed = format!("`{pinned}`, to which this address is pinned, or absent");
        return Err(AnswerError::invalid_argument("repository", &Value::from(named), allowed));
    }
    if let Some(name) = named.or(pinned) {
        let Some(repository) = reading.tx.repository_by_name(name).await? else {
            return Err(AnswerError::repository_not_found(name));
        };
        reading.about(repository.id, &repository.name);
        if named.is_none()
            && let Some(path) = path
            && let Some(other) = elsewhere(reading, &repository, path).await?
        {
            reading.about(other.id, &other.name);
            return Ok(Choice::One(other));
        }
        return Ok(Choice::One(repository));
    }
    let mut visible = reading.tx.visible_repositories(None, 21).await?;
    if visible.len() > 1 {
        if let Some(path) = path {
            let mut holding = reading.tx.repositories_with_path(path, 2).await?;
            if holding.len() == 1
                && let Some(repository) = holding.pop()
            {
                reading.about(repository.id, &repository.name);
                return Ok(Choice::One(repository));
            }
        }
        let total = reading.tx.count_visible_repositories().await?;
        let first = visible.into_iter().take(MAX_NAMES).map(|repository| repository.name).collect();
        return Ok(Choice::Several(first, total));
    }
    match visible.pop() {
        Some(repository) => {
            reading.about(repository.id, &repository.name);
            Ok(Choice::One(repository))
        }
        None => Ok(Choice::None),
    }
}

/// The one other readable repository that holds a path which this one does not.
async fn elsewhere(reading: &mut Reading, here: &Repository, path: &str) -> Result<Option<Repository>, AnswerError> {
    let mut holding = reading.tx.repositories_with_path(path, 2).await?;
    let one = if holding.len() == 1 { holding.pop() } else { None };
    Ok(one.filter(|repository| repository.id != here.id))
}

/// The index of one repository that answers.
pub(super) async fn index_of(
    reading: &mut Reading,
    repository: Repository,
    ref_name: Option<&str>,
) -> Result<Target, AnswerError> {
    let wanted = ref_name.unwrap_or(&repository.default_branch);
    if let Some(index) = reading.tx.answering_index(repository.id, wanted).await? {
        return Ok(Target::Index(repository, Box::new(index)));
    }
    if let Some(commit) = ref_name
        && is_commit(commit)
        && let Some(index) = reading.tx.index_by_commit(repository.id, commit).await?
    {
        return Ok(Target::Index(repository, Box::new(index)));
    }
    let absence = why_absent(&repository, ref_name);
    Ok(Target::Absent(Some(repository), absence))
}

/// [`choose`] and [`index_of`] for questions that are about one repository.
pub(super) async fn find(
    reading: &mut Reading,
    asker: &Asker,
    named: Option<&str>,
    ref_name: Option<&str>,
    path: Option<&str>,
) -> Result<Target, AnswerError> {
    match choose(reading, asker, named, path).await? {
        Choice::One(repository) => index_of(reading, repository, ref_name).await,
        Choice::Several(first, total) => Err(AnswerError::repository_required(&first, total)),
        Choice::None => Ok(Target::Absent(None, none_visible())),
    }
}

fn none_visible() -> Absence {
    Absence::new("never_indexed", "No repository is visible to you. Register one, or ask for a grant to one.")
}

fn why_absent(repository: &Repository, ref_name: Option<&str>) -> Absence {
    let name = &repository.name;
    if let Some(ref_name) = ref_name.filter(|given| *given != repository.default_branch) {
        let shown = sync_core::text::shown(ref_name, 80);
        return Absence::new(
            "ref_not_indexed",
            format!(
                "`{shown}` of {name} is not indexed; nothing is known of it. Leave `ref` out to ask about `{}`, or call sync_repositories for the refs that are.",
                sync_core::text::shown(&repository.default_branch, 80)
            ),
        );
    }
    let said = repository.state_reason.as_deref().unwrap_or_default();
    let (why, next) = said.split_once("; next: ").map_or((said, None), |(why, next)| (why, Some(next)));
    let why = if why.is_empty() { String::new() } else { format!(" ({})", sync_core::text::shown(why, 200)) };
    let next =
        |usual: &str| next.map_or(usual.to_owned(), |next| format!("Next: {}.", sync_core::text::shown(next, 200)));
    match repository.state {
        RepositoryState::Gated => Absence::new(
            "gated",
            format!(
                "{name} is not indexed because its gate refused it{why}. {}",
                next("Its owner can set the gate to `on`.")
            ),
        ),
        RepositoryState::Indexing => Absence::new(
            "never_indexed",
            format!("{name} is being indexed for the first time now{why}. Ask again in a minute."),
        ),
        RepositoryState::Failed => Absence::new(
            "never_indexed",
            format!("{name} was never indexed: the last try failed{why}. {}", next("Its owner has to act on that.")),
        ),
        RepositoryState::Deleting => {
            Absence::new("never_indexed", format!("{name} is being erased with all that is known of it."))
        }
        RepositoryState::Registered | RepositoryState::Indexed => Absence::new(
            "never_indexed",
            format!("{name} is registered and was never indexed{why}. Its index starts with its next push or refresh."),
        ),
    }
}
