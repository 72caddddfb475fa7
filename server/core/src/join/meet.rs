//! Whether a change meets a call site, by its kind: the table of `openapi/feed.md`, row by row.

use super::Site;
use super::path::{Relation, relation, segments, unwrapped};
use crate::change::{Axis, ChangeKind, Severity, VendorChange};
use crate::graph::{CallSite, literal_digest};

/// A change that meets a call site, weighed by the use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) severity: Severity,
    pub(super) reason: Option<&'static str>,
    /// Whether the use that is seen can only be of before the change: a removed parameter that is given, not a retyped
    /// one, which may well be given as its new type.
    pub(super) telling: bool,
}

impl Met {
    const fn telling(severity: Severity) -> Self {
        Self { severity, reason: None, telling: true }
    }

    /// The use fits before the change and after it alike.
    const fn open(severity: Severity) -> Self {
        Self { severity, reason: None, telling: false }
    }
}

const ARGS_NOT_VISIBLE: &str = "args_not_visible";
const VALUE_NOT_VISIBLE: &str = "value_not_visible";
const RESPONSE_NOT_VISIBLE: &str = "response_not_visible";

/// Whether `change`, already known to be of the call's operation or chain, meets the call.
pub(super) fn meet(change: &VendorChange, site: &Site<'_>) -> Option<Met> {
    // What the feed calls non-breaking asks nothing of any code.
    if change.severity == Severity::NonBreaking || !same_package(change, site) {
        return None;
    }
    let certain = Met::telling(change.severity);
    let open = Met::open(change.severity);
    let at_most_potentially = Met::open(change.severity.min(Severity::PotentiallyBreaking));
    let call = site.call;
    match &change.change_kind {
        ChangeKind::OperationRemoved
        | ChangeKind::OperationMoved
        | ChangeKind::OperationDeprecated
        | ChangeKind::AuthChanged
        | ChangeKind::ResponseStatusChanged => Some(certain),
        ChangeKind::ParamRemoved | ChangeKind::ParamRenamed | ChangeKind::ParamDeprecated => {
            match argument(call, &change.field) {
                Visible::Yes => Some(certain),
                Visible::Hidden => Some(lowered(change, ARGS_NOT_VISIBLE)),
                Visible::No => None,
            }
        }
        ChangeKind::ParamTypeChanged => match argument(call, &change.field) {
            Visible::Yes => Some(open),
            Visible::Hidden => Some(lowered(change, ARGS_NOT_VISIBLE)),
            Visible::No => None,
        },
        // Most limits are corrections of a specification, and whether the argument keeps to it is not known.
        ChangeKind::ParamTightened => match argument(call, &change.field) {
            Visible::Yes => Some(at_most_potentially),
            Visible::Hidden => Some(lowered(change, ARGS_NOT_VISIBLE)),
            Visible::No => None,
        },
        ChangeKind::ParamEnumValueRemoved => enum_argument(change, call),
        ChangeKind::ParamAddedRequired | ChangeKind::ParamBecameRequired => required_argument(change, call),
        ChangeKind::DefaultChanged => match argument(call, &change.field) {
            Visible::No => Some(open),
            Visible::Hidden => Some(lowered(change, ARGS_NOT_VISIBLE)),
            Visible::Yes => None,
        },
        ChangeKind::ResponseFieldRemoved | ChangeKind::ResponseFieldRenamed => match response(site, &change.field) {
            Visible::Yes => Some(certain),
            Visible::Hidden => Some(lowered(change, RESPONSE_NOT_VISIBLE)),
            Visible::No => None,
        },
        ChangeKind::ResponseFieldTypeChanged => match response(site, &change.field) {
            Visible::Yes => Some(open),
            Visible::Hidden => Some(lowered(change, RESPONSE_NOT_VISIBLE)),
            Visible::No => None,
        },
        ChangeKind::ResponseFieldDeprecated => (response(site, &change.field) == Visible::Yes).then_some(certain),
        ChangeKind::ResponseFieldBecameNullable => match response(site, &change.field) {
            Visible::Yes => read_unguarded(site, &change.field).then_some(open),
            Visible::Hidden => Some(lowered(change, RESPONSE_NOT_VISIBLE)),
            Visible::No => None,
        },
        ChangeKind::ResponseEnumValueAdded | ChangeKind::ResponseEnumValueRemoved => {
            read_compared(site, &change.field).then_some(open)
        }
        ChangeKind::SdkSurfaceChanged => surface(change, call).then_some(certain),
        // Additions break nobody; what watched traffic says is not in a feed; the rest is not known to this build.
        ChangeKind::OperationAdded
        | ChangeKind::ParamAddedOptional
        | ChangeKind::ParamBecameOptional
        | ChangeKind::ParamEnumValueAdded
        | ChangeKind::ResponseFieldAdded
        | ChangeKind::StatusRateRise
        | ChangeKind::OperationGoneObserved
        | ChangeKind::BindingContradicted
        | ChangeKind::Other
        | ChangeKind::Unknown(_) => None,
    }
}

fn lowered(change: &VendorChange, reason: &'static str) -> Met {
    Met { severity: change.severity.min(Severity::PotentiallyBreaking), reason: Some(reason), telling: false }
}

/// A change that came with an SDK package concerns only calls made through that package: Resend's own HTTP API still
/// takes `reply_to` after its SDK renamed it.
fn same_package(change: &VendorChange, site: &Site<'_>) -> bool {
    match (change.axis, &change.package) {
        (Some(Axis::Sdk), Some(package)) => site.client.is_some_and(|client| client.package.as_ref() == Some(package)),
        _ => true,
    }
}

