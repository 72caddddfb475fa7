//! Dotted paths of arguments and response fields: how they compare.

/// The segments of a dotted field. List items (`[]`, `[0]`) are erased: `data[].x`, `data.x` and `data[0].x` name the
/// same place of a schema, since a member of a list and a member of an object cannot stand at one place.
pub(super) fn segments(field: &str) -> Vec<&str> {
    field
        .split('.')
        .map(|segment| segment.split_once('[').map_or(segment, |(name, _)| name))
        .filter(|segment| !segment.is_empty())
        .collect()
}

/// How a visible path stands to the path that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// The same place or something below it: the change is met.
    At,
    /// Something above it: whether the change is met depends on what is below.
    Above,
    /// Elsewhere.
    Apart,
}

/// How `visible` stands to `changed`.
pub(super) fn relation(visible: &[&str], changed: &[&str]) -> Relation {
    if visible.starts_with(changed) {
        Relation::At
    } else if changed.starts_with(visible) {
        Relation::Above
    } else {
        Relation::Apart
    }
}

/// The segments of a response field with the client's envelope removed; nothing where the field is outside of the
/// envelope (`headers`, `error`), so not something the vendor's schema speaks of. A paginator hands out the items
/// themselves, so a path that starts with an item is inside.
pub(super) fn unwrapped<'a>(field: &'a str, envelope: Option<&str>) -> Option<Vec<&'a str>> {
    let mut path = segments(field);
    let Some(envelope) = envelope else { return Some(path) };
    if field.starts_with('[') {
        return Some(path);
    }
    if path.first().is_some_and(|first| *first == envelope) {
        path.remove(0);
        Some(path)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_items_are_erased() {
        assert_eq!(segments("data[].items.data[0].price"), ["data", "items", "data", "price"]);
        assert_eq!(segments("[].cvss"), ["cvss"]);
        assert_eq!(segments(""), Vec::<&str>::new());
    }

    #[test]
    fn relations() {
        let at = |visible, changed| relation(&segments(visible), &segments(changed));
        assert_eq!(at("a.b", "a.b"), Relation::At);
        assert_eq!(at("a.b.c", "a.b"), Relation::At);
        assert_eq!(at("a", "a.b"), Relation::Above);
        assert_eq!(at("ab", "a"), Relation::Apart);
    }

    #[test]
    fn envelopes_are_removed_and_what_is_outside_is_not_the_vendors() {
        assert_eq!(unwrapped("data.rate", Some("data")), Some(vec!["rate"]));
        assert_eq!(unwrapped("data[].cvss", Some("data")), Some(vec!["cvss"]));
        assert_eq!(unwrapped("[].cvss", Some("data")), Some(vec!["cvss"]));
        assert_eq!(unwrapped("headers.link", Some("data")), None);
        assert_eq!(unwrapped("data[].id", None), Some(vec!["data", "id"]));
    }
}
