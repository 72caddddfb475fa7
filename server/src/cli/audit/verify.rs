//! `syncd audit verify`.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use sync_core::clock::rfc3339_millis;
use sync_core::ids::OrganizationId;
use sync_core::seal::{Finding, SignedHead};

use super::super::{FAILED, Failure, say};
use super::{connect, organizations};
use crate::audit::seal_key::SealKeys;
use crate::audit::verify::{KEY_WANTED, Report, Unverifiable, verify};
use crate::audit::{heads, maintain};
use crate::config::Config;

/// What is verified.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct VerifyArgs {
    /// Short name of the organization. Absent: every one, and every one that a head names.
    #[arg(long, short, value_name = "NAME")]
    organization: Option<String>,
    /// Heads that the log has to lead to: a file of them (one a line; - for stdin), or one as JSON.
    #[arg(long, value_name = "HEAD")]
    against: Option<String>,
}

/// Verifies one organization's log or all of them; fails where one is not whole.
pub(super) async fn run(args: &VerifyArgs, config: &Config) -> Result<ExitCode, Failure> {
    let keys = maintain::keys(config)?;
    let given = given_heads(args.against.as_deref(), config)?;
    let store = connect(config).await?;
    let organizations = organizations(&store, args.organization.as_deref()).await?;
    let mut left: BTreeSet<OrganizationId> = given.all().map(|signed| signed.head.organization).collect();
    let against: Vec<SignedHead> = given.all().cloned().collect();
    let mut whole = true;
    for organization in organizations {
        left.remove(&organization.id);
        let report = verify(&store, &keys, organization.id, &against).await.map_err(unverifiable)?;
        whole &= report.is_whole();
        for line in told(&organization.slug, &report, &keys) {
            say(&line)?;
        }
        // A name is the database's to give: heads of another organization say nothing of the one that has it now.
        let strangers = args.organization.is_some() && !given.asked.is_empty() && report.seals > 0;
        if strangers && !given.asked.iter().any(|signed| signed.head.organization == organization.id) {
            whole = false;
            let (slug, id) = (&organization.slug, organization.id);
            say(&format!(
                "{slug}: NOT PROVEN: {slug} is {id}, and none of the heads of --against is of it; next: give heads of \
                 it, or verify without --organization, which examines whatever the heads are of"
            ))?;
        }
    }
    if args.organization.is_none() {
        // What left the database knows organizations that the database may have forgotten.
        for id in left {
            whole = false;
            say(&format!("{id}: NOT WHOLE: heads of it left the database, which knows no such organization any more"))?;
            let report = verify(&store, &keys, id, &against).await.map_err(unverifiable)?;
            for line in told(&id.to_string(), &report, &keys) {
                say(&format!("  {line}"))?;
            }
        }
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn unverifiable(error: Unverifiable) -> Failure {
    match error {
        Unverifiable::Store(error) => error.into(),
        Unverifiable::Head { .. } | Unverifiable::HeadOfOtherKey { .. } => {
            let text = error.to_string();
            let (what, next) = text.split_once("; next: ").unwrap_or((&text, "give other heads"));
            Failure::failed(what, next)
        }
    }
}

/// Heads that the log has to lead to.
struct Given {
    /// Those of `--against`.
    asked: Vec<SignedHead>,
    /// Those of the file that our own worker appends to.
    kept: Vec<SignedHead>,
}

impl Given {
    fn all(&self) -> impl Iterator<Item = &SignedHead> {
        self.asked.iter().chain(&self.kept)
    }
}

/// The heads of `--against`, and those of the file that our own worker appends to, where it is on this machine.
fn given_heads(against: Option<&str>, config: &Config) -> Result<Given, Failure> {
    let asked = match against {
        None => Vec::new(),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Failure::failed(format!("stdin cannot be read: {error}"), "give a file"))?;
            asked_in("stdin", &text)?
        }
        Some(json) if json.trim_start().starts_with('{') => asked_in("--against", json)?,
        Some(path) => asked_in(path, &read(Path::new(path))?)?,
    };
    let kept = match config.audit_heads_file.as_deref().filter(|path| path.exists()) {
        None => Vec::new(),
        Some(path) => heads_in(&path.display().to_string(), &read(path)?)?,
    };
    Ok(Given { asked, kept })
}

/// Where heads are asked for there have to be some: nothing is proven against none.
fn asked_in(from: &str, text: &str) -> Result<Vec<SignedHead>, Failure> {
    let heads = heads_in(from, text)?;
    if heads.is_empty() { Err(no_head(from)) } else { Ok(heads) }
}

fn heads_in(from: &str, text: &str) -> Result<Vec<SignedHead>, Failure> {
    let (heads, others) = heads::read(text);
    if heads.is_empty() && !text.trim().is_empty() {
        return Err(no_head(from));
    }
    for line in others {
        say(&format!("note: line {line} of {from} is no head and is not compared"))?;
    }
    Ok(heads)
}

fn no_head(from: &str) -> Failure {
    Failure::failed(format!("{from} holds no head"), "give lines of audit_heads_file, or the `head` of a proof")
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::failed(format!("{} cannot be read: {error}", path.display()), "check the path and who may read it")
    })
}

/// The report for people.
fn told(slug: &str, report: &Report, keys: &SealKeys) -> Vec<String> {
    let mut lines = Vec::new();
    let kept = report.seals - report.pruned.map_or(0, |pruned| pruned.through.min(report.seals));
    match &report.last {
        _ if !report.is_whole() => {
            let found = report.findings.len() as u64 + report.more_findings;
            lines.push(if report.lacks_only_keys() {
                format!("{slug}: NOT PROVEN: a key is missing, without which nothing can be said of what it signed")
            } else {
                format!("{slug}: NOT WHOLE: {found} found")
            });
            lines.extend(report.findings.iter().map(|finding| format!("  {finding}")));
            if report.more_findings > 0 {
                lines.push(format!("  and {} more", report.more_findings));
            }
            if report.findings.iter().any(Finding::lacks_key) {
                lines.push(format!("  keys given: {}; next: {KEY_WANTED}", keys.ids()));
            }
        }
        Some(last) => lines.push(format!(
            "{slug}: whole: {} in {}, proven up to seal {} of {} (root {}), of {}",
            counted(report.rows, "row"),
            counted(kept, "seal"),
            last.head.number,
            rfc3339_millis(last.head.time),
            last.head.root,
            report.organization
        )),
        None => lines.push(format!("{slug}: nothing is sealed yet, so nothing is proven")),
    }
    if let Some(pruned) = report.pruned {
        lines.push(format!(
            "  pruned: seals 1 to {}, {}, removed by {} as they were kept long enough",
            pruned.through,
            counted(pruned.rows, "row"),
            rfc3339_millis(pruned.at)
        ));
    }
    for doubtful in &report.doubtful {
        lines.push(format!(
            "  doubtful: event {} says {}, but was first written after seal {}",
            doubtful.event_id,
            rfc3339_millis(doubtful.time),
            doubtful.number - 1
        ));
    }
    if let (Some(oldest), Some(newest)) = (report.unsealed.oldest, report.unsealed.newest) {
        lines.push(format!(
            "  unproven: newer than the last seal: {} from {} to {}",
            counted(report.unsealed.rows, "row"),
            rfc3339_millis(oldest),
            rfc3339_millis(newest)
        ));
    }
    lines
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
