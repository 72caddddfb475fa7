//! One record, in the words of its source, to one change in ours.
//!
//! The rules are listed in `openapi/feed.md`; each is a function of the record and of its vendor's versions file, so
//! that publishing the same records gives the same feed.

use semver::Version;
use sync_core::change::{Axis, ChangeKind, Confidence, Severity, VendorChange};
use sync_core::ids::ChangeId;
use sync_core::operation::Operation;
use time::Date;

use super::assemble::AssembleError;
use super::records::{Record, VendorFile};
use super::types::{Difference, difference};
use super::versions::leading_date;

/// A change whose id, group and ordinal are still to be given.
#[derive(Debug, Clone)]
pub(super) struct Normalized {
    pub(super) change: VendorChange,
    pub(super) curated: bool,
    /// The source's word for the kind.
    pub(super) word: String,
    pub(super) origin: String,
}

pub(super) fn normalize(record: &Record, vendor: Option<&VendorFile>) -> Result<Normalized, AssembleError> {
    let (kind, severity) = kind_and_severity(record);
    let when = When::of(record, vendor)?;
    let operation = record.operation.as_deref().map(Operation::from_text);
    let location = record.location.clone().unwrap_or_else(|| location(&kind, operation.as_ref()).to_owned());
    let surface = kind == ChangeKind::SdkSurfaceChanged;
    let chain = record.chain.clone().or_else(|| record.sdk_from.clone()).or_else(|| {
        // `getAuth(access_token, opts)` names the member `getAuth`.
        let member = record.field.split('(').next().unwrap_or_default().trim();
        (surface && !member.is_empty()).then(|| member.to_owned())
    });
    let curated = record.verified.is_some();
    Ok(Normalized {
        change: VendorChange {
            change_id: ChangeId::of(&[]),
            vendor: record.vendor.clone(),
            field: field(record, &kind, &location),
            path_ptr: record.path_ptr.clone(),
            value: record.value.clone(),
            // The API answered as before: at most a type checker notices.
            severity: if when.declarations_only { severity.min(Severity::PotentiallyBreaking) } else { severity },
            axis: when.axis,
            package: when.package,
            chain,
            from_version: when.from,
            to_version: when.to,
            introduced_ordinal: None,
            sunset: record.sunset.or(when.sunset),
            published_at: record.published_at.or(when.published),
            replacement: replacement(record, &kind),
            confidence: record.confidence.unwrap_or_else(|| confidence(record)),
            group_id: String::new(),
            changelog_url: record.changelog_url.clone(),
            old: record.old.clone(),
            new: record.new.clone(),
            operation,
            change_kind: kind,
            location,
        },
        curated,
        word: record.change_kind.clone(),
        origin: record.origin.clone(),
    })
}

/// The kind and how bad it is. A type that allows more breaks no request, one that allows less breaks no reader; what
/// answers may hold besides is a new value of an enum.
fn kind_and_severity(record: &Record) -> (ChangeKind, Severity) {
    let kind = kind(&record.change_kind);
    let difference = record.old.as_deref().zip(record.new.as_deref()).map(|(old, new)| difference(old, new));
    match (&kind, difference) {
        (ChangeKind::ParamTypeChanged, Some(Difference::Wider { .. })) => {
            (ChangeKind::ParamEnumValueAdded, Severity::NonBreaking)
        }
        (ChangeKind::ResponseFieldTypeChanged, Some(Difference::Wider { literals: true })) => {
            (ChangeKind::ResponseEnumValueAdded, Severity::PotentiallyBreaking)
        }
        (ChangeKind::ResponseFieldTypeChanged, Some(Difference::Narrower)) => (kind, Severity::NonBreaking),
        _ => {
            let severity = record.severity.unwrap_or_else(|| severity(&kind));
            (kind, severity)
        }
    }
}

/// Sources' words for kinds; a word that is nobody's is kept as it is.
fn kind(word: &str) -> ChangeKind {
    let ours = match word {
        "response_field_moved" | "output_field_renamed" => "response_field_renamed",
        "param_moved" => "param_renamed",
        "response_field_became_optional" => "response_field_became_nullable",
        "client_construct_changed" => "sdk_surface_changed",
        sdk if sdk.starts_with("sdk_method_") => "sdk_surface_changed",
        // What the difference of two tool lists is called in the Model Context Protocol's words.
        "tool_removed" => "operation_removed",
        "tool_renamed" => "operation_moved",
        "tool_deprecated" => "operation_deprecated",
        "tool_added" => "operation_added",
        "output_field_removed" => "response_field_removed",
        "output_field_type_changed" => "response_field_type_changed",
        "output_field_added" => "response_field_added",
        "annotations_changed" => "auth_changed",
        word => word,
    };
    ChangeKind::from_word(ours)
}

