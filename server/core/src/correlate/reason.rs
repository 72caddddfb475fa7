//! Why a span promotes nothing: every word for it, what it means and what to do about it, in one table.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::shown;

/// Why a span promotes nothing. The order is the order of the rules: where several hold, the smallest is the one that
/// is told, so that what was decided once and kept ([`correlate`](super::correlate)) and what is decided for each span
/// ([`Exchange::refusal`](super::Exchange::refusal)) go together by `min`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the table says what each means")]
pub enum Reason {
    InvalidId,
    OwnTelemetry,
    NotClient,
    AttrConflict,
    NoCodeLocation,
    EnvironmentNotCounted,
    UnknownOperation,
    NoResponse,
    Resent,
    Redirect,
    RepoConflict,
    UnmappedService,
    BadPath,
    SyntheticPath,
    ThirdPartyPath,
    RevisionNotIndexed,
    GeneratedPath,
    FileNotIndexed,
    AmbiguousFile,
    PartialPathNeedsSameRevision,
    RevisionUnknown,
    NoSiteAtLine,
    AmbiguousSite,
    OperationNotNamed,
    FillsUnmappedOperation,
    ContradictsStaticOperation,
    SiteChanged,
}

/// What is known of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The word in answers, counters and rows.
    pub word: &'static str,
    /// Whether the span is counted as rejected in the answer to its exporter: it says where in the code it began and
    /// could have promoted, and somebody can do something about it.
    pub rejected: bool,
    /// What happened, as a sentence about one span.
    pub what: &'static str,
    /// What to do about it, as a sentence.
    pub next: &'static str,
}

impl Reason {
    /// All of them, in the order of the rules.
    pub const ALL: [Self; 27] = [
        Self::InvalidId,
        Self::OwnTelemetry,
        Self::NotClient,
        Self::AttrConflict,
        Self::NoCodeLocation,
        Self::EnvironmentNotCounted,
        Self::UnknownOperation,
        Self::NoResponse,
        Self::Resent,
        Self::Redirect,
        Self::RepoConflict,
        Self::UnmappedService,
        Self::BadPath,
        Self::SyntheticPath,
        Self::ThirdPartyPath,
        Self::RevisionNotIndexed,
        Self::GeneratedPath,
        Self::FileNotIndexed,
        Self::AmbiguousFile,
        Self::PartialPathNeedsSameRevision,
        Self::RevisionUnknown,
        Self::NoSiteAtLine,
        Self::AmbiguousSite,
        Self::OperationNotNamed,
        Self::FillsUnmappedOperation,
        Self::ContradictsStaticOperation,
        Self::SiteChanged,
    ];

