//! `syncd fetch` as a child: the one process that speaks with remotes and writes mirrors.
//!
//! What it needs to know, the credential too, goes in on its stdin: neither its arguments nor its environment hold
//! anything that others on the machine could read. Its one way out is the proxy of [`Egress`].

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sync_ingest::git::{Credential, Fault, FaultCode, FetchAnswer, FetchLimits, FetchRequest, Fetched, RemoteUrl};

use super::child::{self, ChildError};
use super::egress::Egress;

/// How much longer than its own limit a child may take, by the wall.
const GRACE: Duration = Duration::from_secs(30);
/// Largest answer, in bytes.
const MAX_ANSWER: u64 = 4 << 20;
/// What of the environment it needs: further certificate authorities.
const CERTIFICATES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// What to fetch.
#[derive(Debug, Clone)]
pub struct FetchOrder<'a> {
    /// The executable that knows the command `fetch`: always explicit, since tests have one of their own.
    pub executable: &'a Path,
    /// Where from.
    pub url: &'a RemoteUrl,
    /// Refs, as [`FetchRequest::refs`] has them.
    pub refs: &'a [String],
    /// Who asks, where the remote wants to know.
    pub credential: Option<Credential>,
    /// Where fetching ends.
    pub limits: FetchLimits,
}

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The child could not be run, or broke.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// It says why.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl FetchError {
    /// Whether the same may go well later without anybody doing anything.
    pub fn heals(&self) -> bool {
        match self {
            Self::Child(ChildError::Refused { .. }) => false,
            Self::Child(_) => true,
            Self::Fault(fault) => fault.code.heals(),
        }
    }

    /// What to do about it.
    pub fn next_step(&self) -> String {
        match self {
            Self::Child(ChildError::Refused { next, .. } | ChildError::Failed { next, .. }) => next.clone(),
            Self::Child(_) => "check this user's limits on processes, and the log of the worker".to_owned(),
            Self::Fault(fault) => fault.code.next_step().to_owned(),
        }
    }
}

