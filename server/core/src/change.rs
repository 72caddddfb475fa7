//! Vendor changes: what a feed says, in the words that the join and the answers use.

use std::fmt;

use serde::{Deserialize, Serialize};
use time::Date;

use crate::ids::ChangeId;
use crate::operation::Operation;

/// The newest feed format this build reads; an unknown major is refused.
pub const FEED_FORMAT: u32 = 1;

time::serde::format_description!(iso_date, Date, "[year]-[month]-[day]");

/// One vendor's feed: the content of one signed target file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VendorFeed {
    /// Major version of the format.
    pub format: u32,
    /// Vendor id of the catalog.
    pub vendor: String,
    /// Data licence of the feed's content.
    pub license: String,
    /// Every version label that changes and pins compare by, ordered within its axis and package.
    pub versions: Vec<FeedVersion>,
    /// The changes, newest first.
    pub changes: Vec<VendorChange>,
}

/// One version label of a vendor's API or of one of its SDKs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedVersion {
    /// Which kind of version.
    pub axis: Axis,
    /// Package, on the SDK axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// As the vendor writes it: `2025-03-31.basil`, `18.0.0`.
    pub label: String,
    /// Order within (axis, package), from 1.
    pub ordinal: u32,
    /// When the vendor published it.
    #[serde(default, with = "iso_date::option", skip_serializing_if = "Option::is_none")]
    pub published_at: Option<Date>,
    /// On the SDK axis: the API version that this SDK version sends when none is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_api: Option<String>,
}

/// The axis along which a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// The vendor's API version, pinned by client or account.
    Api,
    /// The version of an SDK package.
    Sdk,
}

impl Axis {
    /// The word used in feeds and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Sdk => "sdk",
        }
    }
}

/// One entry of a feed: an operation changed in a way, at a place, in a version, on a date.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VendorChange {
    /// Hash of what the change is; see `sync-ingest feed publish`.
    pub change_id: ChangeId,
    /// Vendor id of the catalog.
    pub vendor: String,
    /// The operation; absent for what concerns the SDK or the client alone.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// What kind of change.
    pub change_kind: ChangeKind,
    /// `operation`, `request.body`, `request.query`, `request.path`, `request.header`, `response.body`,
    /// `response.status` or `client`.
    pub location: String,
    /// Dotted field, list items as `[]`; empty where the change has none.
    #[serde(default)]
    pub field: String,
    /// JSON pointer into the vendor's schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_ptr: Option<String>,
    /// The enum value that came or went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What was there before, in the vendor's words: a type, a status, a set of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// What is there now, in the vendor's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// How bad, before the use at a call site is known.
    pub severity: Severity,
    /// The axis along which it takes effect; absent: by date alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<Axis>,
    /// Package, on the SDK axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Member chain of the SDK that the change concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// The last version label without the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_version: Option<String>,
    /// The first version label with the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_version: Option<String>,
    /// Ordinal of `to_version` in [`VendorFeed::versions`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introduced_ordinal: Option<u32>,
    /// When the vendor switches the old behaviour off.
    #[serde(default, with = "iso_date::option", skip_serializing_if = "Option::is_none")]
    pub sunset: Option<Date>,
    /// When the vendor published the change.
    #[serde(default, with = "iso_date::option", skip_serializing_if = "Option::is_none")]
    pub published_at: Option<Date>,
    /// What to use instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// Declared by the vendor, or derived from two specifications.
    pub confidence: Confidence,
    /// One schema edit that surfaced in many operations has one group.
    pub group_id: String,
    /// Where the vendor says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_url: Option<String>,
}

/// How a change came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The vendor said so.
    Declared,
    /// Two specifications differ.
    Derived,
}

/// How bad a change is for code that meets it. Ordered: `Breaking` is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing has to change.
    NonBreaking,
    /// It depends on what is not visible or not known.
    PotentiallyBreaking,
    /// The code stops working.
    Breaking,
}

impl Severity {
    /// The word used in answers and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NonBreaking => "non_breaking",
            Self::PotentiallyBreaking => "potentially_breaking",
            Self::Breaking => "breaking",
        }
    }

    /// The severity of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::NonBreaking, Self::PotentiallyBreaking, Self::Breaking].into_iter().find(|s| s.as_str() == text)
    }
}

