//! Why a path is not read, and why an index is partial: every word for it that a snapshot may have, in one table.
//!
//! `openapi/snapshot.md` has the same table for readers of snapshots; a test holds them to each other.

use serde::{Deserialize, Serialize};
use sync_core::graph::{MAX_PATH_BYTES, PartialReason};
use sync_core::text::shown;

use crate::limits;
use crate::manifests::{LOCKFILE_BYTES, MANIFEST_BYTES};
use crate::names::MAX_NAME;
use crate::snapshot::MAX_LINE;
use crate::walk::{IGNORE_FILE_BYTES, Limits, MANIFESTS_BYTES, MAX_PATTERNS, SOURCE_BYTES};

/// Why something was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the table says what each means")]
pub enum Reason {
    Vendored,
    BuildOutput,
    Hidden,
    Ignored,
    Minified,
    Symlink,
    Submodule,
    Special,
    Binary,
    Generated,
    BadName,
    LfsPointer,
    TooLarge,
    FolderTooLarge,
    ManifestTooLarge,
    IgnoreFileTooLarge,
    PathTooLong,
    FileCap,
    TreeTooLarge,
    Unreadable,
    ParseError,
    ParseTimeout,
    ParseMemory,
    ParseOverflow,
    ParseCrash,
    ParseCut,
    FactsTooLarge,
    AnalysisCut,
    ClientsCut,
    NameTooLong,
    LockfileUnreadable,
    LockfileCut,
    ManifestUnreadable,
    ManifestCut,
}

/// What is known of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The word in snapshots and answers.
    pub name: &'static str,
    /// Whether it makes the index partial: something that should have been read was not.
    pub partial: bool,
    /// What it means, as the end of the sentence “it is not read: …”.
    pub meaning: &'static str,
    /// What to do about it.
    pub next: &'static str,
}

/// Files that are named as examples.
const EXAMPLES: usize = 3;
/// Nothing needs doing about what is not meant to be read.
const NOTHING: &str = "nothing: it is not meant to be read";

impl Reason {
    /// All of them, those of whole folders first.
    pub const ALL: [Self; 34] = [
        Self::Vendored,
        Self::BuildOutput,
        Self::Hidden,
        Self::Ignored,
        Self::Minified,
        Self::Symlink,
        Self::Submodule,
        Self::Special,
        Self::Binary,
        Self::Generated,
        Self::BadName,
        Self::LfsPointer,
        Self::TooLarge,
        Self::FolderTooLarge,
        Self::ManifestTooLarge,
        Self::IgnoreFileTooLarge,
        Self::PathTooLong,
        Self::FileCap,
        Self::TreeTooLarge,
        Self::Unreadable,
        Self::ParseError,
        Self::ParseTimeout,
        Self::ParseMemory,
        Self::ParseOverflow,
        Self::ParseCrash,
        Self::ParseCut,
        Self::FactsTooLarge,
        Self::AnalysisCut,
        Self::ClientsCut,
        Self::NameTooLong,
        Self::LockfileUnreadable,
        Self::LockfileCut,
        Self::ManifestUnreadable,
        Self::ManifestCut,
    ];

