//! `syncd source …`

use std::path::{Path, PathBuf};

use secrecy::SecretString;
use sync_core::clock::rfc3339_millis;
use sync_core::ids::JobId;
use sync_store::{Forge, Gate, Repository, SOURCE_IS_BUSY, SecretPurpose, StoreError, Tx};

use super::{At, Desk, PAGE};
use crate::cli::Failure;
use crate::config::Config;
use crate::sources::register::{Unfit, Wanted, check_ref};
use crate::sources::{credential, erase, refresh};
use crate::webhooks::{EndpointAddress, setup};

/// `syncd source …`
#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum SourceCommand {
    /// Register a repository: its default branch is indexed as soon as a worker is free, and then follows its remote.
    ///
    /// Example: syncd source add https://github.com/acme/billing --organization acme --consent-egress
    Add(AddArgs),
    /// List sources: id, name, state, default branch, address, why.
    ///
    /// Example: syncd source list --organization acme
    List {
        #[command(flatten)]
        at: At,
    },
    /// Show how a source is: its refs, its last jobs with what went wrong, its webhook.
    ///
    /// Example: syncd source show acme/billing --organization acme
    Show(SourceArgs),
    /// Bring a ref of a source up to date.
    ///
    /// Example: syncd source refresh acme/billing --organization acme --ref release/2.x
    Refresh {
        /// Which source.
        #[command(flatten)]
        source: SourceArgs,
        /// A branch, or a full name such as refs/pull/7/head. Absent: the default branch.
        #[arg(long = "ref", value_name = "REF")]
        ref_name: Option<String>,
    },
    /// Make the endpoint of a source's webhook, or another secret for it, and show both, once.
    ///
    /// Example: syncd source webhook acme/billing --organization acme
    Webhook {
        /// Which source.
        #[command(flatten)]
        source: SourceArgs,
        /// The forge: github, gitlab, gitea, forgejo or bitbucket. Absent: the source's own.
        #[arg(long, value_name = "FORGE", value_parser = forge)]
        provider: Option<Forge>,
    },
    /// Erase a source with all that is known of it. This cannot be taken back.
    ///
    /// Example: syncd source remove acme/billing --organization acme
    Remove(SourceArgs),
}

/// Which source.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SourceArgs {
    /// Name of the source.
    name: String,
    #[command(flatten)]
    at: At,
}

/// What a source is made of.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct AddArgs {
    /// Where it is cloned from, by https and without a credential in it.
    clone_url: String,
    #[command(flatten)]
    at: At,
    /// Allow that the repository's code is fetched from there. Without it nothing is registered.
    #[arg(long)]
    consent_egress: bool,
    /// What it is called. Absent: as its address ends.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Whose forge it lies at: github, gitlab, gitea, forgejo or bitbucket. Absent: as the address says it.
    #[arg(long, value_name = "FORGE", value_parser = forge)]
    provider: Option<Forge>,
    /// The branch that answers where none is named. Absent: the remote's.
    #[arg(long, value_name = "BRANCH")]
    default_branch: Option<String>,
    /// A pattern of further branches to follow, such as release/*; may be given several times.
    #[arg(long = "track", value_name = "PATTERN")]
    tracked_refs: Vec<String>,
    /// Whether it is indexed at all: auto, on or off.
    #[arg(long, value_name = "GATE", default_value = "auto", value_parser = gate)]
    gate: Gate,
    /// File with what it is fetched with, where it is not public: a token, or user:token.
    #[arg(long, value_name = "FILE")]
    credential_file: Option<PathBuf>,
}

