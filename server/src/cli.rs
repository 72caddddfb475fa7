//! The command line of `syncd`: one executable for every role.
//!
//! Errors go to stderr as `error: what; next: what to do`. Exit codes: 0 ok, 1 failed, 2 usage, 3 refused.

mod admin;
mod audit;
mod doctor;
mod migrate;
mod openapi;
mod secrets;
mod serve;
mod trigger;
mod worker;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sync_ingest::cli::{FetchArgs, IndexArgs, run_fetch, run_index, run_parse};
use sync_ingest::pool::ParseCommand;

use crate::app::AppError;
use crate::config::{Config, ConfigError, REFERENCE};
use crate::dev::{self, DevArgs, DevError};

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const REFUSED: u8 = 3;

/// Which line of your code depends on which vendor operation, and is it about to break?
#[derive(Debug, Parser)]
#[command(
    name = "syncd",
    version,
    propagate_version = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 bad use, 3 refused.
Every command's --help has an example. On what deploy/dev/run started: syncd --dev audit tail --organization dev"
)]
struct Cli {
    /// Configuration file, over the built-in one; SYNC_… variables override both.
    #[arg(long, global = true, value_name = "FILE", env = "SYNC_CONFIG")]
    config: Option<PathBuf>,
    /// Work on what `syncd dev` started: with the database and the keys of its usual folder, or of DIR (its --data-dir).
    // With an equals sign only: what stands behind a space is the command.
    #[arg(long, global = true, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "absent, given without a folder, given with one")]
    dev: Option<Option<PathBuf>>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dev(DevArgs),
    /// Serve agents (/mcp), administration and the audit log (/v1) until SIGTERM or Ctrl-C; any number of these on one database.
    ///
    /// Example: SYNC_DATABASE_URL=postgres://sync_app@db/sync SYNC_SECRET_KEY_FILE=/run/secrets/sync syncd serve
    Serve,
    /// Work until SIGTERM or Ctrl-C: bring sources up to date, seal the audit log, keep it as long as is wanted; any number
    /// of these on one database.
    ///
    /// Example: SYNC_DATABASE_URL=postgres://sync_app@db/sync SYNC_MAINTENANCE_DATABASE_URL=postgres://sync_maintainer@db/sync SYNC_SEAL_KEY_FILE=/run/secrets/seal syncd worker
    Worker,
    /// Apply missing migrations as the owner role; create and grant the service's and the maintenance role.
    ///
    /// Example: SYNC_OWNER_DATABASE_URL=postgres://sync_owner@db/sync syncd migrate --dry-run
    Migrate(migrate::Args),
    /// Manage organizations.
    #[command(subcommand)]
    Organization(admin::OrganizationCommand),
    /// Manage members.
    #[command(subcommand)]
    Member(admin::MemberCommand),
    /// Manage which members read which repositories.
    #[command(subcommand)]
    Grant(admin::GrantCommand),
    /// Manage tokens.
    #[command(subcommand)]
    Token(admin::TokenCommand),
    /// Manage the issuers of JSON Web Tokens that an organization trusts.
    #[command(subcommand)]
    Issuer(admin::IssuerCommand),
    /// Manage sources: repositories that follow their code.
    #[command(subcommand)]
    Source(admin::SourceCommand),
    /// Send a running server what a forge would send.
    #[command(subcommand)]
    Trigger(trigger::TriggerCommand),
    /// Look at the audit log.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Look at the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Manage the secrets that are stored encrypted.
    #[command(subcommand)]
    Secrets(secrets::SecretsCommand),
    /// Write the OpenAPI description of /v1 into openapi/, or fail where the file there is stale.
    ///
    /// Example: syncd openapi --check
    Openapi(openapi::Args),
    /// Check what the service stands on; each failure says the next step.
    ///
    /// Example: syncd doctor
    Doctor,
    #[command(hide = true)]
    Fetch(FetchArgs),
    #[command(after_help = "Example:
  syncd index . --out snapshot.ndjson.zst

Exit codes: 0 written (also when partial), 1 failed, 2 bad use, 3 refused by the gate.")]
    Index(IndexArgs),
    /// Parse files given on stdin; the index starts this by itself.
    #[command(hide = true)]
    Parse,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print what is in force and who set it; secrets are hidden.
    ///
    /// Example: syncd config print --reference > syncd.toml
    Print {
        /// Print the built-in file instead, which describes every key.
        #[arg(long)]
        reference: bool,
    },
}

