//! `syncd organization …`

use sync_core::clock::Clock as _;
use sync_core::ids::OrganizationId;
use sync_store::{Organization, OrganizationState, Plan, StoreError};

use super::{Desk, Written, connect, printable_name, short_name};
use crate::cli::Failure;
use crate::clock::SystemClock;
use crate::config::Config;

/// `syncd organization …`
#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum OrganizationCommand {
    /// Create an organization, the tenant that repositories, members and tokens belong to.
    ///
    /// Example: syncd organization create acme
    Create {
        /// Its short name: lower-case letters, digits and hyphens, at most 40.
        #[arg(value_parser = short_name)]
        name: String,
        #[command(flatten)]
        written: Written,
    },
    /// List the organizations: id, short name, state.
    ///
    /// Example: syncd organization list
    List {
        #[command(flatten)]
        written: Written,
    },
    /// Change an organization's name for people. Its short name stays: claims of JSON Web Tokens name it.
    ///
    /// Example: syncd organization change acme --display-name "Acme Corporation"
    Change {
        /// Short name of the organization.
        organization: String,
        #[command(flatten)]
        written: Written,
        /// The name; empty: none.
        #[arg(long, value_name = "NAME", value_parser = display_name)]
        display_name: String,
    },
    /// Serve an organization no more: its tokens and deliveries are refused and nothing of it is fetched, all of it is
    /// kept. Its audit log can still be read and verified here.
    ///
    /// Example: syncd organization suspend acme
    Suspend {
        /// Short name of the organization.
        organization: String,
        #[command(flatten)]
        written: Written,
    },
    /// Serve a suspended organization again.
    ///
    /// Example: syncd organization resume acme
    Resume {
        /// Short name of the organization.
        organization: String,
        #[command(flatten)]
        written: Written,
    },
    /// Show what an organization's plan allows, or put it on another with --plan.
    ///
    /// Example: syncd organization plan acme --plan team --sources 50 --requests-per-minute 600
    Plan(PlanArgs),
}

/// A plan; with `--plan`, a limit that is absent is none.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct PlanArgs {
    /// Short name of the organization.
    organization: String,
    #[command(flatten)]
    written: Written,
    /// What the plan is called; the error `over_limit` names it.
    #[arg(long, value_name = "NAME", value_parser = printable_name)]
    plan: Option<String>,
    /// Registered sources, at most.
    #[arg(long, value_name = "N", requires = "plan")]
    sources: Option<u64>,
    /// Call sites in the current indexes of all branches, at most.
    #[arg(long, value_name = "N", requires = "plan")]
    call_sites: Option<u64>,
    /// Spans a second, at most.
    #[arg(long, value_name = "N", requires = "plan")]
    spans_per_second: Option<u64>,
    /// Requests a minute of the whole organization, at most.
    #[arg(long, value_name = "N", requires = "plan")]
    requests_per_minute: Option<u64>,
    /// A tool that may be called; may be given several times. Absent: all.
    #[arg(long = "tool", value_name = "TOOL", requires = "plan")]
    tools: Vec<String>,
}

/// Runs a command on organizations.
pub(in crate::cli) async fn organization(command: &OrganizationCommand, config: &Config) -> Result<(), Failure> {
    match command {
        OrganizationCommand::Create { name, written } => create(name, *written, config).await,
        OrganizationCommand::List { written } => list(*written, config).await,
        OrganizationCommand::Change { organization, written, display_name } => {
            let desk = Desk::of(config, organization, *written).await?;
            let name = Some(display_name.as_str()).filter(|name| !name.is_empty());
            let mut tx = desk.change().await?;
            tx.set_display_name(name, desk.now).await?;
            desk.done(tx, "cli.change_organization").await?;
            desk.row(&[("name", organization.as_str().into()), ("display_name", name.into())])
        }
        OrganizationCommand::Suspend { organization, written } => {
            put(organization, *written, OrganizationState::Suspended, "cli.suspend_organization", config).await
        }
        OrganizationCommand::Resume { organization, written } => {
            put(organization, *written, OrganizationState::Active, "cli.resume_organization", config).await
        }
        OrganizationCommand::Plan(args) => plan(args, config).await,
    }
}

fn display_name(text: &str) -> Result<String, String> {
    if text.is_empty() { Ok(String::new()) } else { printable_name(text) }
}

async fn create(name: &str, written: Written, config: &Config) -> Result<(), Failure> {
    let (store, now) = (connect(config).await?, SystemClock.now());
    let desk = Desk { store, organization: OrganizationId::at(now), now, written };
    let mut tx = desk.change().await?;
    let created = tx.create_own_organization(name, now).await.map_err(|error| match error {
        StoreError::Conflict(_) => {
            Failure::refused(format!("organization `{name}` exists already"), "choose another name, or use it")
        }
        other => other.into(),
    })?;
    desk.done(tx, "cli.create_organization").await?;
    show(written, &created)
}

/// Puts an organization into a state.
async fn put(
    organization: &str,
    written: Written,
    state: OrganizationState,
    action: &'static str,
    config: &Config,
) -> Result<(), Failure> {
    let desk = Desk::of(config, organization, written).await?;
    let mut tx = desk.change().await?;
    tx.set_organization_state(state).await?;
    let now = tx.own_organization().await?;
    desk.done(tx, action).await?;
    show(written, &now)
}

async fn list(written: Written, config: &Config) -> Result<(), Failure> {
    let mut tx = connect(config).await?.system("organization list").await?;
    for found in tx.organizations().await? {
        show(written, &found)?;
    }
    Ok(tx.commit().await?)
}

fn show(written: Written, organization: &Organization) -> Result<(), Failure> {
    written.row(&[
        ("id", organization.id.to_string().into()),
        ("name", organization.slug.as_str().into()),
        ("state", organization.state.as_str().into()),
    ])
}

async fn plan(args: &PlanArgs, config: &Config) -> Result<(), Failure> {
    let desk = Desk::of(config, &args.organization, args.written).await?;
    if let Some(name) = &args.plan {
        let plan = Plan {
            name: name.clone(),
            sources: args.sources,
            call_sites: args.call_sites,
            spans_per_second: args.spans_per_second,
            requests_per_minute: args.requests_per_minute,
            tools: (!args.tools.is_empty()).then(|| args.tools.clone()),
        };
        let mut tx = desk.change().await?;
        tx.set_plan(&plan, desk.now).await?;
        desk.done(tx, "cli.set_plan").await?;
    }
    let mut tx = desk.look().await?;
    let (plan, holdings) = (tx.plan().await?, tx.holdings().await?);
    tx.commit().await?;
    let what = |what: &'static str| ("what", what.into());
    let limit = |limit: Option<u64>| ("limit", limit.into());
    desk.row(&[what("plan"), ("name", plan.name.as_str().into())])?;
    desk.row(&[what("sources"), limit(plan.sources), ("used", holdings.sources.into())])?;
    desk.row(&[what("call_sites"), limit(plan.call_sites), ("used", holdings.call_sites.into())])?;
    desk.row(&[what("spans_per_second"), limit(plan.spans_per_second)])?;
    desk.row(&[what("requests_per_minute"), limit(plan.requests_per_minute)])?;
    desk.row(&[what("tools"), ("limit", plan.tools.into())])
}
