//! Addresses of repositories, believed only after they were looked at.

use std::collections::BTreeSet;
use std::fmt;

use sync_core::address::is_public;
use sync_core::text::shown;
use url::{Host, Url};

/// Longest address, in bytes.
const MAX_LENGTH: usize = 2048;

/// An address that may be fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteUrl(Url);

/// An address that is refused before anything starts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` is refused as a repository's address: {reason}")]
pub struct UrlError {
    url: String,
    reason: &'static str,
}

impl UrlError {
    /// What to do about it.
    pub const fn next_step(&self) -> &'static str {
        "give an address such as https://example.com/acme/billing"
    }
}

impl RemoteUrl {
    /// An address that anyone may have given: https to a public host, without credentials.
    pub fn public(text: &str) -> Result<Self, UrlError> {
        Self::admitted(text, &BTreeSet::new())
    }

    /// As [`RemoteUrl::public`], and also https to hosts that the operator lists: those that a private network has.
    pub fn admitted(text: &str, private_hosts: &BTreeSet<String>) -> Result<Self, UrlError> {
        let refused = |reason| UrlError { url: without_secrets(text), reason };
        let url = parse(text).map_err(refused)?;
        if url.scheme() != "https" {
            return Err(refused("only https is fetched from"));
        }
        match url.host() {
            Some(_) if url.host_str().is_some_and(|host| private_hosts.contains(host.trim_end_matches('.'))) => {
                Ok(Self(url))
            }
            Some(Host::Domain(name)) if is_local_name(name) => Err(refused("its host is this machine")),
            Some(Host::Ipv4(address)) if !is_public(address.into()) => Err(refused("its host is not a public address")),
            Some(Host::Ipv6(address)) if !is_public(address.into()) => Err(refused("its host is not a public address")),
            Some(_) => Ok(Self(url)),
            None => Err(refused("it names no host")),
        }
    }

    /// An address that the operator of this machine typed: also hosts of a private network, and `file://`.
    pub fn local(text: &str) -> Result<Self, UrlError> {
        let refused = |reason| UrlError { url: without_secrets(text), reason };
        let url = parse(text).map_err(refused)?;
        match url.scheme() {
            "https" if url.has_host() => Ok(Self(url)),
            "file" if url.host().is_none() => Ok(Self(url)),
            _ => Err(refused("only https and file are fetched from")),
        }
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// `https` or `file`.
    pub fn scheme(&self) -> &str {
        self.0.scheme()
    }

    /// The port: 443 where none is named, also of a file.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(443)
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name that a repository has by default: the path of its address, in the letters that names have.
pub fn repository_name(url: &RemoteUrl) -> String {
    let path = url.0.path().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let plain =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c.to_ascii_lowercase() } else { '-' };
    let parts: Vec<String> =
        path.split('/').filter(|part| !part.is_empty()).map(|part| part.chars().map(plain).collect()).collect();
    // The end of a path tells repositories apart, not its beginning.
    let mut name = parts.join("/");
    let excess = name.len().saturating_sub(100);
    name.drain(..excess);
    name.trim_matches('/').to_owned()
}

fn parse(text: &str) -> Result<Url, &'static str> {
    if text.len() > MAX_LENGTH {
        return Err("it is too long");
    }
    if text.starts_with('-') {
        return Err("it starts like an option");
    }
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err("it holds characters that addresses do not have");
    }
    // `ext::sh -c …` and its like name a program to run; `host:path` is ssh.
    let (scheme, rest) = text.split_once("://").ok_or("it has no scheme such as https://")?;
    if scheme.contains(':') {
        return Err("it names a transport helper");
    }
    // A browser takes the first part of the path for the host then.
    if !scheme.eq_ignore_ascii_case("file") && rest.starts_with('/') {
        return Err("it names no host");
    }
    let url = Url::parse(text).map_err(|_| "it is not a valid address")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user or a password, which belong into a credential");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it has a query or a fragment");
    }
    if url.path().trim_matches('/').is_empty() {
        return Err("it names no repository on that host");
    }
    Ok(url)
}

/// For messages: what stands before an `@` may be a password.
fn without_secrets(text: &str) -> String {
    let text = match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}://…{}", &text[..scheme], &text[at..]),
        _ => text.to_owned(),
    };
    shown(&text, 200)
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_addresses_are_refused_before_anything_starts() {
        for text in [
            "ext::sh -c touch% /tmp/x",
            "ext::https://example.com/a",
            "file:///etc",
            "ssh://git@example.com/a/b",
            "git@example.com:a/b",
            "git://example.com/a/b",
            "http://example.com/a/b",
            "--upload-pack=touch x",
            "-c core.sshCommand=x",
            "/etc/passwd",
            "../x",
            "https://user:secret@example.com/a/b",
            "https://token@example.com/a/b",
            "https://example.com",
            "https://example.com/",
            "https://example.com/a?b",
            "https://example.com/a#b",
            "https://exa mple.com/a",
            "https://example.com/a\nb",
            "https://example.com\\@127.0.0.1/a",
            "https://localhost/a/b",
            "https://api.localhost./a/b",
            "https://127.0.0.1/a/b",
            "https://2130706433/a/b",
            "https://0177.0.0.1/a/b",
            "https://0x7f.1/a/b",
            "https://169.254.169.254/latest/meta-data",
            "https://10.0.0.1/a/b",
            "https://100.64.0.1/a/b",
            "https://[::1]/a/b",
            "https://[::ffff:127.0.0.1]/a/b",
            "https://[2002:7f00:1::]/a/b",
            "https://[fd00::1]/a/b",
            "https://[fe80::1]/a/b",
        ] {
            let error = RemoteUrl::public(text).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(RemoteUrl::public(&format!("https://example.com/{}", "a".repeat(3000))).is_err());
        for text in ["ssh://example.com/a", "http://example.com/a", "file://host/a", "ext::a", "https://u@host/a"] {
            assert!(RemoteUrl::local(text).is_err(), "{text}");
        }
    }

    #[test]
    fn plain_addresses_are_taken_and_name_their_repository() {
        for (text, name) in [
            ("https://github.com/Acme/Billing.git", "acme/billing"),
            ("https://github.com/acme/billing/", "acme/billing"),
            ("https://gitlab.example.com:8443/a/b/c d", ""),
            ("https://gitlab.example.com:8443/a/b/c%20d", "a/b/c-20d"),
            ("https://8.8.8.8/a", "a"),
            ("https://[2606:4700::1111]/a", "a"),
        ] {
            let named = RemoteUrl::public(text).map(|url| repository_name(&url)).unwrap_or_default();
            assert_eq!(named, name, "{text}");
        }
        let listed = ["git.corp".to_owned(), "10.0.0.7".to_owned(), "[fd00::7]".to_owned()].into();
        for text in ["https://GIT.corp:8443/a", "https://git.corp./a", "https://10.0.0.7/a", "https://[fd00::7]/a"] {
            assert!(RemoteUrl::admitted(text, &listed).is_ok(), "{text}");
        }
        for text in ["https://10.0.0.8/a", "http://git.corp/a", "https://u:p@git.corp/a", "https://localhost/a"] {
            assert!(RemoteUrl::admitted(text, &listed).is_err(), "{text}");
        }
        assert_eq!(RemoteUrl::public("https://example.com:8443/a").unwrap().port(), 8443);
        assert_eq!(repository_name(&RemoteUrl::local("file:///srv/git/x.git").unwrap()), "srv/git/x");
        assert!(RemoteUrl::local("https://127.0.0.1/a").is_ok());
    }
}
