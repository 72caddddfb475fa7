//! As GitLab says it: webhooks of a project or a group, and the system hooks of a server of one's own, which say of every
//! project what happens to it.

use http::HeaderName;
use serde::Deserialize;

use super::{Delivery, OTHER_EVENT, Said, Unreadable, Verified, delivery, json, pushed};

/// The header that says the event.
pub(super) const EVENT: HeaderName = HeaderName::from_static("x-gitlab-event");

#[derive(Deserialize)]
struct Hook {
    object_kind: Option<String>,
    event_name: Option<String>,
    r#ref: Option<String>,
    after: Option<String>,
    project: Option<Project>,
    path_with_namespace: Option<String>,
    old_path_with_namespace: Option<String>,
}

#[derive(Deserialize)]
struct Project {
    path_with_namespace: Option<String>,
}

pub(super) fn read(_: &str, body: &Verified) -> Result<Delivery, Unreadable> {
    let hook: Hook = json(body)?;
    // A system hook names its event, a project's hook the kind of thing; a push does both.
    let event = hook.event_name.or(hook.object_kind).unwrap_or_else(|| "unknown".to_owned());
    let path = hook.project.and_then(|project| project.path_with_namespace).or(hook.path_with_namespace);
    let said = match (event.as_str(), &path) {
        ("push", _) => match &hook.r#ref {
            Some(name) => pushed(name, hook.after.as_deref(), false),
            None => Said::Nothing("it names no branch"),
        },
        ("repository_update", _) => Said::PushedMore,
        ("project_rename" | "project_transfer", Some(now)) => {
            Said::Moved { from: hook.old_path_with_namespace.clone(), to: now.clone() }
        }
        ("project_destroy", _) => Said::Deleted,
        _ => OTHER_EVENT,
    };
    Ok(delivery(&event, path, said))
}
