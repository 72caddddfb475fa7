//! How single values are read.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize as _;
use url::Url;

/// A secret; empty: none.
pub(super) fn optional_secret<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SecretString>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok((!text.is_empty()).then(|| SecretString::from(text)))
}

/// An origin without a path; empty: none.
pub(super) fn optional_url<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let url = Url::parse(&text).map_err(|error| serde::de::Error::custom(format!("`{text}` is not a URL: {error}")))?;
    let bare = matches!(url.scheme(), "http" | "https") && matches!(url.path(), "" | "/");
    let bare = bare && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if bare {
        Ok(Some(url))
    } else {
        Err(serde::de::Error::custom(format!("`{text}` is not an http or https origin without a path")))
    }
}

/// A path; empty: none.
pub(super) fn optional_path<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

/// An address of somebody else's that we call: https, or http on this machine.
pub(super) fn optional_address<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let url = Url::parse(&text).map_err(|error| serde::de::Error::custom(format!("`{text}` is not a URL: {error}")))?;
    let local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if url.scheme() == "https" || url.scheme() == "http" && local {
        Ok(Some(url))
    } else {
        Err(serde::de::Error::custom(format!("`{text}` is not an https address (http is taken on this machine only)")))
    }
}
