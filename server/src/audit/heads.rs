//! Signed heads leave the database: appended to a file, posted to an address. What has left is beyond the reach of whoever
//! holds the tables.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sync_core::ids::OrganizationId;
use sync_core::seal::SignedHead;
use sync_store::{HeadDestination, Maintenance, StoreError};
use time::OffsetDateTime;
use url::Url;

use super::seal_key::SealKeys;

/// Heads that leave in one go, in one transaction's note of it.
const PAGE: u32 = 500;

/// How long the address may take to answer.
const POST_BUDGET: Duration = Duration::from_secs(5);

/// Where heads go.
#[derive(Debug, Clone)]
pub struct Heads {
    file: Option<PathBuf>,
    webhook: Option<(Url, reqwest::Client)>,
}

/// Why heads did not leave; it is tried again in the next round.
#[derive(Debug, thiserror::Error)]
pub enum NotDelivered {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file.
    #[error("cannot append to {path}: {source}; next: make it writable or name another in audit_heads_file")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The address.
    #[error("{url} did not take the head: {reason}; next: look there, or name another address in audit_heads_url")]
    Webhook {
        /// Which address.
        url: Url,
        /// What came back.
        reason: String,
    },
}

impl Heads {
    /// To the configured places. An error means that no client for HTTP can be made.
    pub fn new(file: Option<PathBuf>, webhook: Option<Url>) -> Result<Self, String> {
        let webhook = match webhook {
            None => None,
            Some(url) => {
                let client = reqwest::Client::builder()
                    .redirect(reqwest::redirect::Policy::none())
                    .timeout(POST_BUDGET)
                    .build()
                    .map_err(|error| error.to_string())?;
                Some((url, client))
            }
        };
        Ok(Self { file, webhook })
    }

    /// Whether heads go anywhere at all.
    pub fn go_somewhere(&self) -> bool {
        self.file.is_some() || self.webhook.is_some()
    }

    /// Lets every head of an organization out that has not left yet, the oldest first. Each leaves at least once: whoever
    /// collects them may see one again after a crash.
    pub async fn deliver(
        &self,
        maintenance: &Maintenance,
        keys: &SealKeys,
        organization: OrganizationId,
        now: OffsetDateTime,
    ) -> Result<(), NotDelivered> {
        // One place that is out of order does not keep heads from the other.
        let filed = match &self.file {
            Some(path) => to_file(maintenance, path, organization, now).await,
            None => Ok(()),
        };
        if let Some((url, client)) = &self.webhook {
            to_webhook(maintenance, url, client, keys, organization, now).await?;
        }
        filed
    }
}

async fn to_file(
    maintenance: &Maintenance,
    path: &Path,
    organization: OrganizationId,
    now: OffsetDateTime,
) -> Result<(), NotDelivered> {
    loop {
        let mut tx = maintenance.begin(organization).await?;
        let heads = tx.heads_to_deliver(HeadDestination::File, PAGE).await?;
        let Some(last) = heads.last() else { return Ok(()) };
        let through = last.head.number;
        let mut lines = Vec::new();
        for head in &heads {
            // A head has no map whose keys are not text: it always has its JSON.
            serde_json::to_writer(&mut lines, head)
                .map_err(|error| NotDelivered::File { path: path.to_owned(), source: error.into() })?;
            lines.push(b'\n');
        }
        let to = path.to_owned();
        let written = tokio::task::spawn_blocking(move || append(&to, &lines)).await;
        written
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(|source| NotDelivered::File { path: path.to_owned(), source })?;
        tx.delivered(HeadDestination::File, through, now).await?;
        tx.commit().await?;
    }
}

/// Appends lines and returns when they are on the disk.
fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
    let mut whole = Vec::with_capacity(lines.len() + 1);
    if ends_within_a_line(&mut file)? {
        // A crash cut the last line short; it stays as it is, and what follows begins a line of its own.
        whole.push(b'\n');
    }
    whole.extend_from_slice(lines);
    file.write_all(&whole)?;
    file.sync_all()?;
    // That there is such a file at all has to be on the disk too.
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn ends_within_a_line(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != [b'\n'])
}

async fn to_webhook(
    maintenance: &Maintenance,
    url: &Url,
    client: &reqwest::Client,
    keys: &SealKeys,
    organization: OrganizationId,
    now: OffsetDateTime,
) -> Result<(), NotDelivered> {
    loop {
        let mut tx = maintenance.begin(organization).await?;
        let heads = tx.heads_to_deliver(HeadDestination::Webhook, PAGE).await?;
        // No transaction stays open while somebody else's server thinks.
        tx.commit().await?;
        if heads.is_empty() {
            return Ok(());
        }
        for head in heads {
            post(url, client, keys, &head, now).await?;
            let mut tx = maintenance.begin(organization).await?;
            tx.delivered(HeadDestination::Webhook, head.head.number, now).await?;
            tx.commit().await?;
        }
    }
}

/// Posts one head, signed as Standard Webhooks has it (`v1a`), with an id that stays the same however often it is sent.
async fn post(
    url: &Url,
    client: &reqwest::Client,
    keys: &SealKeys,
    head: &SignedHead,
    now: OffsetDateTime,
) -> Result<(), NotDelivered> {
    let failed = |reason: String| NotDelivered::Webhook { url: url.clone(), reason };
    let body = serde_json::to_vec(head).map_err(|error| failed(error.to_string()))?;
    let id = format!("seal_{}_{}", head.head.organization, head.head.number);
    let timestamp = now.unix_timestamp();
    let answer = client
        .post(url.clone())
        .header("content-type", "application/json")
        .header("webhook-id", &id)
        .header("webhook-timestamp", timestamp.to_string())
        .header("webhook-signature", keys.current().sign_webhook(&id, timestamp, &body))
        .body(body)
        .send()
        .await
        .map_err(|error| failed(error.without_url().to_string()))?;
    if answer.status().is_success() {
        return Ok(());
    }
    Err(failed(format!("it answered {}", answer.status())))
}

/// Heads out of text: one a line, as they are written. What is no head is given by its line's number.
pub fn read(text: &str) -> (Vec<SignedHead>, Vec<usize>) {
    let (mut heads, mut others) = (Vec::new(), Vec::new());
    for (at, line) in (1..).zip(text.lines()) {
        match serde_json::from_str(line) {
            Ok(head) => heads.push(head),
            Err(_) if line.trim().is_empty() => {}
            Err(_) => others.push(at),
        }
    }
    (heads, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crash_cut_short_spoils_one_line_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heads.ndjson");
        append(&path, b"one\n").unwrap();
        append(&path, b"two\n").unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"thr").unwrap();
        append(&path, b"four\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\nthr\nfour\n");
        let (heads, others) = read("one\n\n{}\n");
        assert_eq!((heads.len(), others), (0, vec![1, 3]));
    }
}
