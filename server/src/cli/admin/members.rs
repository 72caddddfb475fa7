//! `syncd member …`

use sync_core::ids::PrincipalId;
use sync_core::principal::{PrincipalKind, Role};
use sync_store::{MemberChange, MemberRow, NewMember, StoreError};

use super::{At, Desk, PAGE, instant, printable_name};
use crate::cli::Failure;
use crate::config::Config;

/// `syncd member …`
#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum MemberCommand {
    /// List the members: id, name, kind, role, what is read (all or granted), since when shut out, issuer.
    ///
    /// Example: syncd member list --organization acme
    List {
        #[command(flatten)]
        at: At,
        /// Only members with this role.
        #[arg(long, value_name = "ROLE")]
        role: Option<Role>,
    },
    /// Create a member without an identity provider.
    ///
    /// Example: syncd member create ci --organization acme --kind service --role ingest
    Create {
        /// Its name.
        #[arg(value_parser = printable_name)]
        name: String,
        #[command(flatten)]
        at: At,
        /// owner, admin, member, auditor or ingest.
        #[arg(long, value_name = "ROLE")]
        role: Role,
        /// Whether it is a person (user) or a machine such as CI (service).
        #[arg(long, value_name = "KIND", default_value = "user")]
        kind: PrincipalKind,
        /// It reads only repositories that are granted.
        #[arg(long)]
        granted_only: bool,
    },
    /// Change a member: its role, its name, what it reads, whether it is let in.
    ///
    /// Example: syncd member change ada --organization acme --role admin
    Change(ChangeArgs),
}

/// What changes of whom.
#[derive(Debug, clap::Args)]
#[group(id = "changes", multiple = true)]
pub(in crate::cli) struct ChangeArgs {
    /// Its id, or its name where it has no identity provider.
    member: String,
    #[command(flatten)]
    at: At,
    /// Another role.
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// Another name.
    #[arg(long, value_name = "NAME", value_parser = printable_name)]
    rename: Option<String>,
    /// Which repositories it reads.
    #[arg(long, value_name = "WHICH", value_parser = ["all", "granted"])]
    reads: Option<String>,
    /// Shut it out, with all its tokens.
    #[arg(long, conflicts_with = "enable")]
    disable: bool,
    /// Let it in again.
    #[arg(long)]
    enable: bool,
}

/// Runs a command on members.
pub(in crate::cli) async fn member(command: &MemberCommand, config: &Config) -> Result<(), Failure> {
    match command {
        MemberCommand::List { at, role } => list(&Desk::at(config, at).await?, *role).await,
        MemberCommand::Create { name, at, role, kind, granted_only } => {
            let desk = Desk::at(config, at).await?;
            let new = NewMember {
                id: PrincipalId::at(desk.now),
                name,
                kind: *kind,
                role: *role,
                identity: None,
                reads_all: !granted_only,
            };
            let mut tx = desk.change().await?;
            tx.add_member(&new, desk.now).await.map_err(|error| explain(error, name))?;
            let made = desk.member(&mut tx, &new.id.to_string()).await?;
            desk.done(tx, "cli.create_member").await?;
            show(&desk, &made)
        }
        MemberCommand::Change(args) => change(args, config).await,
    }
}

async fn list(desk: &Desk, role: Option<Role>) -> Result<(), Failure> {
    let mut tx = desk.look().await?;
    let mut after = None;
    loop {
        let (rows, _) = tx.members(role, after, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(tx.commit().await?) };
        after = Some(last.id);
        rows.iter().try_for_each(|row| show(desk, row))?;
    }
}

async fn change(args: &ChangeArgs, config: &Config) -> Result<(), Failure> {
    let desk = Desk::at(config, &args.at).await?;
    let change = MemberChange {
        name: args.rename.as_deref(),
        role: args.role,
        reads_all: args.reads.as_deref().map(|which| which == "all"),
        disabled: (args.disable || args.enable).then_some(args.disable),
    };
    if change == MemberChange::default() {
        return Err(Failure::refused(
            "nothing is to be changed",
            "give --role, --rename, --reads, --disable or --enable",
        ));
    }
    let mut tx = desk.change().await?;
    let known = desk.member(&mut tx, &args.member).await?;
    let changed = tx.change_member(known.id, &change, desk.now).await.map_err(|error| explain(error, &args.member))?;
    desk.done(tx, "cli.change_member").await?;
    show(&desk, &changed)
}

fn explain(error: StoreError, name: &str) -> Failure {
    match &error {
        StoreError::Conflict(rule) if rule == "last_owner" => Failure::refused(
            format!("`{name}` is the only owner who is let in, and an organization keeps one"),
            "make another member an owner first",
        ),
        StoreError::Conflict(_) => {
            Failure::refused("there is a member of that name already", "choose another name, or use that member")
        }
        _ => error.into(),
    }
}

fn show(desk: &Desk, member: &MemberRow) -> Result<(), Failure> {
    desk.row(&[
        ("id", member.id.to_string().into()),
        ("name", member.name.as_str().into()),
        ("kind", member.kind.as_str().into()),
        ("role", member.role.as_str().into()),
        ("reads", if member.reads_all { "all" } else { "granted" }.into()),
        ("disabled_at", instant(member.disabled_at)),
        ("issuer", member.identity.as_ref().map(|(issuer, _)| issuer.as_str()).into()),
    ])
}
