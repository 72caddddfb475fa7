//! The vendor files of this build.

/// File name and text, sorted by name.
pub(super) const FILES: &[(&str, &str)] = &[("stripe.json", include_str!("../../catalog/stripe.json"))];
