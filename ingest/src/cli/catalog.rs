//! `catalog check` and `catalog build`: vendor files proved and made.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{FAILED, OK};
use crate::catalog::openapi::{Built, build};
use crate::catalog::record::{Wanted, record};
use crate::catalog::{Catalog, check};

/// Most of what was left out that is said one by one.
const SHOWN: usize = 20;
/// Largest description that is read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Vendor files: which call reaches which operation of which vendor.
#[derive(Debug, Args)]
pub struct CatalogArgs {
    #[command(subcommand)]
    command: CatalogCommand,
}

#[derive(Debug, Subcommand)]
enum CatalogCommand {
    Check(CheckArgs),
    Build(BuildArgs),
}

/// Prove that every vendor file is well-formed and that no chain requests two operations.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  sync-ingest catalog check --catalog my-catalog

Exit codes: 0 sound, 1 not sound (each defect on stderr, with its file), 2 bad use.")]
struct CheckArgs {
    /// Folder of vendor files instead of the embedded catalog.
    #[arg(long, value_name = "DIR")]
    catalog: Option<PathBuf>,
}

/// Make a vendor file.
#[derive(Debug, Args)]
struct BuildArgs {
    #[command(subcommand)]
    from: BuildFrom,
}

#[derive(Debug, Subcommand)]
enum BuildFrom {
    Openapi(OpenapiArgs),
    Npm(NpmArgs),
}

/// From an OpenAPI 3 or Swagger 2 file, JSON or YAML: hosts and operations, for plain HTTP.
///
/// A vendor's file that is there keeps all that it has and gets the operations that it does not know.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  sync-ingest catalog build openapi openapi.yaml --vendor acme --out my-catalog/acme.json

Exit codes: 0 written (what was left out is said on stderr), 1 failed, 2 bad use.")]
struct OpenapiArgs {
    /// The OpenAPI file.
    file: PathBuf,
    /// The vendor's id: lower-case letters, digits and hyphens.
    #[arg(long, value_name = "ID")]
    vendor: String,
    /// Where the vendor answers, instead of what the file says; may be repeated.
    #[arg(long = "server", value_name = "URL")]
    servers: Vec<String>,
    /// The vendor's file, made or completed [default: a new one on stdout].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// From a published npm package: its methods are called, and the first request of each is noted and never sent.
///
/// Needs Node 20 or later with npm. No script of the package's installation runs; its own code does, without this
/// shell's environment and without connections. A file that is there gets the version as one more of its editions, or
/// in place of one of the same major; what was written by hand stays.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sync-ingest catalog build npm stripe@18.2.0 --vendor stripe --out my-catalog/stripe.json
  sync-ingest catalog build npm @acme/sdk --vendor acme --client 'new sdk.Acme({token: \"t\"})'

Exit codes: 0 written (what to look at is said on stderr), 1 failed, 2 bad use.")]
struct NpmArgs {
    /// The package, `name` or `name@version`.
    package: String,
    /// The vendor's id: lower-case letters, digits and hyphens.
    #[arg(long, value_name = "ID")]
    vendor: String,
    /// How a client is made: a JavaScript expression in which `sdk` is what the package exports; with `PREFIX=` before
    /// it where its chains have a prefix. May be repeated [default: as the vendor's file says, else what works].
    #[arg(long = "client", value_name = "[PREFIX=]EXPRESSION")]
    clients: Vec<String>,
    /// Seconds that calling the methods may take.
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The vendor's file, made or brought up to date [default: a new one on stdout].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the command and says what came of it.
pub fn run_catalog(args: &CatalogArgs) -> ExitCode {
    let said = match &args.command {
        CatalogCommand::Check(args) => checked(args.catalog.as_deref()),
        CatalogCommand::Build(BuildArgs { from: BuildFrom::Openapi(args) }) => built(args),
        CatalogCommand::Build(BuildArgs { from: BuildFrom::Npm(args) }) => recorded(args),
    };
    // Nobody is left to tell where a stream is closed.
    let _ = io::stdout().write_all(said.out.as_bytes());
    let _ = io::stderr().write_all(said.err.as_bytes());
    ExitCode::from(said.code)
}

/// What a command leaves.
#[derive(Debug, Default)]
struct Said {
    out: String,
    err: String,
    code: u8,
}

impl Said {
    fn failed(what: &str, next: &str) -> Self {
        Self::refused(&format!("{what}; next: {next}"))
    }