/// Where a change of that kind takes place, for records that do not say.
fn location(kind: &ChangeKind, operation: Option<&Operation>) -> &'static str {
    match kind {
        ChangeKind::ParamRemoved
        | ChangeKind::ParamRenamed
        | ChangeKind::ParamAddedRequired
        | ChangeKind::ParamAddedOptional
        | ChangeKind::ParamBecameRequired
        | ChangeKind::ParamBecameOptional
        | ChangeKind::ParamTypeChanged
        | ChangeKind::ParamTightened
        | ChangeKind::ParamEnumValueRemoved
        | ChangeKind::ParamEnumValueAdded
        | ChangeKind::ParamDeprecated
        | ChangeKind::DefaultChanged => {
            let bodiless = ["GET ", "HEAD ", "DELETE "];
            if operation.is_some_and(|operation| bodiless.iter().any(|method| operation.as_str().starts_with(method))) {
                "request.query"
            } else {
                "request.body"
            }
        }
        ChangeKind::ResponseFieldRemoved
        | ChangeKind::ResponseFieldRenamed
        | ChangeKind::ResponseFieldTypeChanged
        | ChangeKind::ResponseFieldBecameNullable
        | ChangeKind::ResponseFieldAdded
        | ChangeKind::ResponseFieldDeprecated
        | ChangeKind::ResponseEnumValueAdded
        | ChangeKind::ResponseEnumValueRemoved => "response.body",
        ChangeKind::ResponseStatusChanged => "response.status",
        ChangeKind::SdkSurfaceChanged => "client",
        _ => "operation",
    }
}

fn severity(kind: &ChangeKind) -> Severity {
    match kind {
        ChangeKind::OperationRemoved
        | ChangeKind::OperationMoved
        | ChangeKind::ParamRemoved
        | ChangeKind::ParamRenamed
        | ChangeKind::ParamAddedRequired
        | ChangeKind::ParamBecameRequired
        | ChangeKind::ParamTypeChanged
        | ChangeKind::ParamEnumValueRemoved
        | ChangeKind::ResponseFieldRemoved
        | ChangeKind::ResponseFieldRenamed
        | ChangeKind::ResponseFieldTypeChanged
        | ChangeKind::SdkSurfaceChanged => Severity::Breaking,
        ChangeKind::OperationAdded
        | ChangeKind::ParamAddedOptional
        | ChangeKind::ParamBecameOptional
        | ChangeKind::ParamEnumValueAdded
        | ChangeKind::ResponseFieldAdded => Severity::NonBreaking,
        _ => Severity::PotentiallyBreaking,
    }
}

/// Only parameters and response fields are fields; what other kinds say there is their subject or an old value.
fn field(record: &Record, kind: &ChangeKind, location: &str) -> String {
    let of_operation = matches!(location, "operation" | "response.status" | "client");
    let known = !matches!(kind, ChangeKind::Unknown(_));
    if of_operation && known {
        return String::new();
    }
    // Stripe's changelog names the resource that changed; a list answers its resources in `data`.
    let lists = record.chain.as_deref().and_then(|chain| chain.rsplit('.').next());
    let lists = lists.is_some_and(|member| member.starts_with("list") || member == "search");
    let of_resource = record.path_ptr.as_deref().is_some_and(|pointer| pointer.starts_with("#/resource/"));
    if location == "response.body" && of_resource && lists {
        return format!("data[].{}", record.field);
    }
    record.field.clone()
}

fn replacement(record: &Record, kind: &ChangeKind) -> Option<String> {
    let renamed = matches!(
        kind,
        ChangeKind::OperationMoved
            | ChangeKind::ParamRenamed
            | ChangeKind::ResponseFieldRenamed
            | ChangeKind::ResponseStatusChanged
            | ChangeKind::SdkSurfaceChanged
    );
    record.replacement.clone().or_else(|| record.sdk_to.clone()).or_else(|| record.new.clone().filter(|_| renamed))
}

/// A vendor's own changelog or annotation, or a person's check, is a declaration; a difference of files is derived.
fn confidence(record: &Record) -> Confidence {
    let source = record.source.as_deref().unwrap_or_default();
    if record.verified.is_some() || source.contains("CHANGELOG") || source.contains("x-github-breaking-changes") {
        Confidence::Declared
    } else {
        Confidence::Derived
    }
}

/// Along which axis and from which label on a change holds.
#[derive(Debug, Default)]
struct When {
    axis: Option<Axis>,
    package: Option<String>,
    from: Option<String>,
    to: Option<String>,
    sunset: Option<Date>,
    published: Option<Date>,
    /// Whether only the SDK's declarations changed, since the API version stayed where it was.
    declarations_only: bool,
}

