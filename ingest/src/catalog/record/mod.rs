//! `catalog build npm`: a vendor file made by recording the vendor's published SDK.
//!
//! The package is installed without running its scripts, every method of its client is called with arguments that can
//! be recognized, and the first request of each is written down and never sent (`walk.mjs`, the only part that needs
//! Node). What is recorded becomes an edition of the package in the vendor's file.

mod lines;
mod merge;

mod run;
#[cfg(test)]
mod tests;

use super::ordered::Ordered;

/// Most of what requested nothing that is said one by one.
const SHOWN: usize = 20;

/// What to record.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The vendor's id.
    pub vendor: &'a str,
    /// `name` or `name@version`.
    pub package: &'a str,
    /// How clients are made, as `expression` or `prefix=expression`; empty for the file's way, else for trying.
    pub clients: &'a [String],
    /// How long recording may take.
    pub seconds: u64,
    /// The vendor's file as it is.
    pub existing: Option<&'a str>,
}

/// A vendor file, made.
#[derive(Debug)]
pub struct Recorded {
    /// The file's text.
    pub text: String,
    /// What to look at, in words.
    pub notes: Vec<String>,
}

/// A package that was not recorded. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A name that is none.
    #[error("`{0}` is no package; next: write it as `name` or `name@version`")]
    NoName(String),
    /// The vendor's id is none.
    #[error("`{0}` is no vendor id; next: use lower-case letters, digits and hyphens")]
    NoVendor(String),
    /// No folder to work in.
    #[error("no temporary folder: {0}; next: check space and permissions")]
    Folder(String),
    /// Node or npm is missing.
    #[error("`{name}` cannot be started: {reason}; next: install Node 20 or later, which brings npm")]
    NoProgram {
        /// The program.
        name: &'static str,
        /// Why.
        reason: String,
    },
    /// It took too long.
    #[error("`{what}` took more than {seconds} s and was ended; next: check the connection to the package registry")]
    Slow {
        /// What did.
        what: &'static str,
        /// The limit.
        seconds: u64,
    },
    /// npm did not install it.
    #[error(
        "`{spec}` was not installed: {reason}; next: check its name, its version and the registry in npm's settings"
    )]
    NotInstalled {
        /// As given.
        spec: String,
        /// npm's words.
        reason: String,
    },
    /// The package cannot be loaded.
    #[error("`{package}` was installed but not loaded: {reason}; next: record a version that this Node can load")]
    NotLoaded {
        /// The package.
        package: String,
        /// Node's words.
        reason: String,
    },
    /// The expression for the client failed.
    #[error("no client: {0}; next: correct --client; it sees the package's exports as `sdk`")]
    NoClient(String),
    /// Nothing requested anything.
    #[error(
        "`{package}` requested nothing: {methods} methods were called, the last words were `{reason}`; next: say with \
         --client how its client is made, as in --client 'new sdk.Acme({{apiKey: \"k\"}})'"
    )]
    Nothing {
        /// The package.
        package: String,
        /// How many methods were called.
        methods: usize,
        /// What was said last.
        reason: String,
    },
    /// The recording is damaged.
    #[error("{0}; next: record again, and report it if it happens again")]
    Unreadable(String),
    /// The vendor's file cannot take it.
    #[error("the vendor's file was left as it is: {0}; next: give the vendor's own file, sound by `catalog check`")]
    Refused(String),
}

/// Records a package and gives the vendor's file with it.
pub fn record(wanted: &Wanted<'_>) -> Result<Recorded, RecordError> {
    let (package, version) = named(wanted.package)?;
    let is_id = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if wanted.vendor.is_empty() || !wanted.vendor.bytes().all(is_id) {
        return Err(RecordError::NoVendor(wanted.vendor.to_owned()));
    }
    let clients = if wanted.clients.is_empty() { kept(wanted.existing, package) } else { given(wanted.clients) };
    let (version, recording) = run::record(package, version, &clients, wanted.seconds)?;
    let merged =
        merge::merge(wanted.vendor, package, &version, &recording, wanted.existing).map_err(RecordError::Refused)?;
    super::load::from_files([(format!("{}.json", wanted.vendor).as_str(), merged.text.as_str())].into_iter())
        .map_err(|error| RecordError::Refused(error.to_string()))?;
    Ok(Recorded { text: merged.text.clone(), notes: notes(package, &version.to_string(), &recording, merged) })
}

/// `@scope/name@version` in its two parts.
fn named(text: &str) -> Result<(&str, Option<&str>), RecordError> {
    let (name, version) = match text.char_indices().skip(1).find(|(_, c)| *c == '@') {
        Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let valid = |c: char| c.is_ascii_alphanumeric() || "-._~/@".contains(c);
    let is_name =
        !name.is_empty() && !name.starts_with(['-', '.', '/']) && !name.contains("..") && name.chars().all(valid);
    let is_version = |version: &str| version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(valid);
    let is_version = version.is_none_or(is_version);
    if is_name && is_version { Ok((name, version)) } else { Err(RecordError::NoName(text.to_owned())) }
}

/// `prefix=expression`; a prefix is a chain.
fn given(clients: &[String]) -> Vec<(String, String)> {
    let is_prefix =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._$".contains(c));
    let one = |text: &String| match text.split_once('=') {
        Some((prefix, made)) if is_prefix(prefix) => (prefix.to_owned(), made.to_owned()),
        _ => (String::new(), text.clone()),
    };
    clients.iter().map(one).collect()
}

/// How the vendor's file says that the clients of a package are made.
fn kept(existing: Option<&str>, package: &str) -> Vec<(String, String)> {
    let file: Option<Ordered> = existing.and_then(|text| serde_json::from_str(text).ok());
    let clients = file.as_ref().and_then(|file| file.get("recording")?.get("clients")?.get(package));
    let entries = clients.map_or(&[][..], Ordered::entries);
    entries.iter().filter_map(|(prefix, made)| Some((prefix.clone(), made.as_str()?.to_owned()))).collect()
}

fn notes(package: &str, version: &str, recording: &lines::Recording, merged: merge::Merged) -> Vec<String> {
    let mut notes = merged.notes;
    let (decided, silent): (Vec<_>, Vec<_>) =
        recording.silent.iter().partition(|(_, why)| why.starts_with("a key decides"));
    notes.extend(decided.iter().map(|(chain, why)| format!("`{chain}` was left out: {why}")));
    notes.extend(silent.iter().take(SHOWN).map(|(chain, why)| {
        let why: String = why.lines().next().unwrap_or_default().chars().take(100).collect();
        format!("`{chain}` requested nothing: {why}")
    }));
    if let Some(more) = silent.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        notes.push(format!("{more} more requested nothing"));
    }
    match recording.end {
        lines::End::OutOfTime | lines::End::Cut => notes.push("time ran out: give it more with --seconds".to_owned()),
        lines::End::TooMany => notes.push("not every method was called: there are too many".to_owned()),
        _ => {}
    }
    notes.push(format!("{package} {version}: {} chains, {} operations that were not known", merged.chains, merged.new));
    notes
}
