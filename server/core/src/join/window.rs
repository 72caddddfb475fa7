//! Version windows: what a client's pins say about when a change concerns it.

use std::cmp::Ordering;

use semver::Version;
use time::Date;
use time::macros::format_description;

use super::Window;
use super::index::FeedIndex;
use crate::change::{Axis, VendorChange};
use crate::graph::Client;

/// Where a client's pin stands to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    /// When the change concerns calls through the client.
    pub(super) window: Window,
    /// Whether the pin is provably past the change, not just at it.
    pub(super) is_past: bool,
}

impl Standing {
    const UNKNOWN: Self = Self { window: Window::Unknown, is_past: false };

    /// Of a pin that compares so with the change's version.
    const fn of(pin: Ordering) -> Self {
        match pin {
            Ordering::Less => Self { window: Window::OnUpgrade, is_past: false },
            Ordering::Equal => Self { window: Window::Now, is_past: false },
            Ordering::Greater => Self { window: Window::Now, is_past: true },
        }
    }

    /// Of a pin that is somewhere between two: what both agree on.
    fn between(low: Ordering, high: Ordering) -> Option<Self> {
        let (low, high) = (Self::of(low), Self::of(high));
        (low.window == high.window).then_some(low)
    }
}

/// Where the pin of `client` stands to `change`.
pub(super) fn standing(change: &VendorChange, client: Option<&Client>, index: &FeedIndex<'_>) -> Standing {
    match change.axis {
        None => {
            let window = change.sunset.or(change.published_at).map_or(Window::Unknown, Window::Dated);
            Standing { window, is_past: false }
        }
        Some(Axis::Api) => client.and_then(|client| on_api(change, client, index)).unwrap_or(Standing::UNKNOWN),
        Some(Axis::Sdk) => client.and_then(|client| on_sdk(change, client)).unwrap_or(Standing::UNKNOWN),
    }
}

fn on_api(change: &VendorChange, client: &Client, index: &FeedIndex<'_>) -> Option<Standing> {
    let pinned = |label: &str| compare(change, label, index);
    match client.api_version_source.as_str() {
        "literal" | "header" => Some(Standing::of(pinned(client.api_version.as_deref()?)?)),
        "sdk_default" => {
            if let Some(label) = client.api_version.as_deref() {
                return Some(Standing::of(pinned(label)?));
            }
            let (low, high) = default_labels(client, index)?;
            Standing::between(pinned(low)?, pinned(high)?)
        }
        // An account's or an environment's version is set outside of the code: nobody can tell from here.
        _ => None,
    }
}

fn on_sdk(change: &VendorChange, client: &Client) -> Option<Standing> {
    let introduced = Version::parse(change.to_version.as_deref()?).ok()?;
    let (low, high) = sdk_bounds(client)?;
    match high {
        Some(high) => Standing::between(low.cmp(&introduced), high.cmp(&introduced)),
        None => (low >= introduced).then(|| Standing::of(low.cmp(&introduced))),
    }
}

/// How the pin `label` compares with the change's version: by the feed's order, else by leading date, else not.
fn compare(change: &VendorChange, label: &str, index: &FeedIndex<'_>) -> Option<Ordering> {
    let introduced_label = change.to_version.as_deref();
    let introduced =
        change.introduced_ordinal.or_else(|| index.api_ordinal(&change.vendor, introduced_label.unwrap_or_default()));
    if let (Some(pin), Some(introduced)) = (index.api_ordinal(&change.vendor, label), introduced) {
        return Some(pin.cmp(&introduced));
    }
    Some(leading_date(label)?.cmp(&leading_date(introduced_label?)?))
}

/// The API versions that the oldest and the newest SDK version of the client's pin send by default.
fn default_labels<'a>(client: &Client, index: &FeedIndex<'a>) -> Option<(&'a str, &'a str)> {
    let releases = index.releases(&client.vendor, client.package.as_deref()?);
    let Some((low, high)) = sdk_bounds(client) else {
        // The version is not known, but it does not matter where every version sends the same.
        let first = releases.first()?.default_api?;
        return releases.iter().all(|release| release.default_api == Some(first)).then_some((first, first));
    };
    // A release that is listed without a default sends what the one before it sent.
    let at = |version: &Version| {
        releases
            .iter()
            .take_while(|release| release.version <= *version)
            .filter_map(|release| release.default_api)
            .last()
    };
    let high = match high {
        Some(high) => at(&high)?,
        None => return None,
    };
    Some((at(&low)?, high))
}

/// The lowest and the highest version that the pin allows; no highest where the range is open.
fn sdk_bounds(client: &Client) -> Option<(Version, Option<Version>)> {
    let text = client.sdk_version.as_deref()?.trim();
    match client.sdk_version_source.as_str() {
        "lockfile" => Version::parse(text).ok().map(|version| (version.clone(), Some(version))),
        "manifest_range" => range_bounds(text),
        _ => None,
    }
}

/// The bounds of one npm comparator: `1.2.3`, `^1.2.3`, `~1.2`, `1.x`, `>=1.2.3`. Anything else is not understood.
fn range_bounds(range: &str) -> Option<(Version, Option<Version>)> {
    if let Ok(exact) = Version::parse(range.trim_start_matches(['=', 'v'])) {
        return Some((exact.clone(), Some(exact)));
    }
    let (operator, rest) = match range {
        r if r.starts_with(">=") => (">=", r[2..].trim()),
        r if r.starts_with('^') => ("^", r[1..].trim()),
        r if r.starts_with('~') => ("~", r[1..].trim()),
        r => ("x", r),
    };
    let numbers: Vec<&str> = rest.split('.').take_while(|part| !matches!(*part, "x" | "X" | "*")).collect();
    let full = match numbers.as_slice() {
        [major] => format!("{major}.0.0"),
        [major, minor] => format!("{major}.{minor}.0"),
        _ => rest.to_owned(),
    };
    let low = Version::parse(&full).ok()?;
    let below = |major: u64, minor: u64, patch: u64| {
        // The highest version under an exclusive bound: no release of the next one, pre-releases aside.
        let mut bound = Version::new(major, minor, patch);
        bound.pre = semver::Prerelease::new("0").unwrap_or_default();
        Some(bound)
    };
    let high = match (operator, numbers.len()) {
        (">=", _) => None,
        ("^", _) if low.major > 0 => below(low.major.saturating_add(1), 0, 0),
        ("^", 1) => below(1, 0, 0),
        ("^", _) if low.minor > 0 => below(0, low.minor.saturating_add(1), 0),
        ("^", 2) => below(0, 1, 0),
        ("^", _) => below(0, 0, low.patch.saturating_add(1)),
        ("~" | "x", 1) => below(low.major.saturating_add(1), 0, 0),
        ("~", _) | ("x", 2) => below(low.major, low.minor.saturating_add(1), 0),
        _ => return None,
    };
    Some((low, high))
}

/// The date that a label begins with: `2025-03-31.basil` is of 2025-03-31.
fn leading_date(label: &str) -> Option<Date> {
    Date::parse(label.get(..10)?, format_description!("[year]-[month]-[day]")).ok()
}
