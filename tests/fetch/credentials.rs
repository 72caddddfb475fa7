//! Credentials reach the source's own host and nothing else: no list of processes, environment, log, error or file.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sync_ingest::git::{Credential, FaultCode, RemoteUrl};
use sync_server::jobs::fetch_child::{self, FetchOrder};

use super::forge::{Forge, Odd};
use super::{Fetcher, holding};
use crate::ingest::EXECUTABLE;
use crate::ingest::repository::Repository;

const SECRET: &str = "ghp_canary0credential0canary";

fn credential() -> Credential {
    Credential { user: "x-access-token".to_owned(), secret: SECRET.to_owned() }
}

fn basic(user: &str, secret: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{secret}")))
}

/// All forms in which the secret could be somewhere.
fn forms() -> [String; 2] {
    [SECRET.to_owned(), basic("x-access-token", SECRET)["Basic ".len()..].to_owned()]
}

#[tokio::test]
async fn a_credential_opens_a_private_repository_and_is_kept_in_memory_only() {
    let forge = Forge::named("localhost", Some(&basic("x-access-token", SECRET))).await;
    let remote = Repository::with(&[("a.ts", "export const a = 1;\n")]);
    let commit = remote.commit();
    let url = forge.serve(remote.path(), "private");
    let mut worker = Fetcher::of(&forge).await;
    assert_eq!(worker.fault(&url).await.0, FaultCode::CredentialWanted);
    worker.credential = Some(Credential { secret: "wrong-canary-secret".to_owned(), ..credential() });
    let (code, what) = worker.fault(&url).await;
    assert_eq!(code, FaultCode::CredentialRefused);
    assert!(!what.contains("canary"), "{what}");
    worker.credential = Some(credential());
    let fetched = worker.fetch(&url, &["HEAD"]).await.unwrap();
    assert_eq!(fetched.heads[0].commit, commit);
    for form in forms() {
        assert_eq!(holding(worker.folder.path(), &form), Vec::<PathBuf>::new());
    }
}

#[tokio::test]
async fn a_running_fetch_shows_its_credential_to_nobody() {
    let forge = Forge::start().await;
    let url = forge.odd("silent", Odd::Silent);
    let mut worker = Fetcher::of(&forge).await;
    worker.credential = Some(credential());
    // The child says who it is before it becomes the fetch.
    let said = worker.folder.path().join("pid");
    let script = worker.folder.path().join("executable");
    std::fs::write(&script, format!("#!/bin/sh\necho $$ > {}\nexec {EXECUTABLE} \"$@\"\n", said.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let parsed = RemoteUrl::local(&url).unwrap();
    let (refs, mirror) = (["HEAD".to_owned()], worker.mirror());
    let (executable, credential) = (script.as_path(), worker.credential.clone());
    let order = FetchOrder { executable, url: &parsed, refs: &refs, credential, limits: worker.limits };
    let fetching = fetch_child::run(&worker.egress, &order, &mirror, false);
    let looking = async {
        // Once the request is there, the child has read and begun to use what it was given.
        while forge.heard.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let process = PathBuf::from("/proc").join(std::fs::read_to_string(&said).unwrap().trim());
        let command = std::fs::read(process.join("cmdline")).unwrap();
        assert!(String::from_utf8_lossy(&command).contains("fetch"));
        let environment = std::fs::read(process.join("environ")).unwrap();
        let names: Vec<_> = environment.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        assert!(
            names.iter().all(|it| it.is_empty() || it.starts_with("SSL_CERT_") || it.starts_with("PWD=")),
            "{names:?}"
        );
        for form in forms() {
            for bytes in [&command, &environment] {
                assert!(!String::from_utf8_lossy(bytes).contains(&form));
            }
            assert_eq!(holding(worker.folder.path(), &form), Vec::<PathBuf>::new());
        }
    };
    tokio::select! {
        ended = fetching => panic!("{ended:?}"),
        () = looking => {}
    }
    let heard = forge.heard.lock().unwrap().clone();
    assert_eq!(heard[0].authorization.as_deref(), Some(basic("x-access-token", SECRET).as_str()));
}

#[tokio::test]
async fn a_redirect_to_another_host_does_not_take_the_credential_along() {
    let (forge, other) = (Forge::start().await, Forge::start().await);
    let both = both_authorities(&forge, &other);
    let remote = Repository::with(&[("a.ts", "export const a = 1;\n")]);
    remote.commit();
    let inside = forge.serve(remote.path(), "real");
    other.serve(remote.path(), "real");
    // The same host: it is the source's own. Another port: it is another server.
    let kept = forge.odd("moved", Odd::Redirect(inside));
    let mut worker = Fetcher::with(&["localhost"], both.path()).await;
    worker.credential = Some(credential());
    worker.fetch(&kept, &["HEAD"]).await.unwrap();
    assert!(forge.heard.lock().unwrap().iter().all(|heard| heard.authorization.is_some()));
    let lost = forge.odd("away", Odd::Redirect(other.url("real")));
    let (code, what) = worker.fault(&lost).await;
    assert_eq!(code, FaultCode::AddressRefused, "another port is not the source's: {what}");
    assert!(other.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_other_host_of_a_redirect_never_hears_the_credential() {
    // Both names lead to the same server, so that what it hears under the second name is seen.
    let forge = Forge::start().await;
    let remote = Repository::with(&[("a.ts", "export const a = 1;\n")]);
    remote.commit();
    forge.serve(remote.path(), "real");
    let port = forge.port;
    forge.odd("away", Odd::Redirect(format!("https://127.0.0.1:{port}/real")));
    let mut worker = Fetcher::with(&["localhost", "127.0.0.1"], forge.certificates()).await;
    worker.credential = Some(credential());
    let fetched = worker.fetch(&forge.url("away"), &["HEAD"]).await.unwrap();
    assert_eq!(fetched.heads.len(), 1);
    let heard = forge.heard.lock().unwrap().clone();
    assert!(heard.iter().any(|it| it.path.starts_with("/away") && it.authorization.is_some()));
    assert!(heard.iter().any(|it| it.path.starts_with("/real")));
    for heard in heard.iter().filter(|it| it.path.starts_with("/real")) {
        assert_eq!(heard.authorization, None, "{}", heard.path);
    }
}

fn both_authorities(one: &Forge, other: &Forge) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let read = |forge: &Forge| std::fs::read_to_string(Path::new(forge.certificates())).unwrap();
    std::fs::write(file.path(), format!("{}{}", read(one), read(other))).unwrap();
    file
}
