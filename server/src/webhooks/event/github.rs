//! As GitHub says it: docs.github.com, "Webhook events and payloads".

use http::HeaderName;
use serde::Deserialize;

use super::{Delivery, OTHER_EVENT, Said, Unreadable, Verified, delivery, json, pushed};

/// The header that says the event.
pub(super) const EVENT: HeaderName = HeaderName::from_static("x-github-event");

#[derive(Deserialize)]
struct Push {
    r#ref: String,
    after: Option<String>,
    #[serde(default)]
    deleted: bool,
    repository: Repository,
}

#[derive(Deserialize)]
struct Ping {
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct Happened {
    action: String,
    changes: Option<Changes>,
    repository: Repository,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
}

#[derive(Deserialize)]
struct Changes {
    repository: Option<Renamed>,
    owner: Option<Transferred>,
}

#[derive(Deserialize)]
struct Renamed {
    name: From,
}

#[derive(Deserialize)]
struct From {
    from: String,
}

#[derive(Deserialize)]
struct Transferred {
    from: Owners,
}

#[derive(Deserialize)]
struct Owners {
    user: Option<Owner>,
    organization: Option<Owner>,
}

#[derive(Deserialize)]
struct Owner {
    login: String,
}

pub(super) fn read(event: &str, body: &Verified) -> Result<Delivery, Unreadable> {
    match event {
        "push" => {
            let push: Push = json(body)?;
            let said = pushed(&push.r#ref, push.after.as_deref(), push.deleted);
            Ok(delivery(event, Some(push.repository.full_name), said))
        }
        "ping" => {
            let ping: Ping = json(body)?;
            Ok(delivery(event, ping.repository.map(|repository| repository.full_name), Said::Ping))
        }
        "repository" => {
            let happened: Happened = json(body)?;
            let now = happened.repository.full_name;
            let (owner, name) = now.split_once('/').unwrap_or(("", &now));
            let changes = happened.changes;
            let said = match happened.action.as_str() {
                "deleted" => Said::Deleted,
                "renamed" => {
                    let before = changes.and_then(|changes| changes.repository);
                    Said::Moved { from: before.map(|before| format!("{owner}/{}", before.name.from)), to: now.clone() }
                }
                "transferred" => {
                    let owners = changes.and_then(|changes| changes.owner).map(|owner| owner.from);
                    let before = owners.and_then(|owners| owners.user.or(owners.organization));
                    Said::Moved { from: before.map(|before| format!("{}/{name}", before.login)), to: now.clone() }
                }
                _ => OTHER_EVENT,
            };
            Ok(delivery(&format!("repository.{}", happened.action), Some(now), said))
        }
        // A deleted branch is said as a push too, which is the one that is read.
        other => Ok(delivery(other, None, OTHER_EVENT)),
    }
}
