//! First-run administration without HTTP: `syncd organization create`, `syncd token create`.

use std::collections::BTreeSet;

use sync_core::clock::Clock as _;
use sync_core::ids::{OrganizationId, PrincipalId, TokenId};
use sync_core::principal::{Principal, PrincipalKind, Role, Scope};
use sync_store::{NewMember, NewToken, PoolOptions, Store};
use time::{Duration, OffsetDateTime};

use super::{Failure, say};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::identity::{random_secret, token};

/// `syncd organization …`
#[derive(Debug, clap::Subcommand)]
pub(super) enum OrganizationCommand {
    /// Create an organization, the tenant that repositories, members and tokens belong to.
    ///
    /// Example: syncd organization create acme
    Create {
        /// Its short name: lower-case letters, digits and hyphens, at most 40.
        #[arg(value_parser = short_name)]
        name: String,
    },
}

/// `syncd token …`
#[derive(Debug, clap::Subcommand)]
pub(super) enum TokenCommand {
    /// Create a token and show it, once. The principal is made where there is none of that name.
    ///
    /// Example: syncd token create --organization acme --principal ada --scope graph:read --expires 90d
    Create(TokenArgs),
}

/// What a token is made of.
#[derive(Debug, clap::Args)]
pub(super) struct TokenArgs {
    /// Short name of the organization.
    #[arg(long, value_name = "NAME")]
    organization: String,
    /// Whose token it is.
    #[arg(long, value_name = "NAME", value_parser = principal_name)]
    principal: String,
    /// What the token is called; two of a name live at a time. Absent: a name of its own.
    #[arg(long, value_name = "NAME", value_parser = principal_name)]
    name: Option<String>,
    /// The principal is a machine (CI, a collector) and not a person. Only used where it is made.
    #[arg(long)]
    service: bool,
    /// What the principal is in the organization: owner, admin, member, auditor or ingest. Only used where it is made;
    /// absent: the organization's first principal becomes its owner, every other a member.
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// What it may be used for; may be given several times.
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    scopes: Vec<Scope>,
    /// After how long it is refused: a number and d, h or m (90d). Absent: never.
    #[arg(long, value_name = "D", value_parser = lifetime)]
    expires: Option<Duration>,
}

/// Runs a command on organizations.
pub(super) async fn organization(command: &OrganizationCommand, config: &Config) -> Result<(), Failure> {
    let OrganizationCommand::Create { name } = command;
    let now = SystemClock.now();
    let store = connect(config).await?;
    let mut tx = store.system("organization create").await?;
    if tx.organization_by_slug(name).await?.is_some() {
        return Err(Failure::refused(
            format!("organization `{name}` exists already"),
            "choose another name, or use it",
        ));
    }
    let created = tx.create_organization(OrganizationId::at(now), name, now).await?;
    tx.commit().await?;
    say(&format!("{} {}", created.id, created.slug))
}

/// Runs a command on tokens.
pub(super) async fn token(command: &TokenCommand, config: &Config) -> Result<(), Failure> {
    let TokenCommand::Create(args) = command;
    let now = SystemClock.now();
    let store = connect(config).await?;
    let mut tx = store.system("token create").await?;
    let organization = tx.organization_by_slug(&args.organization).await?.ok_or_else(|| {
        Failure::failed(
            format!("there is no organization `{}`", args.organization),
            format!("syncd organization create {}", args.organization),
        )
    })?;
    tx.commit().await?;
    let text = create(&store, organization.id, args, now).await?;
    say(&text)
}

async fn create(
    store: &Store,
    organization: OrganizationId,
    args: &TokenArgs,
    now: OffsetDateTime,
) -> Result<String, Failure> {
    let random = random_secret().map_err(|_| {
        Failure::failed("the operating system gives no random bytes", "check that getrandom(2) works here")
    })?;
    let id = TokenId::at(now);
    let made = token::make(organization, id, random);
    let mut tx = store.begin(&Principal::service(organization, "token create")).await?;
    let member = if let Some(member) = tx.member_by_name(&args.principal).await? {
        member
    } else {
        let kind = if args.service { PrincipalKind::Service } else { PrincipalKind::User };
        // Somebody has to be able to administer the organization; whoever comes after asks for less by default.
        let role = match args.role {
            Some(role) => role,
            None if tx.has_no_member().await? => Role::Owner,
            None => Role::Member,
        };
        let new =
            NewMember { id: PrincipalId::at(now), name: &args.principal, kind, role, identity: None, reads_all: true };
        tx.create_member(&new, now).await?
    };
    // Two tokens of a name live at a time, so that a name that nobody chose is of one token.
    let name = args.name.clone().unwrap_or_else(|| format!("command line {id}"));
    let scopes: BTreeSet<Scope> = args.scopes.iter().copied().collect();
    let new = NewToken {
        id,
        principal: member.id,
        name: &name,
        secret_hash: made.secret_hash,
        scopes: &scopes,
        expires_at: args.expires.map(|lifetime| now + lifetime),
    };
    tx.create_token(&new, now).await?;
    tx.commit().await?;
    Ok(made.text)
}

async fn connect(config: &Config) -> Result<Store, Failure> {
    Ok(Store::connect(config.database_url()?, PoolOptions { max_connections: 1, ..PoolOptions::default() }).await?)
}

fn short_name(text: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let good = !text.is_empty() && text.len() <= 40 && text.bytes().all(allowed) && !text.starts_with('-');
    if good { Ok(text.to_owned()) } else { Err("lower-case letters, digits and hyphens, 1 to 40".to_owned()) }
}

fn principal_name(text: &str) -> Result<String, String> {
    let good = !text.trim().is_empty() && text.chars().count() <= 100 && !text.chars().any(char::is_control);
    if good { Ok(text.to_owned()) } else { Err("1 to 100 printable characters".to_owned()) }
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let wrong = || "a number and d, h or m, like 90d; at most 3650d".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let count: i64 = number.parse::<u32>().map_err(|_| wrong())?.into();
    let lifetime = match unit {
        "d" => Duration::days(count),
        "h" => Duration::hours(count),
        "m" => Duration::minutes(count),
        _ => return Err(wrong()),
    };
    if lifetime > Duration::ZERO && lifetime <= Duration::days(3650) { Ok(lifetime) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_and_names() {
        assert_eq!(lifetime("90d"), Ok(Duration::days(90)));
        assert_eq!(lifetime("5m"), Ok(Duration::minutes(5)));
        for wrong in ["", "d", "90", "0d", "-1d", "99999999999d", "3651d", "1é"] {
            assert!(lifetime(wrong).is_err(), "{wrong}");
        }
        assert!(short_name("acme-2").is_ok());
        for wrong in ["", "-a", "Acme", "a b", "é", &"a".repeat(41)] {
            assert!(short_name(wrong).is_err(), "{wrong}");
        }
    }
}