    /// The reason of this word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    /// The word in answers, counters and rows.
    pub const fn as_str(self) -> &'static str {
        self.about().word
    }

    /// Whether the span is counted as rejected in the answer to its exporter.
    pub const fn is_rejected(self) -> bool {
        self.about().rejected
    }

    /// The table.
    pub const fn about(self) -> About {
        let (word, rejected, what, next) = match self {
            Self::InvalidId => (
                "invalid_id",
                true,
                "Its trace id or span id is missing, of the wrong length, or all zeros.",
                "Send 16 and 8 bytes; in JSON as 32 and 16 hexadecimal digits.",
            ),
            Self::OwnTelemetry => (
                "own_telemetry",
                false,
                "It tells of a request to this service's own receiver, or comes from this service.",
                "Nothing: what Sync does is no call of your code.",
            ),
            Self::NotClient => (
                "not_client",
                false,
                "Its kind is neither CLIENT nor PRODUCER, so it is no call to a vendor.",
                "Nothing, or leave such spans out of the export.",
            ),
            Self::AttrConflict => (
                "attr_conflict",
                true,
                "Two spellings of one attribute are both present and say different things.",
                "Find which instrumentation sets code.* (or vcs.*, deployment.*) twice, and switch one of them off.",
            ),
            Self::NoCodeLocation => (
                "no_code_location",
                false,
                "It has no code.file.path with a code.line.number from 1.",
                "Add the Sync emitter for Node or Python: OpenTelemetry's own instrumentation sets neither on client spans.",
            ),
            Self::EnvironmentNotCounted => (
                "environment_not_counted",
                false,
                "Its deployment.environment.name is none of those that count as production.",
                "Nothing for tests and staging; else add the environment to those that the organization counts.",
            ),
            Self::UnknownOperation => (
                "unknown_operation",
                true,
                "Its host, method and path lead to no operation, or to several, of the vendors that are known.",
                "Nothing for calls inside your own system; where the host stands for a vendor, map the host to that vendor.",
            ),
            Self::NoResponse => (
                "no_response",
                false,
                "It carries no status code of a response, so nothing shows that the vendor was reached.",
                "Nothing: time-outs and refused connections prove no binding.",
            ),
            Self::Resent => (
                "resent",
                false,
                "It is a repetition of a request (http.request.resend_count is above 0).",
                "Nothing: the first try is counted.",
            ),
            Self::Redirect => (
                "redirect",
                false,
                "It was answered by a redirect (3xx).",
                "Nothing: only the operation that answers is counted.",
            ),
            Self::RepoConflict => (
                "repo_conflict",
                true,
                "vcs.repository.url.full names one repository, the mapping of its service another.",
                "Correct the mapping of the service, or the attribute in OTEL_RESOURCE_ATTRIBUTES.",
            ),
            Self::UnmappedService => (
                "unmapped_service",
                true,
                "Nothing says which repository its service is built from, or the token may not write to that one.",
                "Set vcs.repository.url.full in OTEL_RESOURCE_ATTRIBUTES to the clone address of a registered repository, or map the service to a repository.",
            ),
            Self::BadPath => (
                "bad_path",
                true,
                "Its code.file.path is empty, longer than 4096 bytes, or has a NUL in it.",
                "Send the path of the source file as the runtime knows it.",
            ),
            Self::SyntheticPath => (
                "synthetic_path",
                true,
                "Its code.file.path is no file: the runtime's own code, evaluated text, or a web address.",
                "Use the Sync emitter, which looks for the nearest frame of your own code.",
            ),
            Self::ThirdPartyPath => (
                "third_party_path",
                true,
                "Its code.file.path lies in a package that you depend on, not in your code.",
                "Use the Sync emitter, which looks for the nearest frame of your own code.",
            ),
            Self::RevisionNotIndexed => (
                "revision_not_indexed",
                true,
                "The commit that it reports is not indexed, or no longer kept.",
                "Index the commit that is deployed: push it to a ref that is followed, or upload its snapshot in CI.",
            ),
            Self::GeneratedPath => (
                "generated_path",
                true,
                "Its code.file.path is the output of a build, which is not the code that is indexed.",
                "Ship source maps beside the build and use the Sync emitter, which reads them.",
            ),
            Self::FileNotIndexed => (
                "file_not_indexed",
                true,
                "No file of the index ends as its code.file.path does.",
                "See whether the file is skipped in the index; where the service is built from a folder of the repository, map the prefix of its paths to it.",
            ),
            Self::AmbiguousFile => (
                "ambiguous_file",
                true,
                "Several files of the index could be the one that its code.file.path means.",
                "Map the prefix of the service's paths to its folder in the repository.",
            ),
            Self::PartialPathNeedsSameRevision => (
                "partial_path_needs_same_revision",
                true,
                "Only the end of its code.file.path is that of an indexed file, and it does not say of which commit.",
                "Set vcs.ref.head.revision in OTEL_RESOURCE_ATTRIBUTES to the commit that is deployed, or map the prefix.",
            ),
            Self::RevisionUnknown => (
                "revision_unknown",
                true,
                "It does not say which commit is deployed, so its line may be another one by now.",
                "Set vcs.ref.head.revision in OTEL_RESOURCE_ATTRIBUTES to the full commit id that is deployed.",
            ),
            Self::NoSiteAtLine => (
                "no_site_at_line",
                true,
                "No call to a vendor is known at that line, or of its calls none at the column that is sent, at that commit.",
                "Look at the file's call sites; where a call to the vendor is missing there, say so: the analysis missed it.",
            ),
            Self::AmbiguousSite => (
                "ambiguous_site",
                true,
                "Several calls stand at that line, and no column tells which one it was.",
                "Send code.column.number (the Sync emitter does), or write the calls on lines of their own.",
            ),
            Self::OperationNotNamed => (
                "operation_not_named",
                true,
                "It names the endpoint, behind which there are many operations, but not the operation.",
                "Record the operation's name on the span: rpc.method for AWS; for GraphQL the root field.",
            ),
            Self::FillsUnmappedOperation => (
                "fills_unmapped_operation",
                true,
                "The code does not show which operation the call reaches; the span does. It is kept as evidence, and promotes nothing.",
                "Write the operation so that it can be read from the code: a literal method and path, or the SDK's own method.",
            ),
            Self::ContradictsStaticOperation => (
                "contradicts_static_operation",
                true,
                "The call at that line is known as one operation, and the span reached another.",
                "Look at the finding binding_contradicted: the call is bound wrongly, or a request is reported under another call's line.",
            ),
            Self::SiteChanged => (
                "site_changed",
                true,
                "The call was found at the commit that is deployed, and is not provably the same in the current index.",
                "Nothing: it is promoted when the newer code is deployed and the call is made there.",
            ),
        };
        About { word, rejected, what, next }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no reason for which a span promotes nothing")]
pub struct BadReason(String);

impl FromStr for Reason {
    type Err = BadReason;

    fn from_str(word: &str) -> Result<Self, BadReason> {
        Self::of(word).ok_or_else(|| BadReason(shown(word, 40)))
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_in_the_order_of_the_rules_and_each_word_is_its_own() {
        assert!(Reason::ALL.is_sorted_by(|a, b| a < b), "in order, none twice");
        for reason in Reason::ALL {
            assert_eq!(Reason::of(reason.as_str()), Some(reason));
            let About { word, what, next, .. } = reason.about();
            assert!(word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{word}");
            assert!(what.ends_with('.') && next.ends_with('.'), "{word}: two sentences");
            assert!(what.starts_with(char::is_uppercase) || what.starts_with("vcs."), "{word}");
        }
    }

    #[test]
    fn the_word_is_the_form_in_json() {
        assert_eq!(serde_json::to_string(&Reason::AmbiguousSite).unwrap(), r#""ambiguous_site""#);
        assert_eq!(serde_json::from_str::<Reason>(r#""site_changed""#).unwrap(), Reason::SiteChanged);
        let told = serde_json::from_str::<Reason>(r#""exact""#).unwrap_err().to_string();
        assert!(told.starts_with("`exact` is no reason"), "{told}");
    }

    #[test]
    fn what_nobody_can_mend_or_says_no_place_is_not_rejected() {
        let quiet: Vec<_> =
            Reason::ALL.into_iter().filter(|reason| !reason.is_rejected()).map(Reason::as_str).collect();
        assert_eq!(
            quiet,
            [
                "own_telemetry",
                "not_client",
                "no_code_location",
                "environment_not_counted",
                "no_response",
                "resent",
                "redirect"
            ]
        );
    }
}
