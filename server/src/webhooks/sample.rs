//! A push as a forge would say it: what `syncd trigger push` sends.

use http::HeaderName;
use serde_json::{Value, json};
use sync_store::Forge;

use super::signature::sign;

/// The commit that a sample says was pushed. Nothing looks at it: what is indexed is what the remote has.
const COMMIT: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";

/// A delivery, ready to be sent.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its headers, the signature among them.
    pub headers: Vec<(HeaderName, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// A push to a branch of the repository at that path, signed. `delivery` is its id: the same one again is a duplicate.
pub fn push(forge: Forge, path: &str, branch: &str, delivery: &str, secret: &str) -> Sample {
    let repository = json!({ "full_name": path });
    let full_name = format!("refs/heads/{branch}");
    let said: Value = match forge {
        Forge::Github | Forge::Gitea | Forge::Forgejo => {
            json!({ "ref": full_name, "before": COMMIT, "after": COMMIT, "repository": repository })
        }
        Forge::Gitlab => json!({
            "object_kind": "push", "event_name": "push", "ref": full_name, "before": COMMIT, "after": COMMIT,
            "project": { "path_with_namespace": path },
        }),
        Forge::Bitbucket => {
            let at = json!({ "type": "branch", "name": branch, "target": { "type": "commit", "hash": COMMIT } });
            json!({ "repository": repository, "push": { "changes": [{ "old": at, "new": at }] } })
        }
    };
    let body = said.to_string().into_bytes();
    let (event, event_header, delivery_header) = match forge {
        Forge::Github => ("push", "x-github-event", "x-github-delivery"),
        Forge::Gitlab => ("Push Hook", "x-gitlab-event", "x-gitlab-event-uuid"),
        Forge::Gitea => ("push", "x-gitea-event", "x-gitea-delivery"),
        Forge::Forgejo => ("push", "x-forgejo-event", "x-forgejo-delivery"),
        Forge::Bitbucket => ("repo:push", "x-event-key", "x-request-uuid"),
    };
    let headers = vec![
        (http::header::CONTENT_TYPE, "application/json".to_owned()),
        (HeaderName::from_static(event_header), event.to_owned()),
        (HeaderName::from_static(delivery_header), delivery.to_owned()),
        sign(forge, secret, &body),
    ];
    Sample { headers, body }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;
    use time::OffsetDateTime;

    use super::*;
    use crate::webhooks::event::{self, Said};
    use crate::webhooks::signature::verify;

    #[test]
    fn a_sample_is_signed_and_understood_as_what_a_forge_sends() {
        for forge in Forge::ALL {
            let sample = push(forge, "acme/billing", "trunk", "1", "secret");
            let headers: HeaderMap =
                sample.headers.into_iter().map(|(name, value)| (name, value.parse().unwrap())).collect();
            let now = OffsetDateTime::UNIX_EPOCH;
            let verified = verify(forge, &headers, Bytes::from(sample.body), &[b"secret"], now).unwrap();
            let read = event::read(forge, &headers, &verified).unwrap();
            assert_eq!(
                (read.path.as_deref(), read.said),
                (Some("acme/billing"), vec![Said::Pushed("trunk".to_owned())])
            );
        }
    }
}
