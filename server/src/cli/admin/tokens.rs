//! `syncd token …`

use std::collections::BTreeSet;

use sync_core::ids::{PrincipalId, TokenId};
use sync_core::principal::{PrincipalKind, Role, Scope};
use sync_store::{NewMember, NewToken, StoreError, TokenInfo, Tx};
use time::Duration;

use super::{At, Desk, PAGE, instant, lifetime, printable_name};
use crate::cli::{Failure, say};
use crate::config::Config;
use crate::identity::{random_secret, token as own};

/// `syncd token …`
#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum TokenCommand {
    /// Create a token and show it, once. The principal is made where there is none of that name.
    ///
    /// Example: syncd token create --organization acme --principal ada --scope graph:read --expires 90d
    Create(TokenArgs),
    /// List tokens, without their secrets: id, member, name, scopes, expiry, revocation, last use.
    ///
    /// Example: syncd token list --organization acme
    List {
        #[command(flatten)]
        at: At,
    },
    /// Put another token in the place of one and show it, once. The old one is accepted until the overlap ends.
    ///
    /// Example: syncd token rotate tok_0199f3d2c5b07a31b6c4d5e6f7a8b9c0 --organization acme --overlap 24h
    Rotate {
        /// The token's id, as `syncd token list` shows it.
        token: TokenId,
        #[command(flatten)]
        at: At,
        /// How long the old one is accepted: a number and d, h or m.
        #[arg(long, value_name = "D", default_value = "24h", value_parser = lifetime)]
        overlap: Duration,
    },
    /// Revoke a token: it is refused from now on.
    ///
    /// Example: syncd token revoke tok_0199f3d2c5b07a31b6c4d5e6f7a8b9c0 --organization acme
    Revoke {
        /// The token's id, as `syncd token list` shows it.
        token: TokenId,
        #[command(flatten)]
        at: At,
    },
}

/// What a token is made of.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct TokenArgs {
    #[command(flatten)]
    at: At,
    /// Whose token it is: a member's name.
    #[arg(long, visible_alias = "member", value_name = "NAME", value_parser = printable_name)]
    principal: String,
    /// What the token is called; two of a name live at a time. Absent: a name of its own.
    #[arg(long, value_name = "NAME", value_parser = printable_name)]
    name: Option<String>,
    /// Whether the principal is a person (user) or a machine such as CI (service). Only used where it is made.
    #[arg(long, value_name = "KIND", default_value = "user")]
    kind: PrincipalKind,
    /// What the principal is in the organization: owner, admin, member, auditor or ingest. Only used where it is made;
    /// absent: the organization's first principal becomes its owner, every other a member.
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// What it may be used for; may be given several times: graph:read (ask the tools), graph:propose (ask for patches),
    /// sources:write (register, refresh and delete repositories), telemetry:write (send spans), audit:read (read the audit
    /// log), admin (members, grants, tokens, issuers). A role allows some of them only.
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    scopes: Vec<Scope>,
    /// After how long it is refused: a number and d, h or m (90d). Absent: never.
    #[arg(long, value_name = "D", value_parser = lifetime)]
    expires: Option<Duration>,
}

/// Runs a command on tokens.
pub(in crate::cli) async fn token(command: &TokenCommand, config: &Config) -> Result<(), Failure> {
    match command {
        TokenCommand::Create(args) => create(args, config).await,
        TokenCommand::List { at } => list(&Desk::at(config, at).await?).await,
        TokenCommand::Rotate { token, at, overlap } => {
            let desk = Desk::at(config, at).await?;
            let id = TokenId::at(desk.now);
            let made = own::make(desk.organization, id, random()?);
            let mut tx = desk.change().await?;
            tx.rotate_token(*token, id, made.secret_hash, *overlap, desk.now)
                .await
                .map_err(|error| explain(error, *token))?;
            desk.done(tx, "cli.rotate_token").await?;
            show_new(&desk, id, &made.text)
        }
        TokenCommand::Revoke { token, at } => {
            let desk = Desk::at(config, at).await?;
            let mut tx = desk.change().await?;
            tx.revoke_token(*token, desk.now).await.map_err(|error| explain(error, *token))?;
            let revoked = tx.token_info(*token).await?;
            desk.done(tx, "cli.revoke_token").await?;
            revoked.iter().try_for_each(|token| show(&desk, token))
        }
    }
}