macro_rules! change_kinds {
    ($($variant:ident = $word:literal $doc:literal),+ $(,)?) => {
        /// What kind of change: an open set. A word that this build does not know is kept and shown as it is written,
        /// and joins nothing.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ChangeKind {
            $(#[doc = $doc] $variant,)+
            /// A kind newer than this build.
            Unknown(String),
        }

        impl ChangeKind {
            /// Every kind this build knows.
            pub const KNOWN: &'static [&'static str] = &[$($word),+];

            /// The word used in feeds, answers and rows.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Unknown(word) => word,
                }
            }

            /// The kind of that name.
            pub fn from_word(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Unknown(other.to_owned()),
                }
            }
        }
    };
}

change_kinds! {
    OperationRemoved = "operation_removed" "The operation is gone.",
    OperationMoved = "operation_moved" "The same operation under another method or path.",
    OperationDeprecated = "operation_deprecated" "Announced to go.",
    OperationAdded = "operation_added" "New.",
    ParamRemoved = "param_removed" "A parameter is no longer taken.",
    ParamRenamed = "param_renamed" "A parameter has another name or place.",
    ParamAddedRequired = "param_added_required" "A new parameter that must be given.",
    ParamAddedOptional = "param_added_optional" "A new parameter that may be given.",
    ParamBecameRequired = "param_became_required" "A parameter that must now be given.",
    ParamBecameOptional = "param_became_optional" "A parameter that need no longer be given.",
    ParamTypeChanged = "param_type_changed" "A parameter takes another type.",
    ParamTightened = "param_tightened" "A parameter takes fewer values.",
    ParamEnumValueRemoved = "param_enum_value_removed" "A parameter no longer takes one value.",
    ParamEnumValueAdded = "param_enum_value_added" "A parameter takes one more value.",
    ParamDeprecated = "param_deprecated" "A parameter is announced to go.",
    DefaultChanged = "default_changed" "An omitted parameter means something else.",
    ResponseFieldRemoved = "response_field_removed" "A field is no longer answered.",
    ResponseFieldRenamed = "response_field_renamed" "A field has another name or place.",
    ResponseFieldTypeChanged = "response_field_type_changed" "A field has another type.",
    ResponseFieldBecameNullable = "response_field_became_nullable" "A field may be absent or null.",
    ResponseFieldAdded = "response_field_added" "A new field.",
    ResponseFieldDeprecated = "response_field_deprecated" "A field is announced to go.",
    ResponseEnumValueAdded = "response_enum_value_added" "A field may hold one more value.",
    ResponseEnumValueRemoved = "response_enum_value_removed" "A field no longer holds one value.",
    ResponseStatusChanged = "response_status_changed" "Another status code on success.",
    AuthChanged = "auth_changed" "Another scheme, scope or permission.",
    SdkSurfaceChanged = "sdk_surface_changed" "A method, constructor or signature of the SDK.",
    StatusRateRise = "status_rate_rise" "Watched traffic: errors rose over the call site's own baseline.",
    OperationGoneObserved = "operation_gone_observed" "Watched traffic: the operation answers 404 or 410.",
    BindingContradicted = "binding_contradicted" "Watched traffic: spans reach another operation.",
    Other = "other" "Kept and shown; joins nothing.",
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ChangeKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ChangeKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_word(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kinds_survive_a_round_trip() {
        let kind: ChangeKind = serde_json::from_str("\"teleported\"").unwrap();
        assert_eq!(kind, ChangeKind::Unknown("teleported".to_owned()));
        assert_eq!(serde_json::to_string(&kind).unwrap(), "\"teleported\"");
        for word in ChangeKind::KNOWN {
            assert!(!matches!(ChangeKind::from_word(word), ChangeKind::Unknown(_)));
        }
    }

    #[test]
    fn breaking_is_the_greatest_severity() {
        assert!(
            Severity::Breaking > Severity::PotentiallyBreaking && Severity::PotentiallyBreaking > Severity::NonBreaking
        );
    }
}