/// What a command ends with when it does not end well.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// Could not be done.
    #[error("{what}; next: {next}")]
    Failed {
        /// What happened, to what.
        what: String,
        /// What to do.
        next: String,
    },
    /// Will not be done.
    #[error("{what}; next: {next}")]
    Refused {
        /// What is refused.
        what: String,
        /// What to do.
        next: String,
    },
    /// The configuration does not stand.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Failure {
    fn failed(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), next: next.into() }
    }

    fn refused(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Refused { what: what.into(), next: next.into() }
    }

    const fn exit_code(&self) -> u8 {
        match self {
            Self::Failed { .. } => FAILED,
            Self::Config(_) => USAGE,
            Self::Refused { .. } => REFUSED,
        }
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        match error {
            AppError::Config(error) => Self::Config(error),
            AppError::Catalog(reason) => {
                Self::failed(format!("the built-in catalog cannot be read: {reason}"), "install this release again")
            }
        }
    }
}

impl From<DevError> for Failure {
    fn from(error: DevError) -> Self {
        if error.is_refusal() {
            Self::refused(error.what(), error.next())
        } else {
            Self::failed(error.what(), error.next())
        }
    }
}

impl From<sync_store::StoreError> for Failure {
    fn from(error: sync_store::StoreError) -> Self {
        use sync_store::StoreError;
        let text = error.to_string();
        // What the store itself knows to do about it is more than its kind tells.
        if let Some((what, next)) = text.split_once("; next: ") {
            return Self::failed(what, next);
        }
        let next = match &error {
            StoreError::Unavailable(_) => "check the database address and that the database runs",
            StoreError::Refused(_) => "run `syncd migrate`, and give `serve` the application role",
            StoreError::Conflict(_) => "choose another name",
            StoreError::OverLimit { .. } => "remove what is not needed, or `syncd organization plan` another plan",
            StoreError::NotFound(_) => "check the name",
            StoreError::Bug(_) => "run `syncd migrate`; if it stays, report it",
        };
        Self::failed(text, next)
    }
}

