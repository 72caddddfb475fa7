//! `sync-ingest feed publish|verify`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use time::OffsetDateTime;

use super::assemble::vendor_feeds;
use super::keys::KeySet;
use super::publish::{Lifetimes, publish};
use super::records::RecordSet;
use super::verify::{Loaded, Verifier};

/// Signed feeds of vendor changes.
#[derive(Debug, Args)]
pub struct FeedArgs {
    #[command(subcommand)]
    command: FeedCommand,
}

#[derive(Debug, Subcommand)]
enum FeedCommand {
    /// Normalise record files, sign them and write the static files of a feed.
    ///
    /// Example: sync-ingest feed publish fixtures/feed --out public --keys keys
    Publish(PublishArgs),
    /// Verify a published feed and say what it holds.
    ///
    /// Example: sync-ingest feed verify public --root keys/1.root.json
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
struct PublishArgs {
    /// Folder with record files and versions files (*.json).
    records: PathBuf,
    /// Folder to write the feed to; an earlier version there stays readable.
    #[arg(long)]
    out: PathBuf,
    /// Folder of the signing keys; made where it does not exist yet.
    #[arg(long)]
    keys: PathBuf,
    /// Version of the feed; the published one plus one where absent.
    #[arg(long)]
    feed_version: Option<u64>,
}

#[derive(Debug, Args)]
struct VerifyArgs {
    /// Folder, file: URL or https: URL of the feed.
    feed: String,
    /// The root that is trusted.
    #[arg(long)]
    root: PathBuf,
    /// Folder that remembers what was seen, so that an older feed is refused next time; forgotten where absent.
    #[arg(long)]
    datastore: Option<PathBuf>,
    /// Refuse a version below this one.
    #[arg(long)]
    at_least: Option<u64>,
}

/// Runs the command and returns what to print, a line per fact. `now` decides expiry.
pub fn run(args: FeedArgs, now: OffsetDateTime) -> anyhow::Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match args.command {
            FeedCommand::Publish(args) => run_publish(args, now).await,
            FeedCommand::Verify(args) => run_verify(args, now).await,
        }
    })
}

async fn run_publish(args: PublishArgs, now: OffsetDateTime) -> anyhow::Result<String> {
    // Records first: a mistake in them must not leave new keys behind.
    let feeds = vendor_feeds(&RecordSet::read(&args.records)?)?;
    let made = !KeySet::exists(&args.keys);
    let mut keys = if made { KeySet::generate(now).await? } else { KeySet::read(&args.keys)? };
    if keys.renew_root(now).await? || made {
        keys.write(&args.keys)?;
    }
    let published = publish(&feeds, &args.out, &mut keys, args.feed_version, now, Lifetimes::default()).await?;
    let mut lines = Vec::new();
    if made {
        lines.push(format!("made new keys in {}; keep root.pk8 offline", args.keys.display()));
    }
    lines.push(format!(
        "published version {}: {} changes of {} vendors ({})",
        published.version,
        published.changes,
        published.vendors.len(),
        published.vendors.join(", ")
    ));
    lines.push(format!("publish again before {}", sync_core::clock::rfc3339_millis(published.expires)));
    lines.push(format!("consumers pin {}", args.keys.join("1.root.json").display()));
    Ok(lines.join("\n"))
}

async fn run_verify(args: VerifyArgs, now: OffsetDateTime) -> anyhow::Result<String> {
    use anyhow::Context;
    let root = std::fs::read(&args.root).with_context(|| {
        format!("the root `{}` cannot be read; next: give the publisher's root", args.root.display())
    })?;
    let forgotten = tempfile::tempdir()?;
    let datastore = args.datastore.unwrap_or_else(|| forgotten.path().to_owned());
    let verifier = Verifier::new(&args.feed, root, datastore)?;
    // One below, so that the version itself is read through and through.
    let below = args.at_least.map(|version| version.saturating_sub(1));
    Ok(match verifier.load(below, now).await? {
        Loaded::New(feed) => {
            let mut lines = vec![format!(
                "version {} is verified, good until {}",
                feed.version,
                sync_core::clock::rfc3339_millis(feed.expires)
            )];
            for vendor in &feed.feeds {
                lines.push(format!(
                    "{}: {} changes, {} versions",
                    vendor.vendor,
                    vendor.changes.len(),
                    vendor.versions.len()
                ));
            }
            lines.join("\n")
        }
        Loaded::Unchanged { version, .. } => {
            anyhow::bail!("version {version} was served, at least {} was asked for; next: fetch again", version + 1)
        }
    })
}