impl When {
    fn of(record: &Record, vendor: Option<&VendorFile>) -> Result<Self, AssembleError> {
        let sdk = |package: String, version: Version, from: Option<String>| Self {
            axis: Some(Axis::Sdk),
            package: Some(package),
            to: Some(version.to_string()),
            from,
            ..Self::default()
        };
        let refuse = |label: &str| AssembleError::Label {
            vendor: record.vendor.clone(),
            label: label.to_owned(),
            record: record.origin.clone(),
        };
        let package_of = |name: &str| package(name, vendor);

        // An SDK release that left the API version where it was changed the SDK alone.
        if let (Some(release), Some(to)) = (&record.sdk_version, &record.to_version)
            && (record.from_version.as_ref() == Some(to) || to == release)
        {
            let name = record.source.as_deref().and_then(|source| source.split_whitespace().next());
            let package = record.package.clone().or_else(|| name.map(package_of));
            let version = lenient_version(release).ok_or_else(|| refuse(release))?;
            let when = sdk(package.ok_or_else(|| refuse(release))?, version, None);
            return Ok(Self { declarations_only: true, ..when });
        }
        let Some(to) = record.to_version.as_deref().map(str::trim).filter(|to| !to.is_empty()) else {
            return Ok(Self { package: record.package.clone(), from: record.from_version.clone(), ..Self::default() });
        };
        if let Some(day) = to.strip_prefix("sunset ") {
            let day = leading_date(day).filter(|_| day.len() == 10).ok_or_else(|| refuse(to))?;
            return Ok(Self { sunset: Some(day), ..Self::default() });
        }
        let listed = |label: &str| {
            vendor.is_some_and(|vendor| vendor.versions.iter().any(|v| v.axis == Axis::Api && v.label == label))
        };
        if let Some(package) = &record.package
            && let Some(version) = lenient_version(to)
        {
            let from = record.from_version.as_deref().and_then(lenient_version);
            return Ok(sdk(package.clone(), version, from.map(|from| from.to_string())));
        }
        if let Some((name, version)) = named_version(to) {
            let from = record.from_version.as_deref().and_then(named_version);
            return Ok(sdk(package_of(name), version, from.map(|(_, from)| from.to_string())));
        }
        let day = leading_date(to);
        if day.is_none() && !listed(to) {
            return Err(refuse(to));
        }
        if vendor.is_some_and(|vendor| !vendor.pinned_api) {
            return Ok(Self {
                published: day,
                from: record.from_version.clone(),
                to: Some(to.to_owned()),
                ..Self::default()
            });
        }
        Ok(Self {
            axis: Some(Axis::Api),
            from: record.from_version.clone(),
            to: Some(to.to_owned()),
            published: day,
            ..Self::default()
        })
    }
}

/// A package's name: as the vendor's file says, else `<package>-node` is the package.
fn package(name: &str, vendor: Option<&VendorFile>) -> String {
    let known = vendor.and_then(|vendor| vendor.packages.get(name)).cloned();
    known.unwrap_or_else(|| name.strip_suffix("-node").unwrap_or(name).to_owned())
}

/// `stripe-node 22.0.0`, `@slack/web-api 6+`, `resend-node 4.x`, `@octokit/graphql-schema@15.26.1`.
fn named_version(text: &str) -> Option<(&str, Version)> {
    let (name, version) = text.rsplit_once(' ').or_else(|| text.rsplit_once('@'))?;
    (!name.is_empty()).then_some(())?;
    Some((name.trim(), lenient_version(version)?))
}

/// `22.0.0`, `9`, `6+`, `4.x`: what is missing is 0.
fn lenient_version(text: &str) -> Option<Version> {
    let text = text.trim().trim_end_matches('+');
    if let Ok(version) = Version::parse(text) {
        return Some(version);
    }
    let text = text.trim_end_matches(".x");
    let numbers: Vec<u64> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match numbers.as_slice() {
        [major] if *major < 1000 => Some(Version::new(*major, 0, 0)),
        [major, minor] => Some(Version::new(*major, *minor, 0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_text_versions_are_read_and_dates_are_not() {
        let shown = |text| named_version(text).map(|(name, version)| format!("{name} {version}"));
        assert_eq!(shown("stripe-node 22.0.0").as_deref(), Some("stripe-node 22.0.0"));
        assert_eq!(shown("@slack/web-api 6+").as_deref(), Some("@slack/web-api 6.0.0"));
        assert_eq!(shown("resend-node 4.x").as_deref(), Some("resend-node 4.0.0"));
        assert_eq!(shown("plaid-node 9").as_deref(), Some("plaid-node 9.0.0"));
        assert_eq!(shown("@octokit/graphql-schema@15.26.1").as_deref(), Some("@octokit/graphql-schema 15.26.1"));
        assert_eq!(shown("2025-03-31.basil"), None);
        assert_eq!(lenient_version("2025-03-31"), None);
        assert_eq!(lenient_version("next"), None);
    }

    #[test]
    fn kinds_are_renamed_and_strangers_kept() {
        assert_eq!(kind("response_field_moved"), ChangeKind::ResponseFieldRenamed);
        assert_eq!(kind("param_moved"), ChangeKind::ParamRenamed);
        assert_eq!(kind("response_field_became_optional"), ChangeKind::ResponseFieldBecameNullable);
        assert_eq!(kind("sdk_method_renamed"), ChangeKind::SdkSurfaceChanged);
        assert_eq!(kind("client_construct_changed"), ChangeKind::SdkSurfaceChanged);
        assert_eq!(kind("tool_removed"), ChangeKind::OperationRemoved);
        assert_eq!(kind("teleported"), ChangeKind::Unknown("teleported".to_owned()));
    }
}