/// Runs `syncd` with the process's arguments and environment.
pub fn main() -> ExitCode {
    // The one provider of everything that speaks TLS; an error means that there is one already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(failure) => {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let file = cli.config.as_deref();
    let environment: Vec<(String, String)> = match &cli.dev {
        None => std::env::vars().collect(),
        Some(_) if matches!(cli.command, Command::Dev(_)) => {
            return Err(Failure::refused(
                "`syncd dev` itself is not run with --dev",
                "name its folder with --data-dir",
            ));
        }
        Some(folder) => dev::attach(folder.as_deref(), std::env::vars().collect())?,
    };
    let load = || Config::load(file, environment.iter().cloned());
    match cli.command {
        Command::Dev(args) => dev::run(&args, executable()?, cli.config.clone(), environment)?,
        Command::Serve => runtime()?.block_on(serve::run(load()?))?,
        Command::Worker => runtime()?.block_on(worker::run(load()?, executable()?))?,
        Command::Migrate(args) => runtime()?.block_on(migrate::run(&args, &load()?))?,
        Command::Organization(command) => runtime()?.block_on(admin::organization(&command, &load()?))?,
        Command::Member(command) => runtime()?.block_on(admin::member(&command, &load()?))?,
        Command::Grant(command) => runtime()?.block_on(admin::grant(&command, &load()?))?,
        Command::Token(command) => runtime()?.block_on(admin::token(&command, &load()?))?,
        Command::Issuer(command) => runtime()?.block_on(admin::issuer(&command, &load()?))?,
        Command::Source(command) => runtime()?.block_on(admin::source(&command, &load()?))?,
        Command::Trigger(command) => {
            runtime()?.block_on(trigger::run(&command, std::env::var("SYNC_TOKEN").ok(), load()?.listen))?;
        }
        Command::Audit(command) => return runtime()?.block_on(audit::run(&command, &load()?)),
        Command::Config(ConfigCommand::Print { reference: true }) => say(REFERENCE.trim_end())?,
        Command::Config(ConfigCommand::Print { reference: false }) => say(&Config::print(file, environment)?)?,
        Command::Secrets(command) => runtime()?.block_on(secrets::run(&command, &load()?))?,
        Command::Openapi(args) => openapi::run(&args)?,
        Command::Doctor => return runtime()?.block_on(doctor::run(file, environment)),
        Command::Index(args) => {
            let parse = ParseCommand { executable: executable()?, args: vec!["parse".into()] };
            return Ok(run_index(&args, parse));
        }
        Command::Fetch(args) => return Ok(run_fetch(&args)),
        Command::Parse => return Ok(run_parse()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The executable that the children are started from: this one.
fn executable() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::failed(format!("the path of this executable is unknown: {error}"), "run it by its path")
    })
}

/// Writes a line to stdout.
fn say(line: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{line}")
        .map_err(|error| Failure::failed(format!("cannot write to stdout: {error}"), "check where stdout leads"))
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        Failure::failed(format!("the runtime cannot be started: {error}"), "raise the limits of this process")
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_every_command_has_an_example() {
        let mut cli = Cli::command();
        cli.clone().debug_assert();
        cli.build();
        let mut open: Vec<_> = cli.get_subcommands().cloned().collect();
        while let Some(command) = open.pop() {
            if command.get_name() == "help" {
                continue;
            }
            open.extend(command.get_subcommands().cloned());
            let leaf = !command.has_subcommands() && !command.is_hide_set();
            let help = command.clone().render_long_help().to_string();
            assert!(!leaf || help.contains("Example"), "{}: {help}", command.get_name());
        }
    }

    #[test]
    fn what_stands_behind_dev_is_its_folder_only_with_an_equals_sign() {
        let dev = |line: &str| Cli::try_parse_from(line.split(' ')).unwrap().dev;
        assert_eq!(dev("syncd organization list"), None);
        assert_eq!(dev("syncd --dev organization list"), Some(None));
        assert_eq!(dev("syncd organization list --dev"), Some(None));
        assert_eq!(dev("syncd --dev=/data organization list"), Some(Some("/data".into())));
    }

    #[test]
    fn a_failure_has_one_next_step() {
        let said = |error| Failure::from(error).to_string();
        assert_eq!(said(sync_store::StoreError::Refused("a; next: b".to_owned())), "a; next: b");
        assert!(said(sync_store::StoreError::NotFound("token".to_owned())).ends_with("; next: check the name"));
    }

    #[test]
    fn what_has_to_be_chosen_from_is_listed() {
        let mut cli = Cli::command();
        cli.build();
        let help = |path: &[&str]| {
            let mut command = cli.clone();
            for name in path {
                command = command.find_subcommand(name).unwrap().clone();
            }
            command.render_long_help().to_string()
        };
        let create = help(&["token", "create"]);
        for scope in sync_core::principal::Scope::ALL {
            assert!(create.contains(scope.as_str()), "{scope}: {create}");
        }
        let top = help(&[]);
        assert!(top.contains("Exit codes: 0 done, 1 failed, 2 bad use, 3 refused") && top.contains("--dev"), "{top}");
        assert!(help(&["serve"]).contains("/v1"));
        assert!(REFERENCE.contains("/v1"));
    }
}
