//! `syncd grant …`

use sync_core::clock::rfc3339_millis;
use sync_core::ids::RepositoryId;
use sync_store::{GrantFilter, StoreError, Tx};

use super::{At, Desk, PAGE};
use crate::cli::Failure;
use crate::config::Config;

/// `syncd grant …`
#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum GrantCommand {
    /// List who reads what by a grant: member, repository, since when.
    ///
    /// Example: syncd grant list --organization acme --member ada
    List {
        #[command(flatten)]
        at: At,
        /// Only grants of this member: its id, or its name where it has no identity provider.
        #[arg(long, alias = "principal", value_name = "MEMBER")]
        member: Option<String>,
    },
    /// Let a member read a repository. It counts for members that read only what is granted.
    ///
    /// Example: syncd grant create --organization acme --member ada --repository acme/billing
    #[command(visible_alias = "add")]
    Create(GrantArgs),
    /// Take a grant back.
    ///
    /// Example: syncd grant delete --organization acme --member ada --repository acme/billing
    #[command(visible_alias = "remove")]
    Delete(GrantArgs),
}

/// Whose grant, of what.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct GrantArgs {
    #[command(flatten)]
    at: At,
    /// Its id, or its name where it has no identity provider.
    #[arg(long, alias = "principal", value_name = "MEMBER")]
    member: String,
    /// Name of the repository.
    #[arg(long, value_name = "NAME")]
    repository: String,
}

/// Runs a command on grants.
pub(in crate::cli) async fn grant(command: &GrantCommand, config: &Config) -> Result<(), Failure> {
    match command {
        GrantCommand::List { at, member } => list(&Desk::at(config, at).await?, member.as_deref()).await,
        GrantCommand::Create(args) => {
            let desk = Desk::at(config, &args.at).await?;
            let mut tx = desk.change().await?;
            let member = desk.member(&mut tx, &args.member).await?;
            let repository = repository(&mut tx, &args.repository).await?;
            tx.grant(member.id, repository, desk.now).await?;
            desk.done(tx, "cli.put_grant").await?;
            list(&desk, Some(&member.id.to_string())).await
        }
        GrantCommand::Delete(args) => {
            let desk = Desk::at(config, &args.at).await?;
            let mut tx = desk.change().await?;
            let member = desk.member(&mut tx, &args.member).await?;
            let repository = repository(&mut tx, &args.repository).await?;
            tx.revoke_grant(member.id, repository).await.map_err(|error| match error {
                StoreError::NotFound(_) => Failure::failed(
                    format!("`{}` has no grant on `{}`", args.member, args.repository),
                    "syncd grant list names those that are",
                ),
                other => other.into(),
            })?;
            desk.done(tx, "cli.delete_grant").await?;
            list(&desk, Some(&member.id.to_string())).await
        }
    }
}

async fn list(desk: &Desk, member: Option<&str>) -> Result<(), Failure> {
    let mut tx = desk.look().await?;
    let principal = match member {
        Some(named) => Some(desk.member(&mut tx, named).await?.id),
        None => None,
    };
    let mut after = None;
    loop {
        let filter = GrantFilter { principal, repository: None };
        let (rows, _) = tx.grants(filter, after, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(tx.commit().await?) };
        after = Some((last.principal, last.repository));
        for row in &rows {
            desk.row(&[
                ("member", row.principal_name.as_str().into()),
                ("repository", row.repository_name.as_str().into()),
                ("granted_at", rfc3339_millis(row.granted_at).into()),
            ])?;
        }
    }
}

async fn repository(tx: &mut Tx, name: &str) -> Result<RepositoryId, Failure> {
    let found = tx.repository_by_name(name).await?;
    found.map(|repository| repository.id).ok_or_else(|| {
        Failure::failed(format!("there is no repository `{name}`"), "check its name; sync_repositories lists them")
    })
}