/// Runs a command on sources.
pub(in crate::cli) async fn source(command: &SourceCommand, config: &Config) -> Result<(), Failure> {
    match command {
        SourceCommand::Add(args) => add(args, config).await,
        SourceCommand::List { at } => list(&Desk::at(config, at).await?).await,
        SourceCommand::Show(args) => show(args, config).await,
        SourceCommand::Refresh { source, ref_name } => {
            let desk = Desk::at(config, &source.at).await?;
            if let Some(name) = ref_name {
                check_ref("--ref", name)?;
            }
            let mut tx = desk.change().await?;
            let known = named(&mut tx, &source.name).await?;
            let job = refresh::refresh(&mut tx, &known, ref_name.as_deref(), desk.now).await;
            let job = job.map_err(|error| {
                Failure::refused(error.to_string(), format!("syncd source show {} says how it is", known.name))
            })?;
            desk.done(tx, "cli.refresh_source").await?;
            say_job(&desk, job.id)
        }
        SourceCommand::Webhook { source, provider } => webhook(source, *provider, config).await,
        SourceCommand::Remove(args) => {
            let desk = Desk::at(config, &args.at).await?;
            let mut tx = desk.change().await?;
            let known = named(&mut tx, &args.name).await?;
            tx.lock_source(known.id).await.map_err(|error| match error {
                StoreError::Conflict(rule) if rule == SOURCE_IS_BUSY => {
                    Failure::failed("an index of the source is being stored just now", "try again in some seconds")
                }
                error => error.into(),
            })?;
            let job = erase::erase(&mut tx, known.id, desk.now).await?;
            desk.done(tx, "cli.delete_source").await?;
            say_job(&desk, job.id)
        }
    }
}

async fn add(args: &AddArgs, config: &Config) -> Result<(), Failure> {
    if !args.consent_egress {
        return Err(Failure::refused(
            "nobody allowed to fetch the repository's code from where it lies",
            "add --consent-egress, if you do",
        ));
    }
    let wanted = Wanted {
        clone_url: args.clone_url.clone(),
        name: args.name.clone(),
        forge: args.provider,
        default_branch: args.default_branch.clone(),
        tracked_refs: args.tracked_refs.clone(),
        gate: args.gate,
    };
    let fit = wanted.check(config)?;
    let given = args.credential_file.as_deref().map(read_credential).transpose()?;
    let desk = Desk::at(config, &args.at).await?;
    let mut tx = desk.change().await?;
    let (source, job) =
        fit.register(&mut tx, Some("syncd:administration"), desk.now).await.map_err(|error| match &error {
            StoreError::Conflict(rule) if rule == "repository_name_taken" => {
                Failure::refused("there is a source of that name", "give another one with --name")
            }
            _ => error.into(),
        })?;
    if let Some((user, secret)) = given {
        let forge = source.provider.as_deref().and_then(Forge::named);
        let user = user.unwrap_or_else(|| credential::usual_user(forge).to_owned());
        let sealed = credential::seal(&config.key_ring()?, desk.organization, source.id, &user, &secret)?;
        tx.put_secret(SecretPurpose::RepositoryCredential, &source.id.to_string(), &sealed, desk.now).await?;
    }
    desk.done(tx, "cli.register_source").await?;
    say_source(&desk, &source)?;
    job.map_or(Ok(()), |job| say_job(&desk, job.id))
}

async fn webhook(args: &SourceArgs, provider: Option<Forge>, config: &Config) -> Result<(), Failure> {
    let ring = config.key_ring()?;
    let desk = Desk::at(config, &args.at).await?;
    let mut tx = desk.change().await?;
    let known = named(&mut tx, &args.name).await?;
    let own = known.provider.as_deref().and_then(Forge::named);
    let forge = provider
        .or(own)
        .ok_or_else(|| Failure::refused("nobody said whose forge the source lies at", "say it with --provider"))?;
    let secret =
        setup::make_or_rotate(&mut tx, &ring, known.id, forge, desk.now).await.map_err(|error| match error {
            setup::SetupError::Store(error) => Failure::from(error),
            setup::SetupError::Secret(error) => Failure::from(error),
        })?;
    let endpoint = tx.webhook_of(known.id).await?;
    desk.done(tx, "cli.put_webhook").await?;
    let address = endpoint.map(|endpoint| EndpointAddress { organization: desk.organization, id: endpoint.id });
    let about = setup::at_the_forge(forge);
    desk.row(&[
        ("url", address.map(|address| address.url(&config.public_url(), forge)).into()),
        ("secret", secret.into()),
        ("content_type", "application/json".into()),
        ("events", about.events.to_vec().into()),
        ("next_step", about.next_step.into()),
    ])
}

