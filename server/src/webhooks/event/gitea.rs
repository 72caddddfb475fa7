//! As Gitea says it, and Forgejo, which was made from it.

use http::HeaderName;
use serde::Deserialize;

use super::{Delivery, OTHER_EVENT, OTHER_REF, Said, Unreadable, Verified, delivery, json, pushed};

/// The header that says the event.
pub(super) const GITEA_EVENT: HeaderName = HeaderName::from_static("x-gitea-event");
/// The same of Forgejo.
pub(super) const FORGEJO_EVENT: HeaderName = HeaderName::from_static("x-forgejo-event");

#[derive(Deserialize)]
struct Push {
    r#ref: String,
    after: Option<String>,
    repository: Repository,
}

#[derive(Deserialize)]
struct Gone {
    r#ref: String,
    ref_type: String,
    repository: Repository,
}

#[derive(Deserialize)]
struct Happened {
    action: String,
    repository: Repository,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
}

pub(super) fn read(event: &str, body: &Verified) -> Result<Delivery, Unreadable> {
    match event {
        "push" => {
            let push: Push = json(body)?;
            let said = pushed(&push.r#ref, push.after.as_deref(), false);
            Ok(delivery(event, Some(push.repository.full_name), said))
        }
        "delete" => {
            let gone: Gone = json(body)?;
            let said = match gone.ref_type.as_str() {
                "branch" => Said::BranchDeleted(gone.r#ref.trim_start_matches("refs/heads/").to_owned()),
                _ => OTHER_REF,
            };
            Ok(delivery(event, Some(gone.repository.full_name), said))
        }
        "repository" => {
            let happened: Happened = json(body)?;
            let said = if happened.action == "deleted" { Said::Deleted } else { OTHER_EVENT };
            Ok(delivery(&format!("repository.{}", happened.action), Some(happened.repository.full_name), said))
        }
        other => Ok(delivery(other, None, OTHER_EVENT)),
    }
}
