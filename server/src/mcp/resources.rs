//! The one kind of resource: `sync://feed/{vendor}`.

use rmcp::model::{Resource, ResourceTemplate};

/// How the address of a feed looks.
pub const TEMPLATE: &str = "sync://feed/{vendor}";

const PREFIX: &str = "sync://feed/";

/// What a feed's text is.
pub const MIME_TYPE: &str = "application/json";

/// The longest vendor id.
const MAX_VENDOR: usize = 100;

/// The vendor in a feed's address; nothing where it is another address.
pub fn vendor_of(uri: &str) -> Option<&str> {
    let vendor = uri.strip_prefix(PREFIX)?;
    let well_formed = !vendor.is_empty()
        && vendor.len() <= MAX_VENDOR
        && vendor.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b':'));
    well_formed.then_some(vendor)
}

/// The template of every feed.
pub fn template() -> ResourceTemplate {
    ResourceTemplate::new(TEMPLATE, "feed")
        .with_title("A vendor's feed")
        .with_description("State and the newest changes of one vendor's API, and where the whole feed is")
        .with_mime_type(MIME_TYPE)
}

/// The feed of one vendor.
pub fn resource(vendor: &str) -> Resource {
    Resource::new(format!("{PREFIX}{vendor}"), vendor).with_title(format!("Feed of {vendor}")).with_mime_type(MIME_TYPE)
}

#[cfg(test)]
mod tests {
    use super::vendor_of;

    #[test]
    fn only_feeds_have_addresses() {
        assert_eq!(vendor_of("sync://feed/stripe"), Some("stripe"));
        assert_eq!(vendor_of("sync://feed/org:acme"), Some("org:acme"));
        for uri in [
            "sync://feed/",
            "sync://feed/a/b",
            "sync://feed/A",
            "sync://feed/..%2f",
            "file:///etc/passwd",
            "test://x",
            "",
        ] {
            assert_eq!(vendor_of(uri), None, "{uri}");
        }
    }
}