    /// For errors that carry their next step.
    fn refused(error: &str) -> Self {
        Self { err: format!("error: {error}\n"), code: FAILED, ..Self::default() }
    }
}

fn checked(folder: Option<&Path>) -> Said {
    let loaded;
    let catalog = match folder {
        Some(folder) => match Catalog::load(folder) {
            Ok(catalog) => {
                loaded = catalog;
                &loaded
            }
            Err(error) => return Said::failed(&error.to_string(), "correct it and check again"),
        },
        None => match Catalog::embedded() {
            Ok(catalog) => catalog,
            Err(error) => return Said::failed(&error.to_string(), "report it: this build is damaged"),
        },
    };
    let vendors = catalog.vendors().count();
    if vendors == 0 {
        return Said::failed("the catalog holds no vendor file", "give a folder with files named VENDOR.json");
    }
    let defects = check(catalog);
    if defects.is_empty() {
        return Said { out: format!("{vendors} vendors, sound; version {}\n", catalog.version()), ..Said::default() };
    }
    let next = "correct the file; ingest/catalog/README.md describes it";
    let lines: Vec<String> = defects.iter().map(|defect| format!("error: {defect}; next: {next}\n")).collect();
    Said { err: lines.concat(), code: FAILED, ..Said::default() }
}

fn built(args: &OpenapiArgs) -> Said {
    let file = args.file.display();
    let text = match read_limited(&args.file) {
        Ok(text) => text,
        Err(error) => {
            return Said::failed(&format!("`{file}` cannot be read: {error}"), "check its path and permissions");
        }
    };
    let Some(text) = text else {
        let what = format!("`{file}` is larger than {} MiB", MAX_BYTES / (1024 * 1024));
        return Said::failed(&what, "give the file that refers to its schemas instead of repeating them");
    };
    let existing = match known(args.out.as_deref()) {
        Ok(existing) => existing,
        Err(said) => return said,
    };
    let built = match build(&args.vendor, &text, &args.servers, existing.as_deref()) {
        Ok(built) => built,
        Err(error) => return Said::refused(&format!("`{file}`: {error}")),
    };
    written(args.out.as_deref(), built.text.clone(), left_out(&built, existing.is_some()))
}

/// The text of a file; nothing where it is too large.
fn read_limited(path: &Path) -> io::Result<Option<String>> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    Ok((text.len() as u64 <= MAX_BYTES).then_some(text))
}

/// The text of the vendor's file, if it is there.
fn known(out: Option<&Path>) -> Result<Option<String>, Said> {
    match out.map(|out| (out, std::fs::read_to_string(out))) {
        Some((out, Err(error))) if error.kind() != io::ErrorKind::NotFound => {
            let what = format!("`{}` cannot be read: {error}", out.display());
            Err(Said::failed(&what, "check its path and permissions"))
        }
        Some((_, Ok(text))) => Ok(Some(text)),
        _ => Ok(None),
    }
}

fn recorded(args: &NpmArgs) -> Said {
    let existing = match known(args.out.as_deref()) {
        Ok(existing) => existing,
        Err(said) => return said,
    };
    let wanted = Wanted {
        vendor: &args.vendor,
        package: &args.package,
        clients: &args.clients,
        seconds: args.seconds,
        existing: existing.as_deref(),
    };
    match record(&wanted) {
        Ok(recorded) => {
            let notes: Vec<String> = recorded.notes.iter().map(|note| format!("{note}\n")).collect();
            written(args.out.as_deref(), recorded.text, notes.concat())
        }
        Err(error) => Said::refused(&error.to_string()),
    }
}

/// Writes a vendor file where it is wanted.
fn written(out: Option<&Path>, text: String, err: String) -> Said {
    let Some(out) = out else { return Said { out: text, err, code: OK } };
    match std::fs::write(out, text) {
        Ok(()) => Said { err, ..Said::default() },
        Err(error) => {
            let what = format!("`{}` cannot be written: {error}", out.display());
            Said::failed(&what, "check its folder, space and permissions")
        }
    }
}

fn left_out(built: &Built, is_completed: bool) -> String {
    let mut lines: Vec<String> =
        built.left_out.iter().take(SHOWN).map(|left_out| format!("left out: {left_out}\n")).collect();
    if let Some(more) = built.left_out.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        lines.push(format!("left out: {more} more\n"));
    }
    let known = if is_completed { format!(", {} of them known before", built.known) } else { String::new() };
    lines.push(format!("operations: {}{known}\n", built.operations));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CatalogArgs,
    }

    fn run(args: &[&str]) -> Said {
        let line = Line::try_parse_from(["catalog"].iter().chain(args)).unwrap();
        match &line.args.command {
            CatalogCommand::Check(args) => checked(args.catalog.as_deref()),
            CatalogCommand::Build(BuildArgs { from: BuildFrom::Openapi(args) }) => built(args),
            CatalogCommand::Build(BuildArgs { from: BuildFrom::Npm(args) }) => recorded(args),
        }
    }

    #[test]
    fn a_vendor_file_is_built_from_an_openapi_file_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::create_dir(path("catalog")).unwrap();
        let spec = "openapi: 3.0.0\nservers: [{url: https://api.acme.com/v1}]\npaths: {/x: {get: {}}, x y: {}}\n";
        std::fs::write(path("openapi.yaml"), spec).unwrap();

        let said =
            run(&["build", "openapi", &path("openapi.yaml"), "--vendor", "acme", "--out", &path("catalog/acme.json")]);
        assert_eq!(said.err, "left out: path `x y`: it does not start with `/`\noperations: 1\n");
        assert_eq!((said.out.as_str(), said.code), ("", OK));
        let printed = run(&["build", "openapi", &path("openapi.yaml"), "--vendor", "acme"]);
        assert_eq!(printed.out, std::fs::read_to_string(path("catalog/acme.json")).unwrap());
        let said = run(&["check", "--catalog", &path("catalog")]);
        assert!(said.out.starts_with("1 vendors, sound; version ") && said.code == OK, "{said:?}");
        assert_eq!(run(&["check"]).code, OK, "the embedded catalog is sound");
    }

    #[test]
    fn failures_name_the_file_and_the_next_step() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for name in ["unsound", "empty"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        std::fs::write(path("unsound/other.json"), r#"{"format":1,"vendor":"acme"}"#).unwrap();
        std::fs::write(path("page.html"), "<html></html>").unwrap();
        for (args, expected) in [
            (&["build", "openapi", &path("page.html"), "--vendor", "acme"][..], "page.html`: it is no mapping; next: "),
            (&["build", "openapi", &path("missing"), "--vendor", "acme"], "missing` cannot be read: "),
            (
                &["check", "--catalog", &path("unsound")],
                "error: other.json: it is of vendor `acme`, whose file is `acme.json`; next: ",
            ),
            (&["check", "--catalog", &path("empty")], "holds no vendor file; next: "),
            (&["check", "--catalog", &path("missing")], "cannot read catalog"),
            (&["build", "npm", "../acme", "--vendor", "acme"], "`../acme` is no package; next: "),
            (&["build", "npm", "acme@latest;", "--vendor", "acme"], "`acme@latest;` is no package; next: "),
            (&["build", "npm", "acme@1.0.0", "--vendor", "Acme!"], "`Acme!` is no vendor id; next: "),
            (&["build", "npm", "acme", "--vendor", "acme", "--out", &path("empty")], "empty` cannot be read: "),
        ] {
            let said = run(args);
            assert!(said.err.contains(expected) && said.err.contains("; next: "), "{said:?}");
            assert_eq!((said.err.lines().count(), said.code), (1, FAILED));
        }
        assert!(Line::try_parse_from(["catalog", "build", "openapi", "x"]).is_err(), "a vendor has to be said");
    }
}