    /// The reason of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == name)
    }

    /// The word in snapshots and answers.
    pub const fn as_str(self) -> &'static str {
        self.about().name
    }

    /// The table.
    pub const fn about(self) -> About {
        let (name, partial, meaning, next) = match self {
            Self::Vendored => {
                ("vendored", false, "`node_modules`; `vendor` beside a `go.mod` or `composer.json`", NOTHING)
            }
            Self::BuildOutput => (
                "build_output",
                false,
                "`dist`, `build`, `graft`, `coverage`, `__pycache__`; `target` beside a `Cargo.toml`",
                NOTHING,
            ),
            Self::Hidden => ("hidden", false, "a folder whose name starts with a dot", NOTHING),
            Self::Ignored => (
                "ignored",
                false,
                "a `.gitignore` says so; only in plain folders, since what is committed is not ignored",
                "index the commit, or take the pattern out",
            ),
            Self::Minified => ("minified", false, "`*.min.*`", NOTHING),
            Self::Symlink => {
                ("symlink", false, "symlinks are not followed", "index the repository that has the file itself")
            }
            Self::Submodule => ("submodule", false, "another repository's commit", "index that repository too"),
            Self::Special => ("special", false, "neither a file nor a folder: a pipe, a socket, a device", NOTHING),
            Self::Binary => ("binary", false, "it has a NUL byte", NOTHING),
            Self::Generated => (
                "generated",
                false,
                "`@generated`, or `Code generated … DO NOT EDIT`, in the comments at its head",
                NOTHING,
            ),
            Self::BadName => ("bad_name", false, "its name is not UTF-8 or has control characters", "rename it"),
            Self::TooLarge => ("too_large", true, "it is a source larger than is read", "split the file, or ignore it"),
            Self::LfsPointer => (
                "lfs_pointer",
                true,
                "its content is in Git LFS, of which the repository has a pointer alone",
                "keep sources out of LFS",
            ),
            Self::FolderTooLarge => (
                "folder_too_large",
                true,
                "there are more names in one folder than are listed",
                "split the folder, or ignore it",
            ),
            Self::ManifestTooLarge => (
                "manifest_too_large",
                true,
                "it is a manifest or lockfile larger than is read: versions or aliases are not known",
                "make it smaller, or leave copies of it out of the repository",
            ),
            Self::IgnoreFileTooLarge => (
                "ignore_file_too_large",
                true,
                "it is an ignore file with more than is followed: it ignores nothing",
                "shorten it",
            ),
            Self::PathTooLong => ("path_too_long", true, "its path is longer than is stored", "shorten the path"),
            Self::FileCap => (
                "file_cap",
                true,
                "there are more source files than are read; those that come first by their path were",
                "raise `--max-files`, or index a part of the tree",
            ),
            Self::TreeTooLarge => (
                "tree_too_large",
                true,
                "the tree has more entries or bytes than are walked: what comes after this folder was not looked at",
                "raise `--max-entries`, or index a part of the tree",
            ),
            Self::Unreadable => (
                "unreadable",
                true,
                "no permission, or a git object that is missing or damaged",
                "check its permissions, or `git fsck`; fetch what a partial clone left out",
            ),
            Self::ParseError => (
                "parse_error",
                true,
                "no parser can read it, or it is not UTF-8",
                "check that its name says what it is, and that it is UTF-8",
            ),
            Self::ParseTimeout => ("parse_timeout", true, "parsing it took too long", "split the file, or ignore it"),
            Self::ParseMemory => {
                ("parse_memory", true, "parsing it took too much memory", "split the file, or ignore it")
            }
            Self::ParseOverflow => {
                ("parse_overflow", true, "it is nested deeper than parsers go", "nest it less deeply, or ignore it")
            }
            Self::ParseCrash => (
                "parse_crash",
                true,
                "it ended its parser",
                "report the file, which no parser should end at; ignore it meanwhile",
            ),
            Self::ParseCut => (
                "parse_cut",
                true,
                "to parse the files before it, by their path, took too long together: it was not looked at",
                "ignore the files that are slow to parse or end their parser, or index a part of the tree",
            ),
            Self::FactsTooLarge => (
                "facts_too_large",
                true,
                "what is known of it is more than a line of a snapshot holds",
                "split the file, or ignore it",
            ),
            Self::AnalysisCut => (
                "analysis_cut",
                true,
                "to follow what its calls reach takes more than is looked at: some call sites may be missing",
                "look at its calls by hand, or simplify what they go through",
            ),
            Self::ClientsCut => (
                "clients_cut",
                true,
                "there are more vendor clients than a snapshot lists: call sites of these name none",
                "index a part of the tree",
            ),
            Self::NameTooLong => (
                "name_too_long",
                true,
                "names in it are longer than is kept: they are shortened",
                "nothing, unless such a name is asked for",
            ),
            Self::LockfileUnreadable => (
                "lockfile_unreadable",
                true,
                "it is damaged, or bun's binary `bun.lockb`: versions are those of manifests, or unknown",
                "let the package manager write it anew (`bun install --save-text-lockfile` for bun)",
            ),
            Self::LockfileCut => (
                "lockfile_cut",
                true,
                "it lists more than is kept: versions are those of manifests, or unknown",
                "leave copies of lockfiles out of the repository",
            ),
            Self::ManifestUnreadable => (
                "manifest_unreadable",
                true,
                "it is not what its name says: it pins no version and maps no import",
                "correct it: it must be JSON (YAML for pnpm) in UTF-8, nested less than 128 deep",
            ),
            Self::ManifestCut => (
                "manifest_cut",
                true,
                "it lists or extends more than is followed, or extends itself: some imports may lead nowhere",
                "shorten its lists, or its chain of `extends`",
            ),
        };
        About { name, partial, meaning, next }
    }

    /// The limit that was met, in words, where it is a limit.
    pub fn limit(self, limits: &Limits) -> Option<String> {
        Some(match self {
            Self::TooLarge => format!("{} a source", bytes(SOURCE_BYTES)),
            Self::FolderTooLarge => {
                format!(
                    "{} of a git tree, {} entries of a folder",
                    bytes(crate::tree::TREE_BYTES),
                    crate::tree::FOLDER_ENTRIES
                )
            }
            Self::ManifestTooLarge => format!(
                "{} a manifest, {} a lockfile, {} together",
                bytes(MANIFEST_BYTES),
                bytes(LOCKFILE_BYTES),
                bytes(MANIFESTS_BYTES)
            ),
            Self::IgnoreFileTooLarge => {
                format!("{} a file, {MAX_PATTERNS} patterns in a folder", bytes(IGNORE_FILE_BYTES))
            }
            Self::PathTooLong => format!("{MAX_PATH_BYTES} bytes a path"),
            Self::FileCap => format!("{} source files", limits.sources),
            Self::TreeTooLarge => format!("{} entries, {} of files", limits.entries, bytes(limits.bytes)),
            Self::ParseTimeout => format!("{} s of processor time a file", limits::FILE_TIME.as_secs()),
            Self::ParseCut => crate::pool::limits(),
            Self::ParseMemory => format!("{} a file", bytes(limits::PARSE_HEAP)),
            Self::ParseOverflow => format!("{} of stack", bytes(limits::PARSE_STACK as u64)),
            Self::FactsTooLarge => format!("{} a file", bytes(MAX_LINE as u64)),
            Self::ClientsCut => format!("{} of clients", bytes(crate::analyze::CLIENTS_BYTES as u64)),
            Self::NameTooLong => format!("{MAX_NAME} bytes a name"),
            Self::AnalysisCut => crate::bind::limits(),
            Self::ManifestCut => crate::link::limits(),
            Self::LockfileCut => crate::pins::limits(),
            _ => return None,
        })
    }
}

