//! `syncd issuer …`

use sync_core::ids::IssuerId;
use sync_core::principal::Role;
use sync_store::{IssuerRow, StoreError};

use super::{At, Desk, PAGE, connect};
use crate::cli::Failure;
use crate::config::Config;
use crate::identity::issuers::{check_new, default_algorithms, may_be_default};

/// `syncd issuer …`
#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum IssuerCommand {
    /// List the issuers that an organization trusts: id, issuer, claim, audience, default role.
    ///
    /// Example: syncd issuer list --organization acme
    List {
        #[command(flatten)]
        at: At,
    },
    /// Trust an issuer of JSON Web Tokens. Without --organization-claim, every token of it is the organization's.
    ///
    /// Example: syncd issuer create https://id.acme.example --organization acme --advertise
    Create(CreateArgs),
    /// Trust an issuer no longer.
    ///
    /// Example: syncd issuer delete iss_0199f3d2c5b07a31b6c4d5e6f7a8b9c0 --organization acme
    Delete {
        /// Its id, as `syncd issuer list` shows it.
        issuer: IssuerId,
        #[command(flatten)]
        at: At,
    },
}

/// What is trusted of whom.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CreateArgs {
    /// The claim `iss` of its tokens, byte for byte.
    issuer: String,
    #[command(flatten)]
    at: At,
    /// The claim that has to be the organization's short name or id.
    #[arg(long, value_name = "CLAIM")]
    organization_claim: Option<String>,
    /// An audience that is accepted beside the service's own addresses.
    #[arg(long, value_name = "AUDIENCE")]
    audience: Option<String>,
    /// An accepted signature algorithm; may be given several times. Absent: RS256, ES256 and EdDSA.
    #[arg(long = "algorithm", value_name = "NAME")]
    algorithms: Vec<String>,
    /// Where its keys are. Absent: as its OpenID configuration says.
    #[arg(long, value_name = "URL")]
    jwks_url: Option<String>,
    /// What a principal becomes at first sight: member, auditor or ingest.
    #[arg(long, value_name = "ROLE", default_value = "member", value_parser = default_role)]
    default_role: Role,
    /// Principals read only repositories that are granted.
    #[arg(long)]
    granted_only: bool,
    /// Name it in the public metadata, so that clients find it by themselves.
    #[arg(long)]
    advertise: bool,
}

/// Runs a command on issuers.
pub(in crate::cli) async fn issuer(command: &IssuerCommand, config: &Config) -> Result<(), Failure> {
    match command {
        IssuerCommand::List { at } => list(&Desk::at(config, at).await?).await,
        IssuerCommand::Create(args) => create(args, config).await,
        IssuerCommand::Delete { issuer, at } => {
            let desk = Desk::at(config, at).await?;
            let mut tx = desk.change().await?;
            let known = tx.issuer(*issuer).await?.ok_or_else(|| {
                Failure::failed(format!("there is no issuer {issuer}"), "syncd issuer list names those that are")
            })?;
            tx.delete_issuer(*issuer).await?;
            desk.done(tx, "cli.delete_issuer").await?;
            advertise(config, &known.issuer, false).await
        }
    }
}

async fn create(args: &CreateArgs, config: &Config) -> Result<(), Failure> {
    let desk = Desk::at(config, &args.at).await?;
    let algorithms = if args.algorithms.is_empty() { default_algorithms() } else { args.algorithms.clone() };
    let row = IssuerRow {
        id: IssuerId::at(desk.now),
        issuer: args.issuer.clone(),
        audience: args.audience.clone(),
        algorithms,
        jwks_url: args.jwks_url.clone(),
        organization_claim: args.organization_claim.clone(),
        default_role: args.default_role,
        reads_all: !args.granted_only,
        created_at: desk.now,
    };
    check_new(&row, &config.private_issuer_hosts).map_err(|(argument, allowed)| {
        Failure::refused(format!("`{argument}` cannot be trusted as given"), format!("give {allowed}"))
    })?;
    let mut tx = desk.change().await?;
    tx.create_issuer(&row).await.map_err(|error| match &error {
        StoreError::Conflict(rule) if rule == "issuer_routed" => Failure::refused(
            "every token of that issuer is another organization's already",
            "tell them apart with --organization-claim",
        ),
        StoreError::Conflict(_) => {
            Failure::refused("the organization trusts that issuer already", "syncd issuer delete the one that is there")
        }
        _ => error.into(),
    })?;
    desk.done(tx, "cli.create_issuer").await?;
    if args.advertise {
        advertise(config, &row.issuer, true).await?;
    }
    show(&desk, &row)
}

async fn advertise(config: &Config, issuer: &str, advertised: bool) -> Result<(), Failure> {
    let mut tx = connect(config).await?.system("issuer").await?;
    tx.advertise_issuer(issuer, advertised).await?;
    Ok(tx.commit().await?)
}

async fn list(desk: &Desk) -> Result<(), Failure> {
    let mut tx = desk.look().await?;
    let (rows, _) = tx.issuers(None, PAGE).await?;
    rows.iter().try_for_each(|row| show(desk, row))?;
    Ok(tx.commit().await?)
}

fn show(desk: &Desk, row: &IssuerRow) -> Result<(), Failure> {
    desk.row(&[
        ("id", row.id.to_string().into()),
        ("issuer", row.issuer.as_str().into()),
        ("organization_claim", row.organization_claim.as_deref().into()),
        ("audience", row.audience.as_deref().into()),
        ("default_role", row.default_role.as_str().into()),
    ])
}

fn default_role(text: &str) -> Result<Role, String> {
    text.parse::<Role>().ok().filter(|role| may_be_default(*role)).ok_or_else(|| "member, auditor or ingest".to_owned())
}
