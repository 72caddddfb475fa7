//! `syncd organization …`

use sync_core::clock::Clock as _;
use sync_core::ids::OrganizationId;
use sync_store::{OrganizationState, Plan};

use super::{Desk, connect, printable_name, say_row, short_name};
use crate::cli::{Failure, say};
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
    },
    /// List the organizations: id, short name, state.
    ///
    /// Example: syncd organization list
    List,
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
        OrganizationCommand::Create { name } => create(name, config).await,
        OrganizationCommand::List => list(config).await,
        OrganizationCommand::Plan(args) => plan(args, config).await,
    }
}

async fn create(name: &str, config: &Config) -> Result<(), Failure> {
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

async fn list(config: &Config) -> Result<(), Failure> {
    let mut tx = connect(config).await?.system("organization list").await?;
    for found in tx.organizations().await? {
        let state = match found.state {
            OrganizationState::Active => "active",
            OrganizationState::Suspended => "suspended",
        };
        say_row(&[&found.id.to_string(), &found.slug, state])?;
    }
    Ok(tx.commit().await?)
}

async fn plan(args: &PlanArgs, config: &Config) -> Result<(), Failure> {
    let desk = Desk::of(config, &args.organization).await?;
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
    let limit = |limit: Option<u64>| limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string());
    say_row(&["plan", &plan.name])?;
    say_row(&["sources", &limit(plan.sources), &holdings.sources.to_string()])?;
    say_row(&["call_sites", &limit(plan.call_sites), &holdings.call_sites.to_string()])?;
    say_row(&["spans_per_second", &limit(plan.spans_per_second)])?;
    say_row(&["requests_per_minute", &limit(plan.requests_per_minute)])?;
    say_row(&["tools", &plan.tools.map_or_else(|| "-".to_owned(), |tools| tools.join(","))])
}