/// Whether something can be seen at the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visible {
    Yes,
    No,
    /// It may be there, where the analysis cannot look.
    Hidden,
}

/// Whether the call gives the argument `field` or something below it. `Hidden` reaches one level below what is visible:
/// a variable given as `card` may hold `card.cvc`, but that it holds `card.installments.plan` is a guess.
fn argument(call: &CallSite, field: &str) -> Visible {
    let changed = segments(field);
    let keys: Vec<Vec<&str>> = call.args_keys.iter().map(|key| segments(key)).filter(|key| !key.is_empty()).collect();
    if changed.is_empty() {
        // The feed does not say which argument, so any may be it.
        return if keys.is_empty() && call.args_complete { Visible::No } else { Visible::Hidden };
    }
    if keys.iter().any(|key| relation(key, &changed) == Relation::At) {
        return Visible::Yes;
    }
    let (_, around) = changed.split_last().unwrap_or((&"", &[]));
    let hidden = if around.is_empty() {
        !call.args_complete
    } else {
        // The object around it is given: its own keys are either visible, and this would be among them, or its value
        // is a variable, a call or the like.
        keys.iter().any(|key| key == around) && (!call.args_complete || !has_below(around, &keys))
    };
    if hidden { Visible::Hidden } else { Visible::No }
}

/// Whether one of `keys` stands below `key`.
fn has_below(key: &[&str], keys: &[Vec<&str>]) -> bool {
    keys.iter().any(|other| other.len() > key.len() && other.starts_with(key))
}

fn required_argument(change: &VendorChange, call: &CallSite) -> Option<Met> {
    let certain = Met::telling(change.severity);
    match argument(call, &change.field) {
        Visible::Yes => None,
        Visible::Hidden => Some(lowered(change, ARGS_NOT_VISIBLE)),
        Visible::No => {
            // A nested argument is required only of a call that gives the object around it.
            let changed = segments(&change.field);
            let around = changed.split_last().map_or(&[][..], |(_, around)| around);
            let given =
                around.is_empty() || call.args_keys.iter().any(|key| relation(&segments(key), around) == Relation::At);
            given.then_some(certain)
        }
    }
}

fn enum_argument(change: &VendorChange, call: &CallSite) -> Option<Met> {
    match argument(call, &change.field) {
        Visible::No => return None,
        Visible::Hidden => return Some(lowered(change, ARGS_NOT_VISIBLE)),
        Visible::Yes => {}
    }
    let changed = segments(&change.field);
    let given = call.args_literals.iter().find(|(key, _)| segments(key) == changed).map(|(_, digest)| digest);
    match (given, &change.value) {
        (Some(given), Some(value)) if *given == literal_digest(value) => Some(Met::telling(Severity::Breaking)),
        (Some(_), Some(_)) => None,
        _ => Some(lowered(change, VALUE_NOT_VISIBLE)),
    }
}

/// Whether the call's response is read at `field` or below it. `Hidden`: something above is read, nothing below that
/// is, and the value escapes. The items of a list that the response is stand for the response itself: that a whole
/// response escapes says nothing of any one field.
fn response(site: &Site<'_>, field: &str) -> Visible {
    let changed = segments(field);
    if changed.is_empty() {
        return Visible::No;
    }
    let envelope = site.client.and_then(|client| client.envelope.as_deref());
    let reads: Vec<Vec<&str>> =
        site.call.response_fields_read.iter().filter_map(|read| unwrapped(read, envelope)).collect();
    if reads.iter().any(|read| relation(read, &changed) == Relation::At) {
        return Visible::Yes;
    }
    let whole = usize::from(field.split('.').next().is_some_and(|first| first.ends_with("[]") && first != "[]"));
    let ends_above = |read: &Vec<&str>| {
        read.len() > whole
            && relation(read, &changed) == Relation::Above
            && !reads.iter().any(|other| other.len() > read.len() && other.starts_with(read))
    };
    if !site.call.response_complete && reads.iter().any(ends_above) { Visible::Hidden } else { Visible::No }
}

/// Whether a read of `field` or below it stands without a guard.
fn read_unguarded(site: &Site<'_>, field: &str) -> bool {
    let changed = segments(field);
    let envelope = site.client.and_then(|client| client.envelope.as_deref());
    site.call.reads.iter().any(|read| {
        !read.guarded && unwrapped(&read.field, envelope).is_some_and(|path| relation(&path, &changed) == Relation::At)
    })
}

/// Whether exactly `field` is compared or switched on.
fn read_compared(site: &Site<'_>, field: &str) -> bool {
    let changed = segments(field);
    let envelope = site.client.and_then(|client| client.envelope.as_deref());
    !changed.is_empty()
        && site
            .call
            .reads
            .iter()
            .any(|read| read.compared && unwrapped(&read.field, envelope).as_ref() == Some(&changed))
}

/// Whether the call goes through the chain that changed: the call's chain ends with it, behind a root, and where the
/// change names an operation the call reaches that one (`files.del` is not `vectorStores.files.del`).
fn surface(change: &VendorChange, call: &CallSite) -> bool {
    let Some(chain) = &change.chain else { return false };
    let changed: Vec<&str> = chain.split('.').collect();
    let written: Vec<&str> = call.chain.split('.').collect();
    let same_operation = change
        .operation
        .as_ref()
        .is_none_or(|operation| call.operation.as_ref().is_some_and(|own| own.erased() == operation.erased()));
    same_operation && written.len() > changed.len() && written.ends_with(&changed)
}
