//! As Bitbucket says it: the cloud's events, and those of a server of one's own where they differ.

use http::HeaderName;
use serde::Deserialize;
use sync_core::text::shown;

use super::{Delivery, OTHER_EVENT, OTHER_REF, Said, Unreadable, Verified, delivery, json, pushed};

/// The header that says the event.
pub(super) const EVENT: HeaderName = HeaderName::from_static("x-event-key");

#[derive(Deserialize)]
struct Hook {
    repository: Option<Repository>,
    push: Option<Push>,
    /// Of a server's `repo:refs_changed` a list, of the cloud's `repo:updated` an object.
    changes: Option<Changes>,
}

#[derive(Deserialize)]
struct Repository {
    full_name: Option<String>,
    /// Of a server, whose paths are made of these.
    project: Option<Project>,
    slug: Option<String>,
}

#[derive(Deserialize)]
struct Project {
    key: Option<String>,
}

impl Repository {
    fn path(self) -> Option<String> {
        let of_a_server = || Some(format!("{}/{}", self.project?.key?, self.slug?));
        self.full_name.or_else(of_a_server)
    }
}

#[derive(Deserialize)]
struct Push {
    #[serde(default)]
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    new: Option<Ref>,
    old: Option<Ref>,
}

#[derive(Deserialize)]
struct Ref {
    r#type: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Changes {
    Refs(Vec<RefChange>),
    Settings { full_name: Option<Renamed> },
}

#[derive(Deserialize)]
struct RefChange {
    r#ref: ServerRef,
    #[serde(rename = "toHash")]
    to: Option<String>,
    r#type: Option<String>,
}

#[derive(Deserialize)]
struct ServerRef {
    id: String,
}

#[derive(Deserialize)]
struct Renamed {
    old: String,
    new: String,
}

/// Bitbucket says five changes of a push, and leaves out the others.
const SAID_AT_MOST: usize = 5;

pub(super) fn read(event: &str, body: &Verified) -> Result<Delivery, Unreadable> {
    if event == "diagnostics:ping" {
        return Ok(delivery(event, None, Said::Ping));
    }
    if !event.starts_with("repo:") {
        return Ok(delivery(event, None, OTHER_EVENT));
    }
    let hook: Hook = json(body)?;
    let path = hook.repository.and_then(Repository::path);
    let said = match (event, hook.push, hook.changes) {
        ("repo:push", Some(push), _) => {
            let more = (push.changes.len() >= SAID_AT_MOST).then_some(Said::PushedMore);
            push.changes.into_iter().map(change).chain(more).collect()
        }
        ("repo:refs_changed", _, Some(Changes::Refs(changes))) => changes
            .into_iter()
            .map(|change| {
                let deleted = change.r#type.as_deref() == Some("DELETE");
                pushed(&change.r#ref.id, change.to.as_deref(), deleted)
            })
            .collect(),
        ("repo:updated", _, Some(Changes::Settings { full_name: Some(Renamed { old, new }) })) => {
            vec![Said::Moved { from: Some(old), to: new }]
        }
        ("repo:transfer", ..) => match &path {
            Some(now) => vec![Said::Moved { from: None, to: now.clone() }],
            None => vec![OTHER_EVENT],
        },
        ("repo:deleted", ..) => vec![Said::Deleted],
        _ => vec![OTHER_EVENT],
    };
    Ok(Delivery { event: shown(event, 100), path, said })
}

fn change(change: Change) -> Said {
    let branch = |known: &Ref| matches!(known.r#type.as_str(), "branch" | "named_branch");
    match (change.new, change.old) {
        (Some(new), _) if branch(&new) => Said::Pushed(new.name),
        (None, Some(old)) if branch(&old) => Said::BranchDeleted(old.name),
        _ => OTHER_REF,
    }
}