async fn list(desk: &Desk) -> Result<(), Failure> {
    let mut tx = desk.look().await?;
    let mut after: Option<String> = None;
    loop {
        let rows = tx.visible_repositories(after.as_deref(), PAGE).await?;
        let Some(last) = rows.last() else { return Ok(tx.commit().await?) };
        after = Some(last.name.clone());
        rows.iter().try_for_each(|row| say_source(desk, row))?;
    }
}

async fn show(args: &SourceArgs, config: &Config) -> Result<(), Failure> {
    let desk = Desk::at(config, &args.at).await?;
    let mut tx = desk.look().await?;
    let known = named(&mut tx, &args.name).await?;
    say_source(&desk, &known)?;
    for kept in tx.refs(known.id).await? {
        desk.row(&[
            ("ref", kept.name.into()),
            ("origin", kept.origin.as_str().into()),
            ("commit", kept.commit.into()),
            ("indexed_at", kept.indexed_at.map(rfc3339_millis).into()),
            ("expires_at", kept.expires_at.map(rfc3339_millis).into()),
        ])?;
    }
    for job in tx.jobs_of(known.id, 5).await? {
        desk.row(&[
            ("job", job.id.to_string().into()),
            ("kind", job.kind.as_str().into()),
            ("ref", job.ref_name.into()),
            ("state", job.state.as_str().into()),
            ("attempts", job.attempts.into()),
            ("reason", job.reason.into()),
            ("next_step", job.next_step.into()),
        ])?;
    }
    if let Some(endpoint) = tx.webhook_of(known.id).await? {
        let address = EndpointAddress { organization: desk.organization, id: endpoint.id };
        desk.row(&[
            ("webhook", address.url(&config.public_url(), endpoint.forge).into()),
            ("last_delivery_at", endpoint.last_delivery_at.map(rfc3339_millis).into()),
            ("last_event", endpoint.last_event.into()),
            ("last_problem", endpoint.last_problem.into()),
        ])?;
    }
    Ok(tx.commit().await?)
}

async fn named(tx: &mut Tx, name: &str) -> Result<Repository, Failure> {
    tx.repository_by_name(name).await?.ok_or_else(|| {
        Failure::failed(format!("there is no source `{name}`"), "syncd source list names those that are")
    })
}

fn say_source(desk: &Desk, source: &Repository) -> Result<(), Failure> {
    desk.row(&[
        ("id", source.id.to_string().into()),
        ("name", source.name.as_str().into()),
        ("state", source.state.as_str().into()),
        ("default_branch", source.default_branch.as_str().into()),
        ("clone_url", source.clone_url.as_deref().into()),
        ("state_reason", source.state_reason.as_deref().into()),
    ])
}

fn say_job(desk: &Desk, id: JobId) -> Result<(), Failure> {
    desk.row(&[("job", id.to_string().into()), ("state", "queued".into())])
}

/// `user:secret`, or the secret alone.
fn read_credential(file: &Path) -> Result<(Option<String>, SecretString), Failure> {
    let text = std::fs::read_to_string(file);
    let text =
        text.map_err(|error| Failure::failed(format!("cannot read {}: {error}", file.display()), "check the path"))?;
    let text = text.trim_end();
    let (user, secret) = text.split_once(':').map_or((None, text), |(user, secret)| (Some(user.to_owned()), secret));
    let plain = credential::is_plain(secret) && user.as_deref().is_none_or(credential::is_user);
    if plain {
        Ok((user, SecretString::from(secret.to_owned())))
    } else {
        Err(Failure::refused(
            format!("{} holds no credential", file.display()),
            "write a token into it, or user:token, on one line without spaces",
        ))
    }
}

fn forge(text: &str) -> Result<Forge, String> {
    Forge::named(text).ok_or_else(|| format!("one of {}", Forge::ALL.map(Forge::as_str).join(", ")))
}

fn gate(text: &str) -> Result<Gate, String> {
    Gate::ALL.into_iter().find(|gate| gate.as_str() == text).ok_or_else(|| "auto, on or off".to_owned())
}

impl From<Unfit> for Failure {
    fn from(unfit: Unfit) -> Self {
        let next = unfit.next_step.trim_end_matches('.').to_owned();
        Self::refused(unfit.to_string(), next)
    }
}