/// Brings the refs into a mirror: what is new, or with `fresh` everything. Dropping the future kills the child, and the
/// mirror is then as it was.
pub async fn run(egress: &Egress, order: &FetchOrder<'_>, mirror: &Path, fresh: bool) -> Result<Fetched, FetchError> {
    let fetched = ask(egress, order, Some(mirror), fresh).await?;
    // What the child says is believed no further than the folder that it was given.
    let is_inside = |path: &PathBuf| {
        let number = path.strip_prefix(mirror).ok().and_then(Path::to_str);
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if !fetched.repository.as_ref().is_none_or(is_inside) {
        return Err(unsound());
    }
    Ok(fetched)
}

/// The remote's heads, without bringing anything.
pub async fn heads(egress: &Egress, order: &FetchOrder<'_>) -> Result<Fetched, FetchError> {
    ask(egress, order, None, false).await
}

async fn ask(
    egress: &Egress,
    order: &FetchOrder<'_>,
    mirror: Option<&Path>,
    fresh: bool,
) -> Result<Fetched, FetchError> {
    let cannot = |reason| ChildError::Start { name: "the fetch", reason };
    let pass = egress.pass(order.url, &order.limits).map_err(cannot)?;
    let request = FetchRequest {
        url: order.url.to_string(),
        refs: order.refs.to_vec(),
        mirror: mirror.map(Path::to_owned),
        fresh,
        credential: order.credential.clone(),
        proxy: Some(pass.proxy().clone()),
        limits: order.limits,
    };
    let input = serde_json::to_vec(&request).map_err(|error| cannot(error.into()))?;
    let mut command = child::command(order.executable, "fetch");
    command.envs(CERTIFICATES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    if let Some(file) = egress.certificates() {
        command.env("SSL_CERT_FILE", file);
    }
    let answer = child::run_with("the fetch", command, input, order.limits.time + GRACE, |stdout| {
        let mut text = Vec::new();
        stdout.take(MAX_ANSWER).read_to_end(&mut text).map(|_| text)
    })
    .await?;
    match answer.ok().and_then(|text| serde_json::from_slice(&text).ok()) {
        Some(FetchAnswer::Done(fetched)) if is_sound(&fetched) => Ok(fetched),
        Some(FetchAnswer::Fault(fault)) => Err(explained(order.url, fault, &pass.refused()).into()),
        _ => Err(unsound()),
    }
}

/// The child only sees that a connection was not made; the proxy knows why.
fn explained(url: &RemoteUrl, fault: Fault, refused: &[String]) -> Fault {
    match refused.first() {
        Some(why) if matches!(fault.code, FaultCode::Unreachable | FaultCode::Protocol) => {
            Fault::new(FaultCode::AddressRefused, format!("`{url}` is not fetched: {why}"))
        }
        _ => fault,
    }
}

fn is_sound(fetched: &Fetched) -> bool {
    let is_id = |text: &str| text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    fetched.heads.iter().all(|head| is_id(&head.commit))
}

fn unsound() -> FetchError {
    let (what, next) = ("the fetch gave an answer that is refused", "this is a fault of Sync; report it");
    ChildError::Failed { what: what.to_owned(), next: next.to_owned() }.into()
}

#[cfg(test)]
mod tests {
    use super::super::child::tests::scripted;
    use super::super::egress::EgressPolicy;
    use super::*;

    async fn answered(script: &str) -> Result<Fetched, FetchError> {
        let folder = tempfile::tempdir().unwrap();
        let executable = scripted(&folder, script);
        let url = RemoteUrl::public("https://example.com/acme/billing").unwrap();
        let egress = Egress::start(EgressPolicy::default()).await.unwrap();
        let credential = Some(Credential { user: "u".to_owned(), secret: "canary".to_owned() });
        let (refs, limits) = (["HEAD".to_owned()], FetchLimits::default());
        let order = FetchOrder { executable: &executable, url: &url, refs: &refs, credential, limits };
        run(&egress, &order, Path::new("/mirror"), false).await
    }

    #[tokio::test]
    async fn the_credential_is_on_stdin_and_nowhere_else() {
        let script = r#"case "$* $(env)" in *canary*) echo leaked >&2; exit 1;; esac
case "$(cat)" in *canary*) echo '{"fault":{"code":"not_found","what":"it came"}}';; esac"#;
        let error = answered(script).await.unwrap_err();
        assert_eq!(error.to_string(), "it came");
        assert!(!error.heals() && error.next_step().contains("browser"));
    }

    #[tokio::test]
    async fn an_answer_is_believed_no_further_than_it_may_be() {
        let done = |repository: &str, commit: &str| {
            format!(
                r#"cat >/dev/null; echo '{{"done":{{"repository":{repository},"heads":[{{"asked":"HEAD","name":"HEAD","branch":"main","commit":"{commit}","committed_at":1}}],"missing":[],"left_out":[],"empty":false,"bytes":1,"network":"namespace"}}}}'"#
            )
        };
        let commit = "a".repeat(40);
        assert_eq!(answered(&done(r#""/mirror/3""#, &commit)).await.unwrap().heads[0].commit, commit);
        for (repository, commit) in [
            (r#""/etc""#, commit.as_str()),
            (r#""/mirror/../etc""#, &commit),
            (r#""/mirror/3/x""#, &commit),
            ("null", "--upload-pack=x"),
            ("null", "HEAD"),
        ] {
            assert!(answered(&done(repository, commit)).await.is_err(), "{repository} {commit}");
        }
        assert!(answered("cat >/dev/null; echo nonsense").await.is_err());
        assert!(answered("cat >/dev/null; yes").await.is_err());
    }

    #[test]
    fn a_refusal_of_the_proxy_is_what_is_told() {
        let url = RemoteUrl::public("https://example.com/acme/billing").unwrap();
        let fault = || Fault::new(FaultCode::Unreachable, "no tunnel");
        assert_eq!(explained(&url, fault(), &[]).code, FaultCode::Unreachable);
        let told = explained(&url, fault(), &["`x:443` has an address that is not on the internet".to_owned()]);
        assert_eq!(told.code, FaultCode::AddressRefused);
        assert!(told.what.contains("not on the internet"));
    }
}