async fn create(args: &TokenArgs, config: &Config) -> Result<(), Failure> {
    let desk = Desk::at(config, &args.at).await?;
    let id = TokenId::at(desk.now);
    let made = own::make(desk.organization, id, random()?);
    let mut tx = desk.change().await?;
    let principal = principal(&desk, &mut tx, args).await?;
    let scopes: BTreeSet<Scope> = args.scopes.iter().copied().collect();
    // Two tokens of a name live at a time, so that a name that nobody chose is of one token.
    let name = args.name.clone().unwrap_or_else(|| format!("command line {id}"));
    let new = NewToken {
        id,
        principal,
        name: &name,
        secret_hash: made.secret_hash,
        scopes: &scopes,
        expires_at: args.expires.map(|lifetime| desk.now + lifetime),
    };
    tx.create_token(&new, desk.now).await.map_err(|error| explain(error, id))?;
    desk.done(tx, "cli.create_token").await?;
    show_new(&desk, id, &made.text)
}

/// The member of that name, made where there is none.
async fn principal(desk: &Desk, tx: &mut Tx, args: &TokenArgs) -> Result<PrincipalId, Failure> {
    if let Some(known) = tx.member_by_name(&args.principal).await? {
        let unusable = args.scopes.iter().find(|scope| !known.role.allows(**scope) && **scope != Scope::Admin);
        return match unusable {
            None => Ok(known.id),
            Some(scope) => Err(Failure::refused(
                format!("`{}` has the role {}, which may not use the scope {scope}", known.name, known.role),
                format!("leave the scope out, or syncd member change {} --role", known.id),
            )),
        };
    }
    // Somebody has to be able to administer the organization; whoever comes after asks for less by default.
    let role = match args.role {
        Some(role) => role,
        None if tx.has_no_member().await? => Role::Owner,
        None => Role::Member,
    };
    let new = NewMember {
        id: PrincipalId::at(desk.now),
        name: &args.principal,
        kind: args.kind,
        role,
        identity: None,
        reads_all: true,
    };
    Ok(tx.create_member(&new, desk.now).await?.id)
}

fn random() -> Result<[u8; 32], Failure> {
    random_secret().map_err(|_| {
        Failure::failed("the operating system gives no random bytes", "check that getrandom(2) works here")
    })
}

async fn list(desk: &Desk) -> Result<(), Failure> {
    let mut tx = desk.look().await?;
    let mut after = None;
    loop {
        let (rows, _) = tx.tokens(None, after, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(tx.commit().await?) };
        after = Some(last.id);
        rows.iter().try_for_each(|row| show(desk, row))?;
    }
}

fn explain(error: StoreError, token: TokenId) -> Failure {
    match &error {
        StoreError::NotFound(_) => {
            Failure::failed(format!("there is no token {token}"), "syncd token list names those that are")
        }
        StoreError::Conflict(rule) if rule == "two_live_tokens" => Failure::refused(
            "two tokens of that principal and name are live already",
            "syncd token revoke one of them, or choose another --name",
        ),
        StoreError::Conflict(rule) if rule == "token_not_live" => Failure::refused(
            format!("the token {token} is revoked or has expired, so that there is nothing to take over"),
            "syncd token create a new one",
        ),
        _ => error.into(),
    }
}

/// For people and for `$(…)` the token alone.
fn show_new(desk: &Desk, id: TokenId, secret: &str) -> Result<(), Failure> {
    if desk.written.json {
        return desk.row(&[("id", id.to_string().into()), ("secret", secret.into())]);
    }
    say(secret)
}

fn show(desk: &Desk, token: &TokenInfo) -> Result<(), Failure> {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    desk.row(&[
        ("id", token.id.to_string().into()),
        ("member", token.principal_name.as_str().into()),
        ("name", token.name.as_str().into()),
        ("scopes", scopes.into()),
        ("expires_at", instant(token.expires_at)),
        ("revoked_at", instant(token.revoked_at)),
        ("last_used_at", instant(token.last_used_at)),
    ])
}