/// What is to be told of a reason for which an index is partial: how often, the limit, examples, and what to do.
pub fn told(partial: &PartialReason) -> String {
    let PartialReason { reason, count, files, limit } = partial;
    let limit = limit.as_ref().map(|limit| format!(" (limit: {limit})")).unwrap_or_default();
    let examples: Vec<_> = files.iter().take(EXAMPLES).map(|file| format!("`{}`", shown(file, 200))).collect();
    let more = count.saturating_sub(examples.len() as u64);
    let examples = match (examples.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(": {}", examples.join(", ")),
        (false, more) => format!(": {} and {more} more", examples.join(", ")),
    };
    let about = Reason::of(reason).map(Reason::about);
    let (meaning, next) = about
        .map_or_else(Default::default, |about| (format!("; {}", about.meaning), format!("; next: {}", about.next)));
    format!("{count} × {reason}{limit}{examples}{meaning}{next}")
}

/// As people write it: `512 KiB`, `2 GiB`, and exactly: `1000 bytes`.
fn bytes(count: u64) -> String {
    [(30, "GiB"), (20, "MiB"), (10, "KiB")]
        .into_iter()
        .find(|(shift, _)| count >= 1 << shift && count.trailing_zeros() >= *shift)
        .map_or_else(|| format!("{count} bytes"), |(shift, unit)| format!("{} {unit}", count >> shift))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_reason_is_in_the_documents_as_it_is_in_the_table() {
        let document = include_str!("../../openapi/snapshot.md");
        let names: BTreeSet<_> = Reason::ALL.into_iter().map(Reason::as_str).collect();
        assert_eq!(names.len(), Reason::ALL.len(), "each has a name of its own");
        let mut missing = String::new();
        for reason in Reason::ALL {
            let About { name, partial, meaning, next } = reason.about();
            assert_eq!(Reason::of(name), Some(reason));
            assert!(!meaning.is_empty() && !next.is_empty(), "{name}");
            let limit = reason.limit(&Limits::default()).unwrap_or_default();
            assert!(partial || limit.is_empty(), "{name}: what is not meant to be read met no limit");
            let row = format!("| `{name}` | {} | {meaning} | {limit} | {next} |\n", if partial { "yes" } else { "no" });
            if !document.contains(&row) {
                missing.push_str(&row);
            }
        }
        assert!(missing.is_empty(), "openapi/snapshot.md lacks\n{missing}");
    }

    #[test]
    fn limits_are_said_as_people_say_them() {
        assert_eq!(bytes(512 << 10), "512 KiB");
        assert_eq!(bytes(2 << 30), "2 GiB");
        assert_eq!(bytes(1000), "1000 bytes");
        let limits = Limits { sources: 7, entries: 9, bytes: 1 << 20 };
        assert_eq!(Reason::FileCap.limit(&limits).unwrap(), "7 source files");
        assert_eq!(Reason::TreeTooLarge.limit(&limits).unwrap(), "9 entries, 1 MiB of files");
    }

    #[test]
    fn a_reason_is_told_with_its_limit_its_files_and_what_to_do() {
        let files = ["a.ts", "b.ts", "c\n.ts", "d.ts"].map(str::to_owned).to_vec();
        let limit = Some("512 KiB a source".to_owned());
        let reason = PartialReason { reason: "too_large".to_owned(), count: 9, files, limit };
        assert_eq!(
            told(&reason),
            "9 × too_large (limit: 512 KiB a source): `a.ts`, `b.ts`, `c\u{fffd}.ts` and 6 more; \
             it is a source larger than is read; next: split the file, or ignore it"
        );
        let other = PartialReason { reason: "of_a_newer_version".to_owned(), count: 1, files: vec![], limit: None };
        assert_eq!(told(&other), "1 × of_a_newer_version");
    }
}
